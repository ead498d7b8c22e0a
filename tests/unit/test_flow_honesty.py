"""What a page of order flow may say: 200 generated windows, from balanced to one-sided, from rich to poor."""

import re
from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from mcp_binance_server.analytics.book.impact import KyleLambda
from mcp_binance_server.analytics.flow.book_events import QUEUES, OrderFlowImbalance, QueueFlow
from mcp_binance_server.analytics.flow.direction import flow_direction
from mcp_binance_server.analytics.flow.report import FlowReport, References, reference_levels, sample_of_trades
from mcp_binance_server.analytics.flow.volume import large_trades
from mcp_binance_server.analytics.flow.window_scores import FlowScores
from mcp_binance_server.analytics.metric import Progress, Unknown, Window
from mcp_binance_server.analytics.score_history import ScoreHistory
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.tools.flow import flow_metrics
from mcp_binance_server.surface.views.flow import order_flow_line, order_flow_page

RULES = SymbolRules(
    Symbol("BTCUSDT"), "BTC", "USDT", "TRADING", Price(Decimal("0.01")), Quantity(Decimal("0.00001")),
    Quantity(Decimal(5)),
)  # fmt: skip
NOW_MS = 1_784_592_123_000
DIRECTION = re.compile(
    r"LONG|SHORT|BIAS|BUYERS|SELLERS|ONE-SIDED \(|bullish|bearish|buying pressure|selling pressure", re.IGNORECASE
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
    past = FlowScores(60_000, NOW_MS - 60_000, tuple(random.random() ** 3 for _ in range(random.choice((39, 66, 66)))))
    return FlowReport(
        rules=RULES,
        requested_ms=60_000,
        sample=sample,
        direction=flow_direction(sample.seconds, window, past),
        large=large_trades(trades),
        ofi=waiting,
        queues=None,
        paid=Unknown("upstream_unavailable"),
        impact=Unknown("upstream_unavailable"),
        rates=Unknown("upstream_unavailable"),
        now_ms=NOW_MS,
    )


REPORTS = tuple(range(200))


@pytest.mark.night
@pytest.mark.slow
def test_no_side_is_named_unless_the_window_is_rare_and_lopsided() -> None:
    silent = named = 0
    for seed in REPORTS:
        made = report(seed)
        judgement, flow = made.direction.judgement, made.sample.flow
        said = DIRECTION.search(order_flow_page(made) + order_flow_line(made))
        rare = judgement is not None and judgement.p is not None and judgement.p <= 0.05
        if not rare or flow.imbalance is None or abs(flow.imbalance) < 0.10:
            silent += 1
            assert said is None, f"window {seed}: {said}"
            word = "NOT JUDGED" if judgement is None or judgement.not_judged else "USUAL"
            assert f"## Taker Flow: {word}" in order_flow_page(made)
        else:
            named += 1
            assert f"## Taker Flow: ONE-SIDED ({'bought' if flow.imbalance > 0 else 'sold'})" in order_flow_page(made)
    assert silent > 80
    assert named > 10


@pytest.mark.night
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
        assert "**OFI (10 s)**" not in text
        (waiting,) = re.findall(r"^_Not known yet: (OFI: 0 of 10 s; takers paid: .*)_$", text, re.MULTILINE)
        few = re.search(r"; large trades: [0-9]+ of 200 aggregate trades$", waiting)
        assert (few is not None) is (made.sample.trades < 200) is ("**Large trades**" not in text)
        if made.direction.why_null is not None and made.sample.trades:
            assert re.search(r"; (not judged: |too few )", text)
        assert ("by resampling its seconds" in text) is (made.direction.share is not None)


def test_what_is_not_judged_says_what_is_missing() -> None:
    few, short = report_with(29), report_with(60, windows=39)

    assert "; too few trades yet (29 of 30)\n" in order_flow_page(few)
    assert "; not judged: 39 of 40 windows\n" in order_flow_page(short)
    assert "; too few seconds with trades (7 of 8)\n" in order_flow_page(report_with(60, seconds=7))
    waiting = flow_metrics(short)["direction"].not_judged
    assert waiting is not None
    assert (waiting.have, waiting.need, waiting.unit) == (39, 40, "windows")


def test_a_lean_below_the_floor_says_so() -> None:
    text = order_flow_page(report_with(60, bought=31))

    assert "- 51.7% of taker volume bought: more one-sided than 66 of the last 66 windows of 60 s; " in text
    assert "; from 45% to 55% no side is named\n" in text


def report_with(count: int, *, windows: int = 66, seconds: int = 60, bought: int = 60) -> FlowReport:
    """Return a minute of so many equal trades in so many seconds, of which the first ones were bought."""
    one = Price(Decimal(50_000)), Quantity(Decimal("0.1"))
    times = [NOW_MS - 60_000 + at % seconds * 1000 for at in range(count)]
    trades = [Trade(at, *one, time_ms, at >= bought, at, at) for at, time_ms in enumerate(times)]
    window = Window(NOW_MS - 60_000, NOW_MS)
    sample = sample_of_trades(trades, window)
    past = FlowScores(60_000, NOW_MS - 60_000, (0.01,) * windows)
    return replace(report(3), sample=sample, direction=flow_direction(sample.seconds, window, past))


def test_the_impact_of_a_million_is_told_where_it_stands_out_and_the_quote_is_a_dollar() -> None:
    line = KyleLambda(2.0, 0.4, 5.0, 0.3, 300, distinguishable=True)
    made = replace(report(3), impact=line, mid=50_000.0)

    said = "**Impact**: $1M one-sided moves the mid about 8 bps (t 5 over 300 s; a linear fit of small trades)"
    assert said in order_flow_page(made)
    assert "**Impact**" not in order_flow_page(replace(made, impact=replace(line, t=2.9)))
    assert "**Impact**" not in order_flow_page(replace(made, rules=replace(RULES, quote="BTC")))
    assert flow_metrics(made)["kyle_lambda"].value == {"per_million_quote": 8.0, "t": 5.0, "r2": 0.3, "n": 300}


def test_an_imbalance_of_quotes_is_told_in_queues_with_its_rank_and_what_a_queue_moved() -> None:
    past = ScoreHistory([0.5] * 350 + [9.0] * 9)
    flow = QueueFlow(3.14, past.judge(QUEUES, 3.14), KyleLambda(0.012, 0.002, 6.0, 0.21, 360, distinguishable=True))
    made = replace(report(3), ofi=OrderFlowImbalance(2.0, (1.0,) * 40), queues=flow)

    words = (
        "**OFI (10 s)**: +3.1 queues, larger than 350 of the last 359 windows, 1.2 ticks a queue (R² 0.21) (40 events)"
    )
    assert words in order_flow_page(made)
    metrics = flow_metrics(made)
    assert (metrics["ofi"].value, metrics["ofi"].unit, metrics["ofi"].p) == (3.14, "queues", 10 / 360)
    assert metrics["queue_impact"].value == {"per_queue": 1.2, "t": 6.0, "r2": 0.21, "n": 360}
    unfitted = replace(made, queues=replace(flow, impact=None))
    assert "ticks a queue" not in order_flow_page(unfitted)
    assert flow_metrics(unfitted)["queue_impact"].why_null == "not_fitted"


def test_levels_that_the_price_has_passed_since_the_last_bar_are_no_reference() -> None:
    def bar(minute: int, low: str, high: str) -> Candle:
        at, close = minute * 60_000, Price(Decimal(100))
        none = Quantity(Decimal(0))
        return Candle(at, at + 59_999, close, Price(Decimal(high)), Price(Decimal(low)), close, none, none, 0, none)

    edges = [("98", "102")] * 3 + [("97", "103")] + [("98", "102")] * 3
    minutes = [bar(at, *each) for at, each in enumerate(edges)]
    val, vah = Price(Decimal("98.5")), Price(Decimal("101.5"))

    by_bar = reference_levels(minutes, val, vah)
    fallen = reference_levels(minutes, val, vah, price=Price(Decimal("97.5")))

    assert by_bar == References(Price(Decimal(97)), Price(Decimal(103)), val, vah)
    assert fallen == References(Price(Decimal(97)), Price(Decimal(103)), None, vah)
    text = order_flow_page(replace(report(3), references=fallen))
    assert "**Reference levels**: below swing $97.00 (1m) · above swing $103.00 (1m), VAH $101.50 (24h)\n" in text


def test_equal_windows_give_equal_pages() -> None:
    assert order_flow_page(report(3)) == order_flow_page(report(3))


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        (Unknown("insufficient_history"), "; large trades: too little history_"),
        (Unknown("upstream_unavailable"), "; large trades: the exchange did not answer_"),
    ],
)
def test_large_trades_that_cannot_be_known_say_why(unknown: Unknown, words: str) -> None:
    assert words in order_flow_page(replace(report(3), large=unknown))
