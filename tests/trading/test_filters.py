"""The exchange's filters: what is rounded, what is refused, and that the nearest order really passes."""

import zlib
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from itertools import cycle, islice
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Side
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.exchange.spot.wire import ExchangeInfoWire, SymbolWire
from mcp_binance_server.trading.judgement.filters import Broken, FilterVerdict, check, closed, unchecked
from mcp_binance_server.trading.judgement.intent import LIMIT_MAKER, NEEDS, OrderIntent, Touch

LISTING = msgspec.json.decode(
    (files("binance_simulator") / "data" / "exchange_info.json").read_bytes(), type=ExchangeInfoWire
).to_domain(otherwise=6000)
BTC = LISTING.rules[Symbol("BTCUSDT")]
TESTB = LISTING.rules[Symbol("TESTBUSDT")]
BY_SIDE = "PERCENT_PRICE_BY_SIDE"
SIDES: tuple[Side, ...] = ("BUY", "SELL")


def price(text: str) -> Price:
    return Price(Decimal(text))


def quantity(text: str) -> Quantity:
    return Quantity(Decimal(text))


TOUCH = Touch(price("50000.00"), price("50000.02"))
EMPTY = Touch(None, None)


def order(side: Side, kind: Kind = "LIMIT", **amounts: str) -> OrderIntent:
    intent = OrderIntent(side, kind)
    for name in ("price", "stop_price", "quantity", "quote_quantity"):
        if name in amounts:
            intent = intent.having(name, Decimal(amounts[name]))
    return intent


OFF_OR = st.just(Decimal(0))
GRIDS = st.sampled_from([Decimal(text) for text in ("0", "0.00000001", "0.0001", "0.25", "0.3", "1", "10", "1.00")])
LIMITS = st.one_of(OFF_OR, st.decimals("0.0000001", "1000000", places=7))
MULTIPLIERS = st.sampled_from([Decimal(text) for text in ("0", "0.2", "0.7", "1", "1.3", "5")])
# As long as the exchange's own pattern allows: more digits than the usual precision of Decimal.
AMOUNTS = st.one_of(
    st.decimals("0.00000000000000000001", "99999999999999999999", places=20),
    st.decimals("0.00000001", "100000", places=8),
)
TOUCHES = st.tuples(
    st.none() | st.decimals("0.0001", "100000", places=4), st.none() | st.decimals("0.0001", "1000", places=4)
).map(
    lambda pair: Touch(
        None if pair[0] is None else Price(pair[0]),
        None if pair[1] is None else Price((pair[0] or Decimal(0)) + pair[1]),
    )
)
RULES = st.builds(
    SymbolRules,
    symbol=st.just(Symbol("AB")),
    base=st.just("A"),
    quote=st.just("B"),
    status=st.just("TRADING"),
    tick=GRIDS,
    step=GRIDS,
    market_step=GRIDS,
    min_notional=LIMITS,
    max_notional=LIMITS,
    min_price=LIMITS,
    max_price=LIMITS,
    min_quantity=LIMITS,
    max_quantity=LIMITS,
    market_min_quantity=LIMITS,
    market_max_quantity=LIMITS,
    apply_min_to_market=st.booleans(),
    apply_max_to_market=st.booleans(),
    bid_multiplier_up=MULTIPLIERS,
    bid_multiplier_down=MULTIPLIERS,
    ask_multiplier_up=MULTIPLIERS,
    ask_multiplier_down=MULTIPLIERS,
    max_position=LIMITS,
    trailing_above_bps=st.tuples(st.integers(0, 50), st.integers(0, 3_000)),
    trailing_below_bps=st.tuples(st.integers(0, 50), st.integers(0, 3_000)),
    max_num_orders=st.just(0),
    max_num_algo_orders=st.just(0),
    order_types=st.just(()),
    base_places=st.integers(0, 8),
    quote_places=st.integers(0, 8),
)


@st.composite
def intents(draw: st.DrawFn) -> OrderIntent:
    kind: Kind = draw(st.sampled_from(list(NEEDS)))
    intent = OrderIntent(draw(st.sampled_from(SIDES)), kind)
    needed = NEEDS[kind] or (draw(st.sampled_from(("quantity", "quote_quantity"))),)
    for argument in needed:
        intent = intent.having(argument, draw(AMOUNTS))
    if intent.is_stop and draw(st.booleans()):
        intent = intent.having("trailing", draw(AMOUNTS))
    assert intent.problems() == {}
    return intent


