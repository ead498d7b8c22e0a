"""A chart in numbers for a page: the picture's words and colours, nothing a page would have to compute."""

import json
import re
from dataclasses import replace
from decimal import Decimal
from html import unescape
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charts.render.market import HOUR_MS, candle, market
from charts.render.scenes import SCENES, at, other, study
from mcp_binance_server.charts.render.bars import live_members, whole_members
from mcp_binance_server.charts.render.chart import compose
from mcp_binance_server.charts.render.drawings.plans import KINDS
from mcp_binance_server.charts.render.drawings.shapes import SHAPES
from mcp_binance_server.charts.render.legend import MOST_ROWS
from mcp_binance_server.charts.render.look import THEMES, OverrideReader, price_look
from mcp_binance_server.charts.render.request import Request, prepare
from mcp_binance_server.charts.render.spec import (
    MOST_BARS,
    ChartSpec,
    Looks,
    PriceRange,
    Scalar,
    Scale,
    StudySpec,
    Style,
)
from mcp_binance_server.charts.studies.table import STUDIES
from mcp_binance_server.domain.periods import Candle
from support.golden import Golden

LONG = market(bars=1_100)
FEW = ChartSpec("BTCUSDT", "1h", bars=6, as_of_ms=LONG[-1].close_time_ms + 1)
TALL = replace(FEW, bars=60, width=2048, height=1600)
DRAWN = [each for each in get_args(Style) if each not in ("hiLo", "column")]
NUMBER = re.compile(r"-?\d+(\.\d+)?")
# By any of these a plot would be told as changing what it showed.
PUSHED: dict[str, dict[str, Scalar]] = {
    "Moving Average": {"offset": -5},
    "Moving Average Exponential": {"offset": -3},
    "Williams Alligator": {"jawOffset": -4},
}


def prepared(spec: ChartSpec) -> Request:
    return prepare(LONG, spec)


def answer(request: Request, since: int | None = None) -> dict[str, Any]:
    """Return the members as a client reads them."""
    members = live_members(request, since) | (whole_members(request) if since is None else {})
    return json.loads(json.dumps(members, allow_nan=False))


