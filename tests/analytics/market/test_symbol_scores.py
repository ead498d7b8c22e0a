"""A minute against the symbol's own: silent on calm ones, and each event found when it is put there."""

from dataclasses import replace
from random import Random

import pytest

from mcp_binance_server.analytics.book.outcomes import LeftSize
from mcp_binance_server.analytics.market.last_hour import StressParts
from mcp_binance_server.analytics.market.symbol_scores import CRITERIA, EVENTS, EndedMinute, EventName, SymbolScores
from mcp_binance_server.analytics.score_history import base_rate
from support.score_history import START_MS, calm_minute, live_through, unusual_minute


@pytest.fixture(scope="module")
def lived() -> SymbolScores:
    pasts = SymbolScores()
    live_through(pasts, 120)
    return pasts


@pytest.mark.parametrize("event", EVENTS)
def test_what_is_put_into_a_minute_is_found_in_it(lived: SymbolScores, event: EventName) -> None:
    verdict = lived.judge(unusual_minute(event), START_MS).of(event)

    assert verdict.judgement.is_unusual
    assert verdict.judgement.base_rate is not None
    assert verdict.judgement.base_rate.k == 0


def test_a_finding_names_its_price_where_it_has_one(lived: SymbolScores) -> None:
    places = {
        event: (verdict.side, verdict.price)
        for event in EVENTS
        for verdict in [lived.judge(unusual_minute(event), START_MS).of(event)]
    }

    assert places == {
        "hidden_size": ("bid", 98.5),
        "absorption": ("bid", 99.0),
        "came_and_went": ("ask", 101.5),
        "flood": (None, None),
        "standing_size": ("bid", 96.0),
    }


@pytest.fixture(scope="module")
def calm_minutes() -> list[EndedMinute]:
    return [ended for seed in range(3) for ended in live_through(SymbolScores(), 160, seed=seed)]


@pytest.mark.night
@pytest.mark.flood
@pytest.mark.parametrize("event", EVENTS)
def test_calm_minutes_are_silent(calm_minutes: list[EndedMinute], event: EventName) -> None:
    judgements = [ended.of(event).judgement for ended in calm_minutes]
    judged = [each for each in judgements if each.not_judged is None]

    assert len(judged) > 250
    assert base_rate(sum(each.is_unusual for each in judged), len(judged)).low <= 0.02


@pytest.mark.parametrize(("minutes", "need"), [(12, 49), (12, 59)])
def test_a_symbol_watched_for_twelve_minutes_is_not_judged(minutes: int, need: int) -> None:
    newest = live_through(SymbolScores(), minutes)[-1]

    waiting = {each.judgement.not_judged for each in newest.verdicts}
    assert {(each.have, each.need) for each in waiting if each is not None and each.need == need} == {(minutes, need)}
    assert None not in waiting


def test_a_judgement_that_spoke_in_the_minute_before_says_so(lived: SymbolScores) -> None:
    first = lived.judge(unusual_minute("flood"), START_MS)
    again = lived.judge(unusual_minute("flood"), START_MS, first).of("flood")

    assert first.of("flood").judgement.confidence == "medium"
    assert again.judgement.confidence == "high"


def test_the_price_must_follow_the_flow_before_its_silence_means_anything() -> None:
    pasts, draw = SymbolScores(), Random(5)
    for _ in range(60):
        facts = replace(calm_minute(draw), move=draw.gauss(0, 1))
        pasts.learn(facts, pasts.judge(facts, START_MS))

    verdict = pasts.judge(unusual_minute("absorption"), START_MS).of("absorption")

    assert verdict.judgement.not_judged is not None
    assert verdict.judgement.not_judged.why == "not_fitted"


def test_stress_needs_two_parts_at_once(lived: SymbolScores) -> None:
    usual = StressParts(-4.0, -9.0, 0.0001)
    thin = usual._replace(depth=-2.0)
    crash = thin._replace(spread=-7.0, move=0.004)

    assert not lived.stress(usual)[1].is_unusual
    assert not lived.stress(thin)[1].is_unusual
    reading, judgement = lived.stress(crash)
    assert judgement.is_unusual
    assert reading is not None
    assert reading.high == ("depth", "spread", "move")
    assert reading.depth_share == pytest.approx(0.135, abs=0.02)


