"""Short stories of an order book: who shows how much at which price, who takes from it, and when."""

from decimal import Decimal

from mcp_binance_server.analytics.book.level_history import SIDES, LevelWindow, level_window
from mcp_binance_server.analytics.envelope import Unknown
from mcp_binance_server.analytics.market.anomalies import Anomaly, AnomalyVerdict, Ladder, Ladders, pattern_verdicts
from mcp_binance_server.analytics.market.stress import MarketHour
from mcp_binance_server.domain.market import BookDelta, Trade, WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity

HOUR_MS = 3_600_000
# Twenty levels a side of about one unit: what a size is compared with.
BIDS: list[WrittenLevel] = [(f"{99.99 - at * 0.01:.2f}", f"{0.9 + at % 3 * 0.1:.1f}") for at in range(20)]
ASKS: list[WrittenLevel] = [(f"{100.01 + at * 0.01:.2f}", f"{0.9 + at % 3 * 0.1:.1f}") for at in range(20)]
LADDERS = Ladders(Ladder.of(BIDS), Ladder.of(ASKS))


class Story:
    """Builds a window event by event; every moment is in milliseconds since it began."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, BookDelta]] = []
        self.trades: list[Trade] = []

    def bid(self, at_ms: int, price: str, quantity: str) -> "Story":
        return self._change(at_ms, [(price, quantity)], [])

    def ask(self, at_ms: int, price: str, quantity: str) -> "Story":
        return self._change(at_ms, [], [(price, quantity)])

    def sold(self, at_ms: int, price: str, quantity: str) -> "Story":
        """Let a seller take from the bids."""
        return self._trade(at_ms, price, quantity, buyer_is_maker=True)

    def bought(self, at_ms: int, price: str, quantity: str) -> "Story":
        return self._trade(at_ms, price, quantity, buyer_is_maker=False)

    def window(self, from_ms: int = 0, least: float | None = None) -> LevelWindow:
        large = LADDERS.large() if least is None else dict.fromkeys(SIDES, least)
        return level_window(self.changes, self.trades, from_ms, large)

    def verdicts(self, waiting: Unknown | None = None) -> dict[str, AnomalyVerdict]:
        return {each.type: each for each in pattern_verdicts(self.window(), LADDERS, waiting)}

    def found(self, kind: str) -> Anomaly | None:
        """Return the first finding of one kind."""
        return next(iter(self.verdicts()[kind].found), None)

    def _change(self, at_ms: int, bids: list[WrittenLevel], asks: list[WrittenLevel]) -> "Story":
        number = len(self.changes) + 1
        self.changes.append((at_ms, BookDelta(number, number, at_ms, bids, asks)))
        return self

    def _trade(self, at_ms: int, price: str, quantity: str, *, buyer_is_maker: bool) -> "Story":
        number = len(self.trades) + 1
        paid, size = Price(Decimal(price)), Quantity(Decimal(quantity))
        self.trades.append(Trade(number, paid, size, at_ms, buyer_is_maker, number, number))
        return self


def eaten(times: int, *, taken: str = "3", left: str = "0", refill_ms: int = 300, side: str = "bid") -> Story:
    """Show 3 at one price, let trades take from it and have it shown again, several times, five seconds apart."""
    story = Story()
    price = "99.99" if side == "bid" else "100.01"
    show, take = (story.bid, story.sold) if side == "bid" else (story.ask, story.bought)
    show(0, price, "3")
    for at in range(times):
        begin = 5_000 * (at + 1)
        take(begin, price, taken)
        show(begin + 100, price, left)
        show(begin + 100 + refill_ms, price, "3")
    return story


def hour(
    *,
    updates: int = 100,
    now_updates: int = 100,
    seconds: int = 3_600,
    window: int = 60,
    depth: float = 55.0,
    spread: float = 1.0,
    minute_move: float = 0.0001,
    ofi: float = 0.0,
) -> MarketHour:
    """Return an hour that varies a little, and a present that may not be like it."""
    times = [1_000 * (at + 1) for at in range(seconds)]
    mids = [100.0]
    for at in range(1, seconds):
        size = minute_move if at >= seconds - 60 else 0.0001
        mids.append(mids[-1] * (1 + size * (1 if at % 2 else -1)))
    return MarketHour(
        from_ms=0,
        to_ms=times[-1],
        times=times,
        mids=mids,
        spreads_bps=[1.0 + at % 7 * 0.1 for at in range(seconds - 1)] + [spread],
        depths=[50.0 + at % 11 for at in range(seconds - 1)] + [depth],
        updates=[now_updates if at >= seconds - window else updates + at // window % 5 for at in range(seconds)],
        trades=[1 + at // window % 2 for at in range(seconds)],
        ofis=[ofi if at >= seconds - 10 else float(at // 10 % 5 - 2) for at in range(seconds)],
        quotes=[5] * seconds,
    )
