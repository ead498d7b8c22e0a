"""Candles of the additional symbols: a few full histories, reused with other delays, price swings and volumes."""

from collections.abc import Sequence

from binance_simulator.market.candles import Candle, Trade
from binance_simulator.market.crowd import MIDDLE
from binance_simulator.market.history import History
from binance_simulator.market.listing import Symbol
from binance_simulator.market.noise import Lru, Temper, draws
from binance_simulator.market.prices import HOUR_MS

MODELS = 8
DELAYS = 6
DELAY_MS = 37 * HOUR_MS
SWINGS = 7  # maximum factor of the price swing
LOUDEST = 600
QUIET = Temper(volume_percent=1)  # volume of the reused histories, which each symbol multiplies


class Delayed:
    """A history with a delay. Symbols that share it send the same queries, so its candles are cached."""

    def __init__(self, model: History, delay_ms: int) -> None:
        self._model = model
        self._delay_ms = delay_ms
        self._candles: Lru[tuple[int, int], Candle | None] = Lru(2_000)
        self._newest: tuple[int, Trade | None] = (0, None)

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Return one candle for the trades with start <= time < end, or None if there are none."""
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
    """Return every combination of a history and a delay. Symbol number n uses combination number n."""
    return tuple(Delayed(model, place * DELAY_MS) for place in range(DELAYS) for model in models)


class Echo:
    """Candles of one additional symbol: those of a delayed history with wider prices and more volume.

    Symbols with the same delayed history share its cached candles, so that a thousand of them are cheap. All values
    are whole numbers, so a candle is exactly the sum of its parts.
    """

    def __init__(self, symbol: Symbol, seed: int, heard: Delayed, ended_ms: int | None) -> None:
        swing, volume = draws(2, seed, "echo", symbol.name)
        self.symbol = symbol
        self.ended_ms = ended_ms
        self._heard = heard
        self._swing = 1 + swing % SWINGS
        # Most symbols of a market have a small volume.
        self._volume = 1 + (volume % 1000) ** 3 * LOUDEST // 10**9

    def until(self, now_ms: int) -> int:
        """Return the time before which all trades are visible at `now_ms`."""
        return now_ms + 1 if self.ended_ms is None else min(now_ms + 1, self.ended_ms)

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Return one candle for the trades with start <= time < end, or None if there are none."""
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
