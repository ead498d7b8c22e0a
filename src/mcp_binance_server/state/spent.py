"""What one minute has cost, in which kinds of calls, and whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcp_binance_server.state.engine import CallKind, Reserves
from mcp_binance_server.state.shares import Division, Parties

# What a kind of call may be refused for: the shares of its own kind, and of those whose room it may use.
SHARED_WITH: Final[Mapping[CallKind, tuple[CallKind, ...]]] = {
    "order": ("order", "private", "public"),
    "private": ("private", "public"),
    "public": ("public",),
}
# No share is less, or many occasional callers would keep everything for nobody: the dearest single call of its kind.
LEAST_SHARE: Final[Mapping[CallKind, int]] = {"order": 50, "private": 80, "public": 50}
# What is kept for those who come next: at most this part of all.
NEWCOMERS_PART: Final = 10


def _nobody() -> dict[CallKind, Parties]:
    return {"order": Parties(), "private": Parties(), "public": Parties()}


@dataclass(slots=True)
class Weight:
    """What was spent in one minute; `total` also holds what the exchange reported."""

    total: int = 0
    order: int = 0
    private: int = 0

    def unused(self, kind: CallKind, top: int, reserves: Reserves) -> int:
        """Return what is left of the reserve of a kind."""
        if kind == "order":
            return max(0, top * reserves.order_percent // 100 - self.order)
        return max(0, top * reserves.private_percent // 100 - self.private) if kind == "private" else 0

    def room(self, kind: CallKind, top: int, reserves: Reserves) -> int:
        """Return what a kind of call may still spend: all but the unused reserves of the kinds above it."""
        kept = 0
        if kind != "order":
            kept += self.unused("order", top, reserves)
        if kind == "public":
            kept += self.unused("private", top, reserves)
        return top - kept - self.total

    def after(self, kind: CallKind, cost: int) -> "Weight":
        """Return what it is when a call was charged."""
        order, private = cost if kind == "order" else 0, cost if kind == "private" else 0
        return Weight(self.total + cost, self.order + order, self.private + private)


@dataclass(slots=True)
class Spent(Weight):
    """What was charged to one minute, and to whom."""

    parties: dict[CallKind, Parties] = field(default_factory=_nobody)

    def charge(self, kind: CallKind, cost: int) -> None:
        self.total += cost
        if kind == "order":
            self.order += cost
        elif kind == "private":
            self.private += cost

    def division(self, kind: CallKind, party: str, before: "Spent", top: int, reserves: Reserves) -> Division:
        """Divide what the parties of a kind of call spent, or may still spend, among them."""
        order, private = top * reserves.order_percent // 100, top * reserves.private_percent // 100
        now = self.parties[kind]
        there = self.room(kind, top, reserves) + now.total
        # What was lent to calls above must not make the shares smaller that it was to leave.
        if kind != "order":
            there += min(self.parties["order"].total, max(0, self.order - order))
        if kind == "public":
            there += min(self.parties["private"].total, max(0, self.private - private))
        part = order if kind == "order" else private if kind == "private" else top - order - private
        whole = max(0, min(part, there))
        kept = whole // NEWCOMERS_PART
        return Division.of(now, before.parties[kind], party, whole=whole, least=LEAST_SHARE[kind], newcomers=kept)
