"""What was traded lately, by REST: closed candles in any number, and trades where they are few enough to be read."""

from functools import partial

from mcp_binance_server.domain.candles import Candle, Interval
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.rest import SpotClient
from mcp_binance_server.services.gathering import gather

A_PAGE = 1_000
# A trade, or the end of a candle, may be this long on its way to where it is asked for.
SETTLE_MS = 300
INTERVAL_MS: dict[Interval, int] = {"1s": 1_000, "1m": 60_000, "5m": 300_000}


def settled_ms(now_ms: int, step_ms: int = 1_000) -> int:
    """Return the newest whole step of time that nothing can be added to any more."""
    return (now_ms - SETTLE_MS) // step_ms * step_ms


async def closed_candles(
    client: SpotClient, symbol: Symbol, interval: Interval, from_ms: int, to_ms: int
) -> tuple[Candle, ...]:
    """Return the candles between two moments that are both settled, oldest first; long spans are asked for in parts."""
    step_ms = INTERVAL_MS[interval]
    ends = [*range(to_ms, from_ms, -A_PAGE * step_ms)][::-1]
    parts = await gather(
        *(
            partial(client.closed_candles, symbol, interval, min(A_PAGE, (end - from_ms) // step_ms), until_ms=end - 1)
            for end in ends
        )
    )
    found = [each for part in parts for each in part.required().value]
    return tuple(each for each in found if from_ms <= each.open_time_ms < to_ms)


async def trades_between(
    client: SpotClient, symbol: Symbol, from_ms: int, to_ms: int, most_pages: int
) -> tuple[Trade, ...] | None:
    """Return every aggregate trade between two moments, page by page; None when there are more pages than that."""
    page = (await client.aggregate_trades_since(symbol, from_ms)).value
    trades = list(page)
    for _ in range(most_pages - 1):
        if len(page) < A_PAGE or page[-1].time_ms >= to_ms:
            break
        page = (await client.aggregate_trades_after(symbol, page[-1].trade_id)).value
        trades += page
    is_whole = len(page) < A_PAGE or page[-1].time_ms >= to_ms
    return tuple(each for each in trades if each.time_ms < to_ms) if is_whole else None
