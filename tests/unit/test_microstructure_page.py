"""Corners of the microstructure page that a healthy market never shows."""

from decimal import Decimal

import pytest

from mcp_binance_server.analytics.book.metrics import capacity, imbalance_of_band, top_of_book
from mcp_binance_server.analytics.envelope import Basis, Window
from mcp_binance_server.analytics.market.microstructure import (
    AnomalyReport,
    HealthReport,
    MarketPart,
    Recoveries,
    TouchReport,
    health,
)
from mcp_binance_server.analytics.thresholds import Component
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.health import health_rows, health_title
from mcp_binance_server.surface.views.microstructure import recommendation

RULES = SymbolRules(
    Symbol("BTCUSDT"),
    "BTC",
    "USDT",
    "TRADING",
    Price(Decimal("0.01")),
    Quantity(Decimal("0.00001")),
    Quantity(Decimal(5)),
)
BASIS = Basis(window=Window(0, 3_600_000), n={}, coverage=1.0, source=("book",), as_of_ms=0, age_ms=0)
SOUND: dict[Component, float | None] = {
    "spread": 0.9, "depth": 0.8, "balance": 0.7, "resilience": 0.6, "freshness": 1.0
}  # fmt: skip


def level(price: str, quantity: str) -> PriceLevel:
    return PriceLevel(Price(Decimal(price)), Quantity(Decimal(quantity)))


def part(
    components: dict[Component, float | None],
    bids: list[PriceLevel] | None = None,
    asks: list[PriceLevel] | None = None,
) -> MarketPart:
    bids = [level("99.995", "30"), level("99.9", "500")] if bids is None else bids
    asks = [level("100.005", "25.678"), level("100.1", "500")] if asks is None else asks
    top = top_of_book(bids, asks)
    book = TouchReport(
        top=top,
        band=imbalance_of_band(bids, asks, 10),
        buy=None if top.mid is None else capacity(asks, top.mid, "buy", 2),
        sell=None if top.mid is None else capacity(bids, top.mid, "sell", 2),
        is_live=True,
        age_ms=0,
        levels=(len(bids), len(asks)),
    )
    scored = HealthReport(
        rules=RULES,
        basis=BASIS,
        health=health(components, top.state),
        unknown={},
        recoveries=Recoveries(9, 15),
        baseline_ms=3_599_500,
    )
    return MarketPart(
        book=book, anomalies=AnomalyReport(rules=RULES, basis=BASIS, verdicts=()), health=scored, day_volatility=None
    )


def test_a_usual_market_is_called_so_and_its_capacity_never_rounded_up() -> None:
    assert recommendation(RULES, part(SOUND)) == (
        "Conditions are usual for this symbol over the last hour; market orders up to $2,500 cost under 2 bps now."
    )


@pytest.mark.parametrize(
    ("depth", "words"),
    [
        (0.4, "Conditions are usual for this symbol over the last hour, but depth is weak (0.40);"),
        (0.1, "Conditions are weaker than usual for this symbol over the last hour, weakest in depth (0.10):"),
        (0.001, "Conditions are poor for this symbol over the last hour, weakest in depth (0.00):"),
    ],
)
def test_the_weakest_part_is_named(depth: float, words: str) -> None:
    assert recommendation(RULES, part({**SOUND, "depth": depth})).startswith(words)


def test_a_capacity_that_is_nothing_or_only_a_lower_bound_says_so() -> None:
    far = recommendation(RULES, part(SOUND, bids=[level("99", "1")], asks=[level("101", "1")]))
    short = recommendation(RULES, part(SOUND, bids=[level("99.995", "30")], asks=[level("100.005", "30")]))

    assert far.endswith("no market order costs under 2 bps now.")
    assert short.endswith("cost under 2 bps now (at least: the known book ends there).")


def test_an_empty_and_a_one_sided_book_are_told_apart() -> None:
    assert recommendation(RULES, part(SOUND, [], [])).startswith("No judgement, the book is empty:")
    assert recommendation(RULES, part(SOUND, [])).startswith("No judgement, one side of the book is empty:")


def test_a_whole_score_shows_every_part_and_what_resilience_was_counted_from() -> None:
    report = part(SOUND).health

    assert health_title(report) == "78.6 (Good)"
    assert "| 0.90 | 0.80 | 0.70 | 0.60 (9 of 15) | 1.00 |" in health_rows(report)
