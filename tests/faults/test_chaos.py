"""A minute of harm to a real fleet whose clients check every answer; `scripts/chaos` is half an hour of it."""

import logging
import sys
from typing import Any

import pytest

from binance_simulator.rest.tickers import day_figures
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.surface.views.markdown import instant
from support.chaos.clients import WHOLE_MARKET
from support.chaos.futures_past import WholeMarketPast
from support.chaos.past import FIGURES, GivenAnswer, OlderThanSaid, Past, WrongAnswer
from support.chaos.run import run_chaos
from support.state_server import BINARY

CLIENTS, WORKERS, PAUSE_MS = 24, 2, 1_500
CLOCK = SystemClock()


@pytest.mark.alone
@pytest.mark.timeout(400)
@pytest.mark.skipif(sys.platform == "win32", reason="several processes on one port are not for Windows")
@pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed")
async def test_whatever_is_done_to_a_fleet_its_clients_hear_the_truth_and_soon_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Of thousands of requests each step would be written.
    with caplog.at_level(logging.WARNING, "httpcore2"), caplog.at_level(logging.WARNING, "httpx2"):
        tally = await run_chaos(CLIENTS, WORKERS, PAUSE_MS)
        assert tally.untrue() == {}, tally.table()
        if tally.defects():  # what the machine did besides is not there a second time; what is slow stays slow
            sys.stdout.write(tally.table())
            tally = await run_chaos(CLIENTS, WORKERS, PAUSE_MS)

    assert tally.defects() == {}, tally.table()
    assert [row.name for row in tally.rows.values() if not row.good] == []
    assert tally.heard > 0
    assert min(tally.whole_market[name] for name in WHOLE_MARKET) > 0


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


def movers_at(past: Past, at_ms: int, **changes: str) -> dict[str, Any]:
    market, contracts = past.exchange.futures.market, past.exchange.futures.contracts(at_ms)
    rows: list[dict[str, Any]] = []
    for name in ("BTCUSDT", "SOLUSDT", "XRPUSDT"):
        day, mark = market.day(contracts[name], at_ms), market.mark(contracts[name], at_ms)
        bps = f"{10_000 * (mark.mark / mark.index - 1):.2f}"
        values = {"mark_vs_index_bps": bps}
        rows.append({"symbol": name, "price": contracts[name].price(day.last), "values": values})
    return {"rows": rows, "as_of": instant(at_ms), **changes}


def test_the_judge_of_the_whole_market_notices_prices_of_two_moments_and_an_age_that_is_not_said() -> None:
    past, now_ms = Past(), CLOCK.now_ms()
    judge, then_ms = WholeMarketPast(past), now_ms - 5_000
    later = movers_at(past, then_ms - 3_600_000)["rows"]

    def heard(structure: dict[str, Any], text: str = "") -> GivenAnswer:
        return GivenAnswer(structure, text, now_ms, now_ms)

    true = movers_at(past, then_ms)
    judge.check_movers("perpetual", heard(true))
    mixed = {**true, "rows": [later[0], *true["rows"][1:]]}
    marks = {**true, "rows": [{**true["rows"][0], "values": later[0]["values"]}, *true["rows"][1:]]}
    for lie in (mixed, marks):
        with pytest.raises(WrongAnswer):
            judge.check_movers("perpetual", heard(lie))
    old = movers_at(past, now_ms - 60_000)
    judge.check_movers("perpetual", heard(old, "**perpetual market, 1 min old**"))
    with pytest.raises(OlderThanSaid):
        judge.check_movers("perpetual", heard(old, "**perpetual market**"))
    bps = float(true["rows"][1]["values"]["mark_vs_index_bps"])
    basis = {"mark_vs_index_bps": bps, "perp_vs_spot_bps": 1.0, "apart_ms": 40}
    told = {"as_of": instant(then_ms // 1_000 * 1_000), "basis": basis}
    judge.check_derivatives(heard(told, "a sample"))
    for change in ({"mark_vs_index_bps": bps + 0.5}, {"apart_ms": 1_500}):
        with pytest.raises(WrongAnswer):
            judge.check_derivatives(heard({**told, "basis": basis | change}, "a sample"))
