"""Drawings: at the price and time they name, with what they say, and never in the legend's place."""

from dataclasses import replace

import pytest

from charts.render.market import END_MS, HOUR_MS, market
from mcp_binance_server.charts.render.canvas import Point
from mcp_binance_server.charts.render.chart import Scene, compose
from mcp_binance_server.charts.render.drawings.plans import KINDS, refusal
from mcp_binance_server.charts.render.spec import Anchor, ChartSpec, DrawingSpec, Scale

CHART = ChartSpec("BTCUSDT", "1h", width=800, height=450, bars=100)
INK = {"lineColor": "#123456"}


def drawn(*drawings: DrawingSpec, scale: Scale = "regular") -> Scene:
    return compose(market(), replace(CHART, drawings=drawings, scale=scale))


def at(bars: float, price: float) -> Anchor:
    return Anchor(END_MS - int(bars * HOUR_MS), price)


def texts(scene: Scene) -> list[str]:
    return [text.text for text in scene.canvas.texts]


def row_of(scene: Scene, label: str) -> float:
    box = next(text.box for text in scene.canvas.texts if text.text == label)
    return (box.top + box.bottom) / 2


def added(scene: Scene) -> list[list[Point]]:
    """Return the lines that a drawing added: those after the dotted line of the last price."""
    strokes = [[*stroke.points] for stroke in scene.canvas.strokes if stroke.clip]
    return strokes[-1:]


@pytest.mark.parametrize("scale", ["regular", "logarithmic", "percent", "indexedTo100"])
def test_a_level_is_a_line_at_its_price_with_a_tag_beside_it(scale: Scale) -> None:
    scene = drawn(DrawingSpec("Horizontal Line", (Anchor(price=70_000),), text="Resistance"), scale=scale)

    ((start, end),) = added(scene)
    tags = [text.box for text in scene.canvas.texts if text.plated and text.box.left > end[0]]

    assert start[1] == end[1]
    assert min(abs((tag.top + tag.bottom) / 2 - start[1]) for tag in tags) < 1.5
    assert "Resistance" in texts(scene)
    assert scene.warnings == ()


def test_a_level_stands_between_the_prices_around_it() -> None:
    scene = drawn(DrawingSpec("Horizontal Line", (Anchor(price=71_000),)))

    ((start, _),) = added(scene)

    assert row_of(scene, "72,000.00") < start[1] < row_of(scene, "70,000.00")


def test_a_level_a_little_outside_widens_the_scale_and_one_far_away_does_not() -> None:
    near = drawn(DrawingSpec("Horizontal Line", (Anchor(price=75_000),)))
    far = drawn(DrawingSpec("Horizontal Line", (Anchor(price=175_000),)))

    assert near.warnings == ()
    assert [warning.partition(":")[0] for warning in far.warnings] == ["drawing_out_of_view"]


def test_a_trend_line_joins_its_points_and_goes_on_when_asked() -> None:
    points = (at(80, 70_000), at(20, 66_000))
    plain = added(drawn(DrawingSpec("Trend Line", points)))[0]
    extended = added(drawn(DrawingSpec("Trend Line", points, override={"extendRight": True})))[0]

    assert plain[0] == extended[0]
    assert plain[0][0] < plain[1][0] < extended[1][0]
    assert plain[0][1] < plain[1][1]
    slope = (plain[1][1] - plain[0][1]) / (plain[1][0] - plain[0][0])
    assert (extended[1][1] - extended[0][1]) / (extended[1][0] - extended[0][0]) == pytest.approx(slope)


def test_a_moment_is_written_below_its_line() -> None:
    scene = drawn(DrawingSpec("Vertical Line", (Anchor(END_MS - 50 * HOUR_MS),)))

    (((x0, top), (x1, bottom)),) = added(scene)
    label = next(text for text in scene.canvas.texts if text.text == "2026-11-12 20:00")

    assert x0 == x1
    assert top < bottom
    assert (label.box.left + label.box.right) / 2 == pytest.approx(x0, abs=1)


