"""Corners of the microstructure page that a calm market never shows."""

from dataclasses import replace
from decimal import Decimal

import pytest

from mcp_binance_server.analytics.book.cost import market_order_cost
from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.metrics import imbalance_of_band, top_of_book
from mcp_binance_server.analytics.market.glance import TouchReport
from mcp_binance_server.analytics.market.health import HealthNow, HealthWord
from mcp_binance_server.analytics.market.last_hour import StressParts
from mcp_binance_server.analytics.market.microstructure import (
    AnomalyReport,
    HealthReport,
    MarketPart,
    Recoveries,
)
from mcp_binance_server.analytics.market.reference_class import ReferenceClass
from mcp_binance_server.analytics.market.stress import StressNow
from mcp_binance_server.analytics.market.symbol_scores import EndedMinute, EventName, SymbolScores
from mcp_binance_server.analytics.metric import Basis, NotJudged, Unknown, Window
from mcp_binance_server.analytics.score_history import ScoreHistory, base_rate
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.surface.views.anomalies import (
    NAMES,
    anomalies_line,
    anomaly_metrics,
    anomaly_rows,
    not_judged_line,
    stress_line,
)
from mcp_binance_server.surface.views.book.cost import spread_words
from mcp_binance_server.surface.views.glance import glance_lines
from mcp_binance_server.surface.views.health import health_line, health_metrics, health_rows, health_title
from mcp_binance_server.surface.views.microstructure import recommendation
from support.score_history import START_MS, live_through, unusual_minute

RULES = SymbolRules(
    Symbol("BTCUSDT"),
    "BTC",
    "USDT",
    "TRADING",
    Price(Decimal("0.01")),
    Quantity(Decimal("0.00001")),
    Quantity(Decimal(5)),
)
BASIS = Basis(window=Window(0, 60_000), n={}, coverage=1.0, source=("book",), as_of_ms=0, age_ms=0)


def level(price: str, quantity: str) -> PriceLevel:
    return PriceLevel(Price(Decimal(price)), Quantity(Decimal(quantity)))


BIDS = [level("99.99", "30"), level("99.90", "500")]
ASKS = [level("100.00", "25.678"), level("100.10", "500")]


def health(word: HealthWord = "Usual", *, spread: float = 1.0, depth: float = 1.0, past: int = 60) -> HealthReport:
    now = HealthNow(92.4 if word == "Usual" else 35.2, word, {"spread": spread, "depth": depth})
    return HealthReport(
        rules=RULES,
        basis=BASIS,
        grid=PriceGrid(0.01, 0.00001),
        now=now,
        unknown=None,
        not_judged=None,
        top=top_of_book(BIDS, ASKS),
        imbalance=-0.06,
        recoveries=Recoveries(3, 4),
        hour_recoveries=Recoveries(10, 20),
        past_minutes=past,
    )


def part(
    report: HealthReport, bids: list[PriceLevel] | None = None, asks: list[PriceLevel] | None = None
) -> MarketPart:
    bids, asks = BIDS if bids is None else bids, ASKS if asks is None else asks
    top = top_of_book(bids, asks)
    book = TouchReport(
        top=top,
        band=imbalance_of_band(bids, asks, 10),
        cost=market_order_cost(BookSnapshot(1, tuple(bids), tuple(asks)), (), 0),
        is_live=True,
        as_of_ms=0,
        age_ms=0,
        levels=(len(bids), len(asks)),
    )
    anomalies = AnomalyReport(rules=RULES, basis=BASIS)
    return MarketPart(book=book, flow=None, anomalies=anomalies, health=report, day_volatility=None)


def test_a_usual_market_is_called_so_and_its_capacity_never_rounded_up() -> None:
    usual = part(health())

    assert recommendation(usual) == "Conditions are usual for this symbol."
    assert glance_lines(RULES, usual.book, usual.flow, "")[-1] == (
        "**Cost**: market orders up to $2,500 cost under 2 bps now (this instant only), plus 10 bps taker fee"
    )


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (health(past=45), "Nothing unusual in 45 minutes of the symbol's own past."),
        (health(depth=0.9), "Nothing unusual in 60 minutes of the symbol's own past."),
        (
            health("Broken", depth=0.1, spread=0.5),
            "The book is broken for this symbol, lowered by depth of the thinner side (0.10), and by spread (0.50)",
        ),
        (
            replace(health(), now=None, not_judged=NotJudged(12, 30)),
            "Not judged yet: use spread, depth, flow and cost above.",
        ),
        (
            replace(health(), now=None, unknown=Unknown("stale_book")),
            "No judgement, the book has not changed for too long.",
        ),
    ],
)
def test_conditions_are_named_only_as_far_as_they_are_known(report: HealthReport, words: str) -> None:
    assert recommendation(part(report)).startswith(words)


