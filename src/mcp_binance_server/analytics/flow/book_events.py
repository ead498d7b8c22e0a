"""Order flow imbalance: size that quote changes add to the bid minus size that they add to the ask.

The unit is the queue: the mean size at the best prices. Base units would mean little to a reader (Cont, Kukanov and
Stoikov 2014).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.impact import KyleLambda, kyle_lambda
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.score_history import Criterion, Judgement, ScoreHistory
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel

WINDOW_SECONDS = 10
# Only the rank counts, so the floor is 0. No floor would help, because chance also creates imbalance that moves the
# mid.
QUEUES = Criterion("ofi", floor=0.0, alpha=0.02, least=40, unit="windows")
# One hour of windows, and a t-statistic that chance seldom reaches.
IMPACT_WINDOWS = 360
IMPACT_T = 3.0


class QuoteState(NamedTuple):
    """The best bid and ask between two quote changes."""

    bid: float
    bid_quantity: float
    ask: float
    ask_quantity: float

    @classmethod
    def of(cls, bid: PriceLevel, ask: PriceLevel) -> "QuoteState":
        return cls(float(bid.price), float(bid.quantity), float(ask.price), float(ask.quantity))

    @property
    def size(self) -> float:
        """Mean of the sizes at the best bid and the best ask."""
        return (self.bid_quantity + self.ask_quantity) / 2

    @property
    def lean(self) -> float:
        """Share of the bid in the size at the best prices, 0.5 if both sides are empty."""
        return self.bid_quantity / (2 * self.size) if self.size else 0.5


class TouchSecond(NamedTuple):
    """One second of quotes: the mid at its end, and the sums of imbalance and best-price size over its changes."""

    time_ms: int
    mid: float
    ofi: float
    touch: float
    quotes: int


class QueueWindow(NamedTuple):
    """A window of ten seconds: its imbalance in queues, and the move of the mid since the second before the window."""

    queues: float
    move: float


@dataclass(frozen=True, slots=True)
class QueueFlow:
    """The current imbalance in queues, its rank among past windows, and the price impact per queue."""

    queues: float | None
    judgement: Judgement | None
    impact: KyleLambda | None

    @property
    def is_fitted(self) -> bool:
        """Whether the fit has enough windows and a slope that differs from chance."""
        return self.impact is not None and self.impact.t is not None and self.impact.t >= IMPACT_T


@dataclass(frozen=True, slots=True)
class OrderFlowImbalance:
    """Imbalance summed over all quote changes, in base units.

    A single quote is not a change. Without changes the value is None, not 0.
    """

    value: float | None
    events: tuple[float, ...]
    method: Literal["ofi_non_strict"] = "ofi_non_strict"
    why_null: WhyNull | None = None

    @property
    def n(self) -> int:
        return len(self.events)


@dataclass(frozen=True, slots=True)
class MultiLevelImbalance:
    """Order flow imbalance by book level. It comes from sampled books, so changes between two samples are lost."""

    levels: tuple[float, ...]
    total: float | None
    mean_depth: float | None
    normalised: tuple[float, ...] | None
    n: int
    method: Literal["mlofi_sampled"] = "mlofi_sampled"
    why_null: WhyNull | None = None


def order_flow_imbalance(states: Sequence[QuoteState], *, minimum: int = DEFAULTS.min_events) -> OrderFlowImbalance:
    """Sum the imbalance of consecutive quotes. The window must not span a gap."""
    events = tuple(change(before, after) for before, after in pairwise(states))
    if not events:
        return OrderFlowImbalance(None, events, why_null="no_events")
    if len(events) < minimum:
        return OrderFlowImbalance(None, events, why_null="insufficient_events")
    return OrderFlowImbalance(sum(events), events)


def change(before: QuoteState, after: QuoteState) -> float:
    """Return the imbalance of one quote change: the size added to the bid minus the size added to the ask.

    The comparisons include equality. Otherwise adds and cancels at an unchanged price would be lost.
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
    """Split seconds into windows, counted back from the newest second. Return them oldest first.

    Windows that span a gap are left out.
    """
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
    """Return the current imbalance in queues, and its rank among earlier windows."""
    size = fmean(each.size for each in states[1:]) if len(states) > 1 else 0.0
    windows = queue_windows(seconds)
    impact = None
    if len(windows) >= IMPACT_WINDOWS:
        impact = kyle_lambda([each.queues for each in windows], [each.move for each in windows])
    if now.value is None or not size:
        return QueueFlow(None, None, impact)
    queues = now.value / size
    past = ScoreHistory([abs(each.queues) for each in queue_windows(seconds[:-WINDOW_SECONDS])])
    return QueueFlow(queues, past.judge(QUEUES, abs(queues)), impact)


def multi_level_imbalance(books: Sequence[BookSnapshot], levels: int) -> MultiLevelImbalance:
    """Return the imbalance by level, to the depth that all books have.

    It is also given relative to the mean size of a level.
    """
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
