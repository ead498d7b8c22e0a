"""What a reader sees of large sizes that stand: in the map, in the tool and in the stop beside them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from mcp_binance_server.analytics.book.outcomes import LeftSize
from mcp_binance_server.analytics.liquidity.report import StandingReport
from mcp_binance_server.analytics.market.symbol_scores import SymbolScores
from mcp_binance_server.analytics.metric import NotJudged, Unknown
from mcp_binance_server.analytics.score_history import base_rate
from mcp_binance_server.domain.market import BookDelta
from mcp_binance_server.domain.money import Price
from mcp_binance_server.surface.views.anomalies import standing_words
from mcp_binance_server.surface.views.liquidity import standing_line, standing_metric
from support.score_history import START_MS, calm_minute, live_through, unusual_minute
from support.served import text_of
from support.stepped import LiveMarket, live_market
from surface.liquidity.test_thin_ranges import RULES

RARE = "seen in 0 of 49 minutes as busy (0.0 %)"


@pytest.fixture(scope="module")
def lived() -> SymbolScores:
    pasts = SymbolScores()
    live_through(pasts, 120)
    for row, is_near in (("tttwwwww", True), ("ttttwwww", False)):
        for each in row:
            pasts.outcomes.add(LeftSize(is_near, each == "t"))
    return pasts


def report_of(pasts: SymbolScores, *, is_unusual: bool = True) -> StandingReport:
    facts = unusual_minute("standing_size") if is_unusual else calm_minute(Random(4))
    verdict = pasts.judge(facts, START_MS).of("standing_size")
    return StandingReport(
        verdict=verdict,
        end_ms=START_MS,
        past_minutes=len(pasts.scores["standing_size"]),
        waiting=verdict.judgement.not_judged,
    )


def test_a_size_is_told_with_its_share_its_worth_how_often_and_what_became_of_the_like(lived: SymbolScores) -> None:
    report = report_of(lived)

    said = standing_line(RULES, report)

    assert said.startswith("large standing size at $96.00 (bid): 40.00000 BTC, 40.0% of its side, for 30 s or longer, ")
    assert said.endswith(f" minutes of usual volume; similar sizes: traded into 3 of 8 (adjusted 41 %); {RARE}")
    assert report.prices == (Price(Decimal("96.0")),)


def test_the_tool_has_the_same_numbers(lived: SymbolScores) -> None:
    found = standing_metric(RULES, report_of(lived))

    value: Any = found.value
    assert (value["unusual"], value["side"], value["price"]) == (True, "bid", "96.00")
    assert (value["size"], value["share_of_side"], value["floor"]) == ("40.00000", 0.4, 0.05)
    assert (value["like_it_traded_into"], value["like_it_left"], value["like_it_traded_into_shrunk"]) == (3, 8, 0.4097)
    assert (found.p, found.base_rate, found.confidence) == (1 / 50, base_rate(0, 49), "medium")


def test_a_usual_book_says_so_in_one_line_and_moves_no_stop(lived: SymbolScores) -> None:
    report = report_of(lived, is_unusual=False)

    said = standing_line(RULES, report)

    assert said.startswith("nothing unusual (110 min of own past); the largest at $")
    assert "; at least 5% of its side: seen in " in said
    assert "sizes like it" not in said
    assert (report.unusual, report.prices) == (None, ())
    assert standing_metric(RULES, report).confidence == "none"


def test_when_nothing_is_large_enough_to_matter_no_price_is_named(lived: SymbolScores) -> None:
    calm = calm_minute(Random(4))
    assert calm.standing is not None
    nothing = replace(calm, standing=replace(calm.standing, bins=()))
    verdict = lived.judge(nothing, START_MS).of("standing_size")

    said = standing_line(RULES, StandingReport(verdict=verdict, end_ms=START_MS, past_minutes=110))

    assert (
        said == f"nothing unusual (110 min of own past); none large enough to matter; at least 5% of its side: {RARE}"
    )


def test_a_market_that_changed_names_no_single_size(lived: SymbolScores) -> None:
    report = replace(report_of(lived), changed=base_rate(9, 60))

    assert standing_line(RULES, report) == "unusual in 9 of the last 60 minutes: compare with the hours before"
    assert report.prices == ()
    value: Any = standing_metric(RULES, report).value
    assert (value["unusual"], value["unusual_minutes_of_the_hour"]) == (False, 9)


@pytest.mark.parametrize(
    ("report", "said", "code"),
    [
        (StandingReport(waiting=NotJudged(12, 59)), "not judged: 12 of 59 minutes", "insufficient_history"),
        (StandingReport(past_minutes=200), "not judged: no whole minute yet", "collecting"),
        (StandingReport(unknown=Unknown("stream_late")), "not judged: the live stream lags", "stream_late"),
    ],
)
def test_what_cannot_be_judged_says_why(report: StandingReport, said: str, code: str) -> None:
    assert standing_line(RULES, report) == said
    found = standing_metric(RULES, report)
    assert (found.value, found.why_null, found.not_judged) == (None, code, report.waiting)


def test_before_five_have_left_nothing_is_said_of_the_like(lived: SymbolScores) -> None:
    fresh = SymbolScores.restored({name: row for name, row in lived.series().items() if not name.startswith("left_")})

    said = standing_words(RULES, fresh.judge(unusual_minute("standing_size"), START_MS).of("standing_size").measured)

    assert "40.0% of its side" in said
    assert "sizes like it" not in said


@pytest.fixture
async def market(era: str) -> AsyncIterator[LiveMarket]:
    async with live_market(era=era) as live:
        await live.watch("BTCUSDT", 3)
        yield live


async def told(market: LiveMarket, symbol: str = "BTCUSDT") -> tuple[str, dict[str, Any], str]:
    """Return the section of the page, the tool's measures and its text."""
    page = await market.page("liquidity_mapping", symbol=symbol)
    result = await market.client.call_tool("get_liquidity_vacuums", {"symbol": symbol, "horizon_hours": 2})
    assert not result.is_error
    answer: dict[str, Any] = result.structured_content
    return page.split("## Standing Size", 1)[1].split("\n\n", 1)[0], answer["metrics"], text_of(result)


