"""Request weight of a minute: the amount spent, the parties (callers) that spent it, and the shares that remain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

from mcp_binance_server.state.engine import CallKind, Grant, Reserves
from mcp_binance_server.state.expiry import Expiring

# Call kinds whose shares can refuse a call: the call's own kind, and the kinds whose room the call can use.
SHARED_WITH: Final[Mapping[CallKind, tuple[CallKind, ...]]] = {
    "order": ("order", "private", "public"),
    "private": ("private", "public"),
    "public": ("public",),
}
# Smallest share, by kind: the weight of the most expensive single call. With smaller shares, many occasional callers
# could reserve all weight and use none.
LEAST_SHARE: Final[Mapping[CallKind, int]] = {"order": 50, "private": 80, "public": 50}
# Divisor for the reserve for new parties, which is at most a tenth of the whole.
NEWCOMERS_PART: Final = 10

MINUTE_MS = 60_000
EDGE_MS = 1_000
# Retention in ms. A minute is charged from a second before its start to a second after its end. Its parties are needed
# until the end of the next minute. The remaining time is for late reports.
KEEP_MS = 130_000


@dataclass(slots=True)
class Parties:
    """Weight spent by each party in one time span. `fresh` counts the parties that were not in the previous span."""

    spent: dict[str, int] = field(default_factory=dict[str, int])
    total: int = 0
    fresh: int = 0
    drawn: int = 0
    """Weight spent by the fresh parties, at most the least share per party."""

    def meet(self, party: str, least: int, *, before: "Parties", after: "Parties | None") -> bool:
        """Record a request of a party. Return True if it is the party's first in this span."""
        if party in self.spent:
            return False
        self.spent[party] = 0
        if party not in before.spent:
            self.fresh += 1
        # At the edge of two spans, a party can be recorded in the later span first.
        if after is not None and party in after.spent:
            after.fresh -= 1
            after.drawn -= min(least, after.spent[party])
        return True

    def charge(self, party: str, cost: int, least: int, *, before: "Parties") -> None:
        spent = self.spent[party]
        self.spent[party] = spent + cost
        self.total += cost
        if party not in before.spent:
            self.drawn += min(least, spent + cost) - min(least, spent)


class Division(NamedTuple):
    """A budget from one party's view: the party's spent weight, its share, and the reserves for others."""

    spent: int
    is_new: bool
    share: int
    least: int
    for_newcomers: int
    others: int
    spent_by_others: int

    @classmethod
    def of(cls, now: Parties, before: Parties, party: str, *, whole: int, least: int, newcomers: int) -> "Division":
        """Divide the weight that parties spent or may still spend.

        One additional party is counted, because it may still come. The reserve for new parties is `newcomers`, but at
        most one share.
        """
        was_there, spent = party in before.spent, now.spent.get(party)
        active = len(before.spent) + now.fresh
        drawn = now.drawn - (min(least, spent) if spent and not was_there else 0)
        each = whole // (active + 1)
        return cls(
            spent=spent or 0,
            is_new=not was_there,
            share=max(each, least),
            least=least,
            for_newcomers=max(0, min(each, newcomers) - drawn),
            others=active - (was_there or spent is not None),
            spent_by_others=now.total - (spent or 0),
        )

    def covers(self, cost: int, left: int) -> bool:
        """Return True if a call that fits into the room is within the party's own share.

        Other parties may have borrowed the share of a new party. So a new party also leaves a reserve for the next new
        party.
        """
        after = self.spent + cost
        return after <= self.share and (not self.is_new or after <= self.least or cost <= left - self.for_newcomers)

    def assured(self, cost: int) -> int:
        """Return the weight that the party can count on after a refused call of this cost."""
        return self.least if self.is_new and self.spent + cost <= self.share else self.share

    def at_least_kept(self) -> int:
        """Return the minimum reserved for others, computed without reading each party."""
        return self.for_newcomers + max(0, self.others * self.share - self.spent_by_others)

    def kept(self, now: Parties, party: str) -> int:
        """Return the weight reserved for others: their unspent shares, and the reserve for new parties."""
        unspent, met = 0, 0
        for other, spent in now.spent.items():
            if other != party:
                met += 1
                if spent < self.share:
                    unspent += self.share - spent
        return self.for_newcomers + unspent + (self.others - met) * self.share


NOBODY: Final = Parties()
"""A span without requests. Read-only."""


