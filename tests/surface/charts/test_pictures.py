"""What a chart drawn here shows: as many bars as asked for, volume, positions ahead of the market, no idle warning."""

import re
from html import unescape
from typing import Any

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from support.charts import ENVIRONMENT, answer_of
from support.clock import FakeClock
from support.served import Place

HOUR_MS = 3_600_000
BTC = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange) -> Place:
    clock.advance(14 * HOUR_MS)
    return Place(clock, exchange, "auto")


async def constructed(client: Client, words: str) -> dict[str, Any]:
    result = await client.call_tool("construct_chart_config", {"naturalLanguage": words})
    assert result.structured_content is not None
    return result.structured_content["config"]


async def drawn(client: Client, config: object) -> tuple[dict[str, Any], str]:
    """Return what the answer says of the picture, and the picture as SVG."""
    result = await client.call_tool("generate_chart_image", {"config": config, "storage": True})
    assert not result.is_error, result.content
    (svg,) = [
        str(each.uri)
        for each in result.content
        if isinstance(each, types.ResourceLink) and str(each.uri).endswith(".svg")
    ]
    (content,) = (await client.read_resource(svg)).contents
    assert isinstance(content, types.TextResourceContents)
    return answer_of(result)["metadata"], content.text


def words_of(svg: str) -> list[str]:
    return [unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


async def closes_of(client: Client, symbol: str, bars: int) -> tuple[float, float]:
    """Return the first and the last close of the newest bars."""
    result = await client.call_tool("get_klines", {"symbol": symbol, "interval": "1h", "limit": bars})
    assert result.structured_content is not None
    place = result.structured_content["columns"].split(",").index("close")
    closes = [float(row.split(",")[place]) for row in result.structured_content["rows"]]
    return closes[0], closes[-1]


def said(metadata: dict[str, Any]) -> list[str]:
    """Return the warnings that speak of the picture itself."""
    return [each for each in metadata["warnings"] if not each.startswith("kept_here")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "bars"),
    [
        ("BTC 1h last 50 candles", 50),
        ("ETH 4h last 100 candles", 100),
        ("BTC daily last 30 candles", 30),
        ("BTC weekly last 40 candles", 40),
        ("BTC monthly last 12 candles", 12),
        ("BTC 1m last 500 candles", 500),
        ("BTC 1h last 1000 candles", 1000),
    ],
)
async def test_the_last_candles_are_as_many_as_asked_for_and_nothing_is_warned_of(
    place: Place, words: str, bars: int
) -> None:
    async with place.served(ENVIRONMENT) as client:
        metadata, _ = await drawn(client, await constructed(client, words))

    assert metadata["bars"] == bars
    assert said(metadata) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "shown"),
    [
        (BTC, 1),
        ({**BTC, "studies": [{"name": "RSI"}, {"name": "Volume"}]}, 1),
        ({**BTC, "override": {"showVolume": False}}, 0),
    ],
)
async def test_volume_is_shown_once_unless_switched_off(place: Place, config: dict[str, Any], shown: int) -> None:
    async with place.served(ENVIRONMENT) as client:
        metadata, svg = await drawn(client, config)

    assert words_of(svg).count("Vol") == shown
    assert said(metadata) == []


@pytest.mark.night
@pytest.mark.slow
async def test_words_switch_volume_off_as_well(place: Place) -> None:
    async with place.served(ENVIRONMENT) as client:
        without = await constructed(client, "BTC 4h without volume")
        plain = await constructed(client, "BTC 4h")
        _, svg = await drawn(client, without)

    assert without["override"] == {"showVolume": False}
    assert "override" not in plain
    assert "Vol" not in words_of(svg)


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize("span", [{"range": "3D"}, {"range": {"from": "2026-07-10T00:00Z", "to": "2026-07-15T00:00Z"}}])
async def test_a_position_begins_at_the_last_bar_and_lies_ahead_of_it(place: Place, span: dict[str, Any]) -> None:
    async with place.served(ENVIRONMENT) as client:
        _, plain = await drawn(client, {**BTC, **span})
        price = float(words_of(plain)[words_of(plain).index("C") + 1].replace(",", ""))
        plan = {"entry": price, "target": price * 1.02, "stop": price * 0.99}
        config = {**BTC, **span, "drawings": [{"type": "long", "coordinates": plan}]}
        metadata, svg = await drawn(client, config)

    profit, loss = (re.search(rf'fill="{ink}" fill-opacity="0.2" d="M([\d.]+) [\d.]+h([\d.]+)', svg) for ink in
                    ("#089981", "#f23645"))  # fmt: skip
    assert profit
    assert loss
    # Wicks are the first lines of the bars' colours: the box begins at the last of them, to half a bar.
    columns = [float(x) for path in re.findall(r'<path stroke="#(?:089981|f23645)"[^>]* d="([^"]*)"', svg)
               for x in re.findall(r"M([\d.]+) [\d.]+L\1 ", path)]  # fmt: skip
    slot = (max(columns) - min(columns)) / (metadata["bars"] - 1)
    assert float(profit[1]) == float(loss[1]) == pytest.approx(max(columns), abs=slot / 2 + 1)
    assert float(profit[2]) > 100
    assert said(metadata) == []


