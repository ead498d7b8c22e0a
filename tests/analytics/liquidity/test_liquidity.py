"""Stops, costs and walls of a liquidity map, worked out by hand."""

from decimal import Decimal

import pytest

from mcp_binance_server.analytics.book.report import Wall, WallCandidate
from mcp_binance_server.analytics.liquidity.report import (
    SidedWall,
    WallReport,
    costs_of,
    stop_guidance,
    walls_of_book,
)
from mcp_binance_server.analytics.liquidity.vacuums import Vacuum
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity


def price(text: str) -> Price:
    return Price(Decimal(text))


def vacuum(low: str, high: str) -> Vacuum:
    return Vacuum(price(low), price(high), 0.86, "High")


def level(at: str, quantity: str) -> PriceLevel:
    return PriceLevel(price(at), Quantity(Decimal(quantity)))


TICK = price("0.01")


def test_a_stop_stands_beyond_the_nearest_wall_or_vacuum() -> None:
    stops = stop_guidance(price("50234.56"), [vacuum("50410", "50455")], [price("50000")], TICK)

    assert stops.long == (price("49900.00"), "wall", price("50000"))
    assert stops.short == (price("50555.91"), "vacuum", price("50455"))


def test_without_anything_near_a_stop_is_two_per_cent_away() -> None:
    stops = stop_guidance(price("100"), [], [], TICK)

    assert (stops.long.price, stops.short.price) == (price("98.00"), price("102.00"))
    assert stops.long.edge is None


def test_inside_a_vacuum_both_stops_stand_beyond_it() -> None:
    stops = stop_guidance(price("100"), [vacuum("99", "101")], [price("98.5"), price("101.5")], TICK)

    assert stops.long == (price("98.80"), "vacuum", price("99"))
    assert stops.short == (price("101.20"), "vacuum", price("101"))


def test_the_nearer_of_two_counts() -> None:
    stops = stop_guidance(price("100"), [vacuum("90", "91")], [price("95"), price("80")], TICK)

    assert stops.long == (price("94.81"), "wall", price("95"))


def test_a_sum_beyond_the_book_is_never_priced() -> None:
    book = BookSnapshot(1, (level("99", "200"),), (level("101", "200"),))

    costs = costs_of(book, is_dollar=True)

    assert [row.notional for row in costs.rows] == [10_000, 100_000, 1_000_000, 10_000_000]
    assert costs.rows[0].buy.slip_mid_bps == pytest.approx(100)
    assert costs.rows[0].sell.slip_mid_bps == pytest.approx(100)
    assert not costs.rows[1].buy.complete
    assert (costs.held_bids, costs.held_asks) == (19_800, 20_200)


def test_another_quote_asset_is_walked_in_powers_of_ten_that_its_book_can_hold() -> None:
    book = BookSnapshot(1, (level("0.03", "9000"),), (level("0.031", "9000"),))

    costs = costs_of(book, is_dollar=False)

    assert [str(row.notional) for row in costs.rows] == ["0.1", "1", "1E+1", "1E+2"]
    assert all(row.buy.complete and row.sell.complete for row in costs.rows)


def test_a_single_book_has_candidates_only() -> None:
    sizes = ["1", "1.1", "0.9", "1.2", "40", "1.3", "0.8", "1", "1.1", "1"]
    bids = tuple(level(str(100 - at), size) for at, size in enumerate(sizes))

    (found,) = walls_of_book(BookSnapshot(1, bids, (level("101", "1"),)))

    assert (found.side, found.wall.candidate.price, found.wall.status) == ("Bid", price("96"), "candidate")
    assert found.wall.why_null == "insufficient_snapshots"


@pytest.mark.parametrize(("snapshots", "shown"), [(1, 2), (60, 1)])
def test_once_it_can_be_told_only_what_lasted_stands(snapshots: int, shown: int) -> None:
    candidate = WallCandidate(price("96"), Quantity(Decimal(40)), 9.0, 0.5)
    walls = tuple(SidedWall("Bid", Wall(candidate, status, None, 0, None)) for status in ("candidate", "confirmed"))
    report = WallReport(walls=walls, snapshots=snapshots, span_ms=snapshots * 1000, progress=None)

    assert len(report.standing) == shown
