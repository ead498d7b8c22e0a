"""A zero-intelligence order book: Poisson limit orders, cancels and market orders, with an intensity that wanders.

Nobody in it hides, spoofs, absorbs or knows anything, so whatever a detector names is a false alarm. After Daniels,
Farmer, Gillemot, Iori and Smith (2003) and Cont, Stoikov and Talreja (2010); placement by a power of the distance as
Bouchaud, Mezard and Potters (2002) measured; intensities wander as a log-OU process, so that minutes differ.
"""

import bisect
import pickle
from dataclasses import dataclass, field
from math import exp, sqrt
from typing import NamedTuple, Protocol, cast

import numpy as np

from calibration.records import Delta, Levels, Minute, Print, Second, Snap, Truth

BID, ASK = 0, 1
START_MS = 1_700_000_000_000
SNAP_LEVELS = 200
DRAWN = 8192


class Regime(NamedTuple):
    """What kind of symbol it is; rates per second, sizes in mean orders."""

    name: str
    mid: int  # price in ticks: sets what a tick is worth in bps
    tick: str
    lot: str
    limit_rate: float  # per side
    alpha: float  # placement falls as distance ** -alpha
    reach: int  # farthest placement in ticks
    cancel_rate: float  # per order
    market_rate: float  # per side
    market_size: float  # mean market order over mean limit order
    sigma: float  # log deviation of limit sizes
    wander: float = 0.5  # log deviation of the intensity
    memory_s: float = 90.0


REGIMES = (
    Regime("btc-like", 400_000, "0.01", "0.00001", 26, 0.7, 1500, 0.08, 1.5, 1.2, 1.6),
    Regime("xrp-like", 27_320, "0.0001", "0.1", 22, 0.5, 150, 0.10, 1.2, 1.5, 0.9),
    Regime("pepe-like", 831, "0.00000001", "1", 12, 1.2, 40, 0.05, 0.7, 3.0, 0.9),
    Regime("thin-alt", 50_000, "0.0001", "0.01", 8, 0.7, 200, 0.08, 0.4, 1.0, 1.1),
)
# Sizes as heavy as those of neighbouring levels of recorded majors; no bound is held here, its figures stand beside.
HEAVY = Regime("heavy sizes", 400_000, "0.01", "0.00001", 26, 0.7, 1500, 0.08, 1.5, 1.2, 2.9)


class Owner(Protocol):
    """Whoever put an order there and wants to know when it is filled."""

    def filled(self, market: "Market") -> None: ...

    def tick(self, market: "Market", t: float, ms: int) -> None: ...

    def over(self, market: "Market") -> None: ...

    def truth(self) -> list[Truth]: ...


@dataclass(slots=True, eq=False)
class Order:
    """A limit order in its queue; `at` is its place among the market's own, -1 when somebody else owns it."""

    lots: int
    tick: int
    side: int
    owner: Owner | None
    at: int = -1


class Draws:
    """Random numbers drawn by the thousand: one call a number would cost more than the market itself."""

    def __init__(self, seed: int, regime: Regime) -> None:
        self.rng = np.random.default_rng(seed)
        self.regime = regime
        self.fill()

    def fill(self) -> None:
        """Draw the next thousands, always in one order."""
        g, r = self.rng, self.regime
        self.waits: list[float] = g.exponential(1.0, DRAWN).tolist()
        self.u: list[float] = g.random(DRAWN).tolist()
        self.v: list[float] = g.random(DRAWN).tolist()
        limit = 1000 * g.lognormal(-(r.sigma**2) / 2, r.sigma, DRAWN)
        self.size: list[int] = np.maximum(1, np.rint(limit)).astype(int).tolist()
        s = 1.1
        market = 1000 * r.market_size * g.lognormal(-s * s / 2, s, DRAWN)
        self.taken: list[int] = np.maximum(1, np.rint(market)).astype(int).tolist()
        self.i = 0

    def next(self) -> int:
        """Return the place of the next draw."""
        self.i += 1
        if self.i >= DRAWN:
            self.fill()
        return self.i


@dataclass(slots=True)
class Gathered:
    """What a minute has shown so far."""

    deltas: list[Delta] = field(default_factory=list[Delta])
    seconds: list[Second] = field(default_factory=list[Second])
    snaps: list[Snap] = field(default_factory=list[Snap])
    updates: int = 0
    second_updates: int = 0
    quotes: int = 0
    ofi: float = 0.0
    printed: int = 0