def test_stress_is_not_judged_before_there_is_an_hour() -> None:
    pasts = SymbolScores()
    live_through(pasts, 12)

    reading, judgement = pasts.stress(StressParts(-2.0, -7.0, 0.004))

    assert reading is not None
    assert judgement.not_judged is not None
    assert (judgement.not_judged.have, judgement.not_judged.need) == (13, 59)
    assert SymbolScores().stress(None)[1].not_judged is not None


def test_a_past_that_was_kept_judges_alike(lived: SymbolScores) -> None:
    again = SymbolScores.restored(lived.series())

    for event in EVENTS:
        facts = unusual_minute(event)
        was, now = lived.judge(facts, START_MS).of(event), again.judge(facts, START_MS).of(event)
        assert now.judgement == was.judgement
    crash = StressParts(-2.0, -7.0, 0.004)
    assert again.stress(crash) == lived.stress(crash)
    assert again.hour.health_scale() == lived.hour.health_scale()


def test_a_record_from_before_outcomes_were_counted_is_read_without_them(lived: SymbolScores) -> None:
    rows = lived.series()
    older = {name: row for name, row in rows.items() if not name.startswith("left_")}

    again = SymbolScores.restored(older)

    assert len(older) == len(rows) - 2
    assert again.outcomes.like(0) is None
    assert again.judge(unusual_minute("standing_size"), START_MS).of("standing_size").judgement.is_unusual


def test_sizes_like_it_are_drawn_to_what_became_of_all(lived: SymbolScores) -> None:
    pasts = SymbolScores.restored(lived.series())
    for row, is_near in (("tttwwwww", True), ("ttttwwww", False)):
        for each in row:
            pasts.outcomes.add(LeftSize(is_near, each == "t"))
    kept = SymbolScores.restored(pasts.series())

    measured = kept.judge(unusual_minute("standing_size"), START_MS).of("standing_size").measured
    calm = kept.judge(calm_minute(Random(7)), START_MS).of("standing_size").measured

    assert (measured["like_it_traded_into"], measured["like_it_left"]) == (3, 8)
    assert measured["like_it_traded_into_shrunk"] == pytest.approx((3 + 10 * 7 / 16) / 18)
    assert "like_it_left" not in calm, "what does not reach the floor is not like those that did"


@pytest.mark.parametrize("name", ["flood", "flood_spoke", "rates", "profile", "stress_seconds"])
def test_a_kept_past_with_a_broken_row_is_refused(lived: SymbolScores, name: str) -> None:
    series = lived.series()

    with pytest.raises(ValueError, match="missing"):
        SymbolScores.restored({key: row for key, row in series.items() if key != name})
    if name not in {"flood", "flood_spoke"}:
        with pytest.raises(ValueError, match="values"):
            SymbolScores.restored({**series, name: series[name][:-1]})


def test_the_floors_are_those_that_are_documented() -> None:
    assert {name: round(each.floor, 2) for name, each in CRITERIA.items()} == {
        "hidden_size": 3.0, "absorption": 2.0, "came_and_went": 0.1, "flood": 0.69, "standing_size": 0.05, "stress": 5.0
    }  # fmt: skip
    rules = {name: (each.alpha, each.least) for name, each in CRITERIA.items()}
    assert rules.pop("came_and_went") == (0.016, 62)
    assert {*rules.values()} == {(0.02, 49)}


def test_a_record_without_activities_keeps_all_but_the_scores() -> None:
    lived = SymbolScores()
    live_through(lived, 70)
    older = {name: row for name, row in lived.series().items() if not name.endswith("_activity")}

    again = SymbolScores.restored(older)

    assert not any(len(past) for past in again.scores.values())
    assert again.profile.minutes == lived.profile.minutes
    assert SymbolScores.restored(lived.series()).series() == lived.series()
