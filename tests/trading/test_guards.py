"""Each guard alone, at its edge and one unit beyond: what it denies, what it lets pass, and what it says."""

from dataclasses import replace
from decimal import Decimal
from typing import Any, get_args

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.judgement.charges import Charge, charges, given_back, standing, window_of
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.exposure import Holding, OpenOrder
from mcp_binance_server.trading.judgement.guards import (
    BROUGHT,
    GUARDS,
    Denied,
    RecentOrder,
    Situation,
    denials,
    first_denial,
    worst_price,
)
from mcp_binance_server.trading.judgement.intent import OrderIntent, Touch
from mcp_binance_server.trading.judgement.policy import Policy, Way, read_policy
from mcp_binance_server.trading.judgement.preview import FillWalk
from mcp_binance_server.trading.judgement.released import Released
from support.terms import NOW_MS, terms

BID, ASK = Price(Decimal("59999.00")), Price(Decimal("60001.00"))


def policy(limits: str = "", confirm: str = "") -> Policy:
    return read_policy(f"[limits]\n{limits}\n[confirm]\n{confirm}\n".encode())


def situation(limits: str = "", about: dict[str, Any] | None = None, **changes: Any) -> Situation:  # noqa: ANN401 - any member
    usual = Situation(
        mode="paper",
        policy=policy(limits),
        terms=terms(**(about or {})),
        way="policy",
        now_ms=NOW_MS,
        touch=Touch(BID, ASK),
        book_age_ms=0,
        asset="BTC",
    )
    return replace(usual, **changes)


def price(text: str) -> Price:
    return Price(Decimal(text))


def walked(average: str, *, unfilled: str = "0") -> FillWalk:
    base = Quantity(Decimal(1))
    return FillWalk(base, Quantity(Decimal(average)), Quantity(Decimal(unfilled)), 1, ASK, price(average))


def recent(at_ms: int, *, is_unresolved: bool = False, **changes: Any) -> tuple[RecentOrder, ...]:  # noqa: ANN401 - any member
    return (RecentOrder("mbp-before", terms(nonce="9", **changes), at_ms, is_unresolved),)