def test_an_empty_and_a_one_sided_book_are_told_apart() -> None:
    assert recommendation(part(health(), [], [])).startswith("No judgement, the book is empty:")
    assert recommendation(part(health(), [])).startswith("No judgement, one side of the book is empty:")


def test_health_shows_its_parts_and_beside_them_what_has_no_share_in_it() -> None:
    report = health("Broken", depth=0.1)

    assert health_title(report) == "Broken (35)"
    assert "| 1.00 | 0.10 | 57% (3 of 4 in 5 min, adjusted to the hour) |" in health_rows(report)
    assert health_line(report) == ("BTCUSDT market health: Broken (35). Lowered by depth of the thinner side (0.10).")


def test_a_health_that_cannot_be_judged_is_one_line_without_a_table() -> None:
    waiting = replace(health(), now=None, not_judged=NotJudged(12, 30))
    unseen = replace(waiting, hour_recoveries=Recoveries(0, 0))

    assert health_rows(unseen) == ["_Not judged: 12 of 30 minutes_"]
    assert health_rows(waiting) == [
        "_Not judged: 12 of 30 minutes_",
        "Losses of depth that recovered: 57% (3 of 4 in 5 min, adjusted to the hour)",
    ]


@pytest.mark.parametrize(
    ("bid", "ask", "tick", "words"),
    [
        ("0.00000830", "0.00000831", 1e-8, "1 tick, at its minimum (12.04 bps)"),
        ("0.00000830", "0.00000833", 1e-8, "3 ticks (36.08 bps)"),
        ("99.97", "100.00", 0.01, "3 ticks (3.00 bps)"),
        ("99990.00", "100010.00", 0.01, "2.00 bps (2,000 ticks)"),
    ],
)
def test_a_spread_of_one_tick_is_its_minimum_and_coarse_ticks_are_counted(
    bid: str, ask: str, tick: float, words: str
) -> None:
    top = top_of_book([level(bid, "1")], [level(ask, "1")])

    assert spread_words(tick, top.mid, top.spread) == words


def report_of(*minutes: EndedMinute, pasts: SymbolScores) -> AnomalyReport:
    stress = StressNow(*pasts.stress(StressParts(-2.0, -7.0, 0.004)))
    return AnomalyReport(rules=RULES, basis=BASIS, minutes=minutes, stress=stress, past_minutes=120)


@pytest.fixture(scope="module")
def lived() -> SymbolScores:
    pasts = SymbolScores()
    live_through(pasts, 120)
    return pasts


def unusual(ended: EndedMinute, *, again: bool = False) -> EndedMinute:
    """Let the flood of a minute be the highest of its past."""
    flood = ended.of("flood")
    judged = ScoreHistory([0.0] * 240).judge(flood.judgement.criterion, 1.5, again=again)
    made = replace(flood, judgement=judged, measured={"times_usual": 4.5})
    return EndedMinute(ended.end_ms, tuple(made if each.name == "flood" else each for each in ended.verdicts))


def test_the_table_says_how_often_the_like_is_seen_and_what_chance_would_say(lived: SymbolScores) -> None:
    calm = live_through(SymbolScores.restored(lived.series()), 1, seed=4)[0]

    rows = "\n".join(anomaly_rows(report_of(unusual(calm), pasts=lived)))

    assert "| Flood of changes | unusual: flood of changes | 4.5x the usual number of changes" in rows
    assert "| seen in 0 of 240 minutes as busy (0.0 %) |" in rows
    assert "| Hidden size | nothing unusual (120 min of own past) |" in rows
    assert "1 of 5 judged unusual; by chance alone, about 10% of minutes have at least one" in rows
    assert not any(word in rows for word in ("Critical", "High", "Medium", "Severity", "accumulation"))


@pytest.mark.slow
def test_a_market_with_unusual_events_is_not_called_usual(lived: SymbolScores) -> None:
    calm = live_through(SymbolScores.restored(lived.series()), 1, seed=4)[0]
    events = report_of(unusual(calm), pasts=lived)

    said = recommendation(replace(part(health()), anomalies=events))

    assert said == "1 of 5 events above is unusual; spread and depth are not."


