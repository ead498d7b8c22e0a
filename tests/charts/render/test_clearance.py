"""Any chart that can be asked for: it is drawn, no number is missing, no text covers a text or lies on a line."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from charts.render.clearance import crossed_texts, overlapping_texts, strokes_cut_off, texts_outside
from charts.render.market import DAY_MS, END_MS, HOUR_MS, candle, market
from mcp_binance_server.charts.render.chart import Scene, compose
from mcp_binance_server.charts.render.drawings.plans import KINDS
from mcp_binance_server.charts.render.layout import Box
from mcp_binance_server.charts.render.look import Colour
from mcp_binance_server.charts.render.spec import Anchor, ChartSpec, DrawingSpec, Looks, Scale, StudySpec, Style, Theme
from mcp_binance_server.charts.studies.table import STUDIES
from mcp_binance_server.domain.periods import Candle

pytestmark = pytest.mark.flood

STYLES: list[Style] = ["candle", "hollowCandle", "heikinAshi", "bar", "line", "area", "baseline"]
THEMES: list[Theme] = ["light", "dark"]
SCALES: list[Scale] = ["regular", "logarithmic", "percent", "indexedTo100"]
SIZES = st.tuples(st.sampled_from([400, 800, 1200, 2048]), st.sampled_from([300, 450, 675, 1920]))


@st.composite
def tapes(draw: st.DrawFn) -> list[Candle]:
    """Draw candles with any gaps: flat, wild from one tick to a hundred thousand, one bar or many."""
    tick = Decimal(1).scaleb(-draw(st.integers(0, 8)))
    span = draw(st.sampled_from([60_000, HOUR_MS, DAY_MS]))
    widest = draw(st.sampled_from([1, 3, 1000, 10**9]))
    lowest = draw(st.sampled_from([1, 10**5, 10**9]))
    shapes = draw(st.lists(st.tuples(*[st.integers(0, widest)] * 4), min_size=1, max_size=60))
    candles: list[Candle] = []
    opened_ms = END_MS - 2000 * span
    for shape in shapes:
        low, one, other, high = ((lowest + each) * tick for each in sorted(shape))
        opened, close = (one, other) if shape[0] % 2 else (other, one)
        candles.append(candle(opened_ms, span, (opened, high, low, close), Decimal(shape[1])))
        opened_ms += span * (1 if shape[2] % 5 else 7)
    return candles


@st.composite
def specs(draw: st.DrawFn, *, drawings: bool) -> ChartSpec:
    """Draw a chart of any style, theme, scale and size, with up to five studies and four drawings."""
    width, height = draw(SIZES)
    names = draw(st.lists(st.sampled_from(sorted(STUDIES)), max_size=5))
    return ChartSpec(
        symbol=draw(st.sampled_from(["BTCUSDT", "1000SATSUSDT", "LONGESTNAMEEVERLISTEDUSDT"])),
        interval="1h",
        style=draw(st.sampled_from(STYLES)),
        theme=draw(st.sampled_from(THEMES)),
        scale=draw(st.sampled_from(SCALES)),
        width=width,
        height=height,
        bars=draw(st.sampled_from([1, 2, 30, 200, 1000])),
        studies=tuple(StudySpec(name) for name in names),
        drawings=tuple(draw(st.lists(sketches(), max_size=4))) if drawings else (),
        looks=Looks(font_size=draw(st.sampled_from([10, 12, 24, 50])), invert_scale=draw(st.booleans())),
    )


@st.composite
def sketches(draw: st.DrawFn) -> DrawingSpec:
    """Draw a drawing near a market of 68,000."""
    prices = st.floats(60_000, 76_000)
    times = st.integers(END_MS - 150 * HOUR_MS, END_MS + 20 * HOUR_MS)
    points = tuple(Anchor(draw(times), draw(prices)) for _ in range(2))
    return DrawingSpec(
        name=draw(st.sampled_from(sorted(KINDS))),
        points=points,
        text=draw(st.sampled_from(["", "Support", "漢字 and a long text that says much about nothing"])),
        target=draw(prices),
        stop=draw(prices),
        on_top=draw(st.booleans()),
    )


def assert_readable(scene: Scene) -> None:
    svg = scene.canvas.svg()

    assert "nan" not in svg
    assert "inf" not in svg
    assert overlapping_texts(scene.canvas) == []
    assert crossed_texts(scene.canvas) == []
    assert texts_outside(scene.canvas) == []


@pytest.mark.night
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(tapes(), specs(drawings=False))
def test_any_market_is_drawn_readably(candles: list[Candle], spec: ChartSpec) -> None:
    scene = compose(candles, spec)

    assert_readable(scene)
    # A logarithmic scale has no place for a band that falls to zero or below.
    assert spec.scale == "logarithmic" or strokes_cut_off(scene.canvas) == []


@pytest.mark.night
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(specs(drawings=True))
def test_any_drawing_is_placed_readably(spec: ChartSpec) -> None:
    assert_readable(compose(market(bars=260), spec))


@pytest.mark.parametrize("bars", [1, 2])
@pytest.mark.parametrize("style", STYLES)
def test_a_market_of_one_or_two_bars_is_drawn(style: Style, bars: int) -> None:
    studies = tuple(StudySpec(name) for name in STUDIES)

    scene = compose(market(bars=bars), ChartSpec("NEWUSDT", "1h", style=style, studies=studies))

    assert_readable(scene)
    assert scene.meta.bars == bars


def test_the_checks_see_what_they_are_for() -> None:
    scene = compose(market(bars=60), ChartSpec("BTCUSDT", "1h"))
    canvas, title, white = scene.canvas, scene.canvas.texts[0], Colour("#ffffff")

    canvas.text(title.box.left + 3, title.box.bottom - 3, "over", 12, white)
    canvas.lines([(0, title.box.top + 4, 300, title.box.top + 4)], white)
    canvas.text(-30, 100, "outside", 12, white)
    canvas.clip(Box(0, 50, 300, 100))
    canvas.lines([(10, 60, 10, 140)], white)
    canvas.unclip()

    assert (title.text, "over") in overlapping_texts(canvas)
    assert title.text in crossed_texts(canvas)
    assert "outside" in texts_outside(canvas)
    assert len(strokes_cut_off(canvas)) == 1