@pytest.mark.night
@pytest.mark.slow
async def test_a_volume_profile_is_that_of_the_bars_shown(place: Place) -> None:
    config = {**BTC, "range": "3D", "studies": [{"name": "VPVR"}]}

    async with place.served(ENVIRONMENT) as client:
        metadata, svg = await drawn(client, config)
        rows = await client.call_tool("get_klines", {"symbol": "BTCUSDT", "interval": "1h", "limit": 73})
    words = words_of(svg)
    poc, vah, val = (float(words[words.index(name) + 1].replace(",", "")) for name in ("POC", "VAH", "VAL"))

    assert said(metadata) == []
    assert rows.structured_content is not None
    names = rows.structured_content["columns"].split(",")
    bars = [dict(zip(names, row.split(","), strict=True)) for row in rows.structured_content["rows"]]
    assert len(bars) == metadata["bars"] == 73
    # By hand: each bar's volume evenly over its range, in the share that lies in the value area.
    inside = whole = 0.0
    for bar in bars:
        low, high, volume = (float(bar[key]) for key in ("low", "high", "volume"))
        whole += volume
        inside += volume * max(0.0, min(high, vah) - max(low, val)) / (high - low)
    assert val < poc < vah
    assert 0.70 <= inside / whole <= 0.78


@pytest.mark.slow
@pytest.mark.parametrize("points", [{"start": 113_000, "end": 120_500}, [{"price": 113_000}, {"price": 120_500}]])
async def test_a_retracement_between_two_prices_spans_the_chart(place: Place, points: object) -> None:
    config = {**BTC, "range": "3D", "drawings": [{"type": "fib", "coordinates": points}]}

    async with place.served(ENVIRONMENT) as client:
        metadata, svg = await drawn(client, config)

    assert said(metadata) == []
    assert {"0 (120,500.00)", "0.5 (116,750.00)", "1 (113,000.00)"} <= set(words_of(svg))


@pytest.mark.night
@pytest.mark.slow
async def test_a_retracement_can_be_said(place: Place) -> None:
    async with place.served(ENVIRONMENT) as client:
        config = await constructed(client, "BTC 1h fib from 113000 to 120500")
        _, svg = await drawn(client, config)

    assert config["drawings"] == [{"type": "fibRetracement", "coordinates": {"start": 113_000, "end": 120_500}}]
    assert "0.618 (115,865.00)" in words_of(svg)


@pytest.mark.slow
async def test_markets_are_compared_by_their_change_since_the_first_bar(place: Place) -> None:
    config = {**BTC, "range": "3D", "compare": ["BINANCE:ETHUSDT", "binance:shibusdt"]}

    async with place.served(ENVIRONMENT) as client:
        metadata, svg = await drawn(client, config)
        closes = {symbol: await closes_of(client, symbol, metadata["bars"]) for symbol in ("ETHUSDT", "SHIBUSDT")}
    words = words_of(svg)

    assert said(metadata) == []
    for symbol, (first, last) in closes.items():
        change = float(words[words.index(symbol) + 2].replace("\N{MINUS SIGN}", "-").removesuffix("%"))
        assert change == pytest.approx((last / first - 1) * 100, abs=0.006)


@pytest.mark.parametrize(
    ("compare", "problem"),
    [
        (["NASDAQ:AAPL"], "'NASDAQ:AAPL' cannot be compared"),
        (["BINANCE:ETHUSDT.P"], "cannot be compared"),
        ("BINANCE:ETHUSDT", "must be a list"),
        ([], "must be a list of one to 4 pairs"),
        (["BINANCE:NOSUCHUSDT"], "NOSUCHUSDT"),
    ],
)
async def test_what_cannot_be_compared_is_refused(place: Place, compare: object, problem: str) -> None:
    async with place.served(ENVIRONMENT) as client:
        result = await client.call_tool("generate_chart_image", {"config": {**BTC, "compare": compare}})

    assert result.is_error
    assert problem in str(result.content)


@pytest.mark.night
@pytest.mark.slow
async def test_a_scale_given_up_for_comparing_is_said(place: Place) -> None:
    config = {**BTC, "scale": "logarithmic", "compare": ["BINANCE:ETHUSDT"]}

    async with place.served(ENVIRONMENT) as client:
        metadata, _ = await drawn(client, config)

    assert said(metadata) == ["scale_percent: markets are compared in percent, whatever the scale"]


@pytest.mark.night
@pytest.mark.slow
async def test_values_and_names_without_room_are_said(place: Place) -> None:
    averages = [{"name": "EMA", "inputs": {"length": length}} for length in range(5, 100, 5)]

    async with place.served(ENVIRONMENT) as client:
        small, _ = await drawn(client, {**BTC, "width": 400, "height": 300, "studies": averages})
        large, _ = await drawn(client, {**BTC, "height": 900, "studies": averages[:12]})

    assert [each.partition(":")[0] for each in said(small)] == ["no_room", "no_room"]
    assert "EMA 95" in said(small)[0]
    assert said(large) == []