def test_twice_running_is_a_finding_and_the_rarest_minute_of_several_is_shown(lived: SymbolScores) -> None:
    calm = live_through(SymbolScores.restored(lived.series()), 2, seed=4)
    report = report_of(unusual(calm[0], again=True), calm[1], pasts=lived)

    assert [each.name for each in report.findings] == ["flood"]
    assert "finding: flood of changes" in "\n".join(anomaly_rows(report))
    assert "about 18% of periods of 2 minutes" in "\n".join(anomaly_rows(report))
    (flood,) = [each for each in anomaly_metrics(report)["events"].value if each["event"] == "flood"]  # type: ignore[attr-defined]
    assert (flood["confidence"], flood["finding"], flood["minute"]) == ("high", True, "2023-11-14T22:14:20.000Z")


def test_a_market_that_changed_names_no_single_minute(lived: SymbolScores) -> None:
    calm = live_through(SymbolScores.restored(lived.series()), 1, seed=4)[0]
    report = replace(report_of(unusual(calm), pasts=lived), changed={"flood": base_rate(9, 60)})

    rows = "\n".join(anomaly_rows(report))

    assert "_Flood of changes: unusual in 9 of the last 60 minutes: compare with the hours before_" in rows
    assert "unusual: flood" not in rows
    assert "0 of 5 judged unusual" in rows


def test_stress_is_told_with_its_parts(lived: SymbolScores) -> None:
    calm = live_through(SymbolScores.restored(lived.series()), 1, seed=4)[0]

    said = stress_line(report_of(calm, pasts=lived))

    assert said.startswith("depth 86% below its median, spread 7.")
    assert said.endswith("price moved 40.1 bps in 10 s (rarer than 1 in 111 minutes)")
    assert anomalies_line(report_of(calm, pasts=lived)).startswith(
        "BTCUSDT, the minute to 22:14:20 UTC: nothing unusual (120 min of own past). Stress: depth"
    )


def test_a_market_whose_stress_became_usual_says_so_once_and_names_no_moment(lived: SymbolScores) -> None:
    calm = live_through(SymbolScores.restored(lived.series()), 1, seed=4)[0]
    report = replace(report_of(calm, pasts=lived), changed={"stress": base_rate(9, 60)})

    assert stress_line(report) == "unusual in 9 of the last 60 minutes: compare with the hours before"
    assert anomalies_line(report).count("unusual in 9 of the last 60 minutes") == 1
    assert "9 of the last 60" not in "\n".join(anomaly_rows(report)), "the page says it beside the health"
    metrics = anomaly_metrics(report)
    assert metrics["stress"].value["unusual"] is False  # type: ignore[index]
    assert metrics["stress"].p == anomaly_metrics(report_of(calm, pasts=lived))["stress"].p
    (changed,) = metrics["changed"].value  # type: ignore[misc]
    assert (changed["event"], changed["k"], changed["n"]) == ("stress", 9, 60)


def test_what_is_usual_for_markets_like_it_is_said_and_stays_not_judged() -> None:
    short = SymbolScores()
    newest = live_through(short, 12)[-1]
    alone = report_of(newest, pasts=short)
    report = replace(alone, reference=ReferenceClass.of(0.05, 300))

    line = not_judged_line(report)

    assert line == (
        "Hidden size, Absorption: not judged: 12 of 49 minutes; Size that came and went: not judged: 12 of 62 minutes; "
        "Flood of changes, Large standing size: not judged: 12 of 59 minutes. Values of Hidden size, Size that came "
        "and went, Flood of changes, Large standing size are usual for similar markets (tick under 0.1 bps, 60 to 600 "
        "trades a minute)"
    )
    before, after = anomaly_metrics(alone), anomaly_metrics(report)
    assert [each["event"] for each in after["not_judged"].value if each.get("usual_of_class")] == [  # type: ignore[attr-defined]
        "hidden_size", "came_and_went", "flood", "standing_size"
    ]  # fmt: skip
    assert not any("usual_of_class" in each for each in before["not_judged"].value)  # type: ignore[attr-defined]
    assert (after["events"], after["unusual"], after["changed"]) == (
        before["events"], before["unusual"], before["changed"]
    )  # fmt: skip


