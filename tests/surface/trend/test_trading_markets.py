"""What trading_analysis gives a model to go by, on markets of every kind: dear, tiny, and quoted in other assets."""

import re
from decimal import Decimal

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from support.desk import raw
from support.requirement import requirement

MARKETS = [
    "BTCUSDT", "SOLUSDT", "XRPUSDT", "DOTUSDT", "TRXUSDT", "PEPEUSDT", "SHIBUSDT", "1000SATSUSDT", "币安人生USDT",
    "BTCUSDC", "ETHBTC", "XRPBTC", "SOLBTC", "BNBETH", "BTCEUR", "BTCTRY", "USDTTRY",
]  # fmt: skip
DOLLARS = {"USDT", "USDC"}


async def page(client: Client, **arguments: str) -> str:
    (message,) = (await client.get_prompt("trading_analysis", {**arguments, "detail": "true"})).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def labelled(text: str) -> dict[str, str]:
    """Return what stands behind each bold label, and behind each of the three trade lines."""
    lines = re.findall(r"^(?:\*\*|\*- )([A-Za-z0-9 ]+?)(?:\*\*)?: (.+?)\*?$", text, re.MULTILINE)
    return dict(lines)


def amounts(shown: str) -> list[Decimal]:
    return [Decimal(each.replace(",", "")) for each in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", shown)]


@pytest.fixture(params=MARKETS)
async def market(exchange: SimulatedExchange, request: pytest.FixtureRequest) -> dict[str, str]:
    """The day of one market as the exchange tells it, with its assets and the step of its price."""
    ticker = await raw(exchange, f"ticker/24hr?symbol={request.param}")
    (listed,) = (await raw(exchange, f"exchangeInfo?symbol={request.param}"))["symbols"]
    (tick,) = [each["tickSize"] for each in listed["filters"] if each["filterType"] == "PRICE_FILTER"]
    return ticker | {"base": listed["baseAsset"], "quote": listed["quoteAsset"], "tick": tick}


@requirement("SC-007", "prompts/us1-1")
async def test_price_change_volume_high_and_low_are_the_exchanges_own(client: Client, market: dict[str, str]) -> None:
    shown = labelled(await page(client, symbol=market["symbol"]))

    for label, field in (("Current Price", "lastPrice"), ("24h High", "highPrice"), ("24h Low", "lowPrice")):
        assert amounts(shown[label]) == [Decimal(market[field])]
        assert shown[label].startswith("$") is (market["quote"] in DOLLARS)
        assert shown[label].endswith(f" {market['quote']}") is (market["quote"] not in DOLLARS)
    relative, change = amounts(shown["24h Change"])
    assert relative == pytest.approx(abs(Decimal(market["priceChangePercent"])), abs=Decimal("0.006"))
    assert change == abs(Decimal(market["priceChange"]))
    assert shown["24h Change"].startswith("-") is (Decimal(market["priceChangePercent"]) < 0)
    assert shown["24h Volume"].endswith(f" {market['base']}")
    assert amounts(shown["24h Volume"].rpartition(" ")[0]) == [
        pytest.approx(Decimal(market["volume"]), abs=Decimal("0.006"))
    ]


@requirement("prompts/us1-3", "prompts/trading-analysis-levels")
async def test_entry_stop_and_target_are_prices_one_can_trade_at(client: Client, market: dict[str, str]) -> None:
    text = await page(client, symbol=market["symbol"], strategy="aggressive", risk_tolerance="high")

    shown = labelled(text)
    low_entry, high_entry = amounts(shown["Entry Point"].split(" (")[0])
    (stop,), (target,) = (amounts(shown[label].split(" (")[0]) for label in ("Stop Loss", "Take Profit"))
    price, high, low = (Decimal(market[field]) for field in ("lastPrice", "highPrice", "lowPrice"))
    assert 0 < stop < low <= low_entry < high_entry <= price
    assert target > high
    assert all(each % Decimal(market["tick"]) == 0 for each in (low_entry, high_entry, stop, target))
    # The stated rule of an aggressive strategy at a high risk tolerance, to half a tick.
    span, half = high - low, Decimal(market["tick"]) / 2
    bottom = low + span / 2
    expected = (low if price < bottom else bottom, min(low + span * 3 / 4, price), low - span / 2, high + span * 3 / 4)
    for level, rule in zip((low_entry, high_entry, stop, target), expected, strict=True):
        assert abs(level - rule) <= half


@requirement("prompts/us1-3")
async def test_a_size_a_trend_and_levels_stand_below(client: Client, market: dict[str, str]) -> None:
    text = await page(client, symbol=market["symbol"], strategy="aggressive", risk_tolerance="high")

    shown = labelled(text)
    size = shown["Position Size"]
    if size.startswith("no order: "):
        assert market["base"] == "BTC" or size.endswith(f"no free {market['quote']}")  # as this account is made
    else:
        low_entry, high_entry = amounts(shown["Entry Point"].split(" (")[0])
        (stop,) = amounts(shown["Stop Loss"].split(" (")[0])
        assert size.partition(" (")[0].endswith(f" {market['base']}")
        (quantity, *_), (worth, *_) = amounts(size), amounts(size.partition(" (")[2])
        risk, at_most = (amounts(shown["At Risk"])[place] for place in (0, -1))
        # A sum in coins is printed to a few digits only.
        assert worth == pytest.approx(quantity * high_entry, rel=Decimal("0.01"))
        assert risk == pytest.approx(quantity * ((low_entry + high_entry) / 2 - stop), rel=Decimal("0.05"))
        assert at_most == pytest.approx(quantity * (high_entry - stop), rel=Decimal("0.05"))
    assert "_Unavailable" not in text
    for heading in ("## Trend and Volatility", "## Support and Resistance", "## Levels by Rule"):
        assert heading in text
    # Nothing printed as zero, nothing in the wrong currency.
    assert not re.search(r"\$0\.0+(?![0-9])", text)
    assert ("$" in text) is (market["quote"] in DOLLARS)
