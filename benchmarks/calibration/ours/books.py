"""Our own judgements of books: the reader of a minute, the pasts and the meters of a live feed, fed by the null."""

from collections.abc import Sequence

from calibration.records import HealthAt, Minute, Place, Said, Second
from mcp_binance_server.analytics.book.grid import BookSide, PriceGrid
from mcp_binance_server.analytics.book.standing import Levels
from mcp_binance_server.analytics.market.health import HealthMeter
from mcp_binance_server.analytics.market.last_hour import HEALTH_EVERY_S, STRESS_EVERY_S, StressParts
from mcp_binance_server.analytics.market.minute import (
    NEAR_BPS,
    WIDE_BPS,
    WIDE_TICKS,
    BookMoment,
    DepthMessage,
    MinuteFacts,
    MinuteReader,
)
from mcp_binance_server.analytics.market.stress import StressMeter
from mcp_binance_server.analytics.market.symbol_scores import EndedMinute, EventVerdict, SymbolScores

GRID = PriceGrid(1.0, 1.0)
# An injected crash is over by then, and asked about while it stands.
STRESS_AT_S = 52
RECENT_S = 120


class _Book:
    """A ladder that replays one minute."""

    def __init__(self, minute: Minute) -> None:
        self.sides: dict[BookSide, dict[float, float]] = {
            "bid": {float(tick): float(lots) for tick, lots in minute.first.bids},
            "ask": {float(tick): float(lots) for tick, lots in minute.first.asks},
        }

    def before(self, side: BookSide, price: float) -> float:
        return self.sides[side].get(price, 0.0)

    def apply(self, side: BookSide, levels: Levels) -> None:
        held = self.sides[side]
        for price, size in levels:
            if size:
                held[price] = size
            else:
                held.pop(price, None)

    def moment(self) -> BookMoment:
        bids, asks = self.sides["bid"], self.sides["ask"]
        bid, ask = max(bids), min(asks)
        mid = (bid + ask) / 2
        near, wide = GRID.band(mid, NEAR_BPS), GRID.band(mid, WIDE_BPS, WIDE_TICKS)
        return BookMoment(
            mid,
            ask - bid,
            sum(size for price, size in bids.items() if price >= mid - near),
            sum(size for price, size in asks.items() if price <= mid + near),
            sum(size for price, size in bids.items() if price >= mid - wide),
            sum(size for price, size in asks.items() if price <= mid + wide),
        )

    def near(self) -> tuple[Levels, Levels]:
        bids, asks = sorted(self.sides["bid"].items(), reverse=True), sorted(self.sides["ask"].items())
        mid = (bids[0][0] + asks[0][0]) / 2
        wide = GRID.band(mid, WIDE_BPS, WIDE_TICKS)
        # As in a live feed the best of a side is there even where it stands far off.
        below = [each for each in bids if each[0] >= mid - wide] or bids[:1]
        return below, [each for each in asks if each[0] <= mid + wide] or asks[:1]


def replay(minute: Minute) -> tuple[MinuteFacts, list[BookMoment]]:
    """Return what our reader makes of a minute, and the book at the end of each of its seconds."""
    book = _Book(minute)
    reader = MinuteReader(GRID, book.moment())
    moments: list[BookMoment] = []
    trades, at = minute.trades, 0
    for delta in minute.deltas:
        # A second is over before the first message of the next.
        while (second := len(moments)) < (delta.ms - 1 - minute.from_ms) // 1000:
            moments.append(book.moment())
            reader.on_second(second, moments[-1], book.near)
        second = min(59, len(moments))
        while at < len(trades) and trades[at].ms <= delta.ms:
            trade = trades[at]
            reader.on_trade(second, trade.ms, float(trade.tick), float(trade.lots), sold=trade.sell)
            at += 1
        bids = [(float(tick), float(lots)) for tick, lots in delta.bids]
        asks = [(float(tick), float(lots)) for tick, lots in delta.asks]
        reader.on_depth(second, DepthMessage(delta.ms, delta.updates, bids, asks), book.before)
        book.apply("bid", bids)
        book.apply("ask", asks)
    while len(moments) < 60:
        moments.append(book.moment())
        reader.on_second(len(moments) - 1, moments[-1], book.near)
    return reader.facts(), moments


def _stress(before: Sequence[BookMoment], seconds: Sequence[BookMoment]) -> StressParts | None:
    meter = StressMeter()
    for each in [*before[-11:], *seconds]:
        meter.add(each)
    return meter.parts()


class OurBooks:
    """Our judgements with the past that `learn` gave them."""

    def __init__(self) -> None:
        self.pasts = SymbolScores()
        self.recent: list[BookMoment] = []
        self._last: tuple[MinuteFacts, list[BookMoment], EndedMinute] | None = None

    def book(self, minute: Minute) -> dict[str, Said]:
        facts, moments = replay(minute)
        ended = self.pasts.judge(facts, minute.to_ms)
        self._last = facts, moments, ended
        said = {each.name.replace("_", " "): _said(each, facts) for each in ended.verdicts}
        _, stress = self.pasts.stress(_stress(self.recent, moments[:STRESS_AT_S]))
        said["stress"] = Said(None if stress.not_judged else stress.is_unusual)
        return said

    def health(self, recent: Sequence[Second], minute: Minute) -> list[HealthAt]:
        del recent  # our own are of wider bands
        meter = HealthMeter(GRID)
        meter.compare_with(self.pasts.hour.health_scale())
        for each in self.recent[-RECENT_S:]:
            meter.add(each)
        seen: list[HealthAt] = []
        for second, each in enumerate(self._moments(minute), 1):
            meter.add(each)
            now = meter.now
            if second % 5 == 0:
                seen.append(HealthAt(second, now.score if now else None, now.word if now else None))
        return seen

    def after(self) -> None:
        if self._last is None:
            return
        facts, moments, ended = self._last
        self.pasts.learn(facts, ended)
        self.pasts.learn_stress(_stress(self.recent, moments))
        for second, each in enumerate(moments, 1):
            if second % HEALTH_EVERY_S == 0:
                self.pasts.hour.add_health(GRID.ticks(each.spread), each.thinner)
            if second % STRESS_EVERY_S == 0 and (parts := _stress(self.recent, moments[:second])) is not None:
                self.pasts.hour.add_stress(parts)
        self.recent = [*self.recent, *moments][-RECENT_S:]

    def _moments(self, minute: Minute) -> list[BookMoment]:
        return replay(minute)[1]


def learn(minutes: Sequence[Minute]) -> OurBooks:
    """Return judgements that have lived through these minutes."""
    judge = OurBooks()
    for minute in minutes:
        judge.book(minute)
        judge.after()
    return judge


def _said(verdict: EventVerdict, facts: MinuteFacts) -> Said:
    judgement = verdict.judgement
    if judgement.not_judged is not None:
        return Said(None)
    return Said(judgement.is_unusual, _places(verdict, facts))


def _places(verdict: EventVerdict, facts: MinuteFacts) -> tuple[Place, ...]:
    if verdict.name == "came_and_went":
        return tuple((each.side, round(each.price)) for each in facts.passed)
    if verdict.name == "hidden_size":
        floor = verdict.judgement.criterion.floor
        return tuple((each.side, round(each.price)) for each in facts.refilled if each.score >= floor)
    if verdict.side is None or verdict.price is None:
        return ()
    return ((verdict.side, round(verdict.price)),)