@given(RULES, intents(), TOUCHES)
def test_an_order_never_grows_and_its_price_never_gets_worse(
    rules: SymbolRules, intent: OrderIntent, touch: Touch
) -> None:
    verdict = check(rules, intent, touch)

    for argument, used in verdict.order.amounts.items():
        asked = intent.amounts[argument]
        if argument in {"price", "stop_price"} and intent.side == "SELL":
            assert used >= asked
        else:
            assert used <= asked
    changed = {each.argument: (each.received, each.used) for each in verdict.changes}
    assert changed == {
        name: (asked, verdict.order.amounts[name])
        for name, asked in intent.amounts.items()
        if verdict.order.amounts[name] != asked
    }


@pytest.mark.parametrize(
    ("side", "kind", "trailing", "nearest"),
    [
        ("SELL", "STOP_LOSS_LIMIT", "0.19", "0.2"), ("SELL", "STOP_LOSS_LIMIT", "0.2", None),
        ("SELL", "STOP_LOSS_LIMIT", "3", None), ("SELL", "STOP_LOSS_LIMIT", "3.01", "3"),
        ("BUY", "TAKE_PROFIT_LIMIT", "0.19", "0.2"), ("BUY", "TAKE_PROFIT_LIMIT", "3.01", "3"),
        ("BUY", "STOP_LOSS_LIMIT", "0.39", "0.4"), ("BUY", "STOP_LOSS_LIMIT", "5", None),
        ("BUY", "STOP_LOSS_LIMIT", "5.01", "5"), ("SELL", "TAKE_PROFIT_LIMIT", "0.39", "0.4"),
        ("SELL", "TAKE_PROFIT_LIMIT", "0.4", None),
    ],
)  # fmt: skip
def test_a_distance_keeps_to_the_edges_of_the_side_on_which_it_triggers(
    side: Side, kind: Kind, trailing: str, nearest: str | None
) -> None:
    rules = replace(BTC, trailing_above_bps=(40, 500), trailing_below_bps=(20, 300))
    below = (side == "SELL") == (kind == "STOP_LOSS_LIMIT")
    stop = "49500" if below else "50500"
    intent = order(side, kind, price=stop, stop_price=stop, quantity="0.01").having("trailing", Decimal(trailing))

    verdict = check(rules, intent, TOUCH)

    if nearest is None:
        assert verdict.broken == ()
    else:
        assert [(each.rule, each.received) for each in verdict.broken] == [("TRAILING_DELTA", Decimal(trailing))]
        assert verdict.nearest is not None
        assert verdict.nearest.trailing == Decimal(nearest)


def test_a_distance_is_floored_to_a_basis_point_and_needs_a_stop() -> None:
    stop = order("SELL", "STOP_LOSS_LIMIT", price="49000", stop_price="49500", quantity="0.01")

    (change,) = check(BTC, stop.having("trailing", Decimal("1.239")), TOUCH).changes
    assert (change.rule, change.used) == ("TRAILING_DELTA", Decimal("1.23"))
    assert order("SELL", price="49000", quantity="1").having("trailing", Decimal(1)).problems() == {
        "trailing": "a LIMIT order takes no trailing"
    }
    assert "trail" in BTC.allows
    assert (BTC.trailing_above_bps, BTC.trailing_below_bps) == ((10, 2000), (10, 2000))


@given(RULES, intents(), TOUCHES, st.none() | LIMITS)
def test_the_nearest_order_passes_the_same_check_unchanged(
    rules: SymbolRules, intent: OrderIntent, touch: Touch, held: Decimal | None
) -> None:
    verdict = check(rules, intent, touch, held)

    if verdict.nearest is not None:
        again = check(rules, verdict.nearest, touch, held)
        assert (again.broken, again.changes) == ((), ())


@given(RULES, intents(), TOUCHES)
def test_what_passed_once_passes_again_without_a_change(rules: SymbolRules, intent: OrderIntent, touch: Touch) -> None:
    verdict = check(rules, intent, touch)

    again = check(rules, verdict.order, touch)

    assert again.changes == ()
    assert [each.rule for each in again.broken] == [each.rule for each in verdict.broken]
    assert (verdict.nearest is None) or verdict.broken


