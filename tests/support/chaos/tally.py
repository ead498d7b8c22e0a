"""What clients met while something was wrong, how long it lasted behind it, and the table of all that."""

import json
from collections import Counter
from dataclasses import dataclass, field

STRICT_MS, STOPPED_MS = 3_000, 8_000
# A dead process may be noticed as late as the next request on a connection that it had.
NOTICED_MS = 10_000


@dataclass
class HarmRow:
    """One kind of harm, however often it was done."""

    name: str
    bar_ms: float = STRICT_MS
    recoveries_ms: list[float] = field(default_factory=list[float])
    late: list[str] = field(default_factory=list[str])
    good: int = 0
    errors: Counter[str] = field(default_factory=Counter[str])
    last_said: dict[str, str] = field(default_factory=dict[str, str])
    """Of each kind of error the newest, as it was told."""

    @property
    def worst_ms(self) -> float:
        return max(self.recoveries_ms, default=0.0)


@dataclass(frozen=True, slots=True)
class LostSession:
    """A session that its client was told is over."""

    worker: int
    opened_ms: float
    lost_ms: float
    during: str


@dataclass
class Tally:
    """Everything seen in a run, by the harm that was being done."""

    rows: dict[str, HarmRow] = field(default_factory=dict[str, HarmRow])
    current: HarmRow = field(init=False)
    wrong: list[str] = field(default_factory=list[str])
    older: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])
    hung: list[str] = field(default_factory=list[str])
    lost: list[LostSession] = field(default_factory=list[LostSession])
    cuts: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    deaths: list[tuple[int, float, str]] = field(default_factory=list[tuple[int, float, str]])
    oldest_ms: int = 0
    heard: int = 0
    whole_market: Counter[str] = field(default_factory=Counter[str])
    """Good answers about all pairs, and about a perpetual."""
    slowest_quiet_ms: float = 0.0

    def __post_init__(self) -> None:
        self.current = self.row("calm")

    def row(self, name: str, bar_ms: float = STRICT_MS) -> HarmRow:
        return self.rows.setdefault(name, HarmRow(name, bar_ms))

    def lose(self, worker: int, opened_ms: float, lost_ms: float) -> None:
        self.lost.append(LostSession(worker, opened_ms, lost_ms, self.current.name))

    def unexplained_losses(self) -> list[LostSession]:
        """Return the sessions whose process has not died since they were opened."""
        return [
            each
            for each in self.lost
            if not any(each.worker == of and each.opened_ms <= at <= each.lost_ms + 1_000 for of, at, _ in self.deaths)
        ]

    def unexplained_cuts(self) -> list[str]:
        """Return the connections that ended without an answer while no process had just died."""
        died = [at for _, at, _ in self.deaths]
        return [said for at, said in self.cuts if not any(each <= at + 1_000 < each + NOTICED_MS for each in died)]

    def defects(self) -> dict[str, list[str]]:
        """Return what must never happen, whatever is done to the fleet."""
        found = self.untrue() | {
            "recovered too late": [said for row in self.rows.values() for said in row.late],
        }
        return {name: each for name, each in found.items() if each}

    def untrue(self) -> dict[str, list[str]]:
        """Return of that what has nothing to do with how quick a machine is."""
        found = {
            "wrong answers": self.wrong,
            "older than they say": self.older,
            "errors that are not ours": self.foreign,
            "no answer in 45 s": self.hung,
            "sessions lost without a cause": [str(each) for each in self.unexplained_losses()],
            "connections cut without a cause": self.unexplained_cuts(),
            "deaths without a cause": [f"worker {of} at {at:.0f}" for of, at, why in self.deaths if not why],
        }
        return {name: each for name, each in found.items() if each}

    def table(self) -> str:
        """Return a line for each kind of harm: how often, the slowest recovery against its bar, what was answered."""
        lines = [f"{'harm':<40}{'times':>5}{'worst s':>9}{'bar s':>8}{'good':>8}  errors"]
        for row in self.rows.values():
            said = ", ".join(f"{kind} {count}" for kind, count in sorted(row.errors.items())) or "none"
            worst, bar = f"{row.worst_ms / 1000:.2f}", f"{row.bar_ms / 1000:.0f}"
            over = " over the bar" if row.worst_ms > row.bar_ms else ""
            times = len(row.recoveries_ms)
            lines.append(f"{row.name:<40}{times:>5}{worst:>9}{bar:>8}{row.good:>8}  {said}{over}")
        unexplained = len(self.unexplained_losses())
        cuts = f"{len(self.cuts)} connections cut, {len(self.unexplained_cuts())} of them without a dead process"
        lines.append(f"sessions lost {len(self.lost)}, {unexplained} of them not of a dead process; {cuts}")
        lines.append(
            f"{len(self.wrong)} wrong answers, {len(self.older)} older than they say, {len(self.foreign)} errors not "
            f"ours, {len(self.hung)} hung; {self.heard} notifications; the oldest answer was {self.oldest_ms} ms old; "
            f"of the whole market {dict(self.whole_market)}; "
            f"all answered within {self.slowest_quiet_ms:.0f} ms while nothing was wrong"
        )
        if defects := self.defects():
            lines.append(json.dumps({name: each[:20] for name, each in defects.items()}, indent=1))
        return "\n".join(lines)
