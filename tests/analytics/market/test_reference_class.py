"""The class of markets alike, which may call a score usual while the own past is short, and nothing else."""

import pytest

from mcp_binance_server.analytics.market.class_scores import HIGH_SCORES, ORIGIN, SCORES_VERSION
from mcp_binance_server.analytics.market.reference_class import ReferenceClass
from mcp_binance_server.analytics.market.symbol_scores import CRITERIA, EVENTS, VERSION, JudgementName, SymbolScores
from mcp_binance_server.analytics.score_history import Judgement, ScoreHistory
from support.score_history import START_MS, live_through, unusual_minute

MAJOR = ReferenceClass.of(0.05, 300)


def waiting(name: JudgementName, score: float) -> Judgement:
    return ScoreHistory().judge(CRITERIA[name], score)


@pytest.mark.parametrize(
    ("tick_bps", "trades", "name"),
    [
        (0.0999, 59.9, "tick under 0.1 bps, under 60 trades a minute"),
        (0.1, 60, "tick 0.1 to 1 bps, 60 to 600 trades a minute"),
        (1.0, 599.9, "tick 1 to 5 bps, 60 to 600 trades a minute"),
        (5.0, 600, "tick 5 bps or more, 600 or more trades a minute"),
    ],
)
def test_a_class_is_known_by_tick_and_trading(tick_bps: float, trades: float, name: str) -> None:
    assert ReferenceClass.of(tick_bps, trades).name == name


@pytest.mark.parametrize("name", CRITERIA)
def test_what_is_not_above_the_percentile_is_usual_and_what_is_stays_not_judged(name: JudgementName) -> None:
    high = HIGH_SCORES[MAJOR.name][name]

    assert MAJOR.calls_usual(waiting(name, high))
    assert MAJOR.calls_usual(waiting(name, 0.0))
    assert not MAJOR.calls_usual(waiting(name, high + 0.001))


def test_a_judged_score_is_none_of_its_business() -> None:
    judged = ScoreHistory([0.0] * 100).judge(CRITERIA["hidden_size"], 1.0)

    assert judged.p is not None
    assert not MAJOR.calls_usual(judged)


def test_where_nothing_was_measured_nothing_is_usual() -> None:
    young = SymbolScores().judge(unusual_minute("hidden_size"), START_MS)

    assert {name: young.of(name).judgement.has_score for name in EVENTS} == {
        "hidden_size": True, "absorption": False, "came_and_went": True, "flood": False, "standing_size": False
    }  # fmt: skip
    assert not MAJOR.calls_usual(young.of("flood").judgement)
    assert not MAJOR.calls_usual(SymbolScores().stress(None)[1])


def test_a_class_without_an_entry_says_nothing() -> None:
    unknown = ReferenceClass.of(3.0, 10)

    assert unknown.name not in HIGH_SCORES
    assert not unknown.calls_usual(waiting("hidden_size", 0.0))


def test_the_shipped_table_is_of_the_scores_of_today_and_has_its_origin() -> None:
    assert SCORES_VERSION == VERSION
    assert {name for _, name in ORIGIN.values()} == {*HIGH_SCORES}
    assert min(minutes for minutes, _ in ORIGIN.values()) >= 300
    assert {name for row in HIGH_SCORES.values() for name in row} == {*CRITERIA}
    # A percentile far beyond what matters would call everything usual.
    floors: dict[str, float] = {name: each.floor for name, each in CRITERIA.items()}
    assert all(0 <= high <= 10 * floors[name] for row in HIGH_SCORES.values() for name, high in row.items())


def test_trades_are_counted_by_the_minute() -> None:
    pasts = SymbolScores()
    assert pasts.rates.trades_per_minute() is None

    live_through(pasts, 20)

    assert pasts.rates.trades_per_minute() == pytest.approx(120, abs=8)