@given(st.sampled_from([each for each in LISTING.rules.values() if each.is_trading]), st.data())
def test_on_every_listed_symbol_a_refused_order_has_a_nearest_one(rules: SymbolRules, data: st.DataObject) -> None:
    intent = data.draw(intents())
    middling = round((rules.min_price * rules.max_price).sqrt(), 8)
    touch = Touch(Price(middling or Decimal(2)), None)

    verdict = check(rules, intent, touch)

    assert (verdict.nearest is None) is (verdict.broken == ())


@pytest.mark.parametrize(
    ("intent", "rule", "nearest"),
    [
        (order("BUY", price="1000000.01", quantity="1"), "PRICE_FILTER", {"price": "250000.05", "quantity": "1"}),
        (order("BUY", price="0.001", quantity="1"), "PRICE_FILTER", {"price": "10000.01", "quantity": "1"}),
        (order("BUY", price="250000.06", quantity="1"), BY_SIDE, {"price": "250000.05", "quantity": "1"}),
        (order("SELL", price="9999.99", quantity="1"), BY_SIDE, {"price": "10000.01", "quantity": "1"}),
        (order("BUY", price="50000", quantity="0.000009"), "LOT_SIZE", {"price": "50000", "quantity": "0.0001"}),
        (order("BUY", price="10001", quantity="9000.1"), "LOT_SIZE", {"price": "10001", "quantity": "899.91"}),
        (order("BUY", price="50000", quantity="0.00009"), "NOTIONAL", {"price": "50000", "quantity": "0.0001"}),
        (order("BUY", price="50000", quantity="181"), "NOTIONAL", {"price": "50000", "quantity": "180"}),
        (order("SELL", "MARKET", quantity="128.53"), "MARKET_LOT_SIZE", {"quantity": "128.52621"}),
        (order("SELL", "MARKET", quantity="0.00009"), "NOTIONAL", {"quantity": "0.0001"}),
        (order("BUY", "MARKET", quote_quantity="4.99"), "NOTIONAL", {"quote_quantity": "5"}),
        (order("BUY", "MARKET", quote_quantity="0.3"), "LOT_SIZE", {"quote_quantity": "5"}),
        (order("BUY", "MARKET", quote_quantity="6500000"), "MARKET_LOT_SIZE", {"quote_quantity": "6426313.42802434"}),
        (order("BUY", LIMIT_MAKER, price="50001", quantity="1"), LIMIT_MAKER, {"price": "50000.01", "quantity": "1"}),
        (order("SELL", LIMIT_MAKER, price="50000", quantity="1"), LIMIT_MAKER, {"price": "50000.01", "quantity": "1"}),
        (
            order("SELL", "STOP_LOSS_LIMIT", price="49000", stop_price="50000.01", quantity="1"),
            "STOP_PRICE",
            {"price": "49000", "stop_price": "50000", "quantity": "1"},
        ),
        (
            order("BUY", "STOP_LOSS_LIMIT", price="51000", stop_price="50000.01", quantity="1"),
            "STOP_PRICE",
            {"price": "51000", "stop_price": "50000.02", "quantity": "1"},
        ),
        (
            order("SELL", "TAKE_PROFIT_LIMIT", price="51000", stop_price="49000", quantity="1"),
            "STOP_PRICE",
            {"price": "51000", "stop_price": "50000.02", "quantity": "1"},
        ),
        (
            order("BUY", "TAKE_PROFIT_LIMIT", price="49000", stop_price="2000000", quantity="1"),
            "PRICE_FILTER",
            {"price": "49000", "stop_price": "50000", "quantity": "1"},
        ),
    ],
)  # fmt: skip
def test_each_rule_is_named_with_the_nearest_order_that_keeps_it(
    intent: OrderIntent, rule: str, nearest: dict[str, str]
) -> None:
    verdict = check(BTC, intent, TOUCH)

    assert verdict.broken[0].rule == rule
    assert verdict.nearest is not None
    assert verdict.nearest.amounts == {name: Decimal(text) for name, text in nearest.items()}


def test_what_was_rounded_is_said_and_by_which_rule() -> None:
    bought = check(BTC, order("BUY", price="50000.019", quantity="0.010009"), TOUCH)
    sold = check(BTC, order("SELL", price="50000.011", quantity="0.010009"), TOUCH)

    assert [(each.rule, each.argument, each.received, each.used) for each in bought.changes] == [
        ("PRICE_FILTER", "price", Decimal("50000.019"), Decimal("50000.01")),
        ("LOT_SIZE", "quantity", Decimal("0.010009"), Decimal("0.01")),
    ]
    assert [each.used for each in sold.changes] == [Decimal("50000.02"), Decimal("0.01")]
    assert bought.broken == sold.broken == ()


