"""Orders on paper, one rule of the exchange at a time."""

from decimal import Decimal

import pytest

from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.domain.reference_price import PriceRangeRule, ReferencePrice
from mcp_binance_server.trading.paper.market import BEYOND_RANGE, PaperMarket
from mcp_binance_server.trading.paper.order import PaperFill, PaperOrder
from trading.paper.displayed import Displayed, arrive, order, traded, usual_book


@pytest.fixture
def shown() -> Displayed:
    return usual_book()


@pytest.fixture
def market(shown: Displayed) -> PaperMarket:
    return PaperMarket(shown)


def amounts(fills: list[PaperFill]) -> list[tuple[int, int]]:
    return [(int(each.price), int(each.quantity)) for each in fills]


def state(each: PaperOrder) -> tuple[str, int]:
    return each.status, int(each.filled)


def test_a_taker_walks_the_book_and_rests_with_the_rest(market: PaperMarket) -> None:
    buy = order("BUY", 102, 12)

    assert amounts(arrive(market, buy)) == [(101, 5), (102, 5)]
    assert state(buy) == ("PARTIALLY_FILLED", 10)
    assert market.resting == [buy]


def test_nothing_is_taken_beyond_the_limit(market: PaperMarket) -> None:
    assert amounts(arrive(market, order("SELL", 99, 9))) == [(99, 5)]


def test_an_order_meets_the_book_of_the_moment_at_which_it_arrives(market: PaperMarket, shown: Displayed) -> None:
    buy = order("BUY", 101, 5, arrives_ms=100)

    assert arrive(market, buy, at_ms=99) == []
    shown.show("SELL", 101, 0)
    assert [*market.advance(100)] == []
    assert state(buy) == ("NEW", 0)


def test_what_was_taken_is_gone_until_the_level_is_shown_anew(market: PaperMarket, shown: Displayed) -> None:
    first, second, third = (order("BUY", 101, 5, time_in_force="IOC") for _ in range(3))
    arrive(market, first, second)
    assert (state(first), state(second)) == (("FILLED", 5), ("EXPIRED", 0))

    shown.show("SELL", 101, 6)
    market.shown()

    assert amounts(arrive(market, third)) == [(101, 5)]


@pytest.mark.parametrize(("quantity", "expected"), [(10, ("FILLED", 10)), (11, ("EXPIRED", 0))])
def test_fill_or_kill_is_all_or_nothing(market: PaperMarket, quantity: int, expected: tuple[str, int]) -> None:
    all_of_it = order("BUY", 102, quantity, time_in_force="FOK")

    arrive(market, all_of_it)

    assert state(all_of_it) == expected


def narrow(most: str) -> ReferencePrice:
    """Return a reference price of 100 with an upper limit for buyers."""
    return ReferencePrice(Price(Decimal(100)), PriceRangeRule(bid_up=Decimal(most)))


@pytest.mark.parametrize(
    ("most", "expected", "reason"),
    [("1.02", ("FILLED", 7), ""), ("1.01", ("EXPIRED", 5), BEYOND_RANGE), ("1", ("EXPIRED", 0), BEYOND_RANGE)],
)
def test_an_order_takes_nothing_beyond_the_price_range_and_expires_there(
    market: PaperMarket, most: str, expected: tuple[str, int], reason: str
) -> None:
    market.reference = narrow(most)
    buy = order("BUY", 103, 7)

    arrive(market, buy)

    assert (state(buy), buy.reason) == (expected, reason)
    assert market.resting == []


def test_an_order_whose_limit_is_inside_the_range_rests(market: PaperMarket) -> None:
    market.reference = narrow("1.01")
    buy = order("BUY", 101, 7)

    arrive(market, buy)

    assert (state(buy), buy.reason) == (("PARTIALLY_FILLED", 5), "")


def test_fill_or_kill_counts_what_is_inside_the_range_alone(market: PaperMarket) -> None:
    market.reference = narrow("1.01")
    all_of_it = order("BUY", 102, 10, time_in_force="FOK")

    arrive(market, all_of_it)

    assert (state(all_of_it), all_of_it.reason) == (("EXPIRED", 0), BEYOND_RANGE)


def test_what_an_immediate_order_does_not_get_expires(market: PaperMarket) -> None:
    now = order("BUY", 101, 7, time_in_force="IOC")

    arrive(market, now)

    assert state(now) == ("EXPIRED", 5)
    assert market.resting == []


@pytest.mark.parametrize(("price", "status"), [(100, "NEW"), (101, "REJECTED")])
def test_a_maker_that_would_take_is_refused(market: PaperMarket, price: int, status: str) -> None:
    maker = order("BUY", price, 1, kind="LIMIT_MAKER")

    arrive(market, maker)

    assert state(maker) == (status, 0)


