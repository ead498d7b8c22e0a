"""Make the table of what is usual among markets alike, which the package ships, anew.

    PYTHONPATH=benchmarks nice python -m calibration.classes

Calm markets of every regime are followed as a server follows one it has just met: again and again with no past, for as
long as the slowest judgement waits. Three minutes of one core.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from calibration.ours.books import GRID, OurBooks
from calibration.zero_intelligence import HEAVY, REGIMES, Market, Regime
from mcp_binance_server.analytics.market import class_scores
from mcp_binance_server.analytics.market.reference_class import ReferenceClass
from mcp_binance_server.analytics.market.symbol_scores import CRITERIA, VERSION, JudgementName

# Those on which floors and alphas were chosen; what judges the bounds must not have made the table.
SEEDS = (7, 11)
LIVES = 5
LIFE_MINUTES = max(each.least for each in CRITERIA.values())
SHARE = 0.99
# With fewer scores none of them is a 99th percentile.
LEAST_SCORES = 100
# A percentile so far beyond what matters would call everything usual: of that the class says nothing.
MOST_FLOORS = 10
ALL = (*REGIMES, HEAVY)

HEAD = '''"""Scores that calm markets of a class do not exceed in 99 of 100 minutes, while their past is short.

Written by benchmarks/calibration/classes.py. Where kinds of markets share a class, the least of their percentiles.
"""

from collections.abc import Mapping

'''


@dataclass(slots=True)
class Scored:
    """The scores of one regime's minutes, and how often it trades in each."""

    minutes: int = 0
    trades: list[int] = field(default_factory=list[int])
    scores: dict[JudgementName, list[float]] = field(default_factory=dict[JudgementName, list[float]])

    def high(self) -> dict[JudgementName, float]:
        """Return the 99th percentile of each judgement that has scores enough."""
        return {
            name: high
            for name, each in self.scores.items()
            if len(each) >= LEAST_SCORES and (high := percentile(each)) <= MOST_FLOORS * CRITERIA[name].floor
        }


def percentile(scores: Sequence[float]) -> float:
    """Return the score that one of a hundred reaches or exceeds."""
    return sorted(scores)[int(SHARE * len(scores))]


def followed(regime: Regime, seeds: Sequence[int], lives: int, minutes: int = LIFE_MINUTES) -> Scored:
    """Follow a regime as one that nobody knew before, so many times from each seed on."""
    seen = Scored()
    for seed in seeds:
        market = Market(regime, seed)
        for _ in range(2):
            market.minute()
        for _ in range(lives):
            judge = OurBooks()
            for _ in range(minutes):
                minute = market.minute()
                seen.trades.append(len(minute.trades))
                judge.book(minute)
                judge.after()
            for name, past in judge.pasts.scores.items():
                seen.scores.setdefault(name, []).extend(past.scores())
            seen.minutes += minutes
    return seen


def class_of(regime: Regime, seen: Scored) -> str:
    """Return the name of the class that a regime belongs to."""
    return ReferenceClass.of(GRID.tick_bps(regime.mid), median(seen.trades)).name


def table(seen: Mapping[Regime, Scored]) -> dict[str, dict[JudgementName, float]]:
    """Return of each class and judgement the least percentile of its regimes."""
    made: dict[str, dict[JudgementName, float]] = {}
    for regime, scored in seen.items():
        row = made.setdefault(class_of(regime, scored), {})
        for name, high in scored.high().items():
            row[name] = min(high, row.get(name, high))
    return made


def written(seen: Mapping[Regime, Scored]) -> str:
    """Return the module that is shipped."""
    lines = [f"SCORES_VERSION = {VERSION}", "# Calm zero-intelligence books, in minutes of each kind and its class."]
    lines.append("ORIGIN: Mapping[str, tuple[int, str]] = {")
    lines += [f'    "{regime.name}": ({each.minutes}, "{class_of(regime, each)}"),' for regime, each in seen.items()]
    lines += ["}", "HIGH_SCORES: Mapping[str, Mapping[str, float]] = {"]
    for name, row in table(seen).items():
        lines += [f'    "{name}": {{', *(f'        "{each}": {high:.4f},' for each, high in row.items()), "    },"]
    return HEAD + "\n".join([*lines, "}", ""])


def main() -> None:
    """Write the module."""
    seen = {regime: followed(regime, SEEDS, LIVES) for regime in ALL}
    Path(class_scores.__file__).write_text(written(seen), encoding="utf-8")


if __name__ == "__main__":
    main()