def test_a_rule_that_is_switched_off_asks_for_nothing_but_the_assets_decimals() -> None:
    touch = Touch(price("1"), price("1.01"))

    verdict = check(TESTB, order("BUY", price="1.000000019", quantity="10.019"), touch)

    assert verdict.broken == ()
    assert verdict.order.amounts == {"price": Decimal("1.00000001"), "quantity": Decimal("10.01")}
    assert [each.rule for each in verdict.changes] == ["PRECISION", "LOT_SIZE"]


def test_without_any_step_the_base_assets_decimals_count() -> None:
    rules = replace(BTC, step=quantity("0"), base_places=2)
    by_market_step = replace(rules, market_step=quantity("0.5"), min_quantity=quantity("0"))

    assert check(rules, order("BUY", price="50000", quantity="1.239"), TOUCH).changes[0].used == Decimal("1.23")
    (change,) = check(by_market_step, order("BUY", "MARKET", quantity="1.239"), TOUCH).changes
    assert (change.rule, change.used) == ("MARKET_LOT_SIZE", Decimal(1))


def test_two_steps_are_kept_at_once() -> None:
    rules = replace(BTC, step=quantity("0.2"), market_step=quantity("0.3"))

    verdict = check(rules, order("SELL", "MARKET", quantity="1.7"), TOUCH)

    assert verdict.order.quantity == Decimal("1.2")


def test_rules_that_leave_nothing_between_them_have_no_nearest_order() -> None:
    rules = replace(BTC, max_quantity=quantity("0.00001"))

    verdict = check(rules, order("BUY", price="50000", quantity="0.00001"), TOUCH)

    assert [each.rule for each in verdict.broken] == ["NOTIONAL"]
    assert verdict.nearest is None


def test_the_older_forms_of_two_filters_keep_their_names() -> None:
    touch = Touch(price("1"), price("1.01"))

    far = check(TESTB, order("SELL", price="1.4", quantity="10"), touch)
    small = check(TESTB, order("SELL", price="1.01", quantity="9.9"), touch)

    assert far.broken == (Broken("PERCENT_PRICE", "price", Decimal("1.4"), "at most", Decimal("1.3065")),)
    assert small.broken == (Broken("MIN_NOTIONAL", "quantity", Decimal("9.999"), "at least", Decimal(10)),)


def test_what_an_account_may_hold_counts_what_it_has() -> None:
    touch = Touch(price("1"), price("1.01"))

    bought = check(TESTB, order("BUY", price="1", quantity="500"), touch, Decimal(9600))
    by_quote = check(replace(TESTB, order_types=()), order("BUY", "MARKET", quote_quantity="500"), touch, Decimal(9600))
    sold = check(TESTB, order("SELL", price="1.02", quantity="500"), touch, Decimal(9600))

    assert bought.broken == (Broken("MAX_POSITION", "quantity", Decimal(500), "at most", Decimal(400)),)
    assert by_quote.broken == (Broken("MAX_POSITION", "quote_quantity", Decimal(500), "at most", Decimal(404)),)
    assert sold.broken == ()


def test_without_a_book_only_what_needs_no_price_is_checked_and_the_rest_is_named() -> None:
    limit = order("BUY", price="999999", quantity="1")
    market = order("BUY", "MARKET", quantity="0.00001")
    by_quote = order("BUY", "MARKET", quote_quantity="0.001")
    stop = order("SELL", "STOP_LOSS_LIMIT", price="49000", stop_price="60000", quantity="1")

    assert [check(BTC, each, EMPTY).broken for each in (limit, market, stop)] == [(), (), ()]
    assert [each.rule for each in check(BTC, by_quote, EMPTY).broken] == ["NOTIONAL"]
    assert unchecked(BTC, limit, EMPTY, has_account=True) == ("PERCENT_PRICE_BY_SIDE", "MAX_NUM_ORDERS")
    assert unchecked(BTC, market, EMPTY, has_account=True) == ("NOTIONAL", "MAX_NUM_ORDERS")
    assert unchecked(BTC, stop, EMPTY, has_account=True) == (
        "PERCENT_PRICE_BY_SIDE",
        "STOP_PRICE",
        "MAX_NUM_ORDERS",
        "MAX_NUM_ALGO_ORDERS",
    )
    assert unchecked(TESTB, limit, TOUCH, has_account=False) == ("MAX_NUM_ORDERS", "MAX_POSITION")


