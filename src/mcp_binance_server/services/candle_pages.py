"""Candles further back than one answer of the exchange reaches: page after page until there are enough."""

from mcp_binance_server.domain.candles import Candle, Interval
from mcp_binance_server.domain.observations import MOST_CANDLES
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.rest import SpotClient


async def candles_before(
    client: SpotClient, symbol: Symbol, interval: Interval, missing: int, *, until_ms: int | None
) -> tuple[Candle, ...]:
    """Return so many candles that opened up to a moment, oldest first; fewer when the market is younger."""
    candles: tuple[Candle, ...] = ()
    while missing > 0:
        asked = min(missing, MOST_CANDLES)
        page = (await client.candles(symbol, interval, asked, until_ms=until_ms)).value
        candles = (*page, *candles)
        if len(page) < asked:
            break
        missing, until_ms = missing - asked, candles[0].open_time_ms - 1
    return candles
