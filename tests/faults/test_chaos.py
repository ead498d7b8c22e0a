"""A minute of harm to a real fleet whose clients check every answer; `scripts/chaos` is half an hour of it."""

import logging
import sys
from typing import Any

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.simulator.rest.tickers import day_figures
from mcp_binance_server.surface.views.markdown import instant
from support.chaos.past import FIGURES, GivenAnswer, OlderThanSaid, Past, WrongAnswer
from support.chaos.run import run_chaos
from support.state_server import BINARY

pytestmark = [pytest.mark.slow, pytest.mark.flood]

CLIENTS, WORKERS, PAUSE_MS = 24, 2, 1_500
CLOCK = SystemClock()


@pytest.mark.timeout(400)
@pytest.mark.skipif(sys.platform == "win32", reason="several processes on one port are not for Windows")
@pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed")
async def test_whatever_is_done_to_a_fleet_its_clients_hear_the_truth_and_soon_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Of thousands of requests each step would be written.
    with caplog.at_level(logging.WARNING, "httpcore2"), caplog.at_level(logging.WARNING, "httpx2"):
        tally = await run_chaos(CLIENTS, WORKERS, PAUSE_MS)

    assert tally.defects() == {}, tally.table()
    assert [row.name for row in tally.rows.values() if not row.good] == []
    assert tally.heard > 0


def ticker_at(past: Past, at_ms: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    true = day_figures(past.exchange, past.exchange.listing.symbols["BTCUSDT"], at_ms)
    return {**{ours: str(true[theirs]) for ours, theirs in FIGURES.items()}, "as_of": instant(at_ms), **changes}


def book_at(past: Past, at_ms: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    listed = past.exchange.listing.symbols["BTCUSDT"]
    true = past.exchange.stage.market.depth(listed, 5, at_ms)
    sides = {
        name: [[listed.price(price), listed.quantity(lots)] for price, lots in side]
        for name, side in (("bids", true.bids), ("asks", true.asks))
    }
    return {**sides, "last_update_id": true.update_id, "as_of": instant(at_ms), **changes}


def test_the_judge_accepts_the_truth_and_notices_a_lie() -> None:
    past, now_ms = Past(), CLOCK.now_ms()
    then_ms = now_ms - 60_000

    def heard(structure: dict[str, Any]) -> GivenAnswer:
        return GivenAnswer(structure, "", now_ms, now_ms)

    past.check_ticker("BTCUSDT", heard(ticker_at(past, then_ms)))
    past.check_book("BTCUSDT", heard(book_at(past, then_ms)))
    with pytest.raises(WrongAnswer):
        past.check_ticker("BTCUSDT", heard(ticker_at(past, then_ms, last_price="1.00")))
    with pytest.raises(WrongAnswer):
        past.check_book("BTCUSDT", heard(book_at(past, then_ms, bids=[["1.00", "1.00000"]])))
    with pytest.raises(OlderThanSaid):
        past.check_book("BTCUSDT", heard(book_at(past, then_ms, as_of=instant(now_ms))))
    with pytest.raises(OlderThanSaid):
        past.check_book("BTCUSDT", heard(book_at(past, then_ms, as_of=instant(now_ms + 5_000))))
    with pytest.raises((OlderThanSaid, WrongAnswer)):
        past.check_ticker("BTCUSDT", heard(ticker_at(past, then_ms - 600_000, as_of=instant(now_ms))))