@pytest.mark.parametrize("symbol", ["LUNAUSDT", "BTCBUSD", "TESTAUSDT"])
def test_a_symbol_that_does_not_trade_takes_no_order(symbol: str) -> None:
    shut = closed(LISTING.rules[Symbol(symbol)], order("BUY", price="1", quantity="1"))

    assert shut is not None
    assert (shut.rule, shut.limit) == ("SYMBOL_STATUS", "TRADING")


def test_a_type_or_an_amount_that_the_symbol_does_not_offer_is_refused() -> None:
    market, by_quote = order("BUY", "MARKET", quantity="1"), order("BUY", "MARKET", quote_quantity="1")

    assert closed(BTC, market) is None
    assert closed(TESTB, market) is not None
    assert getattr(closed(TESTB, market), "rule", "") == "ORDER_TYPE"
    assert getattr(closed(replace(TESTB, order_types=()), by_quote), "rule", "") == "QUOTE_ORDER_QTY"


@pytest.mark.parametrize(
    ("intent", "arguments"),
    [
        (order("BUY", quantity="1"), {"price"}),
        (order("BUY", price="1"), {"quantity"}),
        (order("BUY", "MARKET"), {"quantity"}),
        (order("BUY", "MARKET", quantity="1", quote_quantity="1"), {"quantity"}),
        (order("BUY", "MARKET", quantity="1", price="1"), {"price"}),
        (order("BUY", price="1", quantity="1", stop_price="1"), {"stop_price"}),
        (order("BUY", price="1", quantity="1", quote_quantity="1"), {"quote_quantity"}),
        (order("BUY", "STOP_LOSS_LIMIT", price="1", quantity="1"), {"stop_price"}),
        (order("BUY", price="0.000", quantity="0"), {"price", "quantity"}),
    ],
)
def test_an_amount_that_is_missing_zero_or_of_another_type_is_named(intent: OrderIntent, arguments: set[str]) -> None:
    assert set(intent.problems()) == arguments


def test_rules_of_every_symbol_are_read_and_unknown_filters_pass() -> None:
    strange = {"filterType": "SOMETHING_NEW", "depth": [1, {"x": None}]}
    body = {
        "rateLimits": [],
        "symbols": [
            {"symbol": "AB", "status": "TRADING", "baseAsset": "A", "quoteAsset": "B", "filters": [strange]},
        ],
    }

    bare = msgspec.json.decode(msgspec.json.encode(body), type=ExchangeInfoWire).to_domain(otherwise=1).rules

    assert bare[Symbol("AB")] == SymbolRules(
        Symbol("AB"), "A", "B", "TRADING", price("0"), quantity("0"), quantity("0")
    )
    assert (BTC.min_quantity, BTC.max_quantity, BTC.market_step, BTC.market_max_quantity) == (
        Decimal("0.00001"),
        Decimal(9000),
        Decimal(0),
        Decimal("128.52621715"),
    )
    assert (BTC.min_notional, BTC.max_notional, BTC.apply_min_to_market, BTC.apply_max_to_market) == (
        Decimal(5),
        Decimal(9_000_000),
        True,
        False,
    )
    assert (TESTB.percent_rule, TESTB.bid_multiplier_up, TESTB.ask_multiplier_down) == (
        "PERCENT_PRICE",
        Decimal("1.3"),
        Decimal("0.7"),
    )
    assert (TESTB.notional_rule, TESTB.apply_min_to_market, TESTB.max_position) == (
        "MIN_NOTIONAL",
        True,
        Decimal(10_000),
    )


@pytest.mark.slow
def test_the_rules_of_a_whole_exchange_stay_far_below_what_an_engine_takes_as_one_value() -> None:
    random = Random(7)
    many = [
        replace(
            rules,
            symbol=Symbol(f"{random.getrandbits(32):X}{rules.quote}"),
            base=f"{random.getrandbits(32):X}",
            market_max_quantity=quantity(f"{random.randrange(10**15) / 10**8:.8f}"),
        )
        for rules in islice(cycle(LISTING.rules.values()), 3_500)
    ]

    packed = zlib.compress(msgspec.msgpack.encode(many))

    assert msgspec.msgpack.decode(zlib.decompress(packed), type=list[SymbolRules]) == many
    assert len(packed) < 200 * 1024


