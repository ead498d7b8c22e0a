"""The usual move of a pair, for every stop that a page or tool prints."""

from mcp_binance_server.analytics.liquidity.stops import Noise, noise_of
from mcp_binance_server.domain.periods import DAY_MS, Candle
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.tape_window import A_PAGE, INTERVAL_MS, closed_candles, settled_ms
from mcp_binance_server.services.gathering import gather

# The page of hourly candles that a trading analysis reads has the running hour and these.
WEEKS_HOURS = A_PAGE - 1


async def read_day(client: SpotClient, symbol: Symbol, now_ms: int) -> tuple[Candle, ...]:
    """Return the bars of the last day that the usual move is measured from."""
    to_ms = settled_ms(now_ms, INTERVAL_MS["5m"])
    return await closed_candles(client, symbol, "5m", to_ms - DAY_MS, to_ms)


async def read_noise(client: SpotClient, symbol: Symbol, now_ms: int) -> Noise | None:
    """Measure the usual move of the last day, and the far moves of the last weeks.

    Return None if there is hardly any trading.
    """
    step_ms = INTERVAL_MS["1h"]
    to_ms = settled_ms(now_ms, step_ms)
    day, weeks = await gather(
        lambda: read_day(client, symbol, now_ms),
        lambda: closed_candles(client, symbol, "1h", to_ms - WEEKS_HOURS * step_ms, to_ms),
    )
    return noise_of(day.required(), weeks.value or ())
