"""Order flow imbalance: size that quote changes add to one side of the book and remove from the other.

It is reported in queues, multiples of the mean size at the touch: base units mean little to a reader (Cont, Kukanov and
Stoikov 2014).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.impact import KyleLambda, kyle_lambda
from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.own_past import Criterion, Judgement, OwnPast
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel

WINDOW_SECONDS = 10
# Ranked only, with a floor of 0: the imbalance moves the mid under pure chance too, so no size of it is news.
QUEUES = Criterion("ofi", floor=0.0, alpha=0.02, least=40, unit="windows")
# One hour of windows, and a t-statistic that chance seldom reaches.
IMPACT_WINDOWS = 360
IMPACT_T = 3.0


class QuoteState(NamedTuple):
    """The best bid and ask between two events."""

    bid: float
    bid_quantity: float
    ask: float
    ask_quantity: float

    @classmethod
    def of(cls, bid: PriceLevel, ask: PriceLevel) -> "QuoteState":
        return cls(float(bid.price), float(bid.quantity), float(ask.price), float(ask.quantity))

    @property
    def size(self) -> float:
        """The mean of the sizes at the best bid and the best ask."""
        return (self.bid_quantity + self.ask_quantity) / 2

    @property
    def lean(self) -> float:
        """The bid's share of the size at the touch; 0.5 if both sides are empty."""
        return self.bid_quantity / (2 * self.size) if self.size else 0.5


class TouchSecond(NamedTuple):
    """One second of quotes: the mid at its end, and imbalance and touch size summed over its changes."""

    time_ms: int
    mid: float
    ofi: float
    touch: float
    quotes: int


class QueueWindow(NamedTuple):
    """A ten-second window: the imbalance in queues, and the move of the mid since the second before the window."""

    queues: float
    move: float


@dataclass(frozen=True, slots=True)
class QueueFlow:
    """The current imbalance in queues, its rank among the symbol's windows, and the fitted price move per queue."""

    queues: float | None
    judgement: Judgement | None
    impact: KyleLambda | None

    @property
    def is_fitted(self) -> bool:
        """Whether there are enough windows and the slope differs from chance."""
        return self.impact is not None and self.impact.t is not None and self.impact.t >= IMPACT_T


@dataclass(frozen=True, slots=True)
class OrderFlowImbalance:
    """The sum over all events, in base units. One state is not an event; without events it is None, not 0."""

    value: float | None
    events: tuple[float, ...]
    method: Literal["ofi_non_strict"] = "ofi_non_strict"
    why_null: WhyNull | None = None

    @property
    def n(self) -> int:
        return len(self.events)


@dataclass(frozen=True, slots=True)
class MultiLevelImbalance:
    """Order flow imbalance by level depth, from sampled books: events between two samples are lost."""

    levels: tuple[float, ...]
    total: float | None
    mean_depth: float | None
    normalised: tuple[float, ...] | None
    n: int
    method: Literal["mlofi_sampled"] = "mlofi_sampled"
    why_null: WhyNull | None = None


def order_flow_imbalance(states: Sequence[QuoteState], *, minimum: int = DEFAULTS.min_events) -> OrderFlowImbalance:
    """Sum the changes between quote states. The window must not span a gap."""
    events = tuple(change(before, after) for before, after in pairwise(states))
    if not events:
        return OrderFlowImbalance(None, events, why_null="no_events")
    if len(events) < minimum:
        return OrderFlowImbalance(None, events, why_null="insufficient_events")
    return OrderFlowImbalance(sum(events), events)


def change(before: QuoteState, after: QuoteState) -> float:
    """Return the size that one change adds to the bid, minus the size it adds to the ask.

    The comparisons include equality: strict ones would drop every add and cancel at an unchanged price.
    """
    result = 0.0
    if after.bid >= before.bid:
        result += after.bid_quantity
    if after.bid <= before.bid:
        result -= before.bid_quantity
    if after.ask <= before.ask:
        result -= after.ask_quantity
    if after.ask >= before.ask:
        result += before.ask_quantity
    return result


def queue_windows(seconds: Sequence[TouchSecond]) -> list[QueueWindow]:
    """Split seconds into windows back from the newest, without those across a gap, and return them oldest first."""
    found = list[QueueWindow]()
    for end in range(len(seconds), WINDOW_SECONDS, -WINDOW_SECONDS):
        before, *rows = seconds[end - WINDOW_SECONDS - 1 : end]
        if rows[-1].time_ms - before.time_ms != WINDOW_SECONDS * 1000:
            continue
        touch = sum(each.touch for each in rows)
        size = touch / sum(each.quotes for each in rows) if touch else 0.0
        queues = sum(each.ofi for each in rows) / size if size else 0.0
        found.append(QueueWindow(queues, rows[-1].mid - before.mid))
    return found[::-1]


def queue_flow(now: OrderFlowImbalance, states: Sequence[QuoteState], seconds: Sequence[TouchSecond]) -> QueueFlow:
    """Return the imbalance of the latest states in queues, ranked among windows that ended before those states."""
    size = fmean(each.size for each in states[1:]) if len(states) > 1 else 0.0
    windows = queue_windows(seconds)
    impact = None
    if len(windows) >= IMPACT_WINDOWS:
        impact = kyle_lambda([each.queues for each in windows], [each.move for each in windows])
    if now.value is None or not size:
        return QueueFlow(None, None, impact)
    queues = now.value / size
    past = OwnPast([abs(each.queues) for each in queue_windows(seconds[:-WINDOW_SECONDS])])
    return QueueFlow(queues, past.judge(QUEUES, abs(queues)), impact)


def multi_level_imbalance(books: Sequence[BookSnapshot], levels: int) -> MultiLevelImbalance:
    """Return the imbalance per level, to the depth common to all books, also relative to the mean size."""
    depth = min((min(len(book.bids), len(book.asks)) for book in books), default=0)
    depth = min(depth, levels)
    if len(books) < 2 or not depth:
        return MultiLevelImbalance((), None, None, None, max(0, len(books) - 1), why_null="no_events")
    rows = [[QuoteState.of(book.bids[at], book.asks[at]) for book in books] for at in range(depth)]
    sums = tuple(sum(change(before, after) for before, after in pairwise(row)) for row in rows)
    size = fmean((state.bid_quantity + state.ask_quantity) / 2 for row in rows for state in row[1:])
    if not size:
        return MultiLevelImbalance(sums, sum(sums), 0.0, None, len(books) - 1, why_null="degenerate")
    return MultiLevelImbalance(sums, sum(sums), size, tuple(each / size for each in sums), len(books) - 1)
