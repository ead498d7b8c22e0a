"""What can be wrong with the futures host alone, each with its answer through a server; spot stays as it is."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import Quirk
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import running_app
from mcp_binance_server.exchange.dialing import StreamConnection
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import Loop
from support.served import text_of
from support.stepped import STREAMED, SteppedClock
from support.whole_market import WITH_FUTURES

pytestmark = pytest.mark.flood

DERIVATIVES: tuple[str, dict[str, Any]] = ("get_derivatives", {"symbol": "SOLUSDT"})
BOARD: tuple[str, dict[str, Any]] = ("scan_market", {"market": "perpetual", "limit": 50, "show": ["spread_bps"]})
QUESTIONS = {"pair": DERIVATIVES, "board": BOARD}
BOARD_CALLS = ("/fapi/v1/ticker/24hr", "/fapi/v1/premiumIndex", "/fapi/v1/ticker/bookTicker")
MINUTE_MS, HOUR_MS = 60_000, 3_600_000


@dataclass(frozen=True)
class Asked:
    """A client of a server with futures, and the exchange behind it."""

    client: Client
    exchange: SimulatedExchange
    clock: FakeClock

    async def told(self, question: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        result = await self.client.call_tool(*question)
        assert not result.is_error, text_of(result)
        return result.structured_content

    async def refused(self, question: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        with anyio.fail_after(60):
            result = await self.client.call_tool(*question)
        assert result.is_error, text_of(result)
        return result.structured_content

    async def spot(self) -> dict[str, Any]:
        """Ask what has nothing to do with futures; it must be answered whatever they do."""
        movers = await self.told(("scan_market", {}))
        ticker = await self.told(("get_ticker", {"symbol": "SOLUSDT"}))
        return {"movers": movers["rows"], "price": ticker["last_price"]}

    def sent(self) -> list[str]:
        paths = [each.path for each in self.exchange.futures.requests]
        self.exchange.futures.requests.clear()
        return paths


@asynccontextmanager
async def served(clock: FakeClock, exchange: SimulatedExchange) -> AsyncGenerator[Asked]:
    """Serve with the lists loaded that are asked for once an hour, and nothing else kept yet."""
    async with (
        running_app(read_settings({}), clock=clock, network=WITH_FUTURES, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        assert app.futures is not None
        await app.futures.contracts.table()
        await app.futures.contracts.rules()
        yield Asked(client, exchange, clock)


@pytest.fixture
async def asked(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[Asked]:
    async with served(clock, exchange) as asked:
        yield asked


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
async def test_a_region_that_is_refused_is_left_alone_for_ten_minutes_and_spot_is_as_it_was(
    asked: Asked, question: tuple[str, dict[str, Any]]
) -> None:
    before = await asked.spot()
    asked.exchange.futures.quirks.add(Quirk(kind="region", times=None))

    refused = await asked.refused(question)
    asked.sent()
    beside = await asked.spot()
    asked.clock.advance(9 * MINUTE_MS)
    again = await asked.refused(question)
    untouched = asked.sent()
    asked.exchange.futures.quirks.clear()
    asked.clock.advance(2 * MINUTE_MS)

    assert (refused["error_type"], again["error_type"]) == ("region_restricted",) * 2
    assert "no second host" in refused["error"]
    assert beside == before
    assert untouched == []
    assert await asked.told(question)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
async def test_a_ban_told_in_the_text_alone_is_kept_to_the_second(
    asked: Asked, question: tuple[str, dict[str, Any]]
) -> None:
    before = await asked.spot()
    asked.exchange.futures.quirks.add(Quirk(kind="banned", ms=5 * MINUTE_MS, times=1))

    refused = await asked.refused(question)
    asked.sent()
    beside = await asked.spot()
    asked.clock.advance(5 * MINUTE_MS - 3_000)
    again = await asked.refused(question)
    untouched = asked.sent()
    asked.clock.advance(6_000)

    assert (refused["error_type"], again["error_type"]) == ("rate_limited",) * 2
    assert 295 <= refused["retry_after_secs"] <= 302
    assert beside == before
    assert untouched == []
    assert await asked.told(question)


async def test_times_written_as_texts_change_no_answer(asked: Asked) -> None:
    usual = await asked.told(DERIVATIVES)
    asked.exchange.futures.quirks.add(Quirk(kind="string_times"))
    async with served(asked.clock, asked.exchange) as again:
        assert await again.told(DERIVATIVES) == usual


@pytest.mark.parametrize(("path", "lost"), [*zip(BOARD_CALLS, ("row", "funding_apr", "spread_bps"), strict=True)])
async def test_a_row_missing_in_one_of_three_answers_is_missed_there_alone(asked: Asked, path: str, lost: str) -> None:
    show = ["spread_bps", "funding_apr", "mark_vs_index_bps"]
    question = (BOARD[0], {**BOARD[1], "show": show, "sort": "quote_volume_24h"})
    before = {row["symbol"]: row for row in (await asked.told(question))["rows"]}
    asked.exchange.futures.quirks.add(Quirk(kind="missing_rows", path=path, symbols=("SOLUSDT",)))
    asked.clock.advance(HOUR_MS)

    told = {row["symbol"]: row for row in (await asked.told(question))["rows"]}

    if lost == "row":
        assert before.keys() - told.keys() == {"SOLUSDT"}
        return
    assert told.keys() == before.keys()
    missed = {name for name, value in told["SOLUSDT"]["values"].items() if value is None}
    assert missed == ({"spread_bps"} if lost == "spread_bps" else {"funding_apr", "mark_vs_index_bps"})
    assert all(None not in row["values"].values() for name, row in told.items() if name != "SOLUSDT")


async def test_parts_of_two_moments_are_asked_for_once_more_and_never_mixed(asked: Asked) -> None:
    asked.exchange.futures.quirks.add(Quirk(kind="behind", path=BOARD_CALLS[1], ms=3_000, times=1))
    asked.sent()

    await asked.told(BOARD)
    once = asked.sent()
    asked.clock.advance(HOUR_MS)
    asked.exchange.futures.quirks.add(Quirk(kind="behind", path=BOARD_CALLS[1], ms=3_000))
    refused = await asked.refused(BOARD)

    assert sorted(once) == sorted(BOARD_CALLS * 2)
    assert refused["error_type"] == "exchange_unavailable"
    assert "apart" in refused["error"]


@pytest.mark.parametrize("path", BOARD_CALLS)
async def test_half_a_body_leaves_the_old_board_with_its_age_and_then_an_error(asked: Asked, path: str) -> None:
    before = await asked.told(BOARD)
    asked.exchange.futures.faults.add(Fault(kind="truncated", path=path, times=None))
    asked.clock.advance(MINUTE_MS)

    result = await asked.client.call_tool(*BOARD)
    asked.clock.advance(2 * MINUTE_MS)
    refused = await asked.refused(BOARD)

    old = result.structured_content
    assert (old["as_of"], old["rows"]) == (before["as_of"], before["rows"])
    assert "1 min old" in text_of(result).partition("\n")[0]
    assert refused["error_type"] == "exchange_unavailable"


async def test_lists_that_are_empty_give_no_percentile_and_no_share(asked: Asked) -> None:
    asked.exchange.futures.quirks.add(Quirk(kind="empty_list", path="/futures/data/*"))

    told = await asked.told(DERIVATIVES)

    assert told["open_interest"]["contracts"]
    assert (told["open_interest"]["percentile"], told["open_interest"]["n"]) == (None, 0)
    assert {told["positioning"][kind]["long_share"] for kind in ("accounts_all", "top_accounts")} == {None}


@dataclass(frozen=True)
class WrongRoute:
    """A way to the streams of futures that leads past the route on which they are told."""

    exchange: SimulatedExchange

    async def connect(self, url: str) -> StreamConnection:
        return await Loopback(self.exchange).connect(url.replace("/market/", "/public/"))


@pytest.mark.night
@pytest.mark.parametrize("is_right", [True, False], ids=["right route", "wrong route"])
async def test_a_stream_that_stays_open_and_silent_is_no_quiet_market(*, is_right: bool) -> None:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    exchange.hub.by_hand = exchange.futures.hub.by_hand = True
    network = replace(
        STREAMED,
        futures_rest_url=WITH_FUTURES.futures_rest_url,
        futures_stream_url="ws://futures.simulator.invalid",
    )
    dialer = Loopback(exchange) if is_right else WrongRoute(exchange)
    heard: list[dict[str, Any]] = []

    def wake() -> None:
        exchange.hub.wake()
        exchange.futures.hub.wake()

    async with (
        running_app(read_settings({}), clock=clock, network=network, transport=Loop(exchange), dialer=dialer) as app,
        Client(app.server, cache=None) as client,
    ):
        for _ in range(3):
            result = await client.call_tool(*DERIVATIVES)
            heard.append(result.structured_content["liquidations"])
            await clock.run(20_000, wake)

    said = [each["listening"] for each in heard]
    assert said[0] == "just began to listen"
    assert said[1:] == (["listening"] * 2 if is_right else ["open but silent"] * 2)
    assert is_right == (heard[-1]["longs"] is not None) == (heard[-1]["observed_secs"] > 0)