# A table of its own behind the limits: who trades live is named.
LIVE_LIMITS = "[keys.k-x]\nmode = 'live'"
MARKET: dict[str, Any] = {"kind": "MARKET", "time_in_force": "IOC"}
STOP = {"kind": "STOP_LOSS_LIMIT", "side": "SELL", "stop_price": price("50000"), "price": price("49000")}
# First trigger 2 % below the bid; the limit is the collar's.
TRAILING: dict[str, Any] = {
    "kind": "STOP_LOSS_LIMIT", "side": "SELL", "trailing_bps": 200, "stop_price": price("58799.02"),
    "price": price("57623.05"),
}  # fmt: skip
MOVED: dict[str, Any] = {"stop_price": price("58800.02"), "price": price("57624.05")}
PROFIT, TRIGGER, LEAST = price("70000"), price("50000"), price("49000")
BRACKET = {"exits": Exits("OTOCO", Quantity(Decimal("0.001")), PROFIT, TRIGGER, LEAST)}
PAIR: dict[str, Any] = {
    "side": "SELL",
    "kind": "OCO",
    "price": PROFIT,
    "stop_price": TRIGGER,
    "exits": Exits("OCO", Quantity(Decimal("0.001")), PROFIT, TRIGGER, LEAST),
}
LOWER = price("48999.99")
MIDNIGHT_SECS = 86_400 - NOW_MS // 1000 % 86_400
HELD: dict[str, Any] = {
    "holding": Holding("BTC", Quantity(Decimal("0.001")), Quantity(Decimal(0)), NOW_MS),
    "quote": "USDT",
}
OTHERS = tuple(OpenOrder(f"mbp-{number}", "BTCUSDT", "SELL", PROFIT, slots=1, stops=1) for number in range(3))
PAIR_OF_TWO = Released(
    "mbp-0", "OCO", "GTC", Quantity(Decimal("0.002")), Quantity(Decimal(0)), Quantity(Decimal("0.001")), PROFIT,
    TRIGGER, LEAST, 60_00,
)  # fmt: skip
SALE: dict[str, Any] = {"side": "SELL", "kind": "MARKET", "time_in_force": "IOC", "releases": (PAIR_OF_TWO,)}
RESERVED: dict[str, Any] = {
    "holding": Holding("BTC", Quantity(Decimal("0.002")), Quantity(Decimal("0.002")), NOW_MS),
    "quote": "USDT",
}
STANDS = OpenOrder(
    "mbp-0",
    "BTCUSDT",
    "SELL",
    PROFIT,
    claimed=Quantity(Decimal("0.002")),
    locked=Quantity(Decimal("0.002")),
    slots=2,
    stops=1,
)
FULL: dict[str, int] = {"orders_per_minute": 5, "orders_per_day": 50, "open_orders": 10, "per_day": 9**9}
PASSES = [
    situation(),
    situation("types = ['LIMIT', 'LIMIT_MAKER', 'STOP_LOSS_LIMIT']\nper_order = '60'", BRACKET),
    situation("types = ['OCO']\nper_order = '70'", PAIR | {"counted": 70_00}),
    situation("symbols = ['BTCUSDT']"),
    situation("types = ['LIMIT']"),
    situation("per_order = '60'"),
    situation("orders_per_minute = 5", used={"orders_per_minute": 4}),
    situation("orders_per_day = 50", used={"orders_per_day": 49}),
    situation("open_orders = 10", used={"open_orders": 9}),
    situation("per_day = '100'", used={"per_day": 40_00}),
    situation("per_symbol_day = '100'", used={"per_symbol_day:BTCUSDT": 40_00, "per_symbol_day:ETHUSDT": 99_00}),
    situation("position = { BTC = '100' }", held=20_00, open_buys=20_00),
    situation("position = { BTC = '1' }", {"side": "SELL", "price": price("61200")}),
    situation("position = { ETH = '1' }"),
    situation("daily_loss = '10'", lost_today=9_99),
    # Nothing is used, held or lost where nothing is said of it.
    situation("orders_per_minute = 1\norders_per_day = 1\nopen_orders = 1\nper_day = '60'\nper_symbol_day = '60'"),
    situation("position = { BTC = '60' }\ndaily_loss = '0.01'"),
    situation(book_age_ms=2_000),
    situation(about={"price": price("61200")}),
    situation(about={"price": price("1")}),
    situation(about={"price": price("58800"), "side": "SELL"}),
    situation(about={"price": price("99999"), "side": "SELL"}),
    situation(about=STOP),
    situation(about=MARKET, fill=walked("60301.00")),
    situation(about=MARKET),
    situation(fill=walked("70000", unfilled="1")),
    situation(recent=recent(NOW_MS - 10_000)),
    situation(recent=recent(NOW_MS, price=price("60000.01"))),
    situation(recent=recent(NOW_MS, side="SELL", is_unresolved=True)),
    situation(recent=recent(NOW_MS, symbol="ETHUSDT", is_unresolved=True)),
    situation(policy=policy(confirm="client_per_order = '60'"), way="client"),
    situation(policy=policy(confirm="client_per_order = '1'\napprover = 'a public key'"), way="apart"),
    situation(LIVE_LIMITS, {"mode": "live", "counted": 100_00}, mode="live", way="client", key="k-x"),
    # An exit passes every limit of count and money, and a stop of trading with a person's yes.
    situation(
        "per_order = '1'\nper_day = '1'\nper_symbol_day = '1'\ndaily_loss = '1'",
        STOP,
        used=FULL,
        lost_today=1_00,
        **HELD,
    ),
    situation(about=STOP, stopped="you said so", stop_allows_exits=True, way="client", **HELD),
    situation(about=STOP, used={"exits_per_minute": 19, "exits_per_day": 199}, **HELD),
    situation(about=STOP, orders=OTHERS, most_exits=4, most_stops=4, **HELD),
    situation(about=PAIR, orders=OTHERS, most_exits=5, most_stops=4, **HELD),
    # A sale that cancels a pair first is an exit; of its orders only those that stand afterwards are counted.
    situation("per_order = '1'", SALE, orders=(STANDS,), used=FULL, most_exits=3, most_stops=1, **RESERVED),
]
CHANGED = Denied(
    "released", "an order that would be cancelled first has changed", "open orders as they were previewed",
    client_order_id="mbp-0",
)  # fmt: skip
DENIED: list[tuple[Situation, Denied]] = [
    (situation(mode="off"), Denied("mode", "an order for paper", "orders for off")),
    (situation(mode="practice"), Denied("mode", "an order for paper", "orders for practice")),
    (situation(waits_for="the journal"), Denied("ready", "not ready yet", "no orders until the journal")),
    (
        situation(stopped="you said so"),
        Denied("stop", 'trading is stopped ("you said so")', "mcp-binance-server resume"),
    ),
    (
        situation(about={"mode": "live"}, mode="live", way="client", key="k-x"),
        Denied("key", "the key k-x", "keys with mode live in the policy file"),
    ),
    (situation("symbols = ['ETHUSDT']"), Denied("symbol", "BTCUSDT", "ETHUSDT")),
    (situation("symbols = []"), Denied("symbol", "BTCUSDT", "no symbol")),
    (situation("types = ['MARKET']"), Denied("type", "LIMIT", "MARKET")),
    (situation("per_order = '59.99'"), Denied("per_order", "60.00 USDT", "59.99 USDT")),
    (
        situation("orders_per_minute = 5", used={"orders_per_minute": 5}),
        Denied("orders_per_minute", "1", "5", left="0", retry_after_secs=60),
    ),
    (situation("orders_per_day = 0"), Denied("orders_per_day", "1", "0", left="0", retry_after_secs=MIDNIGHT_SECS)),
    (situation(used={"open_orders": 10}), Denied("open_orders", "1", "10", left="0")),
    (
        situation("per_day = '100'", used={"per_day": 40_01}),
        Denied("per_day", "60.00", "100.00", left="59.99", retry_after_secs=MIDNIGHT_SECS),
    ),
    (
        situation("per_day = '59.99'"),
        Denied("per_day", "60.00", "59.99", left="59.99", retry_after_secs=MIDNIGHT_SECS),
    ),
    (
        situation("per_symbol_day = '100'", used={"per_symbol_day:BTCUSDT": 40_01}),
        Denied("per_symbol_day:BTCUSDT", "60.00", "100.00", left="59.99", retry_after_secs=MIDNIGHT_SECS),
    ),
    (
        situation("position = { BTC = '100' }", held=20_00, open_buys=20_01),
        Denied("position:BTC", "100.01", "100.00", left="59.99"),
    ),
    (
        situation("position = { BTC = '100' }", held=99_00, open_buys=1_01),
        Denied("position:BTC", "160.01", "100.00", left="0.00"),
    ),
    (situation("daily_loss = '10'", lost_today=10_00), Denied("daily_loss", "10.00 lost today", "10.00")),
    (
        situation(about=STOP, used={"exits_per_minute": 20}, oldest_ms={"exits_per_minute": NOW_MS - 41_500}, **HELD),
        Denied("exits_per_minute", "1", "20", left="0", retry_after_secs=19),
    ),
    (
        situation(about=STOP, used={"exits_per_day": 200}, **HELD),
        Denied("exits_per_day", "1", "200", left="0", retry_after_secs=MIDNIGHT_SECS),
    ),
    (
        situation(about=SALE, orders=(STANDS,), most_exits=2, **RESERVED),
        Denied("open_exits", "3 open sales of BTCUSDT", "2 on this symbol"),
    ),
    (situation(about=SALE, **RESERVED), CHANGED),
    (
        situation(
            about=SALE, orders=(STANDS, replace(STANDS, client_order_id="mbp-1", releases=("mbp-0",))), **RESERVED
        ),
        CHANGED,
    ),
    (
        situation(about=STOP, orders=OTHERS, most_stops=3, **HELD),
        Denied("open_exits", "4 open stops of BTCUSDT", "3 on this symbol"),
    ),
    (
        situation(about=PAIR, orders=OTHERS, most_exits=4, **HELD),
        Denied("open_exits", "5 open sales of BTCUSDT", "4 on this symbol"),
    ),
    # Without a person's yes, or where it is about integrity, a stop refuses exits too.
    (
        situation(about=STOP, stopped="you said so", stop_allows_exits=True, **HELD),
        Denied("stop", 'trading is stopped ("you said so")', "mcp-binance-server resume"),
    ),
    (
        situation(about=STOP, stopped="a broken chain", way="client", **HELD),
        Denied("stop", 'trading is stopped ("a broken chain")', "mcp-binance-server resume"),
    ),
    (situation(book_age_ms=2_001), Denied("book", "an order book 2001 ms old", "at most 2000 ms")),
    (
        situation(touch=Touch(BID, None)),
        Denied("book", "an order book with an empty side", "bids and asks"),
    ),
    (situation(touch=Touch(BID, BID)), Denied("book", "an order book with an empty side", "bids and asks")),
    (situation(touch=Touch(ASK, BID)), Denied("book", "an order book with an empty side", "bids and asks")),
    (situation(about={"price": price("61200.01")}), Denied("collar", "price 61200.01", "at most 61200")),
    (
        situation(about={"price": price("58799.99"), "side": "SELL"}),
        Denied("collar", "price 58799.99", "at least 58800"),
    ),
    (situation(about=STOP | {"price": price("48999.99")}), Denied("collar", "price 48999.99", "at least 49000")),
    (situation("types = ['LIMIT', 'LIMIT_MAKER']", BRACKET), Denied("type", "STOP_LOSS_LIMIT", "LIMIT, LIMIT_MAKER")),
    (situation("types = ['LIMIT']", BRACKET), Denied("type", "LIMIT_MAKER, STOP_LOSS_LIMIT", "LIMIT")),
    (situation("types = ['LIMIT_MAKER']", PAIR), Denied("type", "OCO", "LIMIT_MAKER")),
    (situation("per_order = '59.99'", BRACKET), Denied("per_order", "60.00 USDT", "59.99 USDT")),
    (
        situation("per_order = '70'", PAIR | {"counted": 70_01}),
        Denied("per_order", "70.01 USDT", "70.00 USDT"),
    ),
    (
        situation(about={"exits": replace(BRACKET["exits"], stop_limit=LOWER)}),
        Denied("collar", "price 48999.99", "at least 49000"),
    ),
    (
        situation(about=PAIR | {"exits": replace(PAIR["exits"], stop_limit=LOWER)}),
        Denied("collar", "price 48999.99", "at least 49000"),
    ),
    (
        situation(about=TRAILING | {"price": price("57623.03")}),
        Denied("collar", "price 57623.03", "at least 57623.0396"),
    ),
    (
        situation(about=TRAILING, touch=Touch(price("57599"), ASK)),
        Denied("collar", "price 57623.05", "at most the trigger, 56447.02"),
    ),
    (
        situation(about=TRAILING | {"trailing_bps": 10}, usual_minute=Decimal(60)),
        Denied("collar", "price 57623.05", "at least 58800"),
    ),
    (situation("types = ['LIMIT', 'OCO']", TRAILING), Denied("type", "STOP_LOSS_LIMIT", "LIMIT, OCO")),
    (
        situation(recent=recent(NOW_MS - 1, **TRAILING), about=TRAILING | MOVED),
        Denied("duplicate", "the same order again", "once in 10 s", client_order_id="mbp-before"),
    ),
    (
        situation(about=MARKET, fill=walked("60301.01")),
        Denied("slippage", "50.0 bps from the best price", "at most 50 bps"),
    ),
    (
        situation(about=MARKET, fill=walked("60001", unfilled="0.1")),
        Denied("slippage", "more than the order book holds", "at most 50 bps from the best price"),
    ),
    (
        situation(recent=recent(NOW_MS - 9_999)),
        Denied("duplicate", "the same order again", "once in 10 s", client_order_id="mbp-before"),
    ),
    (
        situation(about=MARKET, fill=walked("60001"), recent=recent(NOW_MS, **MARKET, price=price("60500"))),
        Denied("duplicate", "the same order again", "once in 10 s", client_order_id="mbp-before"),
    ),
    (
        situation(recent=recent(NOW_MS - 86_400_000, is_unresolved=True)),
        Denied(
            "unresolved",
            "a new order",
            "none while the outcome of another is unknown",
            client_order_id="mbp-before",
        ),
    ),
    (
        situation(key=BROUGHT),
        Denied("key", "a key without the right to trade", "this server's own key, and keys named in its rules"),
    ),
    (
        situation(policy=policy(confirm="client_per_order = '59.99'"), way="apart"),
        Denied(
            "confirmation",
            "60.00 USDT without an approver",
            "59.99 USDT, or more with an approver (approve --new)",
        ),
    ),
    (
        situation(LIVE_LIMITS, {"mode": "live", "counted": 100_01}, mode="live", way="apart", key="k-x"),
        Denied(
            "confirmation",
            "100.01 USDT without an approver",
            "100.00 USDT, or more with an approver (approve --new)",
        ),
    ),
]


