"""The renderer as its callers see it: pure, within its limits, honest about what it leaves out, and quick."""

import re
import subprocess
import sys
from colorsys import rgb_to_hsv
from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from itertools import combinations

import pytest

from charts.render.market import DAY_MS, END_MS, HOUR_MS, candle, market
from charts.render.pixels import size_of
from mcp_binance_server.charts.render.canvas import font_files
from mcp_binance_server.charts.render.chart import Scene, compose, rasterise_apart, render, render_apart
from mcp_binance_server.charts.render.crosses import crosses
from mcp_binance_server.charts.render.layout import lay_out, panes_that_fit
from mcp_binance_server.charts.render.legend import drawing_rows
from mcp_binance_server.charts.render.look import THEMES
from mcp_binance_server.charts.render.png import rasterise
from mcp_binance_server.charts.render.request import prepare
from mcp_binance_server.charts.render.scale import moment
from mcp_binance_server.charts.render.spec import (
    Anchor,
    ChartSpec,
    DrawingSpec,
    Looks,
    PriceRange,
    Scalar,
    Scale,
    StudySpec,
    Style,
    Theme,
    bars_to_load,
)
from mcp_binance_server.charts.render.stage import columns_of

CHART = ChartSpec("BTCUSDT", "1h", width=800, height=450, bars=100)


def texts(scene: Scene) -> list[str]:
    return [text.text for text in scene.canvas.texts]


def warned(scene: Scene) -> list[str]:
    return [warning.partition(":")[0] for warning in scene.warnings]


def study(name: str, **inputs: Scalar) -> StudySpec:
    return StudySpec(name, inputs)


def test_equal_input_gives_equal_bytes() -> None:
    spec = replace(CHART, studies=(study("Bollinger Bands"), study("MACD")))

    assert render(market(), spec) == render(market(), spec)


async def test_a_picture_drawn_apart_is_the_same_picture() -> None:
    candles = market(bars=150)

    assert await render_apart(candles, CHART) == render(candles, CHART)


@pytest.mark.parametrize("politeness", ["10", "19"])
def test_the_process_that_rasterises_knows_only_its_input(politeness: str) -> None:
    svg = compose(market(bars=30), CHART).canvas.svg()
    command = [sys.executable, "-m", "mcp_binance_server.charts.render.png", politeness, *font_files()]

    done = subprocess.run(command, input=svg.encode(), capture_output=True, check=True, timeout=60)

    assert done.stdout == rasterise(svg, font_files())
    assert done.stderr == b""


async def test_a_rasteriser_that_fails_says_so() -> None:
    with pytest.raises(RuntimeError, match="no picture"):
        await rasterise_apart("this is no SVG")


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="load at least one bar"):
        compose([], CHART)


def test_only_the_newest_bars_are_shown_and_the_rest_warms_the_studies_up() -> None:
    candles = market(bars=300)
    spec = replace(CHART, studies=(study("Moving Average", length=150),))

    scene = compose(candles, spec)
    alone = compose(candles[-100:], spec)

    assert scene.meta.bars == 100
    assert scene.meta.first_open_ms == candles[-100].open_time_ms
    assert "warm_up_short" not in warned(scene)
    assert warned(alone) == ["no_values", "warm_up_short"]


