"""Ruling 42: get_indicators, the trading page and the chart say the same of the same bar, to the last printed digit."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from itertools import pairwise
from typing import Any

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from support.charts import ENVIRONMENT
from support.clock import FakeClock
from support.requirement import requirement
from support.served import Place

pytestmark = pytest.mark.flood  # thousands of values; the tests of tool, page and chart count the lines

HOUR_MS = 3_600_000
# A legend's name and the tool's, for every indicator both have.
ALIKE: dict[str, tuple[str, dict[str, int], tuple[str, ...]]] = {
    "EMA 200": ("Moving Average Exponential", {"length": 200}, ("ema(200)",)),
    "EMA 20": ("Moving Average Exponential", {"length": 20}, ("ema(20)",)),
    "SMA 50": ("Moving Average", {"length": 50}, ("sma(50)",)),
    "VWAP": ("VWAP", {}, ("vwap",)),
    "BB 20 2": (
        "Bollinger Bands", {}, ("bollinger(20,2).upper", "bollinger(20,2).middle", "bollinger(20,2).lower"),
    ),
    "RSI 14": ("Relative Strength Index", {}, ("rsi(14)",)),
    "ATR 14": ("Average True Range", {}, ("atr(14)",)),
    "ATR 200": ("Average True Range", {"length": 200}, ("atr(200)",)),
    "MACD 12 26 9": ("MACD", {}, ("macd(12,26,9).histogram", "macd(12,26,9).macd", "macd(12,26,9).signal")),
    "Stoch 14 1 3": ("Stochastic", {}, ("stochastic(14,3).k", "stochastic(14,3).d")),
    "ADX 14 14": ("Average Directional Index", {}, ("adx(14).adx",)),
}  # fmt: skip
# Counted from the first bar shown, so alike only where the same bars are.
ALIKE_IF_SHOWN = {"OBV": ("On Balance Volume", dict[str, int](), ("obv",))}
ASKED = ["ema(200)", "ema(20)", "ema(50)", "sma(50)", "vwap", "bollinger", "rsi", "atr"]
MORE = ["atr(200)", "macd", "stochastic", "adx"]
UNITS = {"K": 3, "M": 6, "B": 9, "T": 12}


def structure(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def hour(clock: FakeClock, ago: int = 0) -> str:
    """Return when an hour of the clock began, in words of a configuration."""
    at = datetime.fromtimestamp(clock.now_ms() / 1000, UTC) - timedelta(hours=ago)
    return f"{at:%Y-%m-%dT%H}:00:00Z"


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange) -> Place:
    return Place(clock, exchange, "auto")


async def told(client: Client, symbol: str, interval: str) -> dict[str, dict[str, str]]:
    """Return the tool's values at the last closed bar and at the one still open."""
    rows: list[list[dict[str, Any]]] = []
    for names in (ASKED, MORE):
        answer = structure(
            await client.call_tool(
                "get_indicators", {"symbol": symbol, "interval": interval, "indicators": names, "last_n": 2}
            )
        )
        rows.append(answer["rows"])
    assert [row["is_final"] for row in rows[0]] == [True, False]
    closed, still_open = ({**one["values"], **other["values"]} for one, other in zip(*rows, strict=True))
    return {"closed": closed, "open": still_open}


async def drawn(client: Client, symbol: str, interval: str, names: list[str], **config: object) -> dict[str, list[str]]:
    """Return what the legends of a chart say: the values that follow each name."""
    known = ALIKE | ALIKE_IF_SHOWN
    studies = [{"name": known[name][0], "inputs": known[name][1]} for name in names]
    chart = {"symbol": f"BINANCE:{symbol}", "interval": interval, "studies": studies, "width": 1600, "height": 900}
    result = await client.call_tool("generate_chart_image", {"config": {**chart, **config}, "storage": True})
    assert not result.is_error, result.content
    links = [str(each.uri) for each in result.content if isinstance(each, types.ResourceLink)]
    (svg,) = [each for each in links if each.endswith(".svg")]
    (content,) = (await client.read_resource(svg)).contents
    assert isinstance(content, types.TextResourceContents)
    words = [unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", content.text)]
    return {name: words[words.index(name) + 1 :][: len(known[name][2])] for name in names}


async def page_of(client: Client, symbol: str) -> dict[str, str]:
    result = await client.get_prompt("trading_analysis", {"symbol": symbol, "detail": "true"})
    (message,) = result.messages
    assert isinstance(message.content, types.TextContent)
    table = message.content.text.split("## Trend and Volatility")[1].split("\n")[1:4]
    names, _, cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in table)
    return dict(zip(names, cells, strict=True))