@pytest.mark.parametrize("at", PASSES)
def test_what_keeps_to_a_limit_passes(at: Situation) -> None:
    assert first_denial(at) is None


@pytest.mark.parametrize(("at", "denied"), DENIED, ids=lambda each: each.guard if isinstance(each, Denied) else "")
def test_what_passes_a_limit_by_one_unit_is_denied_by_its_guard_alone(at: Situation, denied: Denied) -> None:
    assert denials(at) == (denied,)


def test_every_guard_denies_something() -> None:
    denying = {guard for guard in GUARDS for at, _ in DENIED if guard(at) is not None}

    assert denying == {*GUARDS}


def test_the_first_guard_that_denies_is_the_answer() -> None:
    at = situation("symbols = []\nper_order = '0'", stopped="a fire")

    assert first_denial(at) == denials(at)[0]
    assert [each.guard for each in denials(at)] == ["stop", "symbol", "per_order"]


def test_only_orders_that_nobody_was_asked_for_count_for_the_automatic_limit() -> None:
    live = terms(mode="live")
    names = {way: {each.name for each in charges(live, policy(), way)} for way in get_args(Way)}

    assert "auto_per_day" in names["policy"]
    assert "auto_per_day" not in names["client"] | names["apart"]
    assert "auto_per_day" not in {each.name for each in charges(terms(), policy(), "policy")}


