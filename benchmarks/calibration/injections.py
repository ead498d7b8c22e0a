"""Events put into a calm book, with the truth about them. `times` scales the effect; a mean order has 1,000 lots."""

from calibration.records import Truth
from calibration.zero_intelligence import ASK, BID, Market, Order

MEAN = 1000


class Injection:
    """What every injection answers; one that owns orders takes them out when its minute is over."""

    def __init__(self, times: float = 1.0) -> None:
        self.times = times
        self.own: list[Order] = []

    def tick(self, market: Market, t: float, ms: int) -> None:
        """Do what is due, `t` seconds into the minute; asked ten times a second."""

    def filled(self, market: Market) -> None:
        """Hear that an own order was filled."""

    def truth(self) -> list[Truth]:
        """Return what was there to be found."""
        raise NotImplementedError

    def over(self, market: Market) -> None:
        """Leave the market as it would be without this."""
        for order in self.own:
            market.cancel(order)

    def place(self, market: Market, side: int, tick: int, lots: float) -> Order:
        """Put an order there that is taken out in the end."""
        order = market.add(side, tick, int(lots), owner=self)
        self.own.append(order)
        return order


class HiddenSize(Injection):
    """A peak of `2 times` mean orders at the best bid, 60 peaks behind it, shown anew the moment one is filled.

    Sellers come at twice their usual rate: an iceberg that nobody meets cannot be seen. It counts after eight refills.
    """

    def __init__(self, times: float = 1.0) -> None:
        super().__init__(times)
        self.peak, self.left, self.peaks_filled, self.owed = int(2 * times * MEAN), 60, 0, 0.0
        self.at: int | None = None

    def tick(self, market: Market, t: float, ms: int) -> None:
        if self.at is None and t >= 5:
            self.at = market.bid
            self.place(market, BID, self.at, self.peak)
        if self.at is not None:
            self.owed += 0.1 * market.regime.market_rate
            while self.owed >= 1:
                self.owed -= 1
                market.take(market.draws.taken[market.draws.next()], ms, sell=True)

    def filled(self, market: Market) -> None:
        self.peaks_filled += 1
        if self.left > 0 and self.at is not None:
            self.left -= 1
            self.place(market, BID, self.at, self.peak)

    def truth(self) -> list[Truth]:
        return [Truth("hidden size", "bid", self.at or 0, self.peaks_filled >= 8)]


class CameAndWent(Injection):
    """A large ask three levels off the touch, gone after 1.5 s untraded, five times in a minute."""

    def __init__(self, times: float = 1.0) -> None:
        super().__init__(times)
        self.order: Order | None = None
        self.off, self.next = 0.0, 4.0
        self.ticks: list[int] = []

    def tick(self, market: Market, t: float, ms: int) -> None:
        if self.order is None and t >= self.next and len(self.ticks) < 5:
            usual = sum(market.size[ASK][k] for k in market.keys[ASK][:200])
            tick = market.keys[ASK][min(3, len(market.keys[ASK]) - 1)]
            self.order = self.place(market, ASK, tick, 0.08 * self.times * usual)
            self.off = t + 1.5
            self.ticks.append(tick)
        elif self.order is not None and t >= self.off:
            market.cancel(self.order)
            self.order, self.next = None, t + 8

    def truth(self) -> list[Truth]:
        return [Truth("came and went", "ask", tick) for tick in self.ticks]


class StandingSize(Injection):
    """A bid of so many times the third largest level of its side, five levels off, standing the whole minute."""

    at: int | None = None

    def tick(self, market: Market, t: float, ms: int) -> None:
        if self.at is None and t >= 0.1:
            side = sorted((market.size[BID][k] for k in market.keys[BID][-200:]), reverse=True)
            self.at = market.keys[BID][-min(6, len(market.keys[BID]))]
            self.place(market, BID, self.at, 4 * self.times * side[min(2, len(side) - 1)])

    def truth(self) -> list[Truth]:
        return [Truth("standing size", "bid", self.at or 0)]


class Absorption(Injection):
    """Sellers hit the best bid at `1 + 2 times` their usual rate while somebody keeps filling it up."""

    at: int | None = None
    want, owed = 0, 0.0

    def tick(self, market: Market, t: float, ms: int) -> None:
        if t < 5:
            return
        if self.at is None:
            self.at = market.bid
            self.want = max(market.size[BID][self.at], 3 * MEAN)
        self.owed += 0.1 * 2 * self.times * market.regime.market_rate
        while self.owed >= 1:
            self.owed -= 1
            market.take(market.draws.taken[market.draws.next()], ms, sell=True)
        short = self.want - market.size[BID].get(self.at, 0)
        if short > 0 and self.at < market.ask:
            self.place(market, BID, self.at, short)

    def truth(self) -> list[Truth]:
        return [Truth("absorption", "bid", self.at or 0)]


class Stress(Injection):
    """From 45 s on, for five seconds: bids are withdrawn and sold into; `times` 1 withdraws 60 %, 2 withdraws 90 %."""

    def tick(self, market: Market, t: float, ms: int) -> None:
        if not 45 <= t < 50:
            return
        share = 1 - (0.4 if self.times <= 1 else 0.1) ** (1 / 50)
        for order in [each for each in market.orders if each.side == BID]:
            if market.draws.rng.random() < share:
                market.cancel(order)
        market.take(int(2 * self.times * MEAN * market.regime.market_size), ms, sell=True)

    def truth(self) -> list[Truth]:
        return [Truth("stress")]


class Flood(Injection):
    """For 20 s orders come and go within 100 ms, far from the touch, at 3 (or more) times the usual rate of changes."""

    def tick(self, market: Market, t: float, ms: int) -> None:
        if 20 <= t < 40:
            usual = 2 * market.regime.limit_rate * 2 + 2 * market.regime.market_rate
            for _ in range(max(1, int(0.1 * 3 * self.times * usual / 2))):
                tick = market.keys[BID][max(0, len(market.keys[BID]) - 20)]
                market.cancel(market.add(BID, tick, MEAN, owner=self))
                market.extra += 2

    def truth(self) -> list[Truth]:
        return [Truth("flood")]


# Two sizes of each; the bounds name the one that must be found.
EFFECTS: dict[str, tuple[type[Injection], dict[str, float]]] = {
    "hidden size": (HiddenSize, {"peak 1 mean order": 0.5, "peak 4 mean orders": 2.0}),
    "absorption": (Absorption, {"2x selling, refilled": 0.5, "4x selling, refilled": 1.5}),
    "came and went": (CameAndWent, {"8 % of side, 5x": 1.0, "25 % of side, 5x": 3.0}),
    "standing size": (StandingSize, {"4x the side's third level": 1.0, "12x the side's third level": 3.0}),
    "stress": (Stress, {"60 % of bids gone": 1.0, "90 % of bids gone": 2.0}),
    "flood": (Flood, {"3x usual changes": 1.0, "10x usual changes": 3.3}),
}
