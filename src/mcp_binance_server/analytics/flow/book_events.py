"""Order flow imbalance: what changes of the quotes add to one side of the book and take from the other.

Base units mean little to a reader, so it is told in queues, over the mean size at the touch (Cont, Kukanov and
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
# Only a rank: under plain chance too the imbalance moves the mid, so no size of it is news by itself.
QUEUES = Criterion("ofi", floor=0.0, alpha=0.02, least=40, unit="windows")
# An hour of windows, and a slope that chance seldom gives.
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
        """The mean of what stands at the best bid and at the best ask."""
        return (self.bid_quantity + self.ask_quantity) / 2

    @property
    def lean(self) -> float:
        """The bid's share of both; of two empty sides neither leads."""
        return self.bid_quantity / (2 * self.size) if self.size else 0.5


class TouchSecond(NamedTuple):
    """One second of quotes: the mid at its end, and summed over its changes the imbalance and the size at the touch."""

    time_ms: int
    mid: float
    ofi: float
    touch: float
    quotes: int


class QueueWindow(NamedTuple):
    """Ten seconds: the imbalance in queues, and how far the mid went from the end of the seconds before."""

    queues: float
    move: float


@dataclass(frozen=True, slots=True)
class QueueFlow:
    """The imbalance of now in queues, its rank among the own windows, and the move a queue went with, in price."""

    queues: float | None
    judgement: Judgement | None
    impact: KyleLambda | None

    @property
    def is_fitted(self) -> bool:
        """Whether there are windows enough, and the slope stands out from chance."""
        return self.impact is not None and self.impact.t is not None and self.impact.t >= IMPACT_T


@dataclass(frozen=True, slots=True)
class OrderFlowImbalance:
    """The sum over all events, in base units; one state is no event, and no event is unknown, not 0."""

    value: float | None
    events: tuple[float, ...]
    method: Literal["ofi_non_strict"] = "ofi_non_strict"
    why_null: WhyNull | None = None

    @property
    def n(self) -> int:
        return len(self.events)


@dataclass(frozen=True, slots=True)
class MultiLevelImbalance:
    """Order flow imbalance by depth of level; from sampled books, so events between two samples are lost."""

    levels: tuple[float, ...]
    total: float | None
    mean_depth: float | None
    normalised: tuple[float, ...] | None
    n: int
    method: Literal["mlofi_sampled"] = "mlofi_sampled"
    why_null: WhyNull | None = None


def order_flow_imbalance(states: Sequence[QuoteState], *, minimum: int = DEFAULTS.min_events) -> OrderFlowImbalance:
    """Add up what each change of the quotes brought; the window must not reach across a gap."""
    events = tuple(change(before, after) for before, after in pairwise(states))
    if not events:
        return OrderFlowImbalance(None, events, why_null="no_events")
    if len(events) < minimum:
        return OrderFlowImbalance(None, events, why_null="insufficient_events")
    return OrderFlowImbalance(sum(events), events)


def change(before: QuoteState, after: QuoteState) -> float:
    """Return what one change adds to the bid less what it adds to the ask.

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
    """Cut seconds into windows back from the newest, oldest first; one across a gap is left out."""
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
    """Tell the imbalance of the last states in queues, and rank it among windows that ended before they began."""
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
    """Do the same level by level, as deep as every book of the window reaches, and relate it to the mean size."""
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