@pytest.mark.parametrize(
    ("side", "worst", "expected"),
    [
        ("BUY", "60100", "60400.5"),
        ("BUY", "61100", "61200"),  # the collar is nearer
        ("SELL", "59900", "59600.5"),
        ("SELL", "58900", "58800"),
    ],
)
def test_a_market_order_has_a_worst_price(side: str, worst: str, expected: str) -> None:
    intent = OrderIntent(side, "MARKET")  # type: ignore[arg-type]
    fill = replace(walked("60000"), worst=price(worst))

    assert worst_price(policy(), intent, fill, price("60000")) == Decimal(expected)


@pytest.mark.parametrize(("executed", "back"), [("0", 1000), ("3", 0), ("1", 666), ("2.999", 0)])
def test_what_was_not_executed_is_given_back_and_never_too_much(executed: str, back: int) -> None:
    assert given_back(1000, Decimal(3), Decimal(executed)) == back


def test_an_automatic_order_counts_against_the_automatic_limit_of_the_day() -> None:
    rules = policy(confirm="auto_per_order = '60'\nauto_per_day = '90'")

    (charge,) = (each for each in charges(terms(mode="live"), rules, "policy") if each.name == "auto_per_day")

    assert charge == Charge("auto_per_day", "day", "money", 60_00, 90_00)