def outgrown(held: Sequence[str], party: str, *, cap: int, newcomers: int) -> tuple[int, int] | None:
    """Return a party's places and guaranteed share if one more place would take a reserved place.

    Otherwise return None.
    """
    least, spent = max(1, newcomers // 2), Counter(each for each in held if each)
    total, left = spent.total(), cap - len(held)
    spent.setdefault(party, 0)
    now = Parties(spent, total, fresh=len(spent), drawn=sum(min(least, each) for each in spent.values()))
    own = Division.of(now, NOBODY, party, whole=max(0, left + total), least=least, newcomers=newcomers)
    if own.covers(1, left) or left >= 1 + own.kept(now, party):
        return None
    return own.spent, own.assured(1)


def _nobody() -> dict[CallKind, Parties]:
    return {"order": Parties(), "private": Parties(), "public": Parties()}


@dataclass(slots=True)
class Weight:
    """Weight spent in one minute. `total` also includes the count that the exchange reported."""

    total: int = 0
    order: int = 0
    private: int = 0

    def unused(self, kind: CallKind, top: int, reserves: Reserves) -> int:
        """Return the unused reserve of a kind."""
        if kind == "order":
            return max(0, top * reserves.order_percent // 100 - self.order)
        return max(0, top * reserves.private_percent // 100 - self.private) if kind == "private" else 0

    def room(self, kind: CallKind, top: int, reserves: Reserves) -> int:
        """Return the weight left for a kind of call, without the unused reserves of higher kinds."""
        kept = 0
        if kind != "order":
            kept += self.unused("order", top, reserves)
        if kind == "public":
            kept += self.unused("private", top, reserves)
        return top - kept - self.total

    def after(self, kind: CallKind, cost: int) -> "Weight":
        """Return the weight after a call is charged."""
        order, private = cost if kind == "order" else 0, cost if kind == "private" else 0
        return Weight(self.total + cost, self.order + order, self.private + private)


@dataclass(slots=True)
class Spent(Weight):
    """Weight charged to one minute, with the parties that spent it."""

    parties: dict[CallKind, Parties] = field(default_factory=_nobody)

    def charge(self, kind: CallKind, cost: int) -> None:
        self.total += cost
        if kind == "order":
            self.order += cost
        elif kind == "private":
            self.private += cost

    def division(self, kind: CallKind, party: str, before: "Spent", top: int, reserves: Reserves) -> Division:
        """Divide the weight of one kind of call among the parties that spent it or may still spend it."""
        order, private = top * reserves.order_percent // 100, top * reserves.private_percent // 100
        now = self.parties[kind]
        there = self.room(kind, top, reserves) + now.total
        # Weight that higher kinds borrowed beyond their reserves must not reduce the shares here.
        if kind != "order":
            there += min(self.parties["order"].total, max(0, self.order - order))
        if kind == "public":
            there += min(self.parties["private"].total, max(0, self.private - private))
        part = order if kind == "order" else private if kind == "private" else top - order - private
        whole = max(0, min(part, there))
        kept = whole // NEWCOMERS_PART
        return Division.of(now, before.parties[kind], party, whole=whole, least=LEAST_SHARE[kind], newcomers=kept)


# A minute without requests. Read-only.
NOTHING = Spent()


def ceiling(limit: int) -> int:
    """Return the ceiling: the part of the exchange's limit that this program uses."""
    return limit * 9 // 10


def limit_for(spendable: int) -> int:
    """Return the limit with a ceiling of exactly `spendable`."""
    return (spendable * 10 + 8) // 9


def spare(limit: int) -> int:
    """Return the weight that all processes together can spend while the engine is away.

    It is never spent otherwise. A hundredth stays free for cancels, which are not counted, and for the query of a
    forgotten minute's count.
    """
    return limit // 10 - most_for_one(limit)


def most_for_one(limit: int) -> int:
    """Return the maximum weight for one process while the engine is away."""
    return limit // 100


def charged_minutes(now_ms: int, edge_ms: int) -> tuple[int, ...]:
    """Return the minutes to which the exchange may charge a call sent now, latest first."""
    minute, into_ms = divmod(now_ms, MINUTE_MS)
    if into_ms < edge_ms:
        return minute, minute - 1
    if into_ms >= MINUTE_MS - edge_ms:
        return minute + 1, minute
    return (minute,)


class Ledger:
    """Weight of one process's minutes. `now_ms` is exchange time, which selects the minute. `at` is monotonic time."""

    def __init__(self, reserves: Reserves, *, edge_ms: int = EDGE_MS) -> None:
        self._reserves = reserves
        self._edge_ms = edge_ms
        self._minutes: Expiring[tuple[str, int], Spent] = Expiring()
        self._stops: Expiring[str, str] = Expiring()

    def acquire(
        self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, at: float, party: str = ""
    ) -> Grant:
        if cost < 0:
            raise ValueError(f"weight is never given back: cost {cost}")
        stopped_ms = self._stops.left(ip, at)
        if stopped_ms > 0:
            return Grant(granted=False, reason="stopped", used=self.used(ip, now_ms, at), retry_ms=ceil(stopped_ms))
        minutes = {minute: self._spent(ip, minute, at) for minute in charged_minutes(now_ms, self._edge_ms)}
        before = self._meet(ip, kind, party, minutes, at) if party else {}
        top = ceiling(limit)
        for minute, spent in minutes.items():
            # Exactly at the edge, the full minute would be charged again. So the wait includes the guard time.
            retry_ms = (minute + 1) * MINUTE_MS + self._edge_ms - now_ms
            left = spent.room(kind, top, self._reserves)
            if cost > left:
                return Grant(granted=False, reason="budget", used=spent.total, retry_ms=retry_ms)
            # Every party gets the least share, regardless of the others' spending.
            if not party or spent.parties[kind].spent[party] + cost <= LEAST_SHARE[kind]:
                continue
            refused = self._outgrown(spent, before[minute], kind, cost, party, top)
            if refused is not None:
                share = refused.assured(cost)
                own = refused.spent
                return Grant(granted=False, reason="share", used=spent.total, retry_ms=retry_ms, share=share, own=own)
        for minute, spent in minutes.items():
            spent.charge(kind, cost)
            if party:
                earlier = before[minute].parties[kind]
                spent.parties[kind].charge(party, cost, LEAST_SHARE[kind], before=earlier)
            self._minutes.put((ip, minute), spent, deadline=at + KEEP_MS, now=at)
        return Grant(granted=True, reason="", used=minutes[now_ms // MINUTE_MS].total, retry_ms=0)

    def used(self, ip: str, now_ms: int, at: float) -> int:
        return self._spent(ip, now_ms // MINUTE_MS, at).total

    def report(self, ip: str, used: int, *, minute: int, at: float) -> None:
        spent = self._spent(ip, minute, at)
        spent.total = max(spent.total, used)
        self._minutes.put((ip, minute), spent, deadline=at + KEEP_MS, now=at)

    def stop(self, ip: str, *, ms: int, reason: str, at: float) -> int:
        left_ms = self._stops.left(ip, at)
        if ms > left_ms:
            self._stops.put(ip, reason, deadline=at + ms, now=at)
        return ceil(max(ms, left_ms))

    def _meet(self, ip: str, kind: CallKind, party: str, minutes: dict[int, Spent], at: float) -> dict[int, Spent]:
        """Record a request of a party in these minutes. Return the minute before each."""
        before: dict[int, Spent] = {}
        for minute in reversed(minutes):
            earlier = before[minute] = minutes.get(minute - 1) or self._minutes.get((ip, minute - 1), at) or NOTHING
            later = minutes.get(minute + 1)
            after = later.parties[kind] if later else None
            book = minutes[minute].parties[kind]
            if book.meet(party, LEAST_SHARE[kind], before=earlier.parties[kind], after=after):
                self._minutes.put((ip, minute), minutes[minute], deadline=at + KEEP_MS, now=at)
        return before

    def _outgrown(  # noqa: PLR0917
        self, spent: Spent, before: Spent, kind: CallKind, cost: int, party: str, top: int
    ) -> Division | None:
        """Return the division of the minute that refuses a call, otherwise None.

        A minute refuses a call that is beyond the party's share if the rest is reserved for others.
        """
        own = spent.division(kind, party, before, top, self._reserves)
        if own.covers(cost, spent.room(kind, top, self._reserves)):
            return None
        touched: dict[CallKind, Division] = {kind: own}
        for other in SHARED_WITH[kind][1:]:
            touched[other] = spent.division(other, party, before, top, self._reserves)
        kept: dict[CallKind, int] = {each: division.at_least_kept() for each, division in touched.items()}
        if self._leaves(spent, kind, cost, top, kept):
            kept = {each: division.kept(spent.parties[each], party) for each, division in touched.items()}
            if self._leaves(spent, kind, cost, top, kept):
                return None
        return own

    def _leaves(self, spent: Spent, kind: CallKind, cost: int, top: int, kept: Mapping[CallKind, int]) -> bool:
        """Return True if a call leaves the reserves of other parties, in all kinds whose room it can use."""
        after = spent.after(kind, cost)
        over = 0
        for each, wanted in kept.items():
            room = after.room(each, top, self._reserves)
            if (each == kind or over or room < spent.room(each, top, self._reserves)) and room < wanted + over:
                return False
            # A shortfall in one reserve is taken from the next kind.
            over += max(0, wanted - after.unused(each, top, self._reserves))
        return True

    def _spent(self, ip: str, minute: int, at: float) -> Spent:
        return self._minutes.get((ip, minute), at) or Spent()
