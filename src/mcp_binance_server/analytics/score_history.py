"""Rank test of a score among the symbol's own past minutes: the only rule for reporting a judgement.

p = (1 + number of past scores at least as high) / (n + 1). If the minutes are exchangeable, at most a share alpha of
them has p <= alpha, for any distribution of scores. This is a conformal p-value (Vovk, Gammerman and Shafer 2005). The
floor suppresses scores that are rare but small.

Scores rise and fall with the activity of a market, and activity has hours, weekends and news. A score is therefore
ranked among the minutes of like activity, and not judged if hardly any kept minute was as busy.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from math import log

from mcp_binance_server.analytics.confidence import wilson
from mcp_binance_server.analytics.metric import BaseRate, Confidence, NotJudged, PastUnit

# A day in minutes.
MOST_SCORES = 1_440
# The part of the past, nearest in activity, that a score is ranked among; never fewer than the criterion needs.
ALIKE_PART = 3
# Minutes at least as busy that a judgement needs. With fewer, the compared minutes are all calmer than the judged one.
LEAST_AS_BUSY = 5
# If p is at or below this, the confidence is `low`. A tool reports that, a page does not.
LOW_ALPHA = 0.05
# A judgement that was unusual in more than 10 % of the last hour's minutes no longer reports single minutes.
CHANGED_MINUTES = 60
CHANGED_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class Criterion:
    """Criterion for an unusual score: it is at least `floor`, and its p is at most `alpha`."""

    name: str
    floor: float
    alpha: float = 0.02
    least: int = 49
    unit: PastUnit = "minutes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Result of the rank test for one score.

    `again` means that the previous minute was unusual too. Without `has_score` there is no score yet, because its
    reference is unknown. The base rate counts the past scores that reach both this score and the floor.
    """

    criterion: Criterion
    score: float
    p: float | None = None
    base_rate: BaseRate | None = None
    not_judged: NotJudged | None = None
    again: bool = False
    has_score: bool = True

    @property
    def is_unusual(self) -> bool:
        return self.p is not None and self._matters and self.p <= self.criterion.alpha

    @property
    def confidence(self) -> Confidence:
        """Confidence in words.

        It is `none` if the score is not judged or not rare, and `low` if it is rare but its p exceeds the criterion's
        alpha.
        """
        if self.p is None or self.not_judged is not None or not self._matters or self.p > LOW_ALPHA:
            return "none"
        if not self.is_unusual:
            return "low"
        return "high" if self.again else "medium"

    @property
    def _matters(self) -> bool:
        return self.not_judged is None and self.score >= self.criterion.floor


class ScoreHistory:
    """Newest scores of one judgement with activity and unusual flag, oldest first. A minute takes nine bytes.

    Scores are stored in single precision. Values compared with them are rounded alike, so that equal scores stay equal.
    """

    __slots__ = ("_activity", "_most", "_scores", "_spoke")

    def __init__(
        self,
        scores: Iterable[float] = (),
        *,
        spoke: Iterable[bool] | None = None,
        activity: Iterable[float] | None = None,
        most: int = MOST_SCORES,
    ) -> None:
        """Take scores with their flags and activities. Without activities, all minutes count as alike."""
        self._most = most
        self._scores = array("f", scores)[-most:]
        self._spoke = array("b", (int(each) for each in spoke or ()))[-most:]
        if spoke is None:
            self._spoke = array("b", bytes(len(self._scores)))
        if len(self._spoke) != len(self._scores):
            raise ValueError(f"{len(self._scores)} scores and {len(self._spoke)} marks of those that spoke")
        self._activity = array("f", activity or ())[-most:] if activity is not None else array("f", [0.0] * len(self))
        if len(self._activity) != len(self._scores):
            raise ValueError(f"{len(self._scores)} scores and {len(self._activity)} activities")

    def __len__(self) -> int:
        return len(self._scores)

    def add(self, score: float, *, spoke: bool = False, activity: float = 0.0) -> None:
        """Append a judged minute, unusual or not. A full list drops its oldest minute."""
        if len(self._scores) >= self._most:
            del self._scores[0], self._spoke[0], self._activity[0]
        self._scores.append(score)
        self._activity.append(activity)
        self._spoke.append(spoke)

    def scores(self) -> "array[float]":
        """Return the scores, oldest first."""
        return self._scores[:]

    def activity(self) -> "array[float]":
        """Return the activities of the scores, oldest first."""
        return self._activity[:]

    def spoke(self) -> list[bool]:
        """Return the unusual flags of the scores, oldest first."""
        return [bool(each) for each in self._spoke]

    def at_least(self, score: float) -> int:
        """Return the number of past scores that are at least as high."""
        least = array("f", (score,))[0]
        return sum(each >= least for each in self._scores)

    def p(self, score: float) -> float:
        """Return the share of minutes with a score at least as high, this minute included."""
        return (1 + self.at_least(score)) / (len(self._scores) + 1)

    def judge(
        self, criterion: Criterion, score: float, *, again: bool = False, activity: float | None = None
    ) -> Judgement:
        """Judge a score against the past. With fewer minutes than the criterion needs, it is not judged.

        With `activity`, only the minutes of like activity count.
        """
        have = len(self._scores)
        if have < criterion.least:
            waiting = NotJudged(have, criterion.least, criterion.unit)
            return Judgement(criterion=criterion, score=score, not_judged=waiting)
        past = self if activity is None else self._like(activity, max(criterion.least, -(-have // ALIKE_PART)))
        if past is None:
            waiting = NotJudged(have, criterion.least, criterion.unit, why="busier_than_any")
            return Judgement(criterion=criterion, score=score, not_judged=waiting)
        seen = base_rate(past.at_least(max(score, criterion.floor)), len(past))
        return Judgement(criterion=criterion, score=score, p=past.p(score), base_rate=seen, again=again)

    def _like(self, activity: float, count: int) -> "ScoreHistory | None":
        """Return the scores of the minutes nearest in activity. Return None if too few minutes were as busy."""
        least = array("f", (activity,))[0]
        if sum(each >= least for each in self._activity) < LEAST_AS_BUSY:
            return None
        apart = sorted((abs(log((each + 1) / (least + 1))), at) for at, each in enumerate(self._activity))
        return ScoreHistory(self._scores[at] for _, at in apart[:count])

    def has_changed(self) -> BaseRate | None:
        """Return the share of unusual minutes in the last hour if it exceeds 10 %, otherwise None."""
        newest = self._spoke[-CHANGED_MINUTES:]
        if len(newest) < CHANGED_MINUTES or sum(newest) <= CHANGED_SHARE * CHANGED_MINUTES:
            return None
        return base_rate(sum(newest), len(newest))


def base_rate(k: int, n: int) -> BaseRate:
    """Return a frequency with Wilson's 95 % interval. Without observations the interval is 0 to 1."""
    seen = wilson(k, n)
    return BaseRate(k, n, 0.0, 1.0) if seen is None else BaseRate(k, n, seen.low, seen.high)
