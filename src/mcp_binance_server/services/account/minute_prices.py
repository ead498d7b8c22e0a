"""USDT prices of assets in past minutes, from candle closes. A finished minute is read only once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from mcp_binance_server.analytics.portfolio.lots import EXACT
from mcp_binance_server.analytics.portfolio.valuation import DOLLAR
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import Symbol, SymbolTable
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.rest import MINUTE_MS, SpotClient
from mcp_binance_server.services.gathering import gather_in_turns

# The exchange returns at most a thousand candles per call.
MOST_MINUTES = 1000
AT_ONCE = 8
MOST_KEPT = 20_000
ONE = Price(EXACT.create_decimal(1))

Moment = tuple[str, int]
"""An asset and the start of a minute in ms."""


def minute_of(time_ms: int) -> int:
    return time_ms - time_ms % MINUTE_MS


@dataclass(frozen=True, slots=True)
class PastPrices:
    """Known prices of the requested minutes, the calls made, and the calls that the other minutes still need."""

    known: Mapping[Moment, Price]
    calls: int
    calls_left: int

    def at(self, asset: str, time_ms: int) -> Price | None:
        return self.known.get((asset, minute_of(time_ms)))


@dataclass(frozen=True, slots=True)
class _Window:
    """Minutes of one asset that fit into one call."""

    asset: str
    symbol: Symbol
    inverse: bool
    first_ms: int
    last_ms: int


@dataclass
class MinutePrices:
    """Reader and cache of minute closes. All callers share it, because the closes are public."""

    client: SpotClient
    time: ServerTime
    _kept: dict[Moment, Price] = field(default_factory=dict[Moment, Price], init=False, repr=False)

    async def read(self, wanted: Iterable[tuple[str, int]], table: SymbolTable, most_calls: int) -> PastPrices:
        """Return the known prices of the moments. If the calls do not suffice, the newest moments have priority.

        An asset without a market against USDT has no price here. A price by way of a third asset would combine closes
        of two markets, and the trade was in neither of them.

        Raises:
            RateLimited: the rate limit allows no request now.
        """
        moments = {(asset, minute_of(time_ms)) for asset, time_ms in wanted}
        windows = _windows(moments - self._kept.keys(), table)
        reads = [partial(self._closes, window) for window in windows[:most_calls]]
        parts = await gather_in_turns(reads, at_once=AT_ONCE)
        read = {moment: price for part in parts if part.value for moment, price in part.value.items()}
        known = {each: price for each in moments if (price := read.get(each) or self._kept.get(each)) is not None}
        now_ms = self.time.now_ms()
        self._keep({each: price for each, price in known.items() if each[1] + MINUTE_MS <= now_ms})
        return PastPrices(known, len(reads), len(windows) - len(reads))

    async def _closes(self, window: _Window) -> dict[Moment, Price]:
        count = (window.last_ms - window.first_ms) // MINUTE_MS + 1
        reading = await self.client.candles(window.symbol, "1m", count, until_ms=window.last_ms)
        return {
            (window.asset, each.open_time_ms): Price(EXACT.divide(ONE, each.close)) if window.inverse else each.close
            for each in reading.value
        }

    def _keep(self, known: Mapping[Moment, Price]) -> None:
        self._kept |= known
        for oldest in [*islice(self._kept, max(0, len(self._kept) - MOST_KEPT))]:
            del self._kept[oldest]


def _windows(moments: Iterable[Moment], table: SymbolTable) -> list[_Window]:
    """Return the calls that cover these minutes, newest first."""
    windows: list[_Window] = []
    by_asset: dict[str, list[int]] = {}
    for asset, minute_ms in sorted(moments, reverse=True):
        by_asset.setdefault(asset, []).append(minute_ms)
    for asset, minutes in by_asset.items():
        direct, inverse = table.find(asset + DOLLAR), table.find(DOLLAR + asset)
        market, left = direct or inverse, minutes
        while market is not None and left:
            inside = [each for each in left if each > left[0] - MOST_MINUTES * MINUTE_MS]
            windows.append(_Window(asset, market.symbol, direct is None, inside[-1], inside[0]))
            left = left[len(inside) :]
    return sorted(windows, key=lambda each: -each.last_ms)
