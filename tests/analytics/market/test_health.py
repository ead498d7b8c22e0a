"""Health of now: a score against the own hour that falls fast, recovers slowly, and a word that does not flicker."""

from itertools import pairwise
from random import Random

import pytest

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.market.health import (
    HealthMeter,
    HealthWord,
    SteadyWord,
    part_scores,
    word_of,
)
from mcp_binance_server.analytics.market.last_hour import HealthScale, LastHour
from mcp_binance_server.analytics.market.microstructure import DepthSample, Recoveries, count_recoveries
from mcp_binance_server.analytics.market.minute import BookMoment
from mcp_binance_server.analytics.market.stress import StressMeter, stress_of

GRID = PriceGrid(0.01, 0.001)


def hour() -> HealthScale:
    own, draw = LastHour(), Random(3)
    for _ in range(720):
        own.add_health(draw.randint(1, 5), draw.uniform(8, 12))
    return own.health_scale()


def moment(spread: float = 0.02, depth: float = 10.0) -> BookMoment:
    return BookMoment(100.0, spread, depth, depth + 1, 50.0, 50.0)


def meter() -> HealthMeter:
    made = HealthMeter(GRID)
    made.compare_with(hour())
    return made


def test_without_an_hour_there_is_no_health() -> None:
    made = HealthMeter(GRID)
    made.add(moment())

    assert made.now is None


def test_a_calm_book_is_usual_and_nothing_pulled_it_down() -> None:
    made = meter()
    for _ in range(10):
        made.add(moment())

    assert made.now is not None
    assert (made.now.score, made.now.word, made.now.pulled_by) == (pytest.approx(100), "Usual", None)


def test_a_book_that_loses_its_depth_falls_within_seconds_and_recovers_slowly() -> None:
    made = meter()
    for _ in range(10):
        made.add(moment())
    words: list[HealthWord] = []
    for _ in range(75):
        made.add(moment(depth=1.0))
        assert made.now is not None
        words.append(made.now.word)
    assert made.now is not None
    assert made.now.pulled_by == "depth"
    for _ in range(15):
        made.add(moment())

    assert (words[14], words[-1]) == ("Strained", "Broken")
    assert made.now is not None
    assert made.now.score < 70, "good news is believed slowly"
    made.clear()
    assert made.now is None


def test_a_spread_of_one_tick_is_at_its_minimum_whatever_the_hour_was() -> None:
    always_narrow = HealthScale([1.0] * 100, [10.0] * 100)

    assert part_scores(moment(spread=0.01), always_narrow, GRID)["spread"] == 1.0
    assert part_scores(moment(spread=0.02), always_narrow, GRID)["spread"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("score", "before", "word"),
    [(85, None, "Usual"), (79, None, "Thin"), (45, None, "Strained"), (39, None, "Broken"), (75, "Usual", "Usual"),
     (71, "Usual", "Thin"), (85, "Thin", "Thin"), (89, "Thin", "Usual"), (45, "Broken", "Broken"),
     (49, "Broken", "Strained")],
)  # fmt: skip
def test_a_word_is_left_only_beyond_a_margin(score: float, before: HealthWord | None, word: str) -> None:
    assert word_of(score, before) == word


def test_a_restless_score_changes_its_word_once_a_minute_at_most() -> None:
    steady, draw, score = SteadyWord(), Random(5), 75.0
    words: list[HealthWord | None] = []
    for _ in range(3_600):
        score = min(100.0, max(20.0, score + draw.gauss(0, 6)))
        steady.add(score)
        words.append(steady.word)
    changes = [at for at, (before, now) in enumerate(pairwise(words)) if before != now]

    assert len(changes) > 20, "the score crosses edges all the time"
    assert min(later - sooner for sooner, later in pairwise(changes)) >= 60


def test_thin_is_told_once_it_lasts_and_worse_at_once() -> None:
    thin, strained = SteadyWord(), SteadyWord()
    for score in [100.0] * 5 + [65.0] * 25:
        thin.add(score)
    strained.add(100.0)
    strained.add(50.0)

    assert (thin.word, strained.word) == ("Usual", "Strained")
    thin.add(65.0)
    assert thin.word == "Thin"


@pytest.mark.parametrize(
    ("scores", "word"),
    [([31.0] * 50, "Thin"), ([19.0] * 4, "Thin"), ([19.0] * 5, "Broken"), ([19.0] * 4 + [21.0] * 9, "Thin")],
)
def test_just_after_a_change_to_thin_a_book_that_stays_broken_is_told(scores: list[float], word: str) -> None:
    steady = SteadyWord()
    for score in [100.0] * 5 + [65.0] * 26 + scores:
        steady.add(score)

    assert steady.word == word


def test_a_fall_that_passes_strained_is_told_once_in_a_minute() -> None:
    steady = SteadyWord()
    words: list[HealthWord | None] = []
    for score in [100.0] * 5 + [50.0, 30.0] + [10.0] * 60:
        steady.add(score)
        words.append(steady.word)

    assert words[5:65] == ["Strained"] * 60
    assert words[-1] == "Broken"


def test_asked_every_five_seconds_a_calm_book_does_not_flicker() -> None:
    made, draw = meter(), Random(8)
    words: list[str] = []
    for second in range(600):
        made.add(moment(draw.randint(1, 5) / 100, draw.uniform(8, 12)))
        if second % 5 == 4 and made.now is not None:
            words.append(made.now.word)

    assert sum(a != b for a, b in pairwise(words)) <= 1
    assert set(words) <= {"Usual", "Thin"}


def test_a_share_of_few_is_drawn_to_its_long_run() -> None:
    assert Recoveries(5, 5).shrunk(Recoveries(10, 20)) == pytest.approx(10 / 15)
    assert Recoveries(0, 0).shrunk(Recoveries(0, 0)) is None


def depths(*values: float) -> list[DepthSample]:
    return [DepthSample(1_000 * at, value) for at, value in enumerate(values)]


@pytest.mark.parametrize(
    ("samples", "counted"),
    [
        (depths(10, 6, 9.5, 10), (1, 1)),
        (depths(10, 6, 6, 6, 6, 6, 6, 6), (0, 1)),
        (depths(10, 8, 8, 8, 8, 8, 8), (0, 0)),
        (depths(10, 6, 6), (0, 0)),
        ([], (0, 0)),
    ],
    ids=["made good", "never made good", "too small", "not over yet", "nothing"],
)
def test_sudden_losses_of_depth_are_counted(samples: list[DepthSample], counted: tuple[int, int]) -> None:
    assert count_recoveries(samples) == counted


def test_stress_of_a_flat_hour_counts_any_departure() -> None:
    own = LastHour()
    calm = StressMeter()
    for _ in range(11):
        calm.add(moment())
    parts = calm.parts()
    assert parts is not None
    for _ in range(60):
        own.add_stress(parts)

    assert stress_of(parts, own.stress_scale()).score == 0
    wide = parts._replace(depth=parts.depth + 1, spread=parts.spread + 1)
    assert stress_of(wide, own.stress_scale()).score == 6.0
    calm.clear()
    assert calm.parts() is None
