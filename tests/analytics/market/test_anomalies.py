"""Anomalies: each story that must be found, and beside it the one that only looks like it."""

import pytest

from analytics.stories import HOUR_MS, Story, eaten, hour
from mcp_binance_server.analytics.envelope import Progress, Unknown
from mcp_binance_server.analytics.market.anomalies import MOST_FOUND, crash_verdict, stuffing_verdict
from mcp_binance_server.analytics.market.stress import MarketHour, minute_volatility

WAITING = Unknown("insufficient_baseline", Progress(have_ms=0, need_ms=HOUR_MS, ready_ms=HOUR_MS))


def fleeting(*, size: str = "40", life_ms: int = 800, traded: str | None = None, other: bool = True) -> Story:
    """Let a large bid come, others buy from the asks, and the bid go."""
    story = Story().bid(0, "99.95", "1").bid(1_000, "99.95", size)
    if traded:
        story.sold(1_200, "99.95", traded)
    if other:
        story.bought(1_300, "100.01", "0.2")
    return story.bid(1_000 + life_ms, "99.95", "1")


def test_an_iceberg_that_refills_is_found_with_what_was_measured() -> None:
    found = eaten(3).found("iceberg")

    assert found is not None
    assert (found.price, found.side, found.severity, found.confidence) == (99.99, "bid", "Medium", "medium")
    assert found.measured == {"executed_over_displayed": 3.0, "refills": 3}


def test_an_iceberg_that_refills_within_one_change_is_found_too() -> None:
    story = Story().bid(0, "99.99", "3")
    for at in range(1, 7):
        story.sold(at * 1_000, "99.99", "3").bid(at * 1_000 + 50, "99.99", "3")

    found = story.found("iceberg")

    assert found is not None
    assert (found.severity, found.measured["refills"]) == ("High", 6)


@pytest.mark.parametrize(
    "story",
    [eaten(1), eaten(3, refill_ms=1_001), eaten(3, taken="0.5", left="2.5"), eaten(2, taken="2.9", left="0.1")],
    ids=["once", "too late", "too little", "just below twice"],
)
def test_what_is_refilled_seldom_late_or_little_is_no_iceberg(story: Story) -> None:
    assert story.found("iceberg") is None


@pytest.mark.parametrize("side", ["bid", "ask"])
def test_an_absorbed_level_is_found_while_its_price_holds(side: str) -> None:
    found = eaten(3, taken="1", left="2", side=side).found("absorption")

    assert found is not None
    assert (found.side, found.measured["times"], found.severity) == (side, 3, "Low")


@pytest.mark.parametrize(
    "story",
    [
        eaten(2, taken="1", left="2"),
        eaten(3, taken="0.5", left="2.5"),
        eaten(3, taken="1", left="2").sold(30_000, "99.98", "1"),
    ],
    ids=["twice", "a sixth", "the price gave way"],
)
def test_a_level_that_gives_way_or_is_hardly_touched_absorbs_nothing(story: Story) -> None:
    assert story.found("absorption") is None


def test_a_fleeting_large_level_is_found() -> None:
    found = fleeting().found("spoof_like")

    assert found is not None
    assert (found.price, found.side, found.severity) == (99.95, "bid", "Medium")
    assert found.measured["life_ms"] == 800
    assert found.measured["traded_share"] == 0.0


@pytest.mark.parametrize(
    "story",
    [fleeting(size="1.9"), fleeting(life_ms=3_000), fleeting(traded="2"), fleeting(other=False)],
    ids=["usual size", "stood long", "was traded", "nobody traded opposite"],
)
def test_a_level_that_lacks_one_condition_is_not_fleeting(story: Story) -> None:
    assert story.found("spoof_like") is None


def test_a_window_that_fills_yet_shows_what_it_found_and_waits_with_the_rest() -> None:
    verdicts = eaten(3).verdicts(WAITING)

    assert verdicts["iceberg"].unknown is None
    assert verdicts["iceberg"].found[0].confidence == "low"
    assert verdicts["spoof_like"].unknown is WAITING
    assert verdicts["spoof_like"].measured == {}