class Market:
    """One symbol; `minute` runs it on for sixty seconds, `fork` copies it to try something else from here."""

    def __init__(self, regime: Regime, seed: int) -> None:
        self.regime, self.draws = regime, Draws(seed, regime)
        self.level: tuple[dict[int, dict[Order, None]], dict[int, dict[Order, None]]] = ({}, {})
        self.size: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.keys: tuple[list[int], list[int]] = ([], [])
        self.changed: tuple[dict[int, None], dict[int, None]] = ({}, {})
        self.orders: list[Order] = []
        self.trades: list[Print] = []
        self.extra = 0
        weights = np.arange(1, regime.reach + 1, dtype=float) ** -regime.alpha
        self.placement: list[float] = (np.cumsum(weights) / weights.sum()).tolist()
        self.now_s, self.trade_id, self.log_activity = 0.0, 0, 0.0
        shares: list[float] = (weights / weights.sum()).tolist()
        for i, share in enumerate(shares, 1):
            expected = regime.limit_rate * share / regime.cancel_rate
            for side, tick in ((BID, regime.mid - i), (ASK, regime.mid + i)):
                for _ in range(int(expected) + (self.draws.v[self.draws.next()] < expected % 1)):
                    self.add(side, tick, self.draws.size[self.draws.next()])

    def fork(self) -> "Market":
        """Return a copy that goes its own way."""
        return cast(Market, pickle.loads(pickle.dumps(self)))  # noqa: S301 - our own, made in this line

    @property
    def bid(self) -> int:
        return self.keys[BID][-1]

    @property
    def ask(self) -> int:
        return self.keys[ASK][0]

    def add(self, side: int, tick: int, lots: int, owner: Owner | None = None) -> Order:
        """Put an order at the end of its queue."""
        order = Order(lots, tick, side, owner)
        queue = self.level[side].get(tick)
        if queue is None:
            queue = self.level[side][tick] = {}
            bisect.insort(self.keys[side], tick)
            self.size[side][tick] = 0
        queue[order] = None
        self.size[side][tick] += lots
        if owner is None:
            order.at = len(self.orders)
            self.orders.append(order)
        self.changed[side][tick] = None
        return order

    def cancel(self, order: Order) -> None:
        """Take an order out, unless it is gone or among the last prices of its side."""
        side, tick = order.side, order.tick
        queue = self.level[side].get(tick)
        if queue is None or order not in queue or (len(queue) == 1 and len(self.keys[side]) < 4):
            return
        del queue[order]
        self._forget(order)
        self.size[side][tick] -= order.lots
        if not queue:
            self._empty(side, tick)
        self.changed[side][tick] = None

    def take(self, lots: int, ms: int, *, sell: bool) -> None:
        """Let a market order eat the best queue, first come first served."""
        side = BID if sell else ASK
        keys = self.keys[side]
        while lots > 0 and len(keys) > 3:
            tick = keys[-1] if sell else keys[0]
            queue, took = self.level[side][tick], 0
            while lots > 0 and queue:
                order = next(iter(queue))
                part = min(lots, order.lots)
                took, lots = took + part, lots - part
                order.lots -= part
                if not order.lots:
                    del queue[order]
                    self._forget(order)
                    if order.owner is not None:
                        self._print(Print(ms, tick, took, sell, self.trade_id + 1), side)
                        took = 0
                        order.owner.filled(self)
            if took:
                self._print(Print(ms, tick, took, sell, self.trade_id + 1), side)
            if not queue:
                self._empty(side, tick)
            self.changed[side][tick] = None

    def minute(self, inject: Owner | None = None) -> Minute:
        """Run on for sixty seconds and return everything that was to be seen."""
        r, d = self.regime, self.draws
        t0 = self.now_s
        end, flush = t0 + 60.0, t0 + 0.1
        from_ms = START_MS + round(t0 * 1000)
        first = self._snap(from_ms, 100_000)
        self.trades, self.extra, self.changed = [], 0, ({}, {})
        seen = Gathered()
        touch = self._touch()
        activity = exp(self.log_activity)
        limits, markets = 2 * r.limit_rate, 2 * r.market_rate
        t = t0
        while True:
            i = d.next()
            total = limits + markets + r.cancel_rate * len(self.orders)
            t += d.waits[i] / (total * activity)
            while t >= flush:
                ms = START_MS + round(flush * 1000)
                if inject is not None:
                    inject.tick(self, flush - t0, ms)
                self._message(seen, ms)
                if flush >= t0 + len(seen.seconds) + 1 - 1e-9:
                    activity = self._second(seen, ms)
                flush += 0.1
            if t >= end:
                break
            self._event(i, d.u[i] * total, START_MS + int(t * 1000))
            seen.updates += 1
            if (now := self._touch()) != touch:
                seen.quotes += 1
                seen.ofi += _order_flow(touch, now)
                touch = now
        self.now_s = end
        if inject is not None:
            inject.over(self)
        to_ms = START_MS + round(end * 1000)
        truth = tuple(inject.truth()) if inject is not None else ()
        return Minute(from_ms, to_ms, r.tick, r.lot, first, seen.deltas, self.trades, seen.seconds, seen.snaps, truth)

    def _event(self, i: int, x: float, ms: int) -> None:
        r, d = self.regime, self.draws
        limits = 2 * r.limit_rate
        if x < limits:
            away = bisect.bisect_left(self.placement, d.v[i]) + 1
            if x < r.limit_rate:
                self.add(BID, self.ask - away, d.size[i])
            else:
                self.add(ASK, self.bid + away, d.size[i])
        elif x < limits + 2 * r.market_rate:
            self.take(d.taken[i], ms, sell=d.v[i] < 0.5)
        elif self.orders:
            self.cancel(self.orders[int(d.v[i] * len(self.orders))])

    def _message(self, seen: Gathered, ms: int) -> None:
        bids, asks = self.changed
        if not bids and not asks:
            return
        n = seen.updates + self.extra or 1
        of_bids, of_asks = self.size
        set_bids: Levels = tuple((tick, of_bids.get(tick, 0)) for tick in bids)
        set_asks: Levels = tuple((tick, of_asks.get(tick, 0)) for tick in asks)
        seen.deltas.append(Delta(ms, n, set_bids, set_asks))
        seen.second_updates += n
        seen.updates = self.extra = 0
        self.changed = ({}, {})

    def _second(self, seen: Gathered, ms: int) -> float:
        new = self.trades[seen.printed :]
        seen.printed = len(self.trades)
        sold = sum(trade.lots for trade in new if trade.sell)
        bought = sum(trade.lots for trade in new) - sold
        depth50 = self._near(BID, 50) + self._near(ASK, 50)
        seen.seconds.append(
            Second(
                ms,
                (self.bid + self.ask) / 2,
                self.ask - self.bid,
                self._near(BID, 10),
                self._near(ASK, 10),
                depth50,
                seen.second_updates,
                len(new),
                seen.ofi,
                seen.quotes,
                bought,
                sold,
            )
        )
        if len(seen.seconds) % 2 == 0:
            seen.snaps.append(self._snap(ms))
        seen.second_updates = seen.quotes = 0
        seen.ofi = 0.0
        fade = exp(-1 / self.regime.memory_s)
        shock = self.regime.wander * sqrt(1 - fade * fade) * float(self.draws.rng.standard_normal())
        self.log_activity = self.log_activity * fade + shock
        return exp(self.log_activity)

    def _touch(self) -> tuple[int, int, int, int]:
        bid, ask = self.keys[BID][-1], self.keys[ASK][0]
        return bid, self.size[BID][bid], ask, self.size[ASK][ask]

    def _near(self, side: int, bps: float) -> int:
        mid = (self.bid + self.ask) / 2
        keys, size = self.keys[side], self.size[side]
        if side == BID:
            return sum(size[k] for k in keys[bisect.bisect_left(keys, mid * (1 - bps / 1e4)) :])
        return sum(size[k] for k in keys[: bisect.bisect_right(keys, mid * (1 + bps / 1e4))])

    def _snap(self, ms: int, levels: int = SNAP_LEVELS) -> Snap:
        bids, asks = self.keys
        below = tuple((k, self.size[BID][k]) for k in bids[: -levels - 1 : -1])
        return Snap(ms, below, tuple((k, self.size[ASK][k]) for k in asks[:levels]))

    def _forget(self, order: Order) -> None:
        if order.at >= 0:
            last = self.orders.pop()
            if last is not order:
                self.orders[order.at] = last
                last.at = order.at
            order.at = -1

    def _empty(self, side: int, tick: int) -> None:
        del self.level[side][tick], self.size[side][tick]
        keys = self.keys[side]
        del keys[bisect.bisect_left(keys, tick)]

    def _print(self, trade: Print, side: int) -> None:
        self.size[side][trade.tick] -= trade.lots
        self.trade_id = trade.id
        self.trades.append(trade)


def _order_flow(before: tuple[int, int, int, int], now: tuple[int, int, int, int]) -> int:
    """Return the order flow imbalance of one change of the touch (Cont, Kukanov, Stoikov 2014)."""
    bid, bid_lots, ask, ask_lots = before
    new_bid, new_bid_lots, new_ask, new_ask_lots = now
    bought = (new_bid_lots if new_bid >= bid else 0) - (bid_lots if new_bid <= bid else 0)
    sold = (new_ask_lots if new_ask <= ask else 0) - (ask_lots if new_ask >= ask else 0)
    return bought - sold
