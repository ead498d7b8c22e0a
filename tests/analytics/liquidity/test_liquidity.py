"""Costs of a liquidity map, worked out by hand."""

from decimal import Decimal

import pytest

from mcp_binance_server.analytics.liquidity.report import costs_of
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