def pass_minutes(market: LiveMarket, minutes: int, size: str | None = None, *, at: str | None = None) -> str:
    """Let whole minutes end while a bid a little off the best stands as it is, or another and as large as is said."""
    feed = market.feed
    bids, _ = feed.book.written_top(6)
    price, usual = (at, "0") if at else bids[-1]
    ended = feed.minutes.ended[-1].end_ms if feed.minutes.ended else 0
    while not feed.minutes.ended or feed.minutes.ended[-1].end_ms - ended < minutes * 60_000:
        market.clock.advance(500)
        following, now_ms = feed.book.last_update_id + 1, market.clock.now_ms()
        feed.on_depth(BookDelta(following, following, now_ms, [(price, size or usual)], []), now_ms)
    return price


async def test_a_pair_watched_for_a_while_is_told_how_far_its_past_has_come(market: LiveMarket) -> None:
    cold, measures, text = await told(market)
    live_through(market.feed.pasts, 11)
    pass_minutes(market, 1)
    short, _, _ = await told(market)

    waiting, largest = cold.strip().splitlines()
    assert waiting == "_Not judged: 0 of 59 minutes_"
    assert largest.startswith(
        "_Largest levels within 50 bps now, not compared with the past: bid 4.26 BTC at $117,600.00 (5."
    )
    assert measures["standing_size"]["not_judged"] == {"have": 0, "need": 59, "unit": "minutes"}
    assert "have 0, need 59, unit minutes" in text
    assert " UTC)\n_Not judged: 12 of 59 minutes_\n" in short
    assert measures["stop_guidance"]["value"]["long"]["from"] == "noise"


async def test_a_size_that_stands_is_told_by_page_and_tool_alike(market: LiveMarket) -> None:
    live_through(market.feed.pasts, 120)
    price = Decimal(pass_minutes(market, 1, "4000"))

    section, measures, text = await told(market)

    found = measures["standing_size"]
    assert (
        f"\n- Large standing size at ${price:,.2f} (bid): 4,000" in section or f"${price:,.2f} (bid): 4000" in section
    )
    assert RARE in section
    assert found["value"]["unusual"] is True
    assert Decimal(found["value"]["price"]) == price
    assert (found["p"], found["base_rate"]["n"]) == (round(1 / 50, 4), 49)
    assert f"Large standing size at ${price:,.2f} (bid)" in text.splitlines()[0]


async def test_a_stop_goes_beyond_a_size_that_stands_about_there() -> None:
    async with live_market() as market:
        # Sizes are judged within 50 bps: the usual move of two hours of a wilder pair lies beyond.
        await market.watch("EURUSDT", 3)
        live_through(market.feed.pasts, 120)
        _, before, _ = await told(market, "EURUSDT")
        by_noise = before["stop_guidance"]["value"]["long"]
        pass_minutes(market, 1, "90000000", at=by_noise["price"])
        _, after, _ = await told(market, "EURUSDT")

    stop = after["stop_guidance"]["value"]["long"]
    assert after["standing_size"]["value"]["price"] == by_noise["price"]
    assert (by_noise["from"], stop["from"], stop["edge"]) == ("noise", "standing_size", by_noise["price"])
    assert Decimal(stop["price"]) < Decimal(by_noise["price"])


async def test_a_minute_long_past_is_not_told_as_the_last(market: LiveMarket) -> None:
    live_through(market.feed.pasts, 120)
    pass_minutes(market, 1, "4000")
    market.clock.advance(121_000)

    section, _, _ = await told(market)

    assert "arge standing size at" not in section
