"""Ten recorded minutes of two symbols through a feed: ordinary markets, with scores where the floors expect them."""

from bisect import bisect_left
from heapq import merge
from statistics import median

import pytest

from feeds.recorded import Pair, Recording, recording
from mcp_binance_server.analytics.book.events import came_and_went
from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.standing import StandingProfile
from mcp_binance_server.analytics.market.flood import UsualRates
from mcp_binance_server.analytics.market.minute import MinuteFacts
from mcp_binance_server.analytics.market.symbol_scores import CRITERIA, LEAST_OF_MINUTE, EndedMinute, SymbolScores
from mcp_binance_server.domain.market import BookDelta, Trade
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from support.fixtures import RECORDED_MARKET, needs

pytestmark = [needs(RECORDED_MARKET), pytest.mark.flood]

LOTS: dict[Pair, float] = {"btcusdt": 0.00001, "ethusdt": 0.0001}


def lived(recorded: Recording, lot: float) -> SymbolFeed:
    feed = SymbolFeed(Symbol("BTCUSDT"), FeedMemoryLimit.shared_by(1))
    feed.minutes.measure_in(PriceGrid(0.01, lot))
    for delta in recorded.deltas[: recorded.before_snapshot]:
        feed.on_depth(delta, delta.event_ms)
    joined_ms = recorded.deltas[recorded.before_snapshot - 1].event_ms
    feed.on_snapshot(recorded.snapshot, asked=1_000, time_ms=joined_ms)
    later = recorded.deltas[recorded.before_snapshot :]
    trades = [each for each in recorded.trades if each.time_ms >= joined_ms]
    events: list[tuple[int, int, BookDelta | Trade]] = [
        *merge(
            ((each.time_ms, 0, each) for each in trades),
            ((each.event_ms, 1, each) for each in later),
            key=lambda event: event[:2],
        )
    ]
    for time_ms, _, each in events:
        if isinstance(each, Trade):
            feed.on_trade(each, time_ms)
        else:
            feed.on_depth(each, time_ms)
    return feed


@pytest.mark.parametrize("pair", ["btcusdt", "ethusdt"])
def test_ordinary_minutes_seldom_show_three_equal_refills(pair: Pair) -> None:
    pasts = lived(recording(pair), LOTS[pair]).pasts

    refills, withdrawn = pasts.scores["hidden_size"].scores(), pasts.scores["came_and_went"].scores()
    assert len(refills) >= 8
    assert sum(each >= 3 for each in refills) <= 4
    assert max(refills) >= 2, "and yet makers do fill up by equal sizes"
    assert all(each > 0.02 for each in withdrawn), "additions withdrawn at once are ordinary here"
    assert pasts.hour.stress_minutes >= 8


@pytest.mark.parametrize("pair", ["btcusdt", "ethusdt"])
def test_what_ordinary_minutes_score_against_the_floors(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = list[MinuteFacts]()

    def keep(_pasts: SymbolScores, facts: MinuteFacts, _ended: EndedMinute) -> None:
        minutes.append(facts)

    monkeypatch.setattr(SymbolScores, "learn", keep)
    lived(recording(pair), LOTS[pair])

    # Too few to rank: each is held against what the others make usual.
    floods, standing = list[float](), list[float]()
    for facts in minutes:
        rates, profile, others = UsualRates(), StandingProfile(), [each for each in minutes if each is not facts]
        for each in others:
            rates.add(each.blocks)
            if each.standing is not None:
                profile.add(each.standing)
        least = LEAST_OF_MINUTE * median(each.volume for each in others)
        floods.append(rates.score(facts.blocks))
        assert facts.standing is not None
        standing.append(max((each.score for each in profile.sizes(facts.standing, least)), default=0.0))

    assert len(minutes) >= 8
    assert all(came_and_went(each.passed) >= CRITERIA["came_and_went"].floor for each in minutes), "only rank tells"
    assert max(floods) < CRITERIA["flood"].floor
    assert max(standing) < 2 * CRITERIA["standing_size"].floor


@pytest.mark.parametrize(("pair", "least"), [("btcusdt", 0.90), ("ethusdt", 0.98)])
def test_a_trade_shows_in_the_first_change_of_the_book_from_its_time_on(pair: Pair, least: float) -> None:
    recorded = recording(pair)
    times = [each.event_ms for each in recorded.deltas]
    shown = [
        {("b", float(price)) for price, _ in each.bids} | {("a", float(price)) for price, _ in each.asks}
        for each in recorded.deltas
    ]

    inside = [each for each in recorded.trades if times[0] <= each.time_ms < times[-1]]
    met = sum(
        ("b" if each.buyer_is_maker else "a", float(each.price)) in shown[bisect_left(times, each.time_ms)]
        for each in inside
    )

    assert met / len(inside) >= least