@pytest.mark.parametrize(
    ("flags", "allows"),
    [
        ((), ()),
        (("ocoAllowed",), ("oco",)),
        (("otoAllowed",), ("oto",)),
        (("opoAllowed",), ()),
        (("otoAllowed", "opoAllowed"), ("oto", "opo")),
        (("amendAllowed", "cancelReplaceAllowed"), ("amend", "replace")),
        (("allowTrailingStop",), ("trail",)),
    ],
)
def test_what_a_symbol_allows_beside_plain_orders_is_what_the_exchange_says(
    flags: tuple[str, ...], allows: tuple[str, ...]
) -> None:
    told = {"symbol": "AAABBB", "status": "TRADING", "baseAsset": "AAA", "quoteAsset": "BBB"} | dict.fromkeys(
        flags, True
    )

    assert msgspec.convert(told, SymbolWire).to_domain().allows == set(allows)


BARE = SymbolRules(Symbol("AB"), "A", "B", "TRADING", price("0.01"), quantity("0.1"), quantity("0"), quote_places=2)
AT_ONE, AT_THREE = Touch(price("1"), price("1")), Touch(price("3.32"), price("3.33"))
OFF_GRID = Touch(price("1.005"), price("1.015"))
SOLD: dict[str, Any] = {"side": "SELL", "quantity": "1"}
BY_QUOTE: dict[str, Any] = {"side": "BUY", "kind": "MARKET"}
STOPPED: dict[str, Any] = {"side": "BUY", "kind": "STOP_LOSS_LIMIT", "price": "1", "quantity": "1"}


@pytest.mark.parametrize(
    ("limits", "about", "touch", "edge", "beyond", "broken"),
    [
        # A limit that is off the grid is told as the next amount on it.
        ({"min_price": "0.015"}, {"quantity": "1"}, EMPTY, "0.02", "0.01", "PRICE_FILTER price at least 0.02"),
        ({}, {"quantity": "1"}, EMPTY, "0.01", "0.001", "PRICE_FILTER price at least 0.01"),
        ({"min_price": "0.015"}, STOPPED, EMPTY, "0.02", "0.01", "PRICE_FILTER stop_price at least 0.02"),
        ({}, STOPPED, EMPTY, "0.01", "0.001", "PRICE_FILTER stop_price at least 0.01"),
        ({"min_quantity": "0.15"}, {"price": "1"}, EMPTY, "0.2", "0.1", "LOT_SIZE quantity at least 0.2"),
        ({}, {"price": "1"}, EMPTY, "0.1", "0.01", "LOT_SIZE quantity at least 0.1"),
        ({"max_position": "10.25"}, {"price": "1"}, EMPTY, "0.2", "0.3", "MAX_POSITION quantity at most 0.2"),
        ({"min_quantity": "0.15"}, BY_QUOTE, AT_THREE, "0.50", "0.49", "LOT_SIZE quote_quantity at least 0.50"),
        ({}, BY_QUOTE, AT_THREE, "0.34", "0.33", "LOT_SIZE quote_quantity at least 0.34"),
        ({"market_min_quantity": "2"}, BY_QUOTE, AT_THREE, "6.66", "6.65",
         "MARKET_LOT_SIZE quote_quantity at least 6.66"),
        ({"max_position": "10.25"}, BY_QUOTE, AT_THREE, "0.83", "0.84", "MAX_POSITION quote_quantity at most 0.83"),
        ({"min_notional": "5.005"}, BY_QUOTE, EMPTY, "5.01", "5.00", "NOTIONAL quote_quantity at least 5.01"),
        ({}, BY_QUOTE, EMPTY, "0.01", "0.001", "NOTIONAL quote_quantity at least 0.01"),
        # A price between two steps keeps the makers on its either side apart.
        ({}, {"kind": "LIMIT_MAKER", "quantity": "1"}, OFF_GRID, "1.01", "1.02", "LIMIT_MAKER price at most 1.01"),
        ({}, SOLD | {"kind": "LIMIT_MAKER"}, OFF_GRID, "1.01", "1", "LIMIT_MAKER price at least 1.01"),
        # Each side has a band of its own.
        ({}, {"side": "BUY", "quantity": "1"}, AT_ONE, "1.1", "1.11", "PERCENT_PRICE_BY_SIDE price at most 1.1"),
        ({}, {"side": "BUY", "quantity": "1"}, AT_ONE, "0.9", "0.89", "PERCENT_PRICE_BY_SIDE price at least 0.9"),
        ({}, SOLD, AT_ONE, "1.2", "1.21", "PERCENT_PRICE_BY_SIDE price at most 1.2"),
        ({}, SOLD, AT_ONE, "0.8", "0.79", "PERCENT_PRICE_BY_SIDE price at least 0.8"),
    ],
)  # fmt: skip
def test_a_rule_takes_the_last_amount_on_its_grid_and_refuses_the_next(
    *, limits: dict[str, str], about: dict[str, Any], touch: Touch, edge: str, beyond: str, broken: str
) -> None:
    bands = {
        "bid_multiplier_up": "1.1",
        "bid_multiplier_down": "0.9",
        "ask_multiplier_up": "1.2",
        "ask_multiplier_down": "0.8",
    }
    changes: dict[str, Any] = {name: Decimal(text) for name, text in (bands | limits).items()}
    rules = replace(BARE, **changes, apply_min_to_market=True)
    rule, argument, *limit = broken.split()

    def verdict(amount: str) -> FilterVerdict:
        wanted: dict[str, Any] = {"side": "BUY"} | about | {argument: amount}
        return check(rules, order(**wanted), touch, Decimal(10))

    kept, passed = verdict(edge), verdict(beyond)

    assert kept.broken == ()
    told = [(each.rule, each.argument, each.received, f"{each.side} {each.limit}") for each in passed.broken]
    assert told == [(rule, argument, Decimal(beyond), " ".join(limit))]


