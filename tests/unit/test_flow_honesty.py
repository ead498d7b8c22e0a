"""What a page of order flow may say: 200 generated windows, from balanced to one-sided, from rich to poor."""

import re
from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from mcp_binance_server.analytics.envelope import Progress, Unknown, Window
from mcp_binance_server.analytics.flow.direction import flow_direction
from mcp_binance_server.analytics.flow.report import FlowReport, sample_of_trades
from mcp_binance_server.analytics.flow.volume import large_trades
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.tools.flow import flow_metrics
from mcp_binance_server.surface.views.flow import order_flow_line, order_flow_page

RULES = SymbolRules(
    Symbol("BTCUSDT"), "BTC", "USDT", "TRADING", Price(Decimal("0.01")), Quantity(Decimal("0.00001")),
    Quantity(Decimal(5)),
)  # fmt: skip
NOW_MS = 1_784_592_123_000
DIRECTION = re.compile(
    r"LONG|SHORT|BIAS|STRONG_|MODERATE_|bullish|bearish|buying pressure|selling pressure|buyers lead", re.IGNORECASE
)


def report(seed: int) -> FlowReport:
    """Return a window with between none and 400 trades, in which buyers have between a quarter and all of them."""
    random = Random(seed)
    count, chance = random.choice((0, 5, 29, 60, 150, 400)), random.choice((0.25, 0.5, 0.5, 0.5, 0.55, 0.75, 1.0))
    times = sorted(NOW_MS - 60_000 + random.randrange(60_000) for _ in range(count))
    trades = [
        Trade(
            at,
            Price(Decimal(random.randrange(5_000_000, 5_010_000)) / 100),
            Quantity(Decimal(random.randrange(1, 200_000)) / 100_000),
            time_ms,
            random.random() >= chance,
            at,
            at,
        )
        for at, time_ms in enumerate(times)
    ]
    window = Window(NOW_MS - 60_000, NOW_MS)
    sample = sample_of_trades(trades, window)
    waiting = Unknown("collecting", Progress(have_ms=0, need_ms=10_000, ready_ms=NOW_MS + 10_000))
    return FlowReport(
        rules=RULES,
        requested_ms=60_000,
        sample=sample,
        direction=flow_direction(sample.seconds, window),
        large=large_trades(trades),
        ofi=waiting,
        vpin=Unknown("insufficient_buckets"),
        rates=Unknown("upstream_unavailable"),
        now_ms=NOW_MS,
    )


REPORTS = tuple(range(200))


@pytest.mark.slow
def test_no_direction_is_named_where_the_interval_allows_for_an_even_market() -> None:
    even = leaning = 0
    for seed in REPORTS:
        made = report(seed)
        share = made.direction.share
        said = DIRECTION.search(order_flow_page(made) + order_flow_line(made))
        if share is None or share.low <= 0.5 <= share.high:
            even += 1
            assert said is None, f"window {seed}: {said}"
            assert made.direction.signal == "NO EDGE"
        else:
            leaning += 1
            assert f"## Signal: {'LONG' if share.low > 0.5 else 'SHORT'} BIAS" in order_flow_page(made)
    assert even > 80
    assert leaning > 20


@pytest.mark.slow
def test_a_measure_without_a_value_shows_no_number() -> None:
    for seed in REPORTS:
        made = report(seed)
        text = order_flow_page(made)
        for name, metric in flow_metrics(made).items():
            assert (metric.value is None) is (metric.why_null is not None), name
        if made.sample.flow.vwap is None:
            assert "**VWAP**: unknown" in text
            assert "**Imbalance Ratio**: unknown (nothing was traded)" in text
        assert "**OFI (10 s)**: _Collecting: 0 of 10 s (0%)" in text
        if made.sample.trades < 200:
            assert re.search(r"- Large trades: unknown \(too few events: [0-9]+ of 200 aggregate trades\)", text)
        if made.direction.share is None and made.sample.trades:
            assert "(no interval: " in text
            assert "95% interval" not in text


def test_equal_windows_give_equal_pages() -> None:
    assert order_flow_page(report(3)) == order_flow_page(report(3))


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        (Unknown("insufficient_history"), "- Large trades: _Unavailable: too little history_"),
        (Unknown("upstream_unavailable"), "- Large trades: _Unavailable: the exchange did not answer_"),
    ],
)
def test_large_trades_that_cannot_be_known_say_why(unknown: Unknown, words: str) -> None:
    assert words in order_flow_page(replace(report(3), large=unknown))