def test_what_no_market_like_it_has_is_left_not_judged() -> None:
    short = SymbolScores()
    live_through(short, 12)
    like = ReferenceClass.of(0.05, 300)
    crash = replace(report_of(short.judge(unusual_minute("flood"), START_MS), pasts=short), reference=like)
    calm = StressNow(*short.stress(StressParts(-4.0, -9.0, 0.0001)))

    flood = next(each for each in anomaly_metrics(crash)["not_judged"].value if each["event"] == "flood")  # type: ignore[attr-defined]
    assert "usual_of_class" not in flood
    assert not crash.unusual
    assert stress_line(crash) == "not judged: 13 of 59 minutes"
    assert stress_line(replace(crash, stress=calm)) == ("not judged: 13 of 59 minutes (usual for similar markets)")
    waiting = anomaly_metrics(replace(crash, stress=calm))["stress"].not_judged
    assert waiting is not None
    assert waiting.usual_of == like.name


def test_when_all_that_waits_is_usual_it_is_said_of_all() -> None:
    young = SymbolScores()
    newest = live_through(young, 55)[-1]
    report = replace(report_of(newest, pasts=young), reference=ReferenceClass.of(0.05, 300))

    assert not_judged_line(report) == (
        "Size that came and went: not judged: 55 of 62 minutes; Flood of changes, Large standing size: not judged: 55 "
        "of 59 minutes. All values are usual for similar markets (tick under 0.1 bps, 60 to 600 trades a minute)"
    )


def test_what_cannot_be_judged_yet_is_one_line(lived: SymbolScores) -> None:
    short = SymbolScores()
    newest = live_through(short, 12)[-1]
    waiting = report_of(newest, pasts=short)

    assert anomaly_rows(waiting) == [
        "_Hidden size, Absorption: not judged: 12 of 49 minutes; Size that came and went: not judged: 12 of 62 "
        "minutes; Flood of changes, Large standing size: not judged: 12 of 59 minutes_"
    ]
    nothing = AnomalyReport(rules=RULES, basis=BASIS, past_minutes=240)
    assert not_judged_line(nothing) == "Not judged: waiting for the first whole minute"
    assert not_judged_line(replace(nothing, past_minutes=3)) == "Not judged: 3 of 49 minutes"
    late = replace(nothing, unknown=Unknown("stream_late"))
    assert not_judged_line(late) == "Not judged: the live stream lags"
    assert stress_line(late) == "not judged: the live stream lags"
    assert anomaly_metrics(late)["stress"].why_null == "stream_late"
    assert lived.scores["flood"].has_changed() is None
    assert newest.end_ms == START_MS + 12 * 60_000


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            "hidden_size",
            "unusual: consistent with hidden size at $98.50 (bid) | 8 equal refills of 0.50000 BTC, 1.50000 BTC",
        ),
        (
            "absorption",
            "unusual: the price hardly moved despite the selling, most of it at $99.00 | net -45.00000 BTC moved the",
        ),
        (
            "came_and_went",
            "unusual: size that came and went, the largest at $101.50 (ask) | 80.0% of its side, the largest",
        ),
        (
            "standing_size",
            "unusual: large standing size at $96.00 (bid) | 40.00000 BTC, 40.0% of its side, for 30 s or",
        ),
    ],
)
def test_an_event_is_told_where_it_was_and_what_was_measured(lived: SymbolScores, event: EventName, words: str) -> None:
    report = report_of(lived.judge(unusual_minute(event), START_MS), pasts=lived)

    assert f" {words}" in "\n".join(anomaly_rows(report))
    (member,) = [each for each in anomaly_metrics(report)["events"].value if each["event"] == event]  # type: ignore[attr-defined]
    assert member["unusual"] is True
    assert member["base_rate"]["k"] == 0
    assert f"{NAMES[event]} unusual, " in anomalies_line(report)


def test_health_answers_with_its_word_and_what_stands_beside() -> None:
    known = health_metrics(health("Broken", depth=0.1))
    unknown = health_metrics(
        replace(health(), now=None, not_judged=NotJudged(12, 30), hour_recoveries=Recoveries(0, 1))
    )

    assert (known["word"].value, known["pulled_down_by"].value) == ("Broken", "depth")
    assert known["resilience"].value == {
        "share": 0.571, "recovered": 3, "depletions": 4, "hour_recovered": 10, "hour_depletions": 20
    }  # fmt: skip
    assert (unknown["score"].value, unknown["score"].why_null) == (None, "insufficient_history")
    assert unknown["resilience"].why_null == "insufficient_events"