@pytest.mark.parametrize(("replaced", "amount"), [("", 1), ("mbp-before", 0)])
def test_an_order_that_replaces_another_takes_no_second_place_among_the_open_ones(replaced: str, amount: int) -> None:
    (charge,) = (each for each in charges(terms(replaces=replaced), policy(), "policy") if each.span == "open")

    assert charge == Charge("open_orders", "open", "count", amount, 10)


def test_limits_that_hold_for_the_account_are_listed_without_an_amount_and_the_automatic_one_for_live_only() -> None:
    rules = policy("orders_per_minute = 1\norders_per_day = 2\nopen_orders = 3\nper_day = '4'", "auto_per_day = '5'")
    common = (
        Charge("orders_per_minute", "minute", "count", 0, 1),
        Charge("orders_per_day", "day", "count", 0, 2),
        Charge("open_orders", "open", "count", 0, 3),
        Charge("per_day", "day", "money", 0, 4_00),
    )

    assert standing(rules, "paper") == common
    assert standing(rules, "live") == (*common, Charge("auto_per_day", "day", "money", 0, 5_00))


LARGER, LOWER_STOP = Quantity(Decimal("0.002")), price("49999")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {"kind": "LIMIT_MAKER"}),
        ({}, {"quantity": LARGER}),
        ({}, BRACKET),
        (STOP, STOP | {"stop_price": LOWER_STOP}),
    ],
    ids=["type", "quantity", "exits", "stop price"],
)
def test_an_order_that_differs_in_one_word_is_no_duplicate(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert denials(situation(about=now, recent=recent(NOW_MS, **before))) == ()
    assert [each.guard for each in denials(situation(about=now, recent=recent(NOW_MS, **now)))] == ["duplicate"]


def test_what_a_day_uses_is_kept_under_its_number_and_other_spans_under_none() -> None:
    assert [window_of("day", at_ms) for at_ms in (0, 86_399_999, 86_400_000)] == [0, 0, 1]
    assert [window_of(span, 86_400_000) for span in ("minute", "open")] == [0, 0]


def test_an_order_of_nothing_gives_nothing_back() -> None:
    assert given_back(1000, Decimal(0), Decimal(0)) == 0
