"""Costs and walls of a liquidity map, worked out by hand."""

from decimal import Decimal

import pytest

from mcp_binance_server.analytics.book.report import Wall, WallCandidate
from mcp_binance_server.analytics.liquidity.report import (
    SidedWall,
    WallReport,
    costs_of,
    walls_of_book,
)
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity


def price(text: str) -> Price:
    return Price(Decimal(text))


def level(at: str, quantity: str) -> PriceLevel:
    return PriceLevel(price(at), Quantity(Decimal(quantity)))


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
    assert report.confirmed == (price("96"),)
