"""View of the simulated market for order matching: levels, trades and prices, in units of 0.00000001.

Its participants are called the crowd, in contrast to the accounts of clients.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from binance_simulator.market.history import MINUTE_MS
from binance_simulator.market.listing import Symbol
from binance_simulator.market.prices import HOUR_MS
from binance_simulator.market.synthetic import Market
from binance_simulator.orders.matching import Level, Taker

DEPTHS = (50, 1_000, 5_000)  # numbers of levels to try until they are enough


class Print(NamedTuple):
    """A trade of the simulated market."""

    at_ms: int
    price: int
    quantity: int
    sold: bool
    """The taker sold; the price was the bid."""


class CrowdView:
    """Read-only view of the levels and trades of the simulated market."""

    def __init__(self, market: Market) -> None:
        self._market = market

    def has_source(self, symbol: Symbol) -> bool:
        """Return whether a source replaces the symbol's market. Its book can move without a trade."""
        return symbol.name in self._market.sources

    def levels(self, symbol: Symbol, taker: Taker, now_ms: int) -> list[Level]:
        """Return enough levels of the opposite side to fill a taker."""
        levels: list[Level] = []
        for limit in DEPTHS:
            levels = self.side(symbol, limit, now_ms, buys=not taker.buys)
            enough = sum(quantity for _, quantity in levels) >= 2 * taker.quantity
            if len(levels) < limit or enough or not taker.reaches(levels[-1][0]):
                break
        return levels

    def side(self, symbol: Symbol, limit: int, now_ms: int, *, buys: bool) -> list[Level]:
        """Return the best levels of one side."""
        depth, unit = self._market.depth(symbol, limit, now_ms), self._market.unit(symbol)
        return [(price * unit.tick, lots * unit.lot) for price, lots in (depth.bids if buys else depth.asks)]

    def ahead(self, symbol: Symbol, price: int, now_ms: int, *, buys: bool) -> int:
        """Return the crowd's quantity at a price."""
        unit = self._market.unit(symbol)
        bid, asked = self._market.level(symbol, price // unit.tick, now_ms)
        return 0 if price % unit.tick else (bid if buys else asked) * unit.lot

    def top(self, symbol: Symbol, now_ms: int) -> tuple[int, int] | None:
        """Return the best bid and the best ask."""
        top, tick = self._market.top(symbol, now_ms), self._market.unit(symbol).tick
        return None if top is None else (top.bid[0] * tick, top.ask[0] * tick)

    def last(self, symbol: Symbol, now_ms: int) -> int | None:
        """Return the price of the newest trade."""
        trade = self._market.last(symbol, now_ms)
        return None if trade is None else trade.price * self._market.unit(symbol).tick

    def average(self, symbol: Symbol, minutes: int, now_ms: int) -> int | None:
        """Return the average price of the last minutes. For 0 minutes or without trades, return the last price."""
        history = self._market.history(symbol)
        recent = history.window(now_ms - minutes * MINUTE_MS, history.until(now_ms)) if minutes else None
        if recent is None:
            return self.last(symbol, now_ms)
        return recent.value * history.symbol.tick // recent.lots

    def prints(
        self, symbol: Symbol, after_ms: int, now_ms: int, matters: Callable[[int, int], bool]
    ) -> Iterator[Print]:
        """Yield the trades after a time, up to now. Skip spans whose low and high do not pass `matters`."""
        tape, unit = self._market.tape(symbol), self._market.unit(symbol)
        end_ms = tape.until(now_ms)
        for start_ms, stop_ms in self._spans(symbol, after_ms + 1, end_ms, matters):
            for trade in tape.forward(start_ms, stop_ms):
                price, quantity = trade.price * unit.tick, trade.lots * unit.lot
                yield Print(trade.time_ms, price, quantity, trade.buyer_is_maker)

    def _spans(
        self, symbol: Symbol, start_ms: int, end_ms: int, matters: Callable[[int, int], bool]
    ) -> Iterator[tuple[int, int]]:
        if self.has_source(symbol):
            yield start_ms, end_ms
            return
        for hour in _cut(start_ms, end_ms, HOUR_MS):
            if self._matters(symbol, hour, matters):
                for minute in _cut(*hour, MINUTE_MS):
                    if self._matters(symbol, minute, matters):
                        yield minute

    def _matters(self, symbol: Symbol, span: tuple[int, int], matters: Callable[[int, int], bool]) -> bool:
        candle = self._market.history(symbol).window(*span)
        return candle is not None and matters(candle.low * symbol.tick, candle.high * symbol.tick)


def _cut(start_ms: int, end_ms: int, length_ms: int) -> Iterator[tuple[int, int]]:
    while start_ms < end_ms:
        stop_ms = min(end_ms, (start_ms // length_ms + 1) * length_ms)
        yield start_ms, stop_ms
        start_ms = stop_ms
