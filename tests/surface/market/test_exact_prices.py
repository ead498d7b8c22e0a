"""Prices as people read them, on every surface: with the decimals of the tick, on the tick, and told apart."""

import re
from decimal import Decimal

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from support.desk import raw
from support.requirement import requirement

PRICE = re.compile(r"\$([0-9][0-9,]*\.[0-9]+)")
# A market of each kind of tick: finer than a cent above 1, the same below 1, a cent, and the finest there is.
TICKS = {"XRPUSDT": 4, "DOTUSDT": 3, "DOGEUSDT": 5, "SOLUSDT": 2, "PEPEUSDT": 8}
TOOLS: dict[str, dict[str, object]] = {
    "get_ticker": {},
    "get_average_price": {},
    "get_order_book": {"limit": 5},
    "get_recent_trades": {"limit": 5},
    "get_klines": {"interval": "1h", "limit": 5},
    "get_orderbook_metrics": {},
    "get_volume_profile": {},
    "get_liquidity_vacuums": {},
    "estimate_slippage": {"side": "BUY", "amount": "1000"},
}


def sums_apart(text: str) -> str:
    """Leave out the lines that speak of money, not of prices, and amounts within one."""
    kept = [
        line
        for line in text.split("\n")
        if not re.match(r"\*\*(Quote Volume|Position Size|At Risk|Holder|Large trades)|\| \$1", line)
    ]
    depths, sums = r"\$\S+(?: bid)? / (?:>= )?\$\S+", r"\$[0-9.,]+(?:[KMB]| USDT| costs)|up to \$[0-9,.]+"
    return re.sub(f"{depths}|{sums}", "", "\n".join(kept))


def text_of(content: types.ContentBlock) -> str:
    assert isinstance(content, types.TextContent)
    return content.text


async def pages(client: Client, symbol: str) -> dict[str, str]:
    found = dict[str, str]()
    (content,) = (await client.read_resource(f"binance://market/{symbol}")).contents
    assert isinstance(content, types.TextResourceContents)
    found["resource"] = content.text
    known = {each.name for each in (await client.list_prompts()).prompts}
    for name in known - {"portfolio_risk", "market_overview"}:
        found[name] = text_of((await client.get_prompt(name, {"symbol": symbol})).messages[0].content)
    for name, arguments in TOOLS.items():
        found[name] = text_of((await client.call_tool(name, {"symbol": symbol, **arguments})).content[0])
    return found


@pytest.mark.slow
@requirement("ruling/11")
@pytest.mark.parametrize("symbol", TICKS)
async def test_every_price_on_every_surface_has_the_decimals_of_its_tick(client: Client, symbol: str) -> None:
    places = TICKS[symbol]

    for name, text in (await pages(client, symbol)).items():
        shown = PRICE.findall(sums_apart(text))
        assert {len(each.partition(".")[2]) for each in shown} <= {places, places + 1}, (name, text)


@requirement("ruling/11")
@pytest.mark.parametrize("symbol", ["XRPUSDT", "DOTUSDT"])
async def test_price_day_and_levels_are_printed_as_what_they_are(
    client: Client, exchange: SimulatedExchange, symbol: str
) -> None:
    ticker = await raw(exchange, f"ticker/24hr?symbol={symbol}")
    text = text_of(
        (await client.get_prompt("trading_analysis", {"symbol": symbol, "detail": "true"})).messages[0].content
    )

    day = [Decimal(PRICE.findall(line)[0].replace(",", "")) for line in text.split("\n")[2:6]]
    rules = [line for line in text.split("\n") if line.startswith(("| 24h range", "| ATR", "| R1", "| S1", "| At the"))]
    levels = [Decimal(each) for line in rules for each in PRICE.findall(line)]
    assert day == [Decimal(ticker[name]).copy_abs() for name in ("lastPrice", "priceChange", "highPrice", "lowPrice")]
    assert len(levels) >= 8
    assert all(not level % Decimal(1).scaleb(-TICKS[symbol]) for level in levels)
    assert len({*levels, day[0]}) >= 6


@pytest.mark.night
@pytest.mark.slow
@requirement("ruling/11")
async def test_a_spread_in_basis_points_is_not_zero_on_any_surface(client: Client) -> None:
    for text in (await pages(client, "BTCUSDT")).values():
        assert not re.search(r"\b0\.0+ bps|costs 0\.0+ |\| \$[0-9,]+ \| 0\.0+ \||mid bps \| 0\.0+ \|", text), text