def number(text: str) -> tuple[Decimal, Decimal]:
    """Return a printed number and half of its last digit."""
    found = re.match(r"[^\d\N{MINUS SIGN}-]*([\N{MINUS SIGN}-]?[\d,]+(?:\.\d+)?)([KMBT]?)", text)
    assert found, text
    value = Decimal(found[1].replace(",", "").replace("\N{MINUS SIGN}", "-")).scaleb(UNITS.get(found[2], 0))
    exponent = Decimal(found[1].replace(",", "").replace("\N{MINUS SIGN}", "-")).as_tuple().exponent
    assert isinstance(exponent, int)
    return value, Decimal(5).scaleb(exponent - 1 + UNITS.get(found[2], 0))


def assert_alike(one: str, other: str, what: str) -> None:
    """Two printings of one value differ by no more than their rounding."""
    (left, coarse), (right, fine) = number(one), number(other)
    assert abs(left - right) <= coarse + fine, f"{what}: {one} and {other}"


@pytest.mark.night
@requirement("ruling/42")
@pytest.mark.parametrize(("symbol", "later"), [("BTCUSDT", 0), ("ETHBTC", 11), ("SHIBUSDT", 17)])
async def test_tool_page_and_chart_agree_on_the_last_closed_hour(place: Place, symbol: str, later: int) -> None:
    place.clock.advance(later * HOUR_MS)
    window = {"range": {"from": hour(place.clock, 168), "to": hour(place.clock)}}

    async with place.served(ENVIRONMENT) as client:
        tool = (await told(client, symbol, "1h"))["closed"]
        page = await page_of(client, symbol)
        chart = await drawn(client, symbol, "1h", ["EMA 200", "EMA 20", "VWAP", "RSI 14", "ATR 14"], **window)

    for cell, name, legend in (
        ("EMA20", "ema(20)", "EMA 20"),
        ("EMA50", "ema(50)", None),
        ("EMA200", "ema(200)", "EMA 200"),
        ("VWAP (day)", "vwap(day)", "VWAP"),
        ("RSI14", "rsi(14)", "RSI 14"),
        ("ATR14", "atr(14)", "ATR 14"),
    ):
        assert_alike(page[cell], tool[name], f"{symbol} {name} on the page and by the tool")
        if legend:
            assert_alike(chart[legend][0], tool[name], f"{symbol} {name} on the chart and by the tool")


@pytest.mark.night
@requirement("ruling/42")
@pytest.mark.parametrize(
    ("symbol", "interval", "anchor"),
    [
        ("BTCUSDT", "1m", "day"),
        ("ETHUSDT", "15m", "day"),
        ("SHIBUSDT", "4h", "day"),
        ("BNBUSDT", "1d", "month"),
        ("ETHBTC", "3d", "month"),
    ],
)
async def test_tool_and_chart_agree_on_every_indicator_both_have(
    place: Place, symbol: str, interval: str, anchor: str
) -> None:
    wire = interval if interval[-1] in "mh" else interval.upper()

    async with place.served(ENVIRONMENT) as client:
        tool = (await told(client, symbol, interval))["open"]
        chart = await drawn(client, symbol, wire, [name for name in ALIKE if name[:3] not in ("ATR", "MAC", "Sto")])
        chart |= await drawn(client, symbol, wire, [name for name in ALIKE if name not in chart])

    for legend, (_, _, names) in ALIKE.items():
        for name, value in zip(names, chart[legend], strict=True):
            by_tool = tool[f"vwap({anchor})" if name == "vwap" else name]
            assert by_tool is not None, name
            assert_alike(value, by_tool, f"{symbol} {interval} {name}")


@pytest.mark.night
@requirement("ruling/42")
async def test_a_chart_of_a_thousand_bars_ends_with_the_same_values(place: Place) -> None:
    names = ["EMA 200", "RSI 14", "ATR 200", "VWAP"]

    async with place.served(ENVIRONMENT) as client:
        tool = (await told(client, "BTCUSDT", "1h"))["open"]
        few = await drawn(client, "BTCUSDT", "1h", names, range="3D")
        many = await drawn(client, "BTCUSDT", "1h", names, range="41D")

    assert few == many
    tool["vwap"] = tool["vwap(day)"]
    for name in names:
        assert_alike(many[name][0], tool[ALIKE[name][2][0]], name)


