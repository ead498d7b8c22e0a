"""Order flow imbalance: what changes of the quotes add to one side of the book and take from the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel


class QuoteState(NamedTuple):
    """The best bid and ask between two events."""

    bid: float
    bid_quantity: float
    ask: float
    ask_quantity: float

    @classmethod
    def of(cls, bid: PriceLevel, ask: PriceLevel) -> "QuoteState":
        return cls(float(bid.price), float(bid.quantity), float(ask.price), float(ask.quantity))


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
