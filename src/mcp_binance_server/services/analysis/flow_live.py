"""Flow measures that need live streams: quote imbalance, spread paid by takers, and response of the mid price."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.book.impact import (
    REALISED_HORIZON_MS,
    KyleLambda,
    MidTrade,
    PaidSpread,
    kyle_lambda,
    paid_spread,
)
from mcp_binance_server.analytics.flow.book_events import (
    OrderFlowImbalance,
    QueueFlow,
    QuoteState,
    TouchSecond,
    order_flow_imbalance,
    queue_flow,
)
from mcp_binance_server.analytics.flow.report import LevelRates
from mcp_binance_server.analytics.metric import Progress, Unknown, Window
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.feeds.paid import PaidTrade
from mcp_binance_server.feeds.sampling import Second
from mcp_binance_server.services.analysis.tape_window import collecting, covered_from_ms, taped
from mcp_binance_server.services.live.service import Watch

SECOND_MS = 1_000
OFI_MS = 10_000
# A quarter of an hour in ms: long enough for a slope and short enough to be current.
KYLE_MS = 900_000


@dataclass(frozen=True, slots=True)
class QuoteFlow:
    """Order flow imbalance of the last ten seconds. `queues` compares it with the last hour."""

    ofi: OrderFlowImbalance
    states: tuple[QuoteState, ...]
    seconds: tuple[TouchSecond, ...]

    def queues(self) -> QueueFlow:
        """Rank the imbalance within the last hour. This takes some milliseconds."""
        return queue_flow(self.ofi, self.states, self.seconds)


def quote_flow(watch: Watch, now_ms: int) -> QuoteFlow | Unknown:
    """Read the quotes of the last ten seconds, and the hour before them."""
    if watch.feed is None:
        return watch.unknown
    seen = watch.feed.quotes.since(0)
    have_ms = now_ms - seen[0].time_ms if seen else 0
    if have_ms < OFI_MS:
        progress = Progress(
            have_ms=have_ms, need_ms=OFI_MS, ready_ms=now_ms + OFI_MS - have_ms, have_n=max(0, len(seen) - 1),
            need_n=watch.thresholds.min_events,
        )  # fmt: skip
        return Unknown("collecting", progress)
    # The first change in the window needs the state before the window.
    before = sum(each.time_ms < now_ms - OFI_MS for each in seen)
    states = tuple(each.state for each in seen[max(0, before - 1) :])
    hour = tuple(
        TouchSecond(each.time_ms, each.mid, each.ofi, each.touch, each.quotes) for each in watch.feed.seconds.since(0)
    )
    return QuoteFlow(order_flow_imbalance(states, minimum=watch.thresholds.min_events), states, hour)


def level_rates(watch: Watch, asked: Window, now_ms: int) -> LevelRates | Unknown:
    """Return the number of level additions per side and second."""
    if watch.feed is None:
        return watch.unknown
    rows = watch.feed.seconds.since(asked.from_ms)
    if not rows:
        return collecting(0, asked.to_ms - asked.from_ms, now_ms)
    count = len(rows)
    bids, asks = sum(each.additions_bid for each in rows), sum(each.additions_ask for each in rows)
    return LevelRates(bids / count, asks / count, count)


def takers_paid(watch: Watch, asked: Window) -> PaidSpread | Unknown:
    """Measure the spread that the trades of a window paid against the mid price, and the quoted spread."""
    if watch.feed is None:
        return watch.unknown
    rows = watch.feed.seconds.since(asked.from_ms)
    trades = _with_later(watch.feed.paid.between(asked.from_ms, asked.to_ms), rows)
    return paid_spread(trades, [each.spread_bps for each in rows if each.time_ms <= asked.to_ms])


def price_impact(watch: Watch, to_ms: int) -> KyleLambda | Unknown:
    """Fit moves of the mid price to the signed volume per second. Use only the time with a complete tape."""
    if watch.feed is None:
        return watch.unknown
    covered_ms = covered_from_ms(watch)
    from_ms = to_ms - KYLE_MS if covered_ms is None else max(covered_ms, to_ms - KYLE_MS)
    trades = taped(watch, Window(from_ms, to_ms))
    if trades is None:
        return Unknown("insufficient_history")
    rows = [each for each in watch.feed.seconds.since(from_ms) if each.time_ms <= to_ms]
    volumes, moves = _by_second(rows, trades)
    return kyle_lambda(volumes, moves, thresholds=watch.thresholds)


def _with_later(trades: Sequence[PaidTrade], rows: Sequence[Second]) -> list[MidTrade]:
    times = [each.time_ms for each in rows]
    found = list[MidTrade]()
    for each in trades:
        due_ms = each.time_ms + REALISED_HORIZON_MS
        at = bisect_left(times, due_ms)
        # The book is sampled once a second. The mid price at the horizon is the first sample from then on.
        later = rows[at].mid if at < len(rows) and times[at] - due_ms < SECOND_MS else None
        found.append(MidTrade(each.price, "sell" if each.is_sale else "buy", each.mid, later))
    return found


def _by_second(rows: Sequence[Second], trades: Sequence[Trade]) -> tuple[list[float], list[float]]:
    times = [each.time_ms for each in rows]
    signed = [0.0] * len(rows)
    for each in trades:
        at = bisect_left(times, each.time_ms + 1)
        if at < len(rows):
            signed[at] += -float(each.quantity) if each.buyer_is_maker else float(each.quantity)
    pairs = [
        (signed[at], rows[at].mid - rows[at - 1].mid)
        for at in range(1, len(rows))
        if times[at] - times[at - 1] == SECOND_MS
    ]
    return [volume for volume, _ in pairs], [move for _, move in pairs]
