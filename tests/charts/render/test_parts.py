"""The parts of the picture one by one: ticks, numbers, times, labels that make room, metrics, colours."""

from datetime import UTC
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charts.render.market import DAY_MS, END_MS, HOUR_MS, market
from mcp_binance_server.charts.render.canvas import printable, width_of
from mcp_binance_server.charts.render.layout import Box, stacked
from mcp_binance_server.charts.render.look import Colour, ink_on, read_colour
from mcp_binance_server.charts.render.scale import (
    Axis,
    AxisUnit,
    compact,
    fixed,
    linear_ticks,
    logarithmic_ticks,
    percent,
    signed,
    time_labels,
    zone_label,
    zone_of,
)
from mcp_binance_server.charts.render.spec import Scale
from mcp_binance_server.charts.render.stage import columns_of, heikin_ashi, place_of


@given(st.floats(1e-8, 1e8), st.floats(1e-5, 1e5), st.integers(2, 12))
def test_ticks_are_round_inside_and_few(low: float, part: float, count: int) -> None:
    high = low * (1 + part)

    ticks, step = linear_ticks(low, high, count)

    assert all(low - step * 1e-6 <= tick <= high + step * 1e-6 for tick in ticks)
    assert len(ticks) <= count + 1
    assert float(f"{step:.1e}") == pytest.approx(step)


def test_no_tick_lies_between_two_prices() -> None:
    ticks, step = linear_ticks(0.0010, 0.0013, 8, 0.0001)

    assert step == 0.0001
    assert [round(tick, 8) for tick in ticks] == [0.0010, 0.0011, 0.0012, 0.0013]


@given(st.floats(1e-8, 1e6), st.floats(1.01, 1e9), st.integers(3, 12))
def test_logarithmic_ticks_lie_inside_and_are_few(low: float, ratio: float, count: int) -> None:
    ticks = logarithmic_ticks(low, low * ratio, count)

    assert all(low * 0.999999 <= tick <= low * ratio * 1.000001 for tick in ticks)
    assert len(ticks) <= count + 1


@given(low=st.floats(0.001, 1e5), ratio=st.floats(1.001, 1000), part=st.floats(0, 1))
@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("inverted", [True, False])
def test_a_pixel_leads_back_to_its_value(
    low: float, ratio: float, part: float, *, logarithmic: bool, inverted: bool
) -> None:
    axis = Axis(low, low * ratio, 10, 400, logarithmic=logarithmic, inverted=inverted)
    value = low + part * (low * ratio - low)

    assert axis.value(axis.y(value)) == pytest.approx(value, rel=1e-9)
    assert 9.99 <= axis.y(value) <= 400.01


@pytest.mark.parametrize(("scale", "shown"), [("regular", 110.0), ("percent", 10.0), ("indexedTo100", 110.0)])
def test_a_scale_compares_with_the_first_close(scale: Scale, shown: float) -> None:
    quote = AxisUnit(scale, 100.0)

    assert quote.shown(110.0) == pytest.approx(shown)
    assert quote.price(quote.shown(110.0)) == pytest.approx(110.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.004, "0.00400"), (2.35, "2.35"), (242_000, "242K"), (1_234_567, "1.23M"), (999_950, "1.00M"),
        (45_600_000_000, "45.6B"), (-7_500, "\N{MINUS SIGN}7.50K"), (3.2e12, "3.20T"),
    ],
)  # fmt: skip
def test_a_volume_is_written_in_three_figures(value: float, text: str) -> None:
    assert compact(value) == text


def test_signs_are_written_where_they_mean_something() -> None:
    assert fixed(-1234.5, 2) == "\N{MINUS SIGN}1,234.50"
    assert fixed(-0.001, 2) == "0.00"
    assert signed(12.0, 1) == "+12.0"
    assert signed(0.0, 2) == "0.00"
    assert percent(-3.456) == "\N{MINUS SIGN}3.46%"
    assert percent(12_345.6) == "+12,346%"


@given(st.lists(st.tuples(st.floats(-50, 450), st.sampled_from([1.0, 100.0])), min_size=1, max_size=20))
def test_labels_make_room_for_each_other(wishes: list[tuple[float, float]]) -> None:
    centres = stacked([wish for wish, _ in wishes], [weight for _, weight in wishes], 20, 0, 400)

    placed = sorted(centres)
    assert all(after - before >= 20 - 1e-6 for before, after in pairwise(placed))
    assert all(10 - 1e-6 <= centre <= 390 + 1e-6 for centre in centres)


