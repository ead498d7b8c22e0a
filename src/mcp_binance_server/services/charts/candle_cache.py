"""Cache of candles for watched pairs. After the first load, only the newest candles are requested."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.market import MOST_CANDLES
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.market.indicators import candles_before
from mcp_binance_server.state.flight import Flights

NEWEST: Final = 3
FRESH_MS: Final = 1_000
KEPT_MS: Final = 5 * 60_000
MOST_SERIES: Final = 32
# Maximum number of candles in the cache. A candle takes about a kilobyte.
MOST_KEPT: Final = 32_000
LONGEST_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class WatchedPair:
    """Key of a candle series: the newest candles, or with `until_ms` those opened until then."""

    symbol: Symbol
    interval: Interval
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LoadedSeries:
    """Candles, oldest first. `as_of_ms` is the exchange's time when the newest of them was requested."""

    candles: tuple[Candle, ...]
    as_of_ms: int

    @property
    def last_closed(self) -> bool:
        return bool(self.candles) and self.candles[-1].close_time_ms < self.as_of_ms

    def followed_by(self, newest: "LoadedSeries") -> "LoadedSeries | None":
        """Return the series with its newest candles updated, or None if they do not continue the series."""
        if not newest.candles:
            return None
        first_ms = newest.candles[0].open_time_ms
        before = [each for each in self.candles[-NEWEST - 1 :] if each.open_time_ms >= first_ms]
        now = {each.open_time_ms: each for each in newest.candles}
        # The last known candle must be among the new ones. Otherwise its final value is unknown.
        if not before or any(self._changed(each, now.get(each.open_time_ms)) for each in before):
            return None
        older = self.candles[: len(self.candles) - len(before)]
        return LoadedSeries((*older, *newest.candles), newest.as_of_ms)

    def last(self, count: int) -> "LoadedSeries":
        return LoadedSeries(self.candles[-count:], self.as_of_ms)

    def _changed(self, was: Candle, now: Candle | None) -> bool:
        return now is None or (was.close_time_ms < self.as_of_ms and was != now)


async def load_series(client: SpotClient, pair: WatchedPair, count: int) -> LoadedSeries:
    """Request `count` candles. A young market has fewer."""
    asked = min(count, MOST_CANDLES)
    page = await client.candles(pair.symbol, pair.interval, asked, until_ms=pair.until_ms)
    candles = page.value
    if len(candles) == asked < count:
        until_ms = candles[0].open_time_ms - 1
        older = await candles_before(client, pair.symbol, pair.interval, count - asked, until_ms=until_ms)
        candles = (*older, *candles)
    return LoadedSeries(candles, page.at_ms)


@dataclass(frozen=True, slots=True)
class _KeptSeries:
    series: LoadedSeries
    wanted: int
    read_ms: float
    asked_ms: float
    party: str

    def has(self, count: int) -> bool:
        return self.wanted >= count or len(self.series.candles) < self.wanted


@dataclass
class CandleCache:
    """Cache for all clients. It loads a series once, and then its newest candles at most once a second.

    A series is kept for five minutes after its last request. If space is short, the cache evicts a series of the party
    with the largest share. So a party that reads many pairs does not evict the series of other parties.
    """

    client: SpotClient
    clock: Clock
    flights: Flights[_KeptSeries] = field(init=False, repr=False)
    _kept: dict[WatchedPair, _KeptSeries] = field(
        default_factory=dict[WatchedPair, _KeptSeries], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    def __len__(self) -> int:
        return len(self._kept)

    async def newest(self, pair: WatchedPair, count: int) -> LoadedSeries:
        """Return the last `count` candles up to now, or up to the end of the watched range.

        Raises:
            AppError: the exchange did not answer.
        """
        now_ms = self.clock.monotonic_ms()
        self._kept = {each: kept for each, kept in self._kept.items() if now_ms - kept.asked_ms < KEPT_MS}
        found = self._kept.get(pair)
        if found is not None and not self._is_current(pair, found, now_ms):
            found = None
        while found is None or not found.has(count):
            found = await self.flights.join(str(pair), lambda: self._renewed(pair, count), lock_ms=LONGEST_MS)
        self._kept.pop(pair, None)
        self._kept[pair] = replace(found, asked_ms=now_ms, party=PARTY.get())
        self._make_room()
        return found.series.last(count)

    def _is_current(self, pair: WatchedPair, kept: _KeptSeries, now_ms: float) -> bool:
        # Past candles do not change. But the last one may still be open.
        is_over = pair.until_ms is not None and (kept.series.last_closed or not kept.series.candles)
        return is_over or now_ms - kept.read_ms < FRESH_MS

    async def _renewed(self, pair: WatchedPair, count: int) -> _KeptSeries:
        kept, series = self._kept.get(pair), None
        if kept is not None and kept.has(count):
            page = await self.client.candles(pair.symbol, pair.interval, NEWEST, until_ms=pair.until_ms)
            series = kept.series.followed_by(LoadedSeries(page.value, page.at_ms))
        wanted = count if kept is None else max(count, kept.wanted)
        if series is None:
            series = await load_series(self.client, pair, wanted)
        now_ms = self.clock.monotonic_ms()
        renewed = self._kept[pair] = _KeptSeries(series.last(wanted), wanted, now_ms, now_ms, PARTY.get())
        return renewed

    def _make_room(self) -> None:
        while len(self._kept) > 1:
            sizes = {pair: len(kept.series.candles) for pair, kept in self._kept.items()}
            if len(self._kept) <= MOST_SERIES and sum(sizes.values()) <= MOST_KEPT:
                return
            held = Counter[str]()
            for pair, kept in self._kept.items():
                held[kept.party] += 1 if len(self._kept) > MOST_SERIES else sizes[pair]
            most = max(held.values())
            # The first match is the least recently requested one.
            del self._kept[next(pair for pair, kept in self._kept.items() if held[kept.party] == most)]
