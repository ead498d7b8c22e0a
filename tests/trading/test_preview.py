"""What an order would do: whether it takes or rests, what it costs, and what it leaves."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.domain.account import Account, Balance, Commission
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, Side
from mcp_binance_server.domain.orders import NOTHING
from mcp_binance_server.domain.reference_price import ANY_RANGE, PriceRangeRule, ReferencePrice
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.judgement.intent import OrderIntent, Touch
from mcp_binance_server.trading.judgement.preview import Behaviour, FillWalk, FundsAfter, preview, walk, written

RULES = SymbolRules(
    Symbol("ABXY"),
    "AB",
    "XY",
    "TRADING",
    Price(Decimal("0.01")),
    Quantity(Decimal("0.1")),
    Quantity(Decimal(1)),
)


def side(*rows: tuple[str, str]) -> tuple[PriceLevel, ...]:
    return tuple(PriceLevel(Price(Decimal(price)), Quantity(Decimal(stands))) for price, stands in rows)


BOOK = BookSnapshot(1, bids=side(("100", "3"), ("99.99", "5")), asks=side(("100.02", "1"), ("100.03", "4")))
EMPTY = BookSnapshot(1, (), ())


def price(text: str) -> Price:
    return Price(Decimal(text))


def order(way: Side, kind: Kind = "LIMIT", price: str = "", **amounts: str) -> OrderIntent:
    intent = OrderIntent(way, kind)
    for name in ("stop_price", "quantity", "quote_quantity"):
        if name in amounts:
            intent = intent.having(name, Decimal(amounts[name]))
    return intent.having("price", Decimal(price)) if price else intent


def account(base: str, quote: str, commission: Commission | None = None) -> Account:
    balances = tuple(
        Balance(asset, Quantity(Decimal(free)), Quantity(Decimal(7)))
        for asset, free in (("AB", base), ("XY", quote))
        if free
    )
    return Account(balances, can_trade=True, can_withdraw=True, can_deposit=True, updated_ms=1, commission=commission)


@pytest.mark.parametrize(
    ("intent", "behaviour", "value"),
    [
        (order("BUY", price="100.01", quantity="1"), "rests", "100.01"),
        (order("SELL", price="100.01", quantity="1"), "rests", "100.01"),
        (order("BUY", price="100.02", quantity="1"), "takes", "100.02"),
        (order("SELL", price="100", quantity="1"), "takes", "100"),
        (order("BUY", price="105", quantity="5"), "takes", "500.14"),
        (order("BUY", price="100.02", quantity="3"), "takes_then_rests", "300.06"),
        (order("SELL", price="99.99", quantity="9"), "takes_then_rests", "899.94"),
        (order("BUY", "LIMIT_MAKER", price="100", quantity="1"), "rests", "100"),
        (order("BUY", "MARKET", quantity="2"), "takes", "200.05"),
        (order("SELL", "STOP_LOSS_LIMIT", price="90", stop_price="91", quantity="2"), "waits_for_trigger", "180"),
    ],
)
def test_an_order_takes_what_it_meets_and_rests_with_what_is_left(
    intent: OrderIntent, behaviour: Behaviour, value: str
) -> None:
    shown = preview(RULES, intent, BOOK)

    assert (shown.behaviour, shown.value) == (behaviour, Decimal(value))
    assert (shown.fill is None) is (behaviour in {"rests", "waits_for_trigger"})
    assert shown.holdings == ()


RANGE = ReferencePrice(price("100"), PriceRangeRule(bid_up=Decimal("1.0002"), ask_down=Decimal("0.99995")))


@pytest.mark.parametrize(
    ("intent", "behaviour", "taken", "unfilled"),
    [
        (order("BUY", price="100.02", quantity="3"), "takes_then_rests", "1", "2"),
        (order("BUY", price="100.03", quantity="3"), "takes_then_expires", "1", "2"),
        (order("BUY", "MARKET", quantity="3"), "takes_then_expires", "1", "2"),
        (order("BUY", "MARKET", quantity="1"), "takes", "1", "0"),
        (order("BUY", "MARKET", quote_quantity="200"), "takes_then_expires", "1", "99.98"),
        (order("SELL", "MARKET", quantity="4"), "takes_then_expires", "3", "1"),
        (order("SELL", price="99", quantity="4"), "takes_then_expires", "3", "1"),
        (order("SELL", "STOP_LOSS_LIMIT", "90", stop_price="91", quantity="9"), "waits_for_trigger", None, None),
        (order("BUY", price="99", quantity="9"), "rests", None, None),
    ],
)
def test_an_order_takes_nothing_beyond_the_price_range_and_then_expires(
    intent: OrderIntent, behaviour: Behaviour, taken: str | None, unfilled: str | None
) -> None:
    shown = preview(RULES, intent, BOOK, reference=RANGE)

    assert shown.behaviour == behaviour
    assert (shown.fill is None) is (taken is None)
    if shown.fill is not None and taken is not None and unfilled is not None:
        assert (shown.fill.base, shown.fill.unfilled) == (Decimal(taken), Decimal(unfilled))
        assert shown.value == shown.fill.quote + (Decimal("200.04") if behaviour == "takes_then_rests" else 0)


def test_an_order_whose_first_trade_is_out_of_range_expires_whole() -> None:
    low = ReferencePrice(price("90"), PriceRangeRule(bid_up=Decimal("1.1")))

    limit, market = (
        preview(RULES, intent, BOOK, account("1", "1000"), low)
        for intent in (order("BUY", price="101", quantity="3"), order("BUY", "MARKET", quantity="3"))
    )

    assert [each.behaviour for each in (limit, market)] == ["expires", "expires"]
    assert [each.value for each in (limit, market)] == [None, None]
    assert [[each.after - each.free for each in shown.holdings] for shown in (limit, market)] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("reference", [ReferencePrice(None, RANGE.rule), ReferencePrice(RANGE.price), ReferencePrice()])
def test_without_a_reference_price_or_a_rule_there_is_no_range(reference: ReferencePrice) -> None:
    shown = preview(RULES, order("BUY", "MARKET", quantity="5"), BOOK, reference=reference)

    assert (shown.behaviour, shown.within) == ("takes", ANY_RANGE)


def test_a_market_order_larger_than_the_book_is_incomplete_and_priced_no_further() -> None:
    shown = preview(RULES, order("BUY", "MARKET", quantity="7"), BOOK)

    assert shown.fill is not None
    assert (shown.fill.complete, shown.fill.unfilled, shown.fill.levels) == (False, 2, 2)
    assert (shown.value, shown.fill.average) == (Decimal("500.14"), Decimal("100.028"))


def test_an_empty_book_gives_a_market_order_no_price_at_all() -> None:
    shown = preview(RULES, order("BUY", "MARKET", quantity="7"), EMPTY, account("1", "1"))

    assert shown.value is None
    assert shown.fill is not None
    assert shown.fill.average is None
    assert (shown.fee.amount, shown.fee.rate) == (0, Decimal("0.001"))


@pytest.mark.parametrize(("way", "quantity", "value"), [("BUY", "1.9", "190.047"), ("SELL", "1.9", "190")])
def test_an_amount_of_quote_trades_whole_steps_and_no_more(way: Side, quantity: str, value: str) -> None:
    shown = preview(RULES, order(way, "MARKET", quote_quantity="199.99"), BOOK)

    assert shown.fill is not None
    assert (shown.fill.base, shown.fill.quote) == (Decimal(quantity), Decimal(value))
    assert shown.fill.complete


def test_an_amount_of_quote_beyond_the_book_says_how_much_is_left_over() -> None:
    shown = preview(RULES, order("SELL", "MARKET", quote_quantity="1000"), BOOK)

    assert shown.fill is not None
    assert (shown.fill.complete, shown.fill.unfilled) == (False, Decimal("200.05"))


def test_the_fee_is_kept_of_what_is_received_by_the_rate_of_each_part() -> None:
    owner = account("50", "5000", Commission(maker=Decimal("0.0005"), taker=Decimal("0.002")))

    bought = preview(RULES, order("BUY", price="100.02", quantity="3"), BOOK, owner).fee
    sold = preview(RULES, order("SELL", price="101", quantity="3"), BOOK, owner).fee
    waiting = preview(RULES, order("SELL", "STOP_LOSS_LIMIT", "90", stop_price="91", quantity="1"), BOOK, owner).fee

    assert (bought.amount, bought.asset, bought.rate) == (Decimal("0.003"), "AB", Decimal("0.001"))
    assert (sold.amount, sold.asset, sold.assumed) == (Decimal("0.1515"), "XY", False)
    assert waiting.amount == Decimal("0.18")


@pytest.mark.parametrize("owner", [None, account("50", "5000")])
def test_a_rate_that_nobody_named_is_marked_as_assumed(owner: Account | None) -> None:
    fee = preview(RULES, order("BUY", price="100", quantity="1"), BOOK, owner).fee

    assert (fee.rate, fee.assumed) == (Decimal("0.001"), True)


def test_balances_are_those_after_the_fee() -> None:
    owner = account("50", "5000")

    bought = preview(RULES, order("BUY", "MARKET", quantity="5"), BOOK, owner).holdings
    sold = preview(RULES, order("SELL", "MARKET", quantity="3"), BOOK, owner).holdings

    assert bought == (
        FundsAfter("AB", Quantity(Decimal(50)), Quantity(Decimal("54.995"))),
        FundsAfter("XY", Quantity(Decimal(5000)), Quantity(Decimal("4499.86"))),
    )
    assert [each.after for each in sold] == [Decimal(47), Decimal("5299.7")]


@pytest.mark.parametrize(
    ("intent", "asset", "required", "available", "shortfall"),
    [
        # A limit order binds its value at its own price, though it would fill for less.
        (order("BUY", price="110", quantity="1"), "XY", "110", "105", "5"),
        (order("BUY", "MARKET", quantity="2"), "XY", "200.05", "105", "95.05"),
        (order("BUY", "MARKET", quote_quantity="105.01"), "XY", "105.01", "105", "0.01"),
        (order("SELL", price="101", quantity="0.1"), "AB", "0.1", "0", "0.1"),
        (order("SELL", "MARKET", quantity="100"), "AB", "100", "0", "100"),
        (order("SELL", "MARKET", quote_quantity="100"), "AB", "1", "0", "1"),
    ],
)
def test_what_the_account_lacks_is_told_in_four_amounts(
    intent: OrderIntent, asset: str, required: str, available: str, shortfall: str
) -> None:
    with pytest.raises(InsufficientBalance) as caught:
        preview(RULES, intent, BOOK, account("", "105"))

    data = caught.value.data()
    assert caught.value.code == -32004
    assert (data["asset"], data["required_amount"]) == (asset, required)
    assert (data["available_amount"], data["shortfall"]) == (available, shortfall)


AMOUNTS = st.decimals("0.1", "20", places=1)


@given(st.sampled_from(("BUY", "SELL")), AMOUNTS, st.decimals("99", "101", places=2))
def test_what_leaves_one_side_arrives_on_the_other_but_for_the_fee(
    way: Side, quantity: Decimal, price: Decimal
) -> None:
    intent = replace(OrderIntent(way, "LIMIT"), quantity=Quantity(quantity), price=Price(price))

    shown = preview(RULES, intent, BOOK, account("50", "5000"))

    base, quote = shown.holdings
    sign = 1 if way == "BUY" else -1
    fee_in_base, fee_in_quote = (shown.fee.amount, 0) if way == "BUY" else (0, shown.fee.amount)
    assert shown.value is not None
    assert base.after == base.free + sign * quantity - fee_in_base
    assert quote.after == quote.free - sign * shown.value - fee_in_quote
    # Taking what stands at better prices can only help.
    assert sign * shown.value <= sign * price * quantity


@pytest.mark.parametrize(
    ("amount", "text"),
    [("1E+5", "100000"), ("0.00010000", "0.0001"), ("100", "100"), ("0E-8", "0"), ("1E-9", "0.000000001")],
)
def test_an_amount_is_written_in_full_without_idle_zeros(amount: str, text: str) -> None:
    assert written(Decimal(amount)) == text


def test_the_touch_of_a_book_is_the_best_price_of_each_side() -> None:
    best = Touch(Price(Decimal(100)), Price(Decimal("100.02")))

    assert Touch.of(BOOK) == best
    assert Touch.of(BookSnapshot(1, BOOK.bids[:1], BOOK.asks[:1])) == best
    assert Touch.of(EMPTY) == Touch(None, None)


@pytest.mark.parametrize(
    ("levels", "amount", "used", "worst"),
    [
        ((("100", "1"), ("101", "1")), "1", 1, "100"),
        ((("100", "1"), ("101", "1")), "1.1", 2, "101"),
        ((("100", "0"), ("101", "1"), ("102", "0")), "2", 1, "101"),
    ],
)
def test_a_walk_counts_the_levels_that_it_takes_from_and_ends_at_the_worst_of_them(
    levels: tuple[tuple[str, str], ...], amount: str, used: int, worst: str
) -> None:
    taken = walk(side(*levels), Quantity(Decimal(amount)))

    assert (taken.levels, taken.worst, taken.touch) == (used, Decimal(worst), Decimal(100))


@pytest.mark.parametrize(
    ("way", "base", "against", "bps"),
    [
        ("BUY", "2", "90", "1000"),
        ("BUY", "2", "99", "0"),
        ("BUY", "2", "100", "-100"),
        ("SELL", "2", "90", "-1000"),
        ("SELL", "2", "100", "100"),
        ("BUY", "0", "99", None),
        ("BUY", "2", None, None),
        ("BUY", "0", None, None),
    ],
)
def test_slippage_is_a_cost_for_both_sides_and_unknown_without_a_fill_or_a_price(
    way: Side, base: str, against: str | None, bps: str | None
) -> None:
    fill = FillWalk(Quantity(Decimal(base)), Quantity(Decimal(base) * 99), NOTHING, 1, None, None)

    found = fill.slippage_bps(way, None if against is None else Price(Decimal(against)))

    assert found == (None if bps is None else Decimal(bps))


def test_an_account_may_spend_all_that_is_free() -> None:
    bought = preview(RULES, order("BUY", price="100", quantity="1.05"), BOOK, account("", "105")).holdings

    assert [each.after for each in bought] == [Decimal("1.04895"), Decimal(0)]