def test_labels_with_room_stay_where_they_are_and_the_heavy_one_moves_least() -> None:
    assert stacked([50, 200], [1, 1], 20, 0, 400) == [50, 200]

    light, heavy = stacked([100, 105], [1, 100], 20, 0, 400)
    assert heavy == pytest.approx(105, abs=0.2)
    assert heavy - light == pytest.approx(20)


@pytest.mark.parametrize(
    ("end", "crosses"), [((10.0, 10.0), True), ((4.0, 10.0), False), ((30.0, 2.0), False), ((3.0, 30.0), False)]
)
def test_a_line_crosses_a_box_or_passes_it(end: tuple[float, float], *, crosses: bool) -> None:
    assert Box(5, 5, 20, 20).crossed_by((0.0, 0.0), end) is crosses


def test_the_metrics_are_those_of_the_typeface() -> None:
    # Liberation Sans has the widths of Arial: figures 556, a capital M 833 thousandths of the size.
    assert width_of("0123456789", 1000) == pytest.approx(5560, abs=5)
    assert width_of("M", 1000) == pytest.approx(833, abs=1)
    assert width_of("M", 1000, bold=True) == pytest.approx(833, abs=1)
    assert width_of("i", 1000, bold=True) > width_of("i", 1000)


def test_what_the_typeface_lacks_is_a_question_mark() -> None:
    assert printable("BTC · Ж漢\u202e\n") == "BTC · Ж???"


@pytest.mark.parametrize(
    ("written", "colour"),
    [
        ("rgb(8, 153,129)", Colour("#089981")), ("rgba(8,153,129,0.5)", Colour("#089981", 0.5)),
        ("#abc", Colour("#aabbcc")), ("#AABBCC", Colour("#aabbcc")), ("#00000080", Colour("#000000", 0.502)),
        ("rgb(300,0,0)", None), ("red", None), (17, None), ('#fff" onload="x', None),
    ],
)  # fmt: skip
def test_a_colour_is_read_or_refused(written: object, colour: Colour | None) -> None:
    assert read_colour(written) == colour


def test_ink_is_readable_on_its_plate() -> None:
    assert ink_on(Colour("#f23645")) == "#ffffff"
    assert ink_on(Colour("#ffd54f")) == "#131722"


def labels_of(bars: int, step_ms: int, zone: str = "UTC", slot: float = 8.0) -> list[str]:
    times = [END_MS - (bars - 1 - bar) * step_ms for bar in range(bars)]
    centres = [slot * (bar + 0.5) for bar in range(bars)]
    return [label.text for label in time_labels(times, centres, zone_of(zone) or UTC, 95)]


@pytest.mark.parametrize(
    ("bars", "step_ms", "expected"),
    [
        (100, HOUR_MS, ["11 Nov", "12:00", "12", "12:00", "13", "12:00", "14", "12:00"]),
        (96, DAY_MS, ["15 Aug", "Sep", "15", "Oct", "15", "Nov"]),
        (100, 7 * DAY_MS, ["Apr", "Jul", "Oct", "2026", "Apr", "Jul", "Oct"]),
        (40, 60_000, ["14 Nov 21:30", "21:45", "22:00"]),
    ],
)
def test_labels_of_hours_days_and_weeks(bars: int, step_ms: int, expected: list[str]) -> None:
    assert labels_of(bars, step_ms) == expected


def test_a_zone_moves_the_labels_and_is_named() -> None:
    assert zone_of("Mars/Olympus") is None
    assert zone_label(UTC, END_MS) == "UTC"
    kolkata, new_york = zone_of("Asia/Kolkata"), zone_of("America/New_York")
    assert kolkata is not None
    assert new_york is not None
    assert zone_label(kolkata, END_MS) == "UTC+5:30"
    assert zone_label(new_york, END_MS) == "UTC\N{MINUS SIGN}5"


def test_a_moment_is_found_between_before_and_after_the_bars() -> None:
    times = [0, 100, 200, 900]

    assert [place_of(times, 100, at) for at in (0, 50, 150, 550, 900, 1100, -200)] == [0, 0.5, 1.5, 2.5, 3, 5, -2]


def test_heikin_ashi_follows_its_definition() -> None:
    bars = columns_of(market(bars=30))
    averaged = heikin_ashi(bars)

    for bar in range(1, 30):
        mean = (bars.opens[bar] + bars.highs[bar] + bars.lows[bar] + bars.closes[bar]) / 4
        assert averaged.closes[bar] == pytest.approx(mean)
        assert averaged.opens[bar] == pytest.approx((averaged.opens[bar - 1] + averaged.closes[bar - 1]) / 2)
        assert averaged.highs[bar] == max(bars.highs[bar], averaged.opens[bar], averaged.closes[bar])
    assert len(bars.last(10)) == 10