def test_a_position_says_what_is_won_lost_and_their_ratio() -> None:
    scene = drawn(DrawingSpec("Long Position", (at(30, 66_000),), target=69_300, stop=64_900))
    short = drawn(DrawingSpec("Short Position", (at(30, 66_000), at(10, 66_000)), target=64_020, stop=67_320))

    minus = "\N{MINUS SIGN}"
    assert {
        "Target 69,300.00 (+5.00%)", f"Stop 64,900.00 ({minus}1.67%)", "Entry 66,000.00 · R/R 3.00",
    } <= set(texts(scene))  # fmt: skip
    assert {f"Target 64,020.00 ({minus}3.00%)", "Stop 67,320.00 (+2.00%)"} <= set(texts(short))
    assert {"69,300.00", "64,900.00", "66,000.00"} <= set(texts(scene))


def test_a_retracement_counts_from_the_end_of_the_move() -> None:
    scene = drawn(DrawingSpec("Fib Retracement", (at(90, 72_000), at(30, 64_000))))
    turned = drawn(DrawingSpec("Fib Retracement", (at(90, 72_000), at(30, 64_000)), override={"reverseLevel": True}))

    assert {"0 (64,000.00)", "0.382 (67,056.00)", "0.618 (68,944.00)", "1 (72,000.00)"} <= set(texts(scene))
    assert "0.382 (68,944.00)" in texts(turned)


def test_a_retracement_reaches_as_far_as_asked() -> None:
    points = (at(90, 72_000), at(30, 64_000))

    plain = drawn(DrawingSpec("Fib Retracement", points))
    wide = drawn(DrawingSpec("Fib Retracement", points, override={"extendLine": True, "extendLeft": True}))

    def reach(scene: Scene) -> float:
        (start, end) = added(scene)[0]
        return end[0] - start[0]

    assert reach(plain) < reach(wide)


def test_a_zone_behind_is_painted_before_the_candles_and_one_on_top_after_them() -> None:
    zone = DrawingSpec("Rectangle", (at(60, 66_000), at(20, 64_000)), text="Zone", override=INK)

    above, behind = (drawn(replace(zone, on_top=on_top)).canvas.svg() for on_top in (True, False))

    bodies = '<path fill="#089981" d='
    assert above.index("#123456") > above.index(bodies)
    assert behind.index("#123456") < behind.index(bodies)


@pytest.mark.parametrize(("name", "away"), [("Arrow Mark Up", 1), ("Arrow Mark Down", -1)])
def test_an_arrow_has_its_word_on_the_far_side_of_the_price(name: str, away: int) -> None:
    price = 64_200 if away > 0 else 71_900
    scene = drawn(DrawingSpec(name, (at(60, price),), text="Here"))
    level = drawn(DrawingSpec(name, (at(60, price),)), DrawingSpec("Horizontal Line", (Anchor(price=price),)))

    ((start, _),) = added(level)

    assert (row_of(scene, "Here") - start[1]) * away > 16


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_drawn_with_its_words_or_refused_without_points(name: str) -> None:
    whole = DrawingSpec(name, (at(60, 66_000), at(20, 68_000)), "Words", *(
        (69_000, 65_000) if name != "Short Position" else (65_000, 69_000)
    ))  # fmt: skip

    assert refusal(whole) is None
    assert len(drawn(whole).canvas.svg()) > len(drawn().canvas.svg())
    assert refusal(replace(whole, points=())) is not None


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -5.0, 0.0])
def test_a_price_that_cannot_be_is_refused(price: float) -> None:
    problem = refusal(DrawingSpec("Horizontal Line", (Anchor(price=price),)))

    assert problem is not None
    assert problem.startswith("drawing_needs_points")


def test_overrides_that_change_nothing_are_named() -> None:
    scene = drawn(DrawingSpec("Horizontal Line", (Anchor(price=68_500),), override={**INK, "fontBold": True}))

    assert scene.warnings == ("override_not_local: fontBold of the Horizontal Line had no local effect.",)