def test_a_rule_that_needs_open_orders_or_holdings_is_named_from_one_on_and_without_a_limit_never() -> None:
    stop = order("BUY", "STOP_LOSS_LIMIT", price="1", stop_price="1", quantity="1")
    counted = replace(BARE, max_num_orders=1, max_num_algo_orders=1, max_position=quantity("0.5"))

    assert unchecked(BARE, stop, AT_ONE, has_account=False) == ()
    assert unchecked(counted, stop, AT_ONE, has_account=False) == (
        "MAX_NUM_ORDERS",
        "MAX_NUM_ALGO_ORDERS",
        "MAX_POSITION",
    )


def test_a_band_with_one_edge_is_named_when_there_is_no_price() -> None:
    rules = replace(BARE, bid_multiplier_up=Decimal(5))

    assert unchecked(rules, order("BUY", price="1", quantity="1"), EMPTY, has_account=True) == (BY_SIDE,)
    assert unchecked(rules, order("SELL", price="1", quantity="1"), EMPTY, has_account=True) == ()


def test_the_band_and_the_value_are_measured_from_the_reference_price_and_a_trigger_from_the_market() -> None:
    touch = replace(TOUCH, official=price("100000"))
    high = order("BUY", price="400000", quantity="0.01")
    small = order("BUY", "MARKET", quantity="0.00006")
    stop = order("BUY", "STOP_LOSS_LIMIT", price="60000", stop_price="60000", quantity="0.01")

    assert check(BTC, high, TOUCH).broken[0].rule == BY_SIDE
    assert not check(BTC, high, touch).broken
    assert check(BTC, small, TOUCH).broken[0].rule == "NOTIONAL"
    assert not check(BTC, small, touch).broken
    assert not check(BTC, stop, touch).broken


def test_with_a_reference_price_an_empty_book_leaves_only_the_trigger_unchecked() -> None:
    stop = order("BUY", "STOP_LOSS_LIMIT", price="60000", stop_price="60000", quantity="0.01")

    assert unchecked(BTC, stop, EMPTY, has_account=True)[:2] == (BY_SIDE, "STOP_PRICE")
    assert unchecked(BTC, stop, replace(EMPTY, official=price("1")), has_account=True)[0] == "STOP_PRICE"


def test_paper_has_no_limit_on_the_number_of_orders() -> None:
    limit = order("BUY", price="999999", quantity="1")

    assert unchecked(TESTB, limit, TOUCH, has_account=True, on_paper=True) == ()
