"""Score histories of one symbol, one per judgement, and the verdict on each ended minute."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import median
from typing import Literal

from mcp_binance_server.analytics.book.events import came_and_went
from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.outcomes import StandingOutcomes
from mcp_binance_server.analytics.book.standing import StandingProfile, StandingSize
from mcp_binance_server.analytics.confidence import shrunk_share
from mcp_binance_server.analytics.market.absorption import LEAST_PAIRS, FlowAnswers, KyleLine, MinuteFlow
from mcp_binance_server.analytics.market.flood import UsualRates
from mcp_binance_server.analytics.market.last_hour import LastHour, StressParts
from mcp_binance_server.analytics.market.minute import MinuteFacts
from mcp_binance_server.analytics.market.stress import StressReading, stress_of
from mcp_binance_server.analytics.metric import NotJudged
from mcp_binance_server.analytics.score_history import Criterion, Judgement, ScoreHistory

EventName = Literal["hidden_size", "absorption", "came_and_went", "flood", "standing_size"]
JudgementName = EventName | Literal["stress"]

# Version of the scores. It rises when a score changes its meaning, because old records are not comparable then.
VERSION = 1
ALPHA = 0.02
LEAST = 49
# Warm-up minutes: they define the usual level before the first minute is scored.
LEARN_MINUTES = 10
USUAL_VOLUMES = 60
# Minimum standing size as a share of the usual volume of a minute. A smaller size does not matter.
LEAST_OF_MINUTE = 0.25

CRITERIA: dict[JudgementName, Criterion] = {
    "hidden_size": Criterion("hidden_size", 3.0, ALPHA, LEAST),
    "absorption": Criterion("absorption", 2.0, ALPHA, LEAST),
    # An alpha of 0.02 reported 2.0 % of 2,400 calm minutes, which is too many. An alpha of 0.016 needs 62 past minutes.
    "came_and_went": Criterion("came_and_went", 0.10, 0.016, 62),
    "flood": Criterion("flood", log(2), ALPHA, LEAST),
    "standing_size": Criterion("standing_size", 0.05, ALPHA, LEAST),
    # A floor of 4 reported 2.2 % of calm minutes, which is too many.
    "stress": Criterion("stress", 5.0, ALPHA, LEAST),
}
EVENTS: tuple[EventName, ...] = ("hidden_size", "absorption", "came_and_went", "flood", "standing_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventVerdict:
    """Verdict on one kind of event in one minute: side and price, measures, and rank."""

    name: EventName
    judgement: Judgement
    measured: Mapping[str, float]
    side: BookSide | None = None
    price: float | None = None


@dataclass(frozen=True, slots=True)
class EndedMinute:
    """A whole minute, judged once at its end."""

    end_ms: int
    verdicts: tuple[EventVerdict, ...]

    def of(self, name: EventName) -> EventVerdict:
        return next(each for each in self.verdicts if each.name == name)


class SymbolScores:
    """All data that the minutes of one symbol are judged by. It is kept when the stream is interrupted."""

    __slots__ = ("answers", "hour", "outcomes", "profile", "rates", "scores", "volumes")

    def __init__(self) -> None:
        self.scores: dict[JudgementName, ScoreHistory] = {name: ScoreHistory() for name in CRITERIA}
        self.rates = UsualRates()
        self.answers = FlowAnswers()
        self.profile = StandingProfile()
        self.outcomes = StandingOutcomes()
        self.hour = LastHour()
        self.volumes: array[float] = array("f")

    def judge(self, facts: MinuteFacts, end_ms: int, before: EndedMinute | None = None) -> EndedMinute:
        """Judge a minute against earlier minutes. The histories do not change."""
        made = (
            self._hidden_size(facts),
            self._absorption(facts),
            self._came_and_went(facts),
            self._flood(facts),
            self._standing_size(facts),
        )
        again = {each.name for each in before.verdicts if each.judgement.is_unusual} if before is not None else ()
        return EndedMinute(end_ms, tuple(_told(each, again=each.name in again) for each in made))

    def learn(self, facts: MinuteFacts, ended: EndedMinute) -> None:
        """Add a judged minute to the histories, unusual or not."""
        for each in ended.verdicts:
            if self._is_scored(each.name, facts):
                judged, activity = each.judgement, _activity(each.name, facts)
                self.scores[each.name].add(judged.score, spoke=judged.is_unusual, activity=activity)
        self.rates.add(facts.blocks)
        self.answers.add(MinuteFlow(facts.flow, facts.move))
        if facts.standing is not None:
            self.profile.add(facts.standing)
        self.volumes.append(facts.volume)
        del self.volumes[:-USUAL_VOLUMES]

    def large_standing(self, facts: MinuteFacts) -> list[StandingSize]:
        """Return the standing sizes of a minute above the minimum, largest first.

        The result is empty until the usual size is known.
        """
        if self.profile.minutes < LEARN_MINUTES:
            return []
        floor = CRITERIA["standing_size"].floor
        return [each for each in self._standing(facts) if each.score >= floor]

    def standing_waits(self) -> NotJudged | None:
        """Return how many minutes standing sizes still need. Return None once they can be judged."""
        have, need = min(LEARN_MINUTES, self.profile.minutes) + len(self.scores["standing_size"]), LEARN_MINUTES + LEAST
        return NotJudged(have, need) if have < need else None

    def stress(self, parts: StressParts | None) -> tuple[StressReading | None, Judgement]:
        """Judge the present stress."""
        criterion, past = CRITERIA["stress"], self.scores["stress"]
        learnt = self.hour.stress_minutes
        if parts is None or learnt < LEARN_MINUTES:
            return None, _not_scored(criterion, min(learnt, LEARN_MINUTES), LEARN_MINUTES + LEAST)
        reading = stress_of(parts, self.hour.stress_scale())
        return reading, self._judged("stress", reading.score, None, LEARN_MINUTES if len(past) < LEAST else 0)

    def learn_stress(self, parts: StressParts | None) -> None:
        """Add the stress at the end of a minute to its history."""
        reading, judgement = self.stress(parts)
        if reading is not None:
            self.scores["stress"].add(reading.score, spoke=judgement.is_unusual)

    def series(self) -> dict[str, "array[float]"]:
        """Return all data as rows of numbers, for storage."""
        rows = {name: array("d", past.scores()) for name, past in self.scores.items()}
        spoke = {f"{name}_spoke": array("d", past.spoke()) for name, past in self.scores.items()}
        active = {f"{name}_activity": past.activity() for name, past in self.scores.items()}
        lines = {
            "rates": self.rates.series(),
            "answers": self.answers.series(),
            "profile": self.profile.series(),
            "volumes": array("d", self.volumes),
        }
        return {**rows, **spoke, **active, **lines, **self.hour.series(), **self.outcomes.series()}

    @classmethod
    def restored(cls, series: Mapping[str, Sequence[float]]) -> "SymbolScores":
        """Restore the histories from the rows of `series`.

        Raises:
            ValueError: a row is missing, has a wrong length, or has impossible numbers.
        """
        pasts = cls()
        _check_possible(series)
        try:
            for name in CRITERIA:
                activity = series.get(f"{name}_activity")
                # Scores of older records have no activity, so nothing can be compared with them.
                if activity is not None or not series[name]:
                    spoke = [bool(each) for each in series[f"{name}_spoke"]]
                    pasts.scores[name] = ScoreHistory(series[name], spoke=spoke, activity=activity or ())
            pasts.rates.restore(_rows(series["rates"], 2))
            pasts.answers.restore(_rows(series["answers"], 2))
            pasts.profile.restore(series["profile"])
            pasts.hour.restore(_rows(series["health_seconds"], 2), _rows(series["stress_seconds"], 3))
            pasts.volumes = array("f", series["volumes"][-USUAL_VOLUMES:])
            # Older records lack this row, because it was added later.
            pasts.outcomes.restore(series.get("left_near", ()), series.get("left_far", ()))
        except KeyError as missing:
            raise ValueError(f"the row {missing} is missing") from missing
        return pasts

    def _hidden_size(self, facts: MinuteFacts) -> EventVerdict:
        found = facts.refilled[0] if facts.refilled else None
        judgement = self._judged("hidden_size", found.score if found else 0.0, facts)
        if found is None:
            return EventVerdict(name="hidden_size", judgement=judgement, measured={"equal_refills": 0})
        measured = {
            "equal_refills": found.refills,
            "refill_size": found.peak,
            "executed": found.executed,
            "executed_beyond_displayed": found.beyond_displayed,
        }
        return EventVerdict(
            name="hidden_size", judgement=judgement, measured=measured, side=found.side, price=found.price
        )

    def _absorption(self, facts: MinuteFacts) -> EventVerdict:
        line = self.answers.line()
        if line is None:
            is_short = len(self.answers) < LEAST
            waiting = NotJudged(len(self.answers), LEAST, why=None if is_short else "not_fitted")
            judgement = Judgement(criterion=CRITERIA["absorption"], score=0.0, not_judged=waiting, has_score=False)
            return EventVerdict(name="absorption", judgement=judgement, measured={"flow": facts.flow})
        score = line.residual(MinuteFlow(facts.flow, facts.move))
        judgement = ScoreHistory(self.answers.residuals()).judge(CRITERIA["absorption"], score)
        side: BookSide = "ask" if facts.flow > 0 else "bid"
        return EventVerdict(
            name="absorption",
            judgement=judgement,
            measured=_answer(facts, line),
            side=side if score else None,
            price=facts.heaviest.get(side) if score else None,
        )

    def _came_and_went(self, facts: MinuteFacts) -> EventVerdict:
        largest = facts.passed[0] if facts.passed else None
        score = came_and_went(facts.passed)
        return EventVerdict(
            name="came_and_went",
            judgement=self._judged("came_and_went", score, facts),
            measured={"share_of_side": score, "times": len(facts.passed)},
            side=largest.side if largest else None,
            price=largest.price if largest else None,
        )

    def _flood(self, facts: MinuteFacts) -> EventVerdict:
        if len(self.rates) < LEARN_MINUTES:
            judgement = _not_scored(CRITERIA["flood"], len(self.rates), LEARN_MINUTES + LEAST)
            return EventVerdict(name="flood", judgement=judgement, measured={})
        score = self.rates.score(facts.blocks)
        judgement = self._judged("flood", score, facts, LEARN_MINUTES)
        return EventVerdict(name="flood", judgement=judgement, measured={"times_usual": exp(score)})

    def _standing_size(self, facts: MinuteFacts) -> EventVerdict:
        found = next(iter(self._standing(facts)), None)
        if self.profile.minutes < LEARN_MINUTES:
            judgement = _not_scored(CRITERIA["standing_size"], self.profile.minutes, LEARN_MINUTES + LEAST)
            return EventVerdict(name="standing_size", judgement=judgement, measured={})
        judgement = self._judged("standing_size", found.score if found else 0.0, facts, LEARN_MINUTES)
        if found is None:
            return EventVerdict(name="standing_size", judgement=judgement, measured={})
        measured = {"size": found.size, "share_of_side": found.share}
        if usual := median(self.volumes):
            measured["minutes_of_volume"] = found.size / usual
        like = self.outcomes.like(found.distance) if found.score >= judgement.criterion.floor else None
        if like is not None:
            shrunk = shrunk_share(like.k, like.n, like.long_run)
            measured |= {"like_it_left": like.n, "like_it_traded_into": like.k, "like_it_traded_into_shrunk": shrunk}
        return EventVerdict(
            name="standing_size", judgement=judgement, measured=measured, side=found.side, price=found.price
        )

    def _standing(self, facts: MinuteFacts) -> list[StandingSize]:
        if facts.standing is None or not self.volumes:
            return []
        return self.profile.sizes(facts.standing, LEAST_OF_MINUTE * median(self.volumes))

    def _judged(self, name: JudgementName, score: float, facts: MinuteFacts | None, learnt: int = 0) -> Judgement:
        activity = None if facts is None else _activity(name, facts)
        judgement = self.scores[name].judge(CRITERIA[name], score, activity=activity)
        waiting = judgement.not_judged
        if waiting is None or waiting.why is not None or not learnt:
            return judgement
        return _not_judged(judgement.criterion, score, waiting.have + learnt, waiting.need + learnt)

    def _is_scored(self, name: EventName, facts: MinuteFacts) -> bool:
        if name == "absorption":
            return len(self.answers) >= LEAST_PAIRS
        if name == "flood":
            return len(self.rates) >= LEARN_MINUTES
        return name != "standing_size" or (facts.standing is not None and self.profile.minutes >= LEARN_MINUTES)


# Upper bounds for amounts and for stress logarithms of any market. The rows in `_AMOUNTS` cannot be negative.
_MOST, _MOST_LOG = 1e18, 100.0
_AMOUNTS = frozenset({"rates", "profile", "volumes", "health_seconds"})


def _check_possible(series: Mapping[str, Sequence[float]]) -> None:
    for name, row in series.items():
        most = _MOST_LOG if name == "stress_seconds" else _MOST
        least = 0.0 if name in _AMOUNTS else -most
        if row and not (least <= min(row) and max(row) <= most):
            raise ValueError(f"the row {name} has an impossible value")


def _answer(facts: MinuteFacts, line: KyleLine) -> dict[str, float]:
    return {"flow": facts.flow, "move": facts.move, "usual_move": line.slope * facts.flow, "t": line.t}


def _activity(name: JudgementName, facts: MinuteFacts) -> float:
    """Return the activity that makes minutes alike: trades if the book changes are judged, otherwise these."""
    return float(facts.trades) if name == "flood" else facts.activity


def _not_judged(criterion: Criterion, score: float, have: int, need: int) -> Judgement:
    return Judgement(criterion=criterion, score=score, not_judged=NotJudged(have, need, criterion.unit))


def _not_scored(criterion: Criterion, have: int, need: int) -> Judgement:
    return replace(_not_judged(criterion, 0.0, have, need), has_score=False)


def _told(verdict: EventVerdict, *, again: bool) -> EventVerdict:
    """Set `again`. If the minute is not judged yet, add it to the number of past minutes."""
    waiting = verdict.judgement.not_judged
    if waiting is not None and waiting.why is None:
        waiting = replace(waiting, have=min(waiting.need, waiting.have + 1))
    return replace(verdict, judgement=replace(verdict.judgement, not_judged=waiting, again=again))


def _rows(row: Sequence[float], columns: int) -> Sequence[float]:
    if len(row) % columns:
        raise ValueError(f"{len(row)} values are not rows of {columns}")
    return row
