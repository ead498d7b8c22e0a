"""The one rule: a score speaks when it matters and is rare among the symbol's own minutes."""

import random

import pytest

from mcp_binance_server.analytics.metric import Metric, NotJudged
from mcp_binance_server.analytics.score_history import Criterion, ScoreHistory, base_rate
from mcp_binance_server.surface.views.measures import (
    base_rate_words,
    metric_member,
    not_judged_words,
)

RARE = Criterion("flood", 1.0)


def test_the_rank_counts_the_minute_itself() -> None:
    past = ScoreHistory([0.0] * 47 + [5.0, 7.0])

    assert past.p(7.0) == 2 / 50
    assert past.p(7.5) == 1 / 50
    assert past.p(-1.0) == 1


def test_below_the_least_past_nothing_is_said() -> None:
    judged = ScoreHistory([0.0] * 12).judge(RARE, 99.0)

    assert not judged.is_unusual
    assert judged.confidence == "none"
    assert judged.not_judged == NotJudged(12, 49)
    assert not_judged_words(NotJudged(12, 49)) == "not judged: 12 of 49 minutes"


def test_the_rarest_score_below_the_floor_is_usual() -> None:
    judged = ScoreHistory([0.0] * 60).judge(RARE, 0.9)

    assert judged.p == 1 / 61
    assert not judged.is_unusual
    assert judged.confidence == "none"


@pytest.mark.parametrize(
    ("as_high", "before", "confidence"),
    [(0, "usual", "medium"), (0, "unusual", "high"), (2, "usual", "low"), (9, "usual", "none")],
)
def test_a_score_beyond_the_floor_speaks_by_its_rank(as_high: int, before: str, confidence: str) -> None:
    past = ScoreHistory([0.0] * (80 - as_high) + [3.0] * as_high)

    judged = past.judge(RARE, 2.0, again=before == "unusual")

    assert judged.is_unusual is (confidence in ("medium", "high"))
    assert judged.confidence == confidence
    assert judged.base_rate is not None
    assert (judged.base_rate.k, judged.base_rate.n) == (as_high, 80)


def test_in_a_usual_minute_the_base_rate_is_that_of_the_floor() -> None:
    judged = ScoreHistory([0.0] * 57 + [1.0, 2.0, 3.0]).judge(RARE, 0.0)

    assert judged.base_rate is not None
    assert judged.base_rate.k == 3


def test_a_score_is_ranked_among_minutes_of_like_activity() -> None:
    calm, busy = [(0.0, 100.0)] * 200, [(5.0, 300.0)] * 100
    past = ScoreHistory([score for score, _ in calm + busy], activity=[activity for _, activity in calm + busy])

    in_calm, in_busy = (past.judge(RARE, 5.0, activity=activity) for activity in (100.0, 300.0))

    assert (in_calm.is_unusual, in_busy.is_unusual) == (True, False)
    assert in_busy.base_rate is not None
    assert (in_busy.base_rate.k, in_busy.base_rate.n) == (100, 100)


@pytest.mark.parametrize(("as_busy", "is_judged"), [(0, False), (4, False), (5, True)])
def test_a_minute_busier_than_the_kept_ones_is_not_judged(as_busy: int, is_judged: bool) -> None:  # noqa: FBT001
    past = ScoreHistory([0.0] * 100, activity=[100.0] * (100 - as_busy) + [300.0] * as_busy)

    judged = past.judge(RARE, 99.0, activity=300.0)

    assert (judged.not_judged is None) is is_judged
    if judged.not_judged is not None:
        assert not_judged_words(judged.not_judged) == "not judged: busier than any kept minute"
        assert (judged.p, judged.is_unusual) == (None, False)


def test_the_oldest_minute_makes_room() -> None:
    past = ScoreHistory(most=3)
    for score in (9.0, 1.0, 2.0, 3.0):
        past.add(score, spoke=score == 1.0)

    assert list(past.scores()) == [1.0, 2.0, 3.0]
    assert past.spoke() == [True, False, False]
    assert len(past) == 3
    assert past.p(9.0) == 1 / 4


def test_a_past_is_read_back_as_it_was_written() -> None:
    past = ScoreHistory([1.0, 2.0], spoke=[True, False])

    again = ScoreHistory(past.scores(), spoke=past.spoke())

    assert list(again.scores()) == [1.0, 2.0]
    assert again.spoke() == [True, False]
    with pytest.raises(ValueError, match="2 scores and 1 marks"):
        ScoreHistory([1.0, 2.0], spoke=[True])


@pytest.mark.parametrize(("spoke", "counted"), [(6, None), (7, 7)])
def test_a_market_that_changed_is_said_to_have(spoke: int, counted: int | None) -> None:
    past = ScoreHistory()
    for minute in range(60):
        past.add(0.0, spoke=minute < spoke)

    seen = past.has_changed()
    assert (None if seen is None else seen.k) == counted


def test_an_hour_is_needed_to_see_a_change() -> None:
    assert ScoreHistory([1.0] * 59, spoke=[True] * 59).has_changed() is None


@pytest.mark.flood
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exchangeable_minutes_speak_no_oftener_than_alpha(seed: int) -> None:
    draw = random.Random(seed)
    past, spoke, minutes = ScoreHistory(), 0, 4000
    for _ in range(minutes + 60):
        score = draw.lognormvariate(0.0, 2.0)
        judged = past.judge(Criterion("any", 0.0), score)
        spoke += judged.is_unusual
        past.add(score)

    assert base_rate(spoke, minutes).low <= 0.02
    assert spoke >= 0.01 * minutes


def test_a_base_rate_has_wilsons_interval() -> None:
    seen = base_rate(3, 240)

    assert base_rate_words(seen) == "seen in 3 of 240 minutes as busy (1.3 %)"
    assert (round(seen.low, 4), round(seen.high, 4)) == (0.0043, 0.0361)
    assert base_rate_words(base_rate(0, 0)) == "seen in 0 of 0 minutes as busy (0.0 %)"
    assert (base_rate(0, 0).low, base_rate(0, 0).high) == (0.0, 1.0)


def test_an_answer_carries_rank_and_base_rate() -> None:
    judged = Metric(value=2.0, p=0.0041494, base_rate=base_rate(0, 240))
    waiting = Metric(value=None, not_judged=NotJudged(12, 49))

    assert metric_member(judged) == {
        "value": 2.0, "p": 0.0041, "base_rate": {"k": 0, "n": 240, "low": 0.0, "high": 0.0158}
    }  # fmt: skip
    assert metric_member(waiting)["not_judged"] == {"have": 12, "need": 49, "unit": "minutes"}
