"""The candles of a crowd: a few true histories, each heard many times, later, louder and further out."""

from collections.abc import Sequence

from mcp_binance_server.simulator.market.candles import Candle, Trade
from mcp_binance_server.simulator.market.crowd import MIDDLE
from mcp_binance_server.simulator.market.history import History
from mcp_binance_server.simulator.market.listing import Symbol
from mcp_binance_server.simulator.market.noise import Lru, Temper, draws
from mcp_binance_server.simulator.market.prices import HOUR_MS

MODELS = 8
DELAYS = 6
DELAY_MS = 37 * HOUR_MS
SWINGS = 7  # the widest reaches so many times as far from the middle as its model
LOUDEST = 600
QUIET = Temper(volume_percent=1)  # what the models trade; a member trades a multiple of it


class Delayed:
    """A model heard later; the members that share it ask the same things one after the other."""

    def __init__(self, model: History, delay_ms: int) -> None:
        self._model = model
        self._delay_ms = delay_ms
        self._candles: Lru[tuple[int, int], Candle | None] = Lru(2_000)
        self._newest: tuple[int, Trade | None] = (0, None)

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Add up the trades with start <= time < end; None when there are none."""
        return self._candles.get((start_ms, end_ms), lambda: self._heard(start_ms, end_ms))

    def last(self, end_ms: int) -> Trade | None:
        """Return the newest trade before `end_ms`."""
        if self._newest[0] != end_ms:
            found = self._model.last(end_ms - self._delay_ms)
            self._newest = (end_ms, found and found._replace(time_ms=found.time_ms + self._delay_ms))
        return self._newest[1]

    def price_at(self, hour: int) -> int:
        """Return the price in ticks at a full hour."""
        return self._model.price_at(hour - self._delay_ms // HOUR_MS)

    def _heard(self, start_ms: int, end_ms: int) -> Candle | None:
        found = self._model.window(start_ms - self._delay_ms, end_ms - self._delay_ms)
        return found and found._replace(start_ms=start_ms)


def delayed(models: Sequence[History]) -> tuple[Delayed, ...]:
    """Return every model after every delay; a member takes the one at its number."""
    return tuple(Delayed(model, place * DELAY_MS) for place in range(DELAYS) for model in models)


class Echo:
    """The candles of one member: those of a model, delayed, with the prices spread and the volumes multiplied.

    Members with one model and one delay share whatever was worked out of it, so that a thousand of them can be added
    up at once. All of it is in whole numbers: what a candle holds is exactly what its parts hold.
    """

    def __init__(self, symbol: Symbol, seed: int, heard: Delayed, ended_ms: int | None) -> None:
        swing, volume = draws(2, seed, "echo", symbol.name)
        self.symbol = symbol
        self.ended_ms = ended_ms
        self._heard = heard
        self._swing = 1 + swing % SWINGS
        # Most of a market is small.
        self._volume = 1 + (volume % 1000) ** 3 * LOUDEST // 10**9

    def until(self, now_ms: int) -> int:
        """Return the first moment whose trades nobody can have seen yet."""
        return now_ms + 1 if self.ended_ms is None else min(now_ms + 1, self.ended_ms)

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Add up the trades with start <= time < end; None when there are none."""
        found = self._heard.window(start_ms, end_ms)
        if found is None:
            return None
        at_ms, opened, high, low, close, bought, bought_value, sold, sold_value, *counts = found
        swing, volume, home = self._swing, self._volume, MIDDLE * (1 - self._swing)
        return Candle(
            at_ms,
            home + swing * opened,
            home + swing * high,
            home + swing * low,
            home + swing * close,
            bought * volume,
            (home * bought + swing * bought_value) * volume,
            sold * volume,
            (home * sold + swing * sold_value) * volume,
            *counts,
        )

    def last(self, end_ms: int) -> Trade | None:
        """Return the newest trade before `end_ms`."""
        found = self._heard.last(end_ms)
        return found and found._replace(price=self._price(found.price), lots=found.lots * self._volume)

    def price_at(self, hour: int) -> int:
        """Return the price in ticks at a full hour."""
        return self._price(self._heard.price_at(hour))

    def _price(self, ticks: int) -> int:
        return MIDDLE + self._swing * (ticks - MIDDLE)