def test_without_trades_or_changes_nothing_is_claimed_to_be_absent() -> None:
    silent, untraded = Story().verdicts(), Story().bid(0, "99", "1").verdicts()

    assert {kind: each.unknown and each.unknown.why_null for kind, each in silent.items()} == {
        "iceberg": "no_trades",
        "absorption": "no_trades",
        "spoof_like": "no_events",
    }
    assert untraded["spoof_like"].unknown is None


def test_many_findings_are_counted_and_the_largest_listed() -> None:
    story = Story()
    for price in range(90, 98):
        story.bid(0, str(price), "3")
        for at in range(3):
            story.sold(5_000 * (at + 1), str(price), "3").bid(5_000 * (at + 1) + 100, str(price), "0")
            story.bid(5_000 * (at + 1) + 300, str(price), "3")

    verdict = story.verdicts()["iceberg"]

    assert (len(verdict.found), verdict.total) == (MOST_FOUND, 8)
    assert verdict.found[0].price == 97.0


@pytest.mark.parametrize(("rate", "severity"), [(600, "Medium"), (800, "High"), (1_200, "Critical")])
def test_a_flood_of_quotes_after_an_hour_of_calm_is_found(rate: int, severity: str) -> None:
    verdict = stuffing_verdict(hour(now_updates=rate), 60_000, WAITING)

    assert [each.severity for each in verdict.found] == [severity]
    assert verdict.measured["per_second"] == rate


def test_a_flood_is_not_found_when_it_is_usual_slow_or_too_early() -> None:
    usual = stuffing_verdict(hour(updates=900, now_updates=900), 60_000, WAITING)
    slow = stuffing_verdict(hour(now_updates=499), 60_000, WAITING)
    early = stuffing_verdict(hour(now_updates=900, seconds=3_599), 60_000, WAITING)

    assert usual.found == slow.found == early.found == ()
    assert usual.unknown is slow.unknown is None
    assert early.unknown is WAITING
    assert early.measured["per_second"] == 900


def test_a_rate_is_that_of_the_time_there_was() -> None:
    verdict = stuffing_verdict(hour(now_updates=120, seconds=12), 60_000, WAITING)

    assert verdict.measured["per_second"] == 120


def test_all_four_flags_stand_before_a_crash() -> None:
    verdict = crash_verdict(hour(depth=49.0, spread=1.7, minute_move=0.001, ofi=50.0), None)

    (found,) = verdict.found
    assert (found.severity, found.confidence, found.measured["raised"]) == ("Critical", "medium", 4)


@pytest.mark.parametrize(
    ("market", "flag"),
    [
        (hour(depth=49.0), "thin_depth"),
        (hour(spread=1.7), "wide_spread"),
        (hour(minute_move=0.0003), "volatile"),
        (hour(ofi=-50.0), "one_sided_flow"),
    ],
    ids=["depth", "spread", "volatility", "flow"],
)
def test_each_flag_stands_alone(market: MarketHour, flag: str) -> None:
    (found,) = crash_verdict(market, None).found

    raised = {name for name, value in found.measured.items() if value and name not in {"raised", "assessed"}}
    assert (found.severity, raised) == ("Low", {flag})


def test_no_flag_stands_at_the_edge_of_its_rule() -> None:
    verdict = crash_verdict(hour(depth=52.0, spread=1.6, minute_move=0.00019, ofi=2.0), None)

    assert verdict.found == ()
    assert (verdict.measured["raised"], verdict.measured["assessed"]) == (0, 4)


def test_a_longer_memory_of_volatility_takes_the_place_of_the_hour() -> None:
    market = hour(minute_move=0.0003)
    stormy = minute_volatility([100.0, 101.0, 100.0, 101.0], 60_000)

    assert crash_verdict(market, None).found
    assert crash_verdict(market, None, usual_volatility=stormy).found == ()


def test_the_newest_part_of_an_hour_is_all_that_a_quick_look_compares_with() -> None:
    recent = hour(depth=49.0).newest(300_000)

    assert (recent.span_ms, len(recent.times), len(recent.depths)) == (300_000, 300, 300)
    assert crash_verdict(recent, None).found[0].confidence == "low"
    assert crash_verdict(recent, WAITING).unknown is WAITING