@pytest.mark.night
@requirement("ruling/42")
@pytest.mark.parametrize(
    ("others", "last_n"), [([], 1), ([], 50), (["obv(month)", "vwap(week)", "adx(200)"], 3), (["sma(200)", "rsi"], 20)]
)
async def test_one_average_and_one_vwap_whatever_else_is_asked(place: Place, others: list[str], last_n: int) -> None:
    asked = {"symbol": "ETHUSDT", "interval": "15m"}

    async with place.served(ENVIRONMENT) as client:
        alone = structure(await client.call_tool("get_indicators", {**asked, "indicators": ["ema(200)", "vwap"]}))
        beside = structure(
            await client.call_tool(
                "get_indicators", {**asked, "indicators": [*others, "ema(200)", "vwap"], "last_n": last_n}
            )
        )
        chart = await drawn(client, "ETHUSDT", "15m", ["EMA 200", "EMA 20", "VWAP"][:: 1 + last_n % 2], range="10D")

    one, other = alone["rows"][-1]["values"], beside["rows"][-1]["values"]
    assert {name: other[name] for name in one} == one
    assert_alike(chart["EMA 200"][0], one["ema(200)"], "ema(200)")
    assert_alike(chart["VWAP"][0], one["vwap(day)"], "vwap")


@pytest.mark.night
@requirement("ruling/42")
async def test_on_balance_volume_counts_from_the_first_bar_shown_and_says_so(place: Place) -> None:
    window = {"range": {"from": hour(place.clock, 49), "to": hour(place.clock)}}

    async with place.served(ENVIRONMENT) as client:
        result = await client.call_tool(
            "get_indicators", {"symbol": "BTCUSDT", "interval": "1h", "indicators": ["obv", "obv(day)"], "last_n": 50}
        )
        volumes = structure(await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": "1h", "limit": 51}))[
            "rows"
        ]
        chart = (await drawn(client, "BTCUSDT", "1h", ["OBV"], **window))["OBV"]

    rows = structure(result)["rows"]
    bars = [(Decimal(each.split(",")[3]), Decimal(each.split(",")[4])) for each in volumes]
    signed = [size * ((now > was) - (now < was)) for (was, _), (now, size) in pairwise(bars)]
    assert float(rows[0]["values"]["obv"]) == pytest.approx(float(signed[0]), rel=1e-4)
    assert float(rows[-1]["values"]["obv"]) == pytest.approx(float(sum(signed)), rel=1e-3)
    assert f"obv counts from the first bar shown, {rows[0]['open_time']}" in str(result.content)
    first_of_day = next(place for place, row in enumerate(rows) if "T00:00" in row["open_time"])
    assert float(rows[first_of_day]["values"]["obv(day)"]) == pytest.approx(float(signed[first_of_day]), rel=1e-4)
    closed = next(row for row in reversed(rows) if row["is_final"])
    assert_alike(chart[0], closed["values"]["obv"], "obv")


@requirement("ruling/42")
async def test_an_average_price_is_the_same_on_every_interval_and_begins_where_it_says(place: Place) -> None:
    place.clock.advance(14 * HOUR_MS)

    async with place.served(ENVIRONMENT) as client:
        answers = [
            structure(
                await client.call_tool(
                    "get_indicators",
                    {"symbol": "BTCUSDT", "interval": interval, "indicators": ["vwap(day)", "vwap(week)"]},
                )
            )["rows"][-1]["values"]
            for interval in ("5m", "1h", "2h")
        ]

    assert answers[0] == answers[1] == answers[2]
    assert list(answers[0]) == ["vwap(day)", "vwap(week)"]
    assert answers[0]["vwap(day)"] != answers[0]["vwap(week)"]


async def test_an_anchor_out_of_reach_is_refused_with_the_way_out(place: Place) -> None:
    async with place.served(ENVIRONMENT) as client:
        result = await client.call_tool(
            "get_indicators", {"symbol": "BTCUSDT", "interval": "15m", "indicators": ["vwap(year)"]}
        )

    assert result.is_error
    assert "use a longer interval" in str(result.content)