def test_the_displayed_come_first_and_a_print_is_given_away_once(market: PaperMarket) -> None:
    a, b = order("BUY", 99, 4), order("BUY", 99, 4)
    arrive(market, a, b)

    assert traded(market, 99, 5, buyer_is_maker=True) == []  # those who stood there
    assert amounts(traded(market, 99, 5, buyer_is_maker=True)) == [(99, 4), (99, 1)]
    assert (state(a), state(b)) == (("FILLED", 4), ("PARTIALLY_FILLED", 1))


def test_a_print_through_the_price_fills_at_the_price_and_no_more_than_itself(market: PaperMarket) -> None:
    buy = order("BUY", 99, 9)
    arrive(market, buy)

    assert amounts(traded(market, 98, 4, buyer_is_maker=True)) == [(99, 4)]
    assert state(buy) == ("PARTIALLY_FILLED", 4)


def test_the_best_price_is_served_first(market: PaperMarket) -> None:
    low, high = order("BUY", 99, 4), order("BUY", 100, 4)
    arrive(market, low, high)

    traded(market, 98, 6, buyer_is_maker=True)

    assert (state(high), state(low)) == (("FILLED", 4), ("PARTIALLY_FILLED", 2))


def test_a_print_of_the_other_side_fills_nobody(market: PaperMarket) -> None:
    arrive(market, order("BUY", 100, 4))

    assert traded(market, 99, 9, buyer_is_maker=False) == []


def test_those_who_leave_make_the_queue_no_longer_than_the_level(market: PaperMarket, shown: Displayed) -> None:
    buy = order("BUY", 99, 1)
    arrive(market, buy)

    queue: list[Decimal | None] = []
    for stands in (2, 9):  # who came later stands behind
        shown.show("BUY", 99, stands)
        market.shown()
        queue.append(buy.ahead)

    assert queue == [2, 2]


def test_where_nobody_knows_the_queue_only_a_print_through_it_counts(market: PaperMarket, shown: Displayed) -> None:
    shown.unknown = {Price(Decimal(90))}
    arrive(market, order("BUY", 90, 2))

    assert traded(market, 90, 50, buyer_is_maker=True) == []
    assert amounts(traded(market, 89, 1, buyer_is_maker=True)) == [(90, 1)]


def test_a_cancelled_order_meets_nothing_more(market: PaperMarket) -> None:
    buy, stop = order("BUY", 99, 2), order("SELL", 90, 2, 95, kind="STOP_LOSS_LIMIT")
    arrive(market, buy, stop)

    assert market.cancel(buy.order_id) is buy
    assert market.cancel(stop.order_id) is stop
    assert market.cancel(buy.order_id) is None
    assert traded(market, 90, 50, buyer_is_maker=True) == []
    assert (state(buy), state(stop)) == (("CANCELED", 0), ("CANCELED", 0))


@pytest.mark.parametrize(
    ("side", "above", "stop", "limit", "quiet", "loud"),
    [("SELL", False, 95, 99, 96, 95), ("BUY", True, 105, 101, 104, 105), ("SELL", True, 105, 99, 104, 105)],
)
def test_a_stop_waits_for_a_print_at_its_price_and_is_an_order_then(
    market: PaperMarket, side: Side, *, above: bool, stop: int, limit: int, quiet: int, loud: int
) -> None:
    waits = order(side, limit, 3, stop, kind="STOP_LOSS_LIMIT", triggers_above=above)
    arrive(market, waits)

    assert traded(market, quiet, 1, buyer_is_maker=False) == []
    assert (waits.status, waits.is_triggered) == ("NEW", False)
    assert amounts(traded(market, loud, 1, buyer_is_maker=False)) == [(limit, 3)]
    assert waits.is_triggered


def test_a_taker_that_would_meet_an_order_of_its_own_expires(market: PaperMarket) -> None:
    own, buy = order("SELL", 102, 1), order("BUY", 102, 8)
    arrive(market, own, buy)

    assert state(buy) == ("EXPIRED_IN_MATCH", 5)
    assert state(own) == ("NEW", 0)


def test_a_taker_that_is_filled_before_it_comes_to_its_own_is_filled(market: PaperMarket) -> None:
    own, buy = order("SELL", 102, 1), order("BUY", 102, 5)
    arrive(market, own, buy)

    assert state(buy) == ("FILLED", 5)


@pytest.mark.parametrize(("kind", "status"), [("LIMIT", "EXPIRED_IN_MATCH"), ("LIMIT_MAKER", "REJECTED")])
def test_so_does_one_that_only_its_own_would_meet(market: PaperMarket, kind: str, status: str) -> None:
    own, buy = order("SELL", 100, 1), order("BUY", 100, 1, kind=kind)
    arrive(market, own, buy)

    assert state(buy) == (status, 0)
