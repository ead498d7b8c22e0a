"""Mutants of everything the exchange says, through a running server: nothing of them is ever seen, and nothing fails.

`scripts/upstream_mutants` does the same with a million.
"""

import msgspec
import pytest

from support.breaking import MARK, Breaker
from support.broken_rows import CONTRACTS, ROWS, SINGLES
from support.stepped import live_market
from support.storm import FUTURES_KLINES, Outcome, storm_of_answers, storm_of_events, storm_of_liquidations

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

EVENTS, ANSWERS, ORDERS = 1_600, 400, 400


async def test_mutants_of_stream_events_are_all_refused_and_the_book_comes_back(scale: int) -> None:
    outcome = Outcome()

    await storm_of_events(EVENTS * scale, outcome)

    assert (outcome.seen, outcome.defects, outcome.restarts) == ([], [], 0)
    assert outcome.refused >= 0.97 * outcome.events


@pytest.mark.night
async def test_mutants_of_answers_are_errors_and_never_pages(scale: int) -> None:
    outcome = Outcome()

    await storm_of_answers(ANSWERS * scale, outcome)

    assert (outcome.seen, outcome.defects) == ([], [])
    assert outcome.answers >= ANSWERS * scale
    assert {each.removesuffix(" of all") for each in outcome.met} >= {*ROWS, *SINGLES, CONTRACTS, FUTURES_KLINES}


@pytest.mark.night
async def test_mutants_of_liquidations_are_left_out_and_the_true_ones_counted_once(scale: int) -> None:
    outcome = Outcome()

    await storm_of_liquidations(ORDERS * scale, outcome)

    assert (outcome.seen, outcome.defects) == ([], [])
    assert outcome.refused >= 0.5 * outcome.events


async def test_a_mark_that_gets_through_would_be_seen() -> None:
    outcome = Outcome()
    async with live_market() as market:
        await market.watch("BTCUSDT", 3)
        hub = market.app.context.live.hub
        assert hub is not None
        feed = next(iter(hub.watched())).feed
        bids, asks = feed.book.written_top(5)
        body = {"e": "depthUpdate", "E": market.exchange.now_ms(), "s": "BTCUSDT", "b": bids, "a": asks}
        ids = {"U": feed.book.last_update_id + 1, "u": feed.book.last_update_id + 1}
        frame = Breaker(1).marked_event(msgspec.json.encode({"stream": "btcusdt@depth@100ms", "data": body | ids}))
        told = msgspec.json.decode(frame, type=dict[str, msgspec.Raw])
        hub.on_event("btcusdt@depth@100ms", told["data"])
        result = await market.client.call_tool("get_order_book", {"symbol": "BTCUSDT"})
        outcome.look("get_order_book", result.model_dump(mode="json"))

    assert MARK in str(outcome.seen)
