"""Sessions over HTTP: fifty at most, thirty seconds idle, and nothing left behind."""

import asyncio
import gc

import anyio
import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.exchange.signing import Principal
from support.clock import FakeClock
from support.requirement import requirement
from support.webapp import BareAnswer, HttpClient, assembled, bare, http_client, initialize

CAP = 50


def reason(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["data"]["reason"]


@pytest.mark.slow
@requirement("data-model/max-sessions", "ruling/26")
async def test_the_fifty_first_is_told_when_to_come_back(http: HttpClient, clock: FakeClock) -> None:
    sessions = [await http.initialize() for _ in range(CAP)]

    refused = [await http.initialized(), await http.post("/mcp/sse")]
    clock.advance(10_000)
    await http.ask("ping", sessions[0])
    later = await http.initialized()

    assert {reason(each) for each in refused} == {(503, "too_many_sessions")}
    assert {each.headers["retry-after"] for each in refused} == {"30"}
    assert later.headers["retry-after"] == "20"
    error = later.json()["error"]
    assert (error["code"], error["message"]) == (
        -32000,
        "Too many open sessions. Please wait 20 seconds before retrying.",
    )
    assert error["data"]["error_type"] == "too_many_sessions"
    assert (error["data"]["retryable"], error["data"]["retry_after_secs"]) == (True, 20)
    assert error["data"]["recovery_suggestion"].startswith("Wait retry_after_secs")


@requirement("data-model/session-timeout", "data-model/session-updated", "data-model/session-destroyed")
async def test_a_session_lives_for_thirty_idle_seconds_and_not_longer(http: HttpClient, clock: FakeClock) -> None:
    session_id = await http.initialize()

    clock.advance(29_900)
    alive = await http.ask("ping", session_id)
    clock.advance(29_900)
    still = await http.ask("ping", session_id)
    clock.advance(30_100)
    gone = await http.ask("ping", session_id)

    assert [alive.status_code, still.status_code] == [200, 200]
    assert reason(gone) == (404, "session_not_found")


async def test_a_jump_of_the_wall_clock_ends_nobody(http: HttpClient, clock: FakeClock) -> None:
    session_id = await http.initialize()

    clock.set_wall(clock.now_ms() + 3_600_000)

    assert (await http.ask("ping", session_id)).status_code == 200


@pytest.mark.night
@pytest.mark.flood
@pytest.mark.timeout(300)
async def test_of_a_thousand_who_come_at_once_exactly_fifty_get_in(app: App, clock: FakeClock) -> None:
    async with assembled(app) as running:
        registry, http_sessions = running.heart.http_sessions.registry, running.heart.http_sessions
        answers: list[BareAnswer] = []
        most = 0

        async def come() -> None:
            nonlocal most
            answers.append(await bare(running, "POST", "/mcp", initialize()))
            most = max(most, registry.snapshot().live)

        for number in range(20):
            for call in http_sessions.opened()[: number * 3]:
                await bare(running, "DELETE", "/mcp", mcp_session_id=call.session.connection_id)
            if number % 3 == 2:
                clock.advance(30_000)
            free = CAP - registry.snapshot().live
            answers.clear()

            async with anyio.create_task_group() as group:
                for _ in range(1_000):
                    group.start_soon(come)

            admitted = [each for each in answers if each.status == 200]
            refused = [each for each in answers if each.status == 503]
            assert (len(admitted), len(refused)) == (free, 1_000 - free)
            assert len({each.headers["mcp-session-id"] for each in admitted}) == free
            assert all(1 <= int(each.headers["retry-after"]) <= 30 for each in refused)
        assert most == CAP


@pytest.mark.night
@pytest.mark.slow
async def test_nothing_is_left_of_a_session_that_ended(app: App, exchange: SimulatedExchange) -> None:
    keys = {"x_binance_api_key": exchange.account.api_key, "x_binance_secret_key": exchange.account.secret_key}
    async with assembled(app) as running, http_client(running) as http:
        await http.modern("tools/list")
        before = _left(app)
        sessions = [await http.initialize(**keys) for _ in range(10)]
        pages = [await http.ask("resources/read", each, {"uri": "binance://account/balances"}) for each in sessions]
        during = _left(app)
        for session_id in sessions:
            await http.delete("/mcp", headers={"mcp-session-id": session_id})
        del pages
        await anyio.wait_all_tasks_blocked()

        assert during[1] == before[1] + 10
        assert _left(app) == before


def _left(app: App) -> tuple[int, int, int]:
    """Count tasks, and the keys and principals that somebody other than the process itself holds."""
    gc.collect()
    own = app.account.principal
    principals = [each for each in gc.get_objects() if isinstance(each, Principal) and each is not own]
    credentials = [each for each in gc.get_objects() if isinstance(each, Credentials)]
    return len(asyncio.all_tasks()), len(principals), len(credentials) - 1
