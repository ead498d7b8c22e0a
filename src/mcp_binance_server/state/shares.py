"""How a budget that many use is divided: a share for each, and something for whoever comes next.

Each party may spend its share whatever the others do. What is left above the unspent shares of the others, and above
what is kept for newcomers, is lent to whoever asks.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple


@dataclass(slots=True)
class Parties:
    """What each party spent in one span of time; `fresh` counts those who were not there in the span before."""

    spent: dict[str, int] = field(default_factory=dict[str, int])
    total: int = 0
    fresh: int = 0
    drawn: int = 0
    """What those who are fresh have spent, each up to the least that everybody gets."""

    def meet(self, party: str, least: int, *, before: "Parties", after: "Parties | None") -> bool:
        """Take note that a party asks; return whether it had not asked yet."""
        if party in self.spent:
            return False
        self.spent[party] = 0
        if party not in before.spent:
            self.fresh += 1
        # At the edge of two spans a party can be met in the later one first.
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
    """A budget as one party finds it: what it spent, its share, what is kept for others."""

    spent: int
    is_new: bool
    share: int
    least: int
    for_newcomers: int
    others: int
    spent_by_others: int

    @classmethod
    def of(cls, now: Parties, before: Parties, party: str, *, whole: int, least: int, newcomers: int) -> "Division":
        """Divide what parties spent or may still spend; one more than there are is counted, who may come yet.

        For newcomers so much is kept, but no more than a share.
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
        """Whether a call that there is room for is within the party's own share.

        A newcomer comes when others may have been lent what its share would be: it leaves something to the next one.
        """
        after = self.spent + cost
        return after <= self.share and (not self.is_new or after <= self.least or cost <= left - self.for_newcomers)

    def assured(self, cost: int) -> int:
        """Return what the party could count on when a call of this cost was refused."""
        return self.least if self.is_new and self.spent + cost <= self.share else self.share

    def at_least_kept(self) -> int:
        """Return what is kept for others at the least, without a look at each of them."""
        return self.for_newcomers + max(0, self.others * self.share - self.spent_by_others)

    def kept(self, now: Parties, party: str) -> int:
        """Return what is kept for others: their unspent shares, and what newcomers shall find."""
        unspent, met = 0, 0
        for other, spent in now.spent.items():
            if other != party:
                met += 1
                if spent < self.share:
                    unspent += self.share - spent
        return self.for_newcomers + unspent + (self.others - met) * self.share


NOBODY: Final = Parties()
"""Those of a span in which nobody asked; it is only read."""


def outgrown(held: Sequence[str], party: str, *, cap: int, newcomers: int) -> tuple[int, int] | None:
    """Return what a party has of so many places, and could count on, if one more would be kept for others."""
    least, spent = max(1, newcomers // 2), Counter(each for each in held if each)
    total, left = spent.total(), cap - len(held)
    spent.setdefault(party, 0)
    now = Parties(spent, total, fresh=len(spent), drawn=sum(min(least, each) for each in spent.values()))
    own = Division.of(now, NOBODY, party, whole=max(0, left + total), least=least, newcomers=newcomers)
    if own.covers(1, left) or left >= 1 + own.kept(now, party):
        return None
    return own.spent, own.assured(1)
