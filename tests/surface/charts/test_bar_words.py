"""The same numbers wherever a chart is read: text, _meta, the picture's legend, get_chart_bars, indicators."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from typing import Any

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App
from mcp_binance_server.charts.render.legend import MOST_ROWS
from mcp_binance_server.charts.render.spec import MOST_BARS, LegendRow
from mcp_binance_server.charts.studies.table import STUDIES
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.services.charts.remote import ChartImage
from mcp_binance_server.surface.tools.charts.image import CHART_KEY, MOST_META, chart_meta
from support.charts import ENVIRONMENT, answer_of, with_a_key
from support.clock import FakeClock
from support.desk import NETWORK
from support.served import Place
from support.webapp import assembled, http_client

IMAGE, BARS = "generate_chart_image", "get_chart_bars"
PAST = {"from": "2026-07-13T00:00:00Z", "to": "2026-07-20T00:00:00Z"}
CHART: dict[str, Any] = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "width": 1600, "height": 1200}
AT_ONCE = 4
WRONG: list[dict[str, Any]] = [
    {},
    {"symbol": 5},
    {"symbol": None, "interval": []},
    {**CHART, "studies": "RSI"},
    {**CHART, "studies": [None, 1, {}, {"name": []}]},
    {**CHART, "drawings": [{"name": "Trend Line", "input": {"startPrice": "x"}}]},
    {**CHART, "override": 7, "range": {"from": 1}},
    {**CHART, "width": "wide", "theme": {}},
    {**CHART, "interval": "7m"},
    {**CHART, "symbol": "NASDAQ:AAPL"},
    {**CHART, "symbol": "BINANCE:BTCUSDT.P"},
    {**CHART, "unknown": {"nested": [[[[]]]]}},
]


def _charts() -> Iterator[list[str]]:
    for drawn_on_price in (True, False):
        names = [name for name, study in STUDIES.items() if study.overlay is drawn_on_price]
        yield from (names[first : first + AT_ONCE] for first in range(0, len(names), AT_ONCE))


async def called(client: Client, tool: str, **arguments: object) -> types.CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result


async def bars(client: Client, config: object, **arguments: object) -> dict[str, Any]:
    return answer_of(await called(client, BARS, config=config, **arguments))


def text_of(result: types.CallToolResult) -> str:
    return next(each.text for each in result.content if isinstance(each, types.TextContent))


async def drawn_words(client: Client, result: types.CallToolResult) -> str:
    """Return the characters of the picture in the order of drawing; where there is a space is a matter of places."""
    links = [str(each.uri) for each in result.content if isinstance(each, types.ResourceLink)]
    (content,) = (await client.read_resource(next(each for each in links if each.endswith(".svg")))).contents
    assert isinstance(content, types.TextResourceContents)
    return "".join(unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", content.text)).replace(" ", "")


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize("names", [*_charts()], ids=lambda names: names[0])
async def test_text_picture_meta_and_bars_say_the_same_characters(client: Client, names: list[str]) -> None:
    config = {**CHART, "range": PAST, "studies": [{"name": name} for name in names]}

    image = await called(client, IMAGE, config=config, storage=True)
    told = await bars(client, config)

    legend = told["legend"]
    lines = text_of(image).splitlines()
    assert lines[:-2] == [f"{row['name']}: {row['values']}" for row in legend]
    assert re.fullmatch(r"as of 2026-07-21T00:02:03\.\d{3}Z", lines[-2])
    assert image.meta is not None
    assert image.meta[CHART_KEY]["legend"] == legend
    assert image.meta[CHART_KEY]["config"] == config
    picture = await drawn_words(client, image)
    assert all(f"{row['name']}{row['values']}".replace(" ", "") in picture for row in legend)
    assert len(legend) == 1 + len({*names, "Volume"})
    assert text_of(await called(client, BARS, config=config)).splitlines()[1:] == lines[:-2]


async def test_a_closed_bar_has_the_values_of_the_indicator_tool(client: Client) -> None:
    asked = {
        "rsi": ["rsi(14)"],
        "Bollinger Bands": ["bollinger(20,2).upper", "bollinger(20,2).middle", "bollinger(20,2).lower"],
        "MACD": ["macd(12,26,9).histogram", "macd(12,26,9).macd", "macd(12,26,9).signal"],
        "Average True Range": ["atr(14)"],
        "Moving Average Exponential": ["ema(9)"],
        "Moving Average": ["sma(9)"],
    }
    studies = [{"name": "Relative Strength Index" if name == "rsi" else name} for name in asked]
    told = await bars(client, {**CHART, "studies": studies})
    indicators = ["rsi", "bollinger(20,2)", "macd", "atr", "ema(9)", "sma(9)"]
    other = answer_of(await called(client, "get_indicators", symbol="BTCUSDT", indicators=indicators, last_n=30))

    titles = {"RSI": "rsi", "BB": "Bollinger Bands", "MACD": "MACD", "ATR": "Average True Range",
              "EMA": "Moving Average Exponential", "SMA": "Moving Average"}  # fmt: skip
    rows = {row[0]: row for row in told["rows"]}
    compared = 0
    for row in other["rows"][:-1]:
        assert row["is_final"]
        own = rows[_ms(row["open_time"])]
        assert float(own[4]) == float(row["close"].replace(",", ""))
        seen: dict[str, int] = {}
        for plot, text in zip(told["plots"], own[5], strict=True):
            study = titles.get(plot["label"].split()[0])
            if study is None:
                continue
            place = seen[study] = seen.get(study, -1) + 1
            exact = float(row["values"][asked[study][place]].replace(",", ""))
            digits = len(text.partition(".")[2])
            # The other tool may have a decimal more or less: they agree to the last one that both have.
            assert float(text) == pytest.approx(exact, abs=0.5 * 10.0**-digits + 0.5 * 10.0 ** -min(digits, 2))
            compared += 1
    assert compared == 29 * 10


def _ms(written: str) -> int:
    return int(datetime.fromisoformat(written).timestamp() * 1000)


@pytest.mark.parametrize(
    ("since", "is_refused"),
    [
        (-1, False),
        (0, False),
        (10**30, False),
        (True, False),  # a one to everybody who reads JSON loosely
        (1.5, True),
        ("soon", True),
        ([1], True),
        ({}, True),
    ],
)
async def test_any_moment_is_answered_or_refused(client: Client, since: object, is_refused: bool) -> None:  # noqa: FBT001
    result = await client.call_tool(BARS, {"config": CHART, "since": since})

    assert result.is_error is is_refused
    if is_refused:
        assert answer_of(result)["error_type"] == "invalid_arguments"
    else:
        assert len(answer_of(result)["rows"]) == (1 if since == 10**30 else 200)
        assert "plots" not in answer_of(result)


@pytest.mark.parametrize("config", WRONG)
async def test_a_configuration_that_is_wrong_is_refused_with_what_is_wrong(client: Client, config: object) -> None:
    result = await client.call_tool(BARS, {"config": config})

    assert result.is_error
    answer = answer_of(result)
    assert (answer["success"], answer["error_type"]) == (False, "invalid_chart_config")
    assert answer["details"]


async def test_no_more_bars_are_sent_than_a_picture_can_have(client: Client) -> None:
    told = await bars(client, {**CHART, "interval": "1m", "range": "7D"})

    assert len(told["rows"]) == MOST_BARS
    assert any(each.startswith("too_many_bars") for each in told["warnings"])


@pytest.mark.slow
@pytest.mark.night
async def test_a_long_configuration_is_left_to_the_call(client: Client) -> None:
    envelopes = [
        {"name": "Envelopes", "input": {"length": length, "upperPercent": 2.5, "lowerPercent": 2.5}}
        for length in range(20, 32)
    ]
    image = await called(client, IMAGE, config={**CHART, "studies": envelopes})

    assert image.meta is not None
    assert "config" not in image.meta[CHART_KEY]
    assert len(image.meta[CHART_KEY]["legend"]) == MOST_ROWS


@pytest.mark.parametrize("letter", ["x", "生"])
def test_what_a_page_begins_with_is_never_too_long(letter: str) -> None:
    rows = tuple(LegendRow(f"Study {place}", letter * 100) for place in range(MOST_ROWS))
    image = ChartImage("local", "png", 400, 300, at_ms=1, warnings=(), legend=rows, as_of_ms=2)

    for config in ({}, {"symbol": letter * 1_500}, {"symbol": "\ud800"}, {"symbol": 2**70}):
        meta = chart_meta(image, config)

        assert len(json.dumps(meta, separators=(",", ":"), ensure_ascii=False).encode()) <= MOST_META
        assert len(meta[CHART_KEY]["legend"]) >= 4
        assert set(meta[CHART_KEY]) <= {"renderer", "as_of_ms", "legend", "config"}


MAINNET = Network("mainnet", "https://api.binance.com", "https://www.binance.com/")
OF_SERVICE = {"interval": "1h", "studies": [{"name": "RSI"}, {"name": "Chop Zone"}]}
STUDIES_IN_WORDS = ["Relative Strength Index", "Chop Zone"]
NO_VALUES = "Picture drawn by chart-img.com from TradingView's data; this server has no values for it."


async def test_a_picture_of_the_service_has_a_legend_with_our_values(
    clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    config = {"symbol": "BINANCE:BTCUSDT", **OF_SERVICE}
    place = Place(clock, exchange, era)
    async with place.served({**ENVIRONMENT, **with_a_key(exchange, "PRO")}, MAINNET) as client:
        image = await called(client, IMAGE, config=config)
        told = await bars(client, {**config, "studies": [{"name": "RSI"}]})

    assert image.meta is not None
    assert image.meta[CHART_KEY]["renderer"] == "chart-img"
    *legend, time, note, answer = text_of(image).splitlines()
    shown = [f"{row['name']}: {row['values']}" for row in told["legend"]]
    assert [each.replace("change ", "") for each in legend] == [*shown, "Chop Zone"]
    assert [each.partition(":")[0] for each in legend] == ["BTCUSDT 1h · BINANCE", "RSI 14", "Chop Zone"]
    assert time.startswith("as of 2026-07-21T")
    assert note.endswith("values computed by this server from Binance's candles.")
    assert json.loads(answer)["metadata"]["renderer"] == "chart-img"


@pytest.mark.parametrize(
    ("symbol", "network"), [("NASDAQ:AAPL", MAINNET), ("BINANCE:BTCUSDT.P", MAINNET), ("BINANCE:BTCUSDT", NETWORK)]
)
async def test_a_picture_of_another_market_has_a_legend_without_values(
    clock: FakeClock, exchange: SimulatedExchange, era: str, symbol: str, network: Network
) -> None:
    place = Place(clock, exchange, era)
    async with place.served({**ENVIRONMENT, **with_a_key(exchange, "PRO")}, network) as client:
        image = await called(client, IMAGE, config={"symbol": symbol, **OF_SERVICE})

    assert text_of(image).splitlines()[:-1] == [f"{symbol} 1h", *STUDIES_IN_WORDS, NO_VALUES]


async def test_a_legend_without_an_answer_of_binance_has_no_values(
    clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    exchange.faults.add(Fault(kind="status", path="/api/v3/klines", status=500, times=None))
    place = Place(clock, exchange, era)
    async with place.served({**ENVIRONMENT, **with_a_key(exchange, "PRO")}, MAINNET) as client:
        image = await called(client, IMAGE, config={"symbol": "BINANCE:BTCUSDT", **OF_SERVICE})

    assert any(isinstance(each, types.ImageContent) for each in image.content)
    assert text_of(image).splitlines()[:-1] == ["BINANCE:BTCUSDT 1h", *STUDIES_IN_WORDS, NO_VALUES]


async def test_what_a_page_begins_with_arrives_over_http(app: App) -> None:
    config = {"symbol": "BINANCE:币安人生USDT", "interval": "1h", "width": 400, "height": 300}
    async with assembled(app) as http, http_client(http) as client:
        answer = await client.modern("tools/call", {"name": IMAGE, "arguments": {"config": config}})

    told = answer.json()["result"]["_meta"][CHART_KEY]
    assert told["config"] == config
    assert told["legend"][0]["name"] == "币安人生USDT 1h · BINANCE TESTNET"
