"""The accounts' orders in the public book. Snapshots and depth events are consistent with each other."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping

from binance_simulator.market.book import BUCKET_MS, Level, Top
from binance_simulator.market.listing import Symbol
from binance_simulator.market.source import Changes, Depth, Span
from binance_simulator.orders.matching import Resting

Place = tuple[bool, int]  # whether it is a bid, and the price in ticks
Shown = Mapping[Place, int]  # lots
NOTHING: Shown = {}
KEPT_MS = 600_000  # the history of an empty price is kept for this long


class ShownOrders:
    """History of the accounts' orders in the public book, in whole lots, rounded down.

    A change is visible from the end of its 100 ms bucket, as in depth events.
    """

    def __init__(self) -> None:
        self._past: dict[str, dict[Place, list[Level]]] = {}  # by price: time and quantity of each change
        self._told_ms: dict[str, int] = {}

    def wipe(self) -> None:
        """Remove all orders."""
        self._past.clear()

    def publish(self, symbol: Symbol, orders: Iterable[Resting], at_ms: int) -> None:
        """Update the orders in the public book. A change appears only in events that are sent later."""
        standing: dict[Place, int] = {}
        for order in orders:
            place = (order.buys, order.price // symbol.tick)
            standing[place] = standing.get(place, 0) + order.shown
        past = self._past.setdefault(symbol.name, {})
        gone = [place for place, history in past.items() if not history[-1][1] and history[-1][0] < at_ms - KEPT_MS]
        for place in gone:
            del past[place]
        shows_ms = max(-(-at_ms // BUCKET_MS) * BUCKET_MS, self._told_ms.get(symbol.name, 0) + BUCKET_MS)
        for place in {*standing, *past}:
            lots, history = standing.get(place, 0) // symbol.lot, past.get(place, [(0, 0)])
            if lots != history[-1][1]:
                past[place] = [*history, (shows_ms, lots)]

    def told(self, symbol: Symbol, until_ms: int) -> None:
        """Record that the events up to a time have been sent."""
        self._told_ms[symbol.name] = max(until_ms, self._told_ms.get(symbol.name, 0))

    def at(self, symbol: Symbol, now_ms: int) -> Shown:
        """Return the visible orders at a time."""
        past = self._past.get(symbol.name)
        if not past:
            return NOTHING
        shown = {place: _last(history, now_ms) for place, history in past.items()}
        return {place: lots for place, lots in shown.items() if lots}

    def touched(self, symbol: Symbol, span: Span) -> set[Place]:
        """Return the prices at which orders changed in a span."""
        past = self._past.get(symbol.name, {})
        return {
            place
            for place, history in past.items()
            if any(span.start_ms < shows_ms <= span.end_ms for shows_ms, _ in history)
        }


def _last(history: list[Level], now_ms: int) -> int:
    place = bisect_right(history, now_ms, key=lambda entry: entry[0])
    return history[place - 1][1] if place else 0


def lay_depth(depth: Depth, shown: Shown, limit: int) -> Depth:
    """Add the accounts' orders to a snapshot of the simulated market."""
    bids, asks = dict(depth.bids), dict(depth.asks)
    for (buys, price), lots in _uncrossed(shown, depth.bids[:1], depth.asks[:1]):
        side = bids if buys else asks
        side[price] = side.get(price, 0) + lots
    return Depth(depth.update_id, sorted(bids.items(), reverse=True)[:limit], sorted(asks.items())[:limit])


def lay_top(top: Top, shown: Shown) -> Top:
    """Add the accounts' orders to the best prices of the simulated market."""
    laid = lay_depth(Depth(0, [top.bid], [top.ask]), shown, 1)
    return Top(laid.bids[0], laid.asks[0])


def lay_changes(changes: Changes, shown: Shown, touched: set[Place], crowd: Callable[[int], Level]) -> Changes:
    """Add the accounts' orders to changes of the simulated market.

    `crowd` returns the market's bid and ask quantity at a price after the changes.
    """
    bids, asks = dict(changes.bids), dict(changes.asks)
    for buys, price in touched | {(True, price) for price in bids} | {(False, price) for price in asks}:
        side, own = (bids if buys else asks), shown.get((buys, price), 0)
        if own or (buys, price) in touched:
            side[price] = own + (side[price] if price in side else crowd(price)[0 if buys else 1])
    return Changes(changes.first_id, changes.last_id, bids, asks)


def _uncrossed(shown: Shown, bids: list[Level], asks: list[Level]) -> list[tuple[Place, int]]:
    """Leave out orders that the market has reached in the current bucket.

    They are shown as filled from the end of the bucket.
    """
    highest, lowest = (asks[0][0] if asks else None), (bids[0][0] if bids else None)
    return [
        (place, lots)
        for place, lots in shown.items()
        if (highest is None or place[1] < highest if place[0] else lowest is None or place[1] > lowest)
    ]