def written(svg: str) -> str:
    """Return every character that is drawn, in the order of drawing, without the spaces between words."""
    return "".join(unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", svg)).replace(" ", "")


@pytest.mark.parametrize("style", DRAWN)
def test_a_chart_of_each_style_is_told_as_reviewed(style: Style, golden: Golden) -> None:
    spec = replace(
        FEW,
        style=style,
        studies=(study("Bollinger Bands"), study("Volume"), study("MACD"), study("Relative Strength Index")),
    )

    golden.check(f"charts/bars/{style}.json", _one_line_each(answer(prepared(spec))))


@pytest.mark.parametrize("name", ["drawings-dark", "long-position-dark", "short-position-light", "fibonacci-light"])
def test_drawings_are_told_as_reviewed(name: str, golden: Golden) -> None:
    scene = SCENES[name]

    golden.check(f"charts/bars/{name}.json", _one_line_each(answer(prepare(scene.candles(), scene.spec))["drawings"]))


def _one_line_each(value: object) -> str:
    """Write JSON so that a person can review it: a row, a plot or a shape is one line."""
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    return re.sub(r"\n {3,}|(?<=[^ ,]\n) {3,}|\n {2}(?=[\]}])", " ", text) + "\n"


@pytest.mark.night
@given(since=st.integers(LONG[-70].open_time_ms, LONG[-1].open_time_ms + 2 * HOUR_MS))
def test_what_is_new_is_the_end_of_the_whole(since: int) -> None:
    request = _of_all_kinds()
    whole, poll = answer(request), answer(request, since)

    count = max(1, sum(row[0] >= since for row in whole["rows"]))
    assert poll["rows"] == whole["rows"][-count:]
    assert poll["legend"] == whole["legend"]
    for member in ("tints", "words"):
        assert poll[member] == {place: line[-count:] for place, line in whole[member].items()}
    assert poll["breaks"] == {
        place: [each for each in times if each >= poll["rows"][0][0]] for place, times in whole["breaks"].items()
    }


_KEPT: list[Request] = []


def _of_all_kinds() -> Request:
    if not _KEPT:
        studies = tuple(study(name) for name in ("MACD", "Volume", "VWAP", "Ichimoku Cloud", "On Balance Volume"))
        _KEPT.append(prepared(replace(TALL, scale="percent", studies=studies, compared=(other(),))))
    return _KEPT[0]


@pytest.mark.parametrize("name", [*STUDIES])
def test_a_study_says_the_same_in_picture_and_words(name: str) -> None:
    spec = replace(TALL, studies=(study(name),))
    scene, members = compose(LONG, spec), answer(prepared(spec))

    drawn = written(scene.canvas.svg())
    assert [row.name for row in scene.meta.legend] == [row["name"] for row in members["legend"]]
    assert [row.values for row in scene.meta.legend] == [row["values"] for row in members["legend"]]
    told = [f"{row.name}{row.words}".replace("change ", "").replace(" ", "") for row in scene.meta.legend]
    assert all(each in drawn for each in told)
    assert len(scene.meta.legend) == 2


@pytest.mark.parametrize("name", [each for each in STUDIES if STUDIES[each].plots])
def test_the_last_row_is_the_legend(name: str) -> None:
    members = answer(prepared(replace(TALL, studies=(study(name),))))

    texts = [text for text in members["rows"][-1][5] if text is not None]
    said = members["legend"][1]["values"].replace("\N{MINUS SIGN}", "-").replace(",", "").split()
    if STUDIES[name].unit == "volume":  # in the legend with three figures
        assert len(said) == len(texts)
    else:
        assert said == texts


@pytest.mark.parametrize("name", SCENES)
def test_every_number_is_text_without_an_exponent_and_every_row_is_whole(name: str) -> None:
    scene = SCENES[name]
    members = answer(prepare(scene.candles(), scene.spec))

    plots = members["plots"]
    for time_ms, *prices, texts in members["rows"]:
        assert isinstance(time_ms, int)
        assert all(NUMBER.fullmatch(each) for each in prices)
        assert len(texts) == len(plots)
        assert all(each is None or NUMBER.fullmatch(each) for each in texts)
    times = [row[0] for row in members["rows"]]
    assert times == sorted(set(times))
    assert len(times) <= MOST_BARS
    for place, line in {**members.get("tints", {}), **members.get("words", {})}.items():
        assert len(line) == len(times)
        assert 0 <= int(place) < len(plots)
    for place, line in members.get("tints", {}).items():
        assert {each for each in line if each is not None} <= set(range(len(plots[int(place)]["colours"])))
    assert all(each["study"] + 1 < len(members["legend"]) for each in plots)
    assert all(re.fullmatch(r"#[0-9a-f]{6}([0-9a-f]{2})?", colour) for each in plots for colour in each["colours"])


@pytest.mark.parametrize(("name", "inputs"), [*((each, {}) for each in STUDIES), *PUSHED.items()])
def test_what_a_new_bar_changes_in_the_past_is_told(name: str, inputs: dict[str, Scalar]) -> None:
    spec = replace(TALL, studies=(study(name, **inputs),))
    before = prepare(LONG[:-1], replace(spec, as_of_ms=LONG[-2].close_time_ms + 1))
    after = prepare(LONG[1:], spec)

    then, now = ({row[0]: row[5] for row in answer(each)["rows"]} for each in (before, after))
    plots = answer(after)["plots"]
    changed = {
        place
        for time_ms in then.keys() & now.keys()
        for place, texts in enumerate(zip(then[time_ms], now[time_ms], strict=True))
        if texts[0] != texts[1]
    }
    assert changed <= {place for place, plot in enumerate(plots) if plot["repaints"]}
    assert name not in PUSHED or not inputs or changed


def test_lines_that_reach_ahead_bring_what_lies_there() -> None:
    members = answer(prepared(replace(TALL, studies=(study("Ichimoku Cloud"), study("Relative Strength Index")))))

    ahead = {plot["key"]: plot["ahead"] for plot in members["plots"] if "ahead" in plot}
    assert set(ahead) == {"LeadingSpanA", "LeadingSpanB"}
    assert {len(each) for each in ahead.values()} == {members["future"]}
    assert all(text is not None and NUMBER.fullmatch(text) for line in ahead.values() for text in line)
    assert [plot["key"] for plot in members["plots"] if plot["repaints"]] == [
        "LaggingSpan", "LeadingSpanA", "LeadingSpanB",
    ]  # fmt: skip
    cloud = members["plots"][0]["bands"]
    assert [(each["upper"], each["lower"], len(each["colours"])) for each in cloud] == [
        ("LeadingSpanA", "LeadingSpanB", 2)
    ]


def test_columns_are_tinted_as_the_picture_paints_them() -> None:
    members = answer(prepared(replace(TALL, studies=(study("MACD"), study("Volume"), study("Awesome Oscillator")))))
    at_plot = {plot["label"].split()[0] + plot["key"]: place for place, plot in enumerate(members["plots"])}
    rows = members["rows"]

    histogram = [float(row[5][at_plot["MACDHistogram"]]) for row in rows]
    for bar, tint in enumerate(members["tints"][str(at_plot["MACDHistogram"])][1:], 1):
        if histogram[bar] != histogram[bar - 1] and histogram[bar]:
            rising = histogram[bar] > histogram[bar - 1]
            assert (
                tint
                == {(True, True): 0, (True, False): 1, (False, True): 2, (False, False): 3}[histogram[bar] > 0, rising]
            )
    volume = members["tints"][str(at_plot["VolVolume"])]
    assert volume == [0 if float(row[4]) >= float(row[1]) else 1 for row in rows]
    assert set(members["tints"]) == {str(at_plot[each]) for each in ("MACDHistogram", "VolVolume", "AOPlot")}


def test_a_line_that_begins_anew_says_where() -> None:
    members = answer(prepared(replace(TALL, studies=(study("VWAP"),))))

    days = [row[0] for row in members["rows"][1:] if row[0] % (24 * HOUR_MS) == 0]
    assert members["breaks"] == {"0": days}
    assert len(days) >= 2


def test_a_compared_market_stands_among_the_prices_and_speaks_in_percent() -> None:
    members = answer(prepared(replace(TALL, scale="percent", compared=(other(),))))

    words, base = members["words"]["0"], float(members["base"])
    assert members["legend"][1] == {"name": "ETHUSDT", "values": words[-1]}
    assert [round((float(row[5][0]) / base - 1) * 100, 2) for row in members["rows"]] == [
        float(each.rstrip("%").replace("\N{MINUS SIGN}", "-")) for each in words
    ]
    assert members["plots"][0]["repaints"]


def test_only_what_overrides_change_of_the_price_is_told() -> None:
    style: dict[str, Scalar] = {"candleStyle.upColor": "rgb(240,243,250)", "candleStyle.wickDownColor": "#123456"}

    own = answer(prepared(replace(FEW, looks=Looks(style=style))))["price"]

    assert own == {"up": "#f0f3fa", "border_up": "#f0f3fa", "wick_up": "#f0f3fa", "wick_down": "#123456"}
    assert "price" not in answer(prepared(FEW))
    # A page draws both themes from one answer: what differs from one differs from both.
    looks = [price_look("candle", theme, OverrideReader({})) for theme in THEMES.values()]
    assert looks[0] == looks[1]


def test_every_drawing_that_a_picture_has_has_shapes() -> None:
    assert set(SHAPES) == set(KINDS)


@pytest.mark.slow
def test_drawings_have_the_words_of_the_picture() -> None:
    for name in ("drawings-dark", "long-position-dark", "short-position-light", "fibonacci-light"):
        scene = SCENES[name]
        members = answer(prepare(scene.candles(), scene.spec))
        picture = written(compose(scene.candles(), scene.spec).canvas.svg())

        shapes = [shape for drawing in members["drawings"] for shape in drawing["shapes"]]
        assert all(shape["text"].replace(" ", "") in picture for shape in shapes if "text" in shape)
        assert {shape["is"] for shape in shapes} <= {"line", "box", "label", "mark", "tag"}


def test_what_lies_behind_the_bars_says_so() -> None:
    scene = SCENES["drawings-dark"]

    told = answer(prepare(scene.candles(), scene.spec))["drawings"]

    assert [drawing["name"] for drawing in told if drawing.get("behind")] == ["Rectangle"]


def test_what_a_page_cannot_draw_is_said() -> None:
    looks = Looks(price_range=PriceRange(60_000, 70_000), invert_scale=True, volume=False)
    spec = replace(TALL, timezone="America/New_York", looks=looks, studies=(study("Volume Profile Visible Range"),))

    assert answer(prepared(spec))["warnings"] == [
        "not_live: VPVR 24 70 is shown only in the picture and in the legend.",
        "not_live: override showInvertScale, priceRange changes only the picture.",
        "not_live: the live chart has times in UTC, and the picture in America/New_York.",
    ]
    assert answer(prepared(TALL))["warnings"] == []


def test_a_moment_far_away_is_drawn_without_its_words() -> None:
    far = replace(at(0, 1), time_ms=253_402_300_799_999)
    drawing = replace(SCENES["short-position-light"].spec.drawings[1], points=(far,), text="")

    (told,) = answer(prepared(replace(FEW, timezone="Pacific/Kiritimati", drawings=(drawing,))))["drawings"]

    assert [shape["is"] for shape in told["shapes"]] == ["line"]


def test_the_words_have_twelve_rows_at_most() -> None:
    studies = tuple(StudySpec("Moving Average", {"length": length}) for length in range(5, 25))

    assert len(answer(prepared(replace(FEW, studies=studies)))["legend"]) == MOST_ROWS


PRICES = st.one_of(
    st.decimals("0.0000000001", "99999999999999999.9999999999", places=10),
    st.sampled_from([Decimal("0.0000000001"), Decimal(1), Decimal(10**17 - 1)]),
)
VOLUMES = st.one_of(st.just(Decimal(0)), st.decimals(0, "99999999999999999.9999999999", places=10))


@given(
    steps=st.lists(st.sampled_from([0, 1, HOUR_MS, 24 * HOUR_MS]), min_size=1, max_size=70),
    prices=st.lists(PRICES, min_size=1, max_size=6),
    volumes=st.lists(VOLUMES, min_size=1, max_size=3),
    scale=st.sampled_from(get_args(Scale)),
    style=st.sampled_from(DRAWN),
)
def test_whatever_candles_an_exchange_can_write_become_an_answer(
    steps: list[int], prices: list[Decimal], volumes: list[Decimal], scale: Scale, style: Style
) -> None:
    names = ("MACD", "Volume", "VWAP", "Ichimoku Cloud", "On Balance Volume", "Parabolic SAR", "Bollinger Bands %B")
    candles, time_ms = list[Candle](), 0
    for place, step in enumerate(steps):
        time_ms += step
        ohlc = [prices[(place + part) % len(prices)] for part in range(4)]
        low, *_, high = sorted(ohlc)
        candles.append(candle(time_ms, HOUR_MS, (ohlc[0], high, low, ohlc[3]), volumes[place % len(volumes)]))
    spec = replace(TALL, scale=scale, style=style, as_of_ms=time_ms, studies=tuple(study(name) for name in names))

    members = answer(prepare(candles, spec))

    assert all(NUMBER.fullmatch(text) for row in members["rows"] for text in (*row[1:5], *filter(None, row[5])))
