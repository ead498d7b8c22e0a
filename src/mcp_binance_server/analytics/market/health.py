"""Health of a book: an index of its deviation from its own last hour, not of its quality."""

from collections import deque
from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.market.last_hour import HealthScale, single
from mcp_binance_server.analytics.market.minute import BookMoment

HealthWord = Literal["Usual", "Thin", "Strained", "Broken"]
HealthPart = Literal["spread", "depth"]

LEAST_MINUTES = 30
WEIGHTS: dict[HealthPart, float] = {"spread": 0.4, "depth": 0.6}
WORDS: tuple[HealthWord, ...] = ("Usual", "Thin", "Strained", "Broken")
EDGES = (80.0, 60.0, 40.0)
# Hysteresis: the word changes only if the score passes its edge by this margin.
MARGIN = 8.0
# Seconds. A word is kept for a minute. Only a change from Usual or Thin to Broken comes sooner. Thin must last before
# it is reported.
STANDS_S, THIN_LASTS_S = 60, 25
BROKEN_BELOW, BROKEN_LASTS_S = 20.0, 5
MEAN_S = 5
FALL_HALF_S, RISE_HALF_S = 5.0, 30.0
# A part lowers the score only if fewer than one second in 25 was as bad. The last value is the lowest score of a part.
_BEGINS, _SLACK, _LEAST_PART = 0.05, 0.01, 0.02
# Beyond the worst 2 % of the hour, the distance of the depth below its 10 % quantile counts as well.
_RARE, _TENTH, _STEEPNESS, _LEAST_DEPTH = 0.02, 0.1, 1.5, 0.05


@dataclass(frozen=True, slots=True)
class HealthNow:
    """The smoothed score and its word, and the means of its parts over the last seconds. 1 is usual."""

    score: float
    word: HealthWord
    parts: dict[HealthPart, float]

    @property
    def pulled_by(self) -> HealthPart | None:
        """Return the part that lowers the score most, or None while both are usual."""
        worst = min(self.parts, key=lambda name: self.parts[name] ** WEIGHTS[name])
        return worst if self.parts[worst] < 1 else None


class HealthMeter:
    """Meter of the health score, fed once a second. The score falls fast and rises slowly.

    Hysteresis keeps its word from flickering at an edge.
    """

    __slots__ = ("_grid", "_means", "_recent", "_scale", "_score", "_steady")

    def __init__(self, grid: PriceGrid) -> None:
        self._grid = grid
        self._scale: HealthScale | None = None
        self.clear()

    def clear(self) -> None:
        """Reset the meter after a gap."""
        self._recent: deque[dict[HealthPart, float]] = deque(maxlen=MEAN_S)
        self._means: deque[float] = deque(maxlen=MEAN_S)
        self._score: float | None = None
        self._steady = SteadyWord()

    def compare_with(self, scale: HealthScale) -> None:
        """Set the hour that later seconds are compared with."""
        self._scale = scale

    def add(self, moment: BookMoment) -> None:
        """Add one second."""
        if self._scale is None:
            return
        parts = part_scores(moment, self._scale, self._grid)
        self._recent.append(parts)
        self._means.append(_mean(parts))
        raw = sum(self._means) / len(self._means)
        before = raw if self._score is None else self._score
        keep = 0.5 ** (1 / (FALL_HALF_S if raw < before else RISE_HALF_S))
        self._score = score = keep * before + (1 - keep) * raw
        self._steady.add(score)

    @property
    def now(self) -> HealthNow | None:
        """State of the last second, or None while there is less than half an hour to compare with."""
        word = self._steady.word
        if self._score is None or word is None:
            return None
        seconds = len(self._recent)
        parts: dict[HealthPart, float] = {name: sum(each[name] for each in self._recent) / seconds for name in WEIGHTS}
        return HealthNow(self._score, word, parts)


def part_scores(moment: BookMoment, scale: HealthScale, grid: PriceGrid) -> dict[HealthPart, float]:
    """Return the score of each part: 1 if it is usual, less if few seconds of the hour were as bad."""
    ticks = grid.ticks(moment.spread)
    # A spread of one tick cannot be narrower, so it is usual in any case.
    spread = 1.0 if ticks <= 1 else _part(scale.as_wide(ticks))
    thinner = single(moment.thinner)
    share = scale.as_thin(thinner)
    depth = _part(share)
    if share < _RARE:
        worst = scale.depths[int(_TENTH * len(scale.depths))]
        depth *= max(_LEAST_DEPTH, min(1.0, (thinner / worst) ** _STEEPNESS)) if worst else 1.0
    return {"spread": spread, "depth": depth}


class SteadyWord:
    """The word of a score, updated every second.

    It changes at most once a minute, because clients poll every few seconds. Only a change from Usual or Thin to Broken
    is reported sooner.
    """

    __slots__ = ("_broken_s", "_differs_s", "_stood_s", "word")

    def __init__(self) -> None:
        self.word: HealthWord | None = None
        self._stood_s = STANDS_S
        self._differs_s = self._broken_s = 0

    def add(self, score: float) -> None:
        """Add one second."""
        word = word_of(score, self.word)
        self._stood_s += 1
        self._differs_s = 0 if word == self.word else self._differs_s + 1
        self._broken_s = self._broken_s + 1 if score < BROKEN_BELOW else 0
        lasts = word != "Thin" or self._differs_s > THIN_LASTS_S
        if self.word is None:
            self.word = word
        elif word != self.word and ((lasts and self._stood_s >= STANDS_S) or self._breaks):
            self.word = word
            self._stood_s = self._differs_s = 0

    @property
    def _breaks(self) -> bool:
        return self._broken_s >= BROKEN_LASTS_S and self.word in ("Usual", "Thin")


def word_of(score: float, before: HealthWord | None = None) -> HealthWord:
    """Return the word of a score. The previous word is kept until the score passes an edge by the margin."""
    if before is None:
        return WORDS[sum(score < edge for edge in EDGES)]
    fallen = sum(score < edge - MARGIN for edge in EDGES)
    risen = sum(score < edge + MARGIN for edge in EDGES)
    return WORDS[min(max(WORDS.index(before), fallen), risen)]


def _part(share: float) -> float:
    return max(_LEAST_PART, min(1.0, (share + _SLACK) / _BEGINS))


def _mean(parts: dict[HealthPart, float]) -> float:
    score = 100.0
    for name, weight in WEIGHTS.items():
        score *= parts[name] ** weight
    return score