@pytest.mark.parametrize(
    ("as_of_ms", "closed"), [(None, True), (END_MS + HOUR_MS // 2, False), (END_MS + DAY_MS, True)]
)
def test_a_last_bar_that_is_not_over_is_named(as_of_ms: int | None, *, closed: bool) -> None:
    scene = compose(market(bars=20), replace(CHART, as_of_ms=as_of_ms))

    assert scene.meta.last_bar_closed is closed


def test_the_metadata_says_what_is_drawn() -> None:
    spec = replace(CHART, studies=(study("Bollinger Bands", length=10), study("MACD"), study("Volume")))

    meta = compose(market(), spec).meta

    assert (meta.width, meta.height, meta.bars, meta.panes) == (800, 450, 100, 2)
    assert meta.studies == ("BB 10 2", "Vol", "MACD 12 26 9")


@pytest.mark.parametrize(("width", "height"), [(400, 300), (2048, 1920), (1111, 333)])
def test_every_size_within_the_limits_is_drawn(width: int, height: int) -> None:
    picture = render(market(bars=60), replace(CHART, width=width, height=height))

    assert size_of(picture.png) == (width, height)
    assert picture.warnings == ()


def test_a_size_beyond_the_limits_is_held_and_said() -> None:
    scene = compose(market(bars=60), replace(CHART, width=5000, height=100))

    assert (scene.meta.width, scene.meta.height) == (2048, 300)
    assert warned(scene) == ["size_clamped"]


@pytest.mark.parametrize("style", ["hiLo", "column"])
def test_a_style_we_do_not_have_is_drawn_as_candles_and_said(style: Style) -> None:
    scene, candles = compose(market(bars=60), replace(CHART, style=style)), compose(market(bars=60), CHART)

    assert warned(scene) == ["unknown_style"]
    assert scene.canvas.svg() == candles.canvas.svg()


def test_what_cannot_be_drawn_is_left_out_and_said() -> None:
    spec = replace(
        CHART,
        bars=2000,
        timezone="Mars/Olympus",
        studies=(
            study("Fisher Transform"),
            study("Moving Average", length=0),
            study("Moving Average", size=20, smoothingLine="EMA"),
            StudySpec("Relative Strength Index", override={"Plot.colour": "red"}, force_overlay=True),
        ),
        drawings=(
            DrawingSpec("Callout", (Anchor(END_MS, 1.0),)),
            DrawingSpec("Trend Line", (Anchor(END_MS, 1.0),)),
            DrawingSpec("Long Position", (Anchor(END_MS, 68_000),), target=60_000, stop=50_000),
            DrawingSpec("Horizontal Line", (Anchor(price=1.0),)),
        ),
        looks=Looks(main_pane=False, style={"candleStyle.upColor": "reddish"}),
    )

    assert set(warned(compose(market(), spec))) == {
        "too_many_bars", "unknown_timezone", "study_not_local", "param_out_of_range",
        "study_input_unknown", "study_input_ignored", "override_not_local", "drawing_not_local",
        "drawing_needs_points", "drawing_inconsistent", "drawing_out_of_view", "warm_up_short",
    }  # fmt: skip


def test_studies_that_find_no_room_are_named() -> None:
    names = ("MACD", "Aroon", "Momentum", "Rate Of Change", "Average True Range", "Money Flow Index")

    scene = compose(market(), replace(CHART, height=1000, studies=tuple(study(name) for name in names)))

    assert scene.meta.panes == 6
    assert [warning for warning in scene.warnings if "too_many_panes" in warning] == [
        "too_many_panes: MFI 14 had no room; use a taller picture or fewer studies.",
    ]


@pytest.mark.parametrize(
    ("price", "decimals", "last"),
    [(0.00001234, 8, "0.00001234"), (0.00001, 8, "0.00001000"), (0.38125, 5, "0.38125"), (100_000.0, 2, "100,000.00")],
)
def test_a_price_is_written_with_every_figure_it_has(price: float, decimals: int, last: str) -> None:
    candles = market(bars=80, price=price, decimals=decimals)

    found = texts(compose(candles, CHART))

    assert found.count(last) == 2  # in the legend and on the axis


@pytest.mark.parametrize(
    ("scale", "tag"), [("regular", "68,000.00"), ("logarithmic", "68,000.00"), ("percent", "%"), ("indexedTo100", "9")]
)
def test_the_axis_speaks_the_scale(scale: Scale, tag: str) -> None:
    scene = compose(market(), replace(CHART, scale=scale))
    plated = [text.text for text in scene.canvas.texts if text.plated]

    assert len(plated) == 1
    assert tag in plated[0]


def test_switches_take_away_what_they_name() -> None:
    full = compose(market(), replace(CHART, studies=(study("Bollinger Bands"),)))
    looks = Looks(legend=False, series_last_value=False, study_last_value=False)
    bare = compose(market(), replace(CHART, studies=(study("Bollinger Bands"),), looks=looks))
    values = compose(market(), replace(CHART, looks=Looks(legend_values=False)))
    gridless = compose(market(), replace(CHART, looks=Looks(vertical_grid=False, horizontal_grid=False)))

    assert "BB 20 2" in texts(full)
    assert "BTCUSDT" not in texts(bare)
    assert not any(text.plated for text in bare.canvas.texts)
    assert "BTCUSDT" in texts(values)
    assert "O" not in texts(values)
    assert len(gridless.canvas.strokes) < len(compose(market(), CHART).canvas.strokes)


def test_a_watermark_lies_under_the_price_and_a_main_pane_has_the_height_asked_for() -> None:
    macd = (study("MACD"),)
    marked = compose(market(), replace(CHART, looks=Looks(symbol_watermark=True))).canvas.svg()
    heights = [
        compose(market(), replace(CHART, studies=macd, looks=Looks(main_pane_height=height))).canvas
        for height in (150, 300)
    ]
    low, high = (next(text.box.top for text in canvas.texts if text.text == "MACD 12 26 9") for canvas in heights)

    assert marked.index(">BTCUSDT, 1h<") < marked.index('<path fill="#089981"')
    assert low == pytest.approx(162, abs=2)  # the first row of a legend begins twelve pixels below its pane's top
    assert high == pytest.approx(312, abs=2)


def test_borders_bars_and_bands_follow_their_overrides() -> None:
    borders = Looks(style={"candleStyle.borderUpColor": "#00ff00", "candleStyle.drawBody": False})
    numbers = Looks(style={"candleStyle.drawWick": "no"})
    study_of = StudySpec(
        "MACD", override={"MACD.linewidth": 99, "Histogram.plottype": "line", "Signal.plottype": "cross"}
    )

    bordered = compose(market(bars=60), replace(CHART, looks=borders)).canvas.svg()
    wrong = compose(market(bars=60), replace(CHART, looks=numbers))
    odd = compose(market(), replace(CHART, studies=(study_of,)))

    assert 'stroke="#00ff00"' in bordered
    assert wrong.warnings == ("override_not_local: candleStyle.drawWick had no local effect.",)
    assert odd.warnings == ("override_not_local: MACD.linewidth of MACD 12 26 9 had no local effect.",)


def test_colours_of_the_caller_reach_the_picture() -> None:
    spec = replace(
        CHART,
        studies=(StudySpec("Bollinger Bands", override={"Upper.color": "rgb(1,2,3)", "Lower.visible": False}),),
        looks=Looks(style={"candleStyle.upColor": "#abcdef", "candleStyle.wickDownColor": "rgba(9,8,7,0.5)"}),
    )

    scene = compose(market(), spec)
    svg = scene.canvas.svg()

    assert scene.warnings == ()
    assert '"#010203"' in svg
    assert '"#abcdef"' in svg
    assert '"#090807" stroke-opacity="0.5"' in svg


def test_prices_asked_for_are_the_prices_shown() -> None:
    looks = Looks(price_range=PriceRange(60_000, 80_000))

    labels = texts(compose(market(), replace(CHART, looks=looks)))

    assert {"60,000.00", "80,000.00"} <= set(labels)


def test_an_average_price_of_days_begins_anew_every_month() -> None:
    scene = compose(market(step_ms=DAY_MS), replace(CHART, interval="1D", studies=(study("VWAP"),)))

    months = {moment(time_ms, UTC).month for time_ms in columns_of(market(step_ms=DAY_MS)).last(100).times}
    assert warned(scene) == []
    assert len([line for line in scene.canvas.svg().split("<polyline") if 'stroke-width="1.6"' in line]) == len(months)


def test_an_average_price_of_half_a_day_is_said() -> None:
    whole, half = market(bars=240), market(bars=110)

    assert "warm_up_short" not in warned(compose(whole, replace(CHART, studies=(study("VWAP"),))))
    assert "warm_up_short" in warned(compose(half, replace(CHART, studies=(study("VWAP"),))))


def test_a_price_range_upside_down_and_a_font_of_nothing_do_no_harm() -> None:
    looks = Looks(price_range=PriceRange(80_000, 60_000), font_size=0)

    assert warned(compose(market(), replace(CHART, looks=looks))) == ["param_out_of_range"]


@pytest.mark.parametrize("scale", ["regular", "logarithmic", "percent", "indexedTo100"])
def test_a_market_at_nothing_is_drawn(scale: Scale) -> None:
    nothing = Decimal(0)
    candles = [candle(END_MS, HOUR_MS, (nothing, nothing, nothing, nothing), nothing)] * 3

    assert compose(candles, replace(CHART, scale=scale)).meta.bars == 3


@pytest.mark.parametrize(
    ("studies", "interval", "bars"),
    [
        ((), "1h", 100),
        ((study("Volume"),), "1h", 100),
        ((study("Moving Average", length=200),), "1h", 300),
        ((study("Relative Strength Index"),), "1h", 1000),
        ((study("On Balance Volume"),), "1h", 101),
        ((study("Moving Average Exponential", length=200), study("Volume")), "1h", 1000),
        ((study("Moving Average Exponential", length=900),), "1h", 2000),
        ((study("VWAP"),), "15m", 196),
        ((study("VWAP"),), "1m", 1540),
        ((study("VWAP"),), "1D", 131),
        ((study("VWAP"),), "1W", 105),
        ((study("VWAP"),), "1M", 101),
        ((study("Fisher Transform"),), "1h", 100),
    ],
)
def test_the_loader_is_told_the_bars_to_load(studies: tuple[StudySpec, ...], interval: str, bars: int) -> None:
    assert bars_to_load(replace(CHART, studies=studies, interval=interval)) == bars


@pytest.mark.parametrize(
    ("asked", "shown", "bars"),
    [
        (study("Relative Strength Index"), 749, 1000),
        (study("Relative Strength Index"), 750, 2000),
        (study("Moving Average Exponential", length=200), 337, 1000),
        (study("Moving Average Exponential", length=200), 338, 2000),
        (study("Average True Range", length=200), 300, 1300),
        (study("Average True Range", length=200), 301, 2000),
        (study("Moving Average", length=900), 200, 1100),
    ],
)
def test_more_bars_than_the_window_warms_up_take_a_second_page(asked: StudySpec, shown: int, bars: int) -> None:
    assert bars_to_load(replace(CHART, studies=(asked,), bars=shown)) == bars


def test_hostile_text_is_only_text() -> None:
    spec = replace(
        CHART,
        symbol="<script>\u202e&\x00",
        drawings=(DrawingSpec("Text", (Anchor(END_MS - 50 * HOUR_MS, 66_000),), text='"/><image href="file:///x"/>'),),
    )

    svg = compose(market(), spec).canvas.svg()

    assert "<script" not in svg
    assert "<image" not in svg
    assert "&lt;script&gt;?&amp;?" in svg


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_three_bands_have_three_colour_families_and_an_average_a_fourth(theme: Theme) -> None:
    names = ("Bollinger Bands", "Keltner Channels", "Donchian Channels")
    average = study("Moving Average", length=50)

    scene = compose(market(), replace(CHART, theme=theme, studies=(*map(study, names), average)))
    inks = re.findall(r'<polyline[^>]* stroke="(#\w+)"', scene.canvas.svg())

    hues = [round(360 * rgb_to_hsv(*(int(ink[place : place + 2], 16) / 255 for place in (1, 3, 5)))[0]) for ink in inks]
    outer = [hues[0], hues[3], hues[6], hues[9]]
    assert [hues[2], hues[5], hues[8]] == outer[:3]
    assert min(min(abs(one - other), 360 - abs(one - other)) for one, other in combinations(outer, 2)) >= 15


@pytest.mark.parametrize(("bars", "width", "body"), [(1000, 1200, 1), (500, 1200, 2), (300, 1200, 3), (60, 1200, 13)])
def test_bodies_are_seen_at_every_number_of_bars(bars: int, width: int, body: int) -> None:
    svg = compose(market(bars=bars), replace(CHART, bars=bars, width=width)).canvas.svg()

    up, down = THEMES["dark"].up.hex, THEMES["dark"].down.hex
    bodies = [float(wide) for path in re.findall(rf'<path[^>]* fill="(?:{up}|{down})"[^>]* d="([^"]*)"', svg)
              for wide in re.findall(r"h([\d.]+)v", path)]  # fmt: skip
    wicks = re.findall(rf'<path[^>]* stroke="(?:{up}|{down})"( stroke-opacity="0.45")?[^>]* d="[^"]*L', svg)
    assert len(bodies) == bars
    assert set(bodies) == {body}
    # A body as thin as its wick is the stronger of the two.
    assert all(bool(faded) is (body == 1) for faded in wicks[:2])


def test_bars_that_share_a_column_become_one_and_that_is_said() -> None:
    candles = market(bars=1000)

    scene = compose(candles, replace(CHART, bars=1000, width=400, studies=(study("Volume"),)))

    xs = [float(x) for path in re.findall(r'stroke-opacity="0.45"[^>]* d="([^"]*)"', scene.canvas.svg())
          for x in re.findall(r"M([\d.]+) ", path)]  # fmt: skip
    assert warned(scene) == ["dense_bars"]
    assert len(xs) == len(set(xs)) < 400


def said_of(scene: Scene) -> dict[str, str]:
    return {row.name: row.words for row in scene.meta.legend}


def test_every_value_of_the_legend_has_its_name_in_the_order_of_get_indicators() -> None:
    names = ("MACD", "Bollinger Bands", "Stochastic", "Directional Movement")

    scene = compose(market(), replace(CHART, studies=tuple(study(name) for name in names)))

    told = said_of(scene)
    number = r"\N{MINUS SIGN}?[0-9,.]+"
    for label, parts in {
        "MACD 12 26 9": ("macd", "signal", "histogram"),
        "BB 20 2": ("lower", "middle", "upper"),
        "Stoch 14 1 3": ("k", "d"),
        "DMI 14 14": ("adx", "plus_di", "minus_di"),
    }.items():
        assert re.fullmatch(" ".join(f"{part} {number}" for part in parts), told[label]), told[label]


@pytest.mark.parametrize("panes", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("height", [300, 450, 675, 1152])
def test_the_price_keeps_two_fifths_of_the_height(height: int, panes: int) -> None:
    fit = panes_that_fit(height - 26, panes)
    layout = lay_out(1200, height, axis_width=80, axis_height=26, bars=100, future=0, panes=fit)

    assert layout.panes[0].height >= 0.4 * (height - 26) - 1


def test_texts_grow_with_the_width() -> None:
    small, usual, large = (
        max(text.box.height for text in compose(market(), replace(CHART, width=width, height=600)).canvas.texts)
        for width in (600, 1200, 2048)
    )

    assert small == usual
    assert large == pytest.approx(usual * 2048 / 1200)


def test_levels_of_drawings_are_in_words() -> None:
    first, last = market()[10], market()[-5]
    fib = DrawingSpec(
        "Fib Retracement", (Anchor(first.open_time_ms, 100.0), Anchor(last.open_time_ms, 200.0)), on_top=True
    )
    position = DrawingSpec("Long Position", (Anchor(price=100.0),), target=120.0, stop=90.0)

    told = {row.name: row.values for row in drawing_rows(prepare(market(), replace(CHART, drawings=(fib, position))))}

    assert told["Fib Retracement"].startswith("0 (200.00), 0.236 (176.40), 0.382 (161.80), 0.5 (150.00)")
    assert re.fullmatch(r"Entry 100.00 .*, Target 120.00 \(\+20.00%\), Stop 90.00 \(.10.00%\)", told["Long Position"])


def test_the_last_swing_is_between_the_highest_high_and_the_lowest_low_shown() -> None:
    candles = market()
    shown = candles[-50:]

    request = prepare(candles, replace(CHART, bars=50, drawings=(DrawingSpec("Fib Retracement"),)))

    start, end = request.spec.drawings[0].points
    assert {start.price, end.price} == {max(float(e.high) for e in shown), min(float(e.low) for e in shown)}
    assert (start.time_ms or 0) < (end.time_ms or 0)


def test_golden_and_death_crosses_are_marked_where_the_averages_change_sides() -> None:
    candles = market(bars=1000, volatility=0.03, seed=8)
    spec = replace(CHART, bars=700, studies=(study("Moving Average", length=50), study("Moving Average", length=200)))

    request, scene = prepare(candles, spec), compose(candles, spec)

    short, long = (next(iter(view.lines.values())) for view in request.overlays)
    above = [(a or 0.0) > (b or 0.0) for a, b in zip(short, long, strict=True)]
    found = crosses(request)
    assert found
    assert [(each.bar, each.kind == "golden cross") for each in found] == [
        (bar, above[bar]) for bar in range(1, len(above)) if above[bar] is not above[bar - 1]
    ]
    assert sum(text in ("golden cross", "death cross") for text in texts(scene)) >= 1
    assert len([row for row in scene.meta.legend if row.name.endswith(" cross")]) == len(found)
