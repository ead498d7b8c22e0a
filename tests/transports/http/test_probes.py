"""What machines ask: is it alive, can it work, how much."""

import re
import sys
from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated
from support.clock import FakeClock
from support.webapp import HttpClient, OpenHttp


async def test_a_running_server_is_alive_and_ready(http: HttpClient) -> None:
    alive, ready = await http.get("/healthz"), await http.get("/readyz")

    assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "engine": "ok", "upstream": "ok"})


async def test_without_the_market_it_is_alive_but_not_ready(
    http: HttpClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="cut_before", times=None))

    broken = await http.get("/readyz")
    exchange.faults.clear()
    kept = await http.get("/readyz")
    clock.advance(1_000)
    mended = await http.get("/readyz")

    assert (await http.get("/healthz")).status_code == 200
    assert (broken.status_code, broken.json()["upstream"]) == (503, "exchange_unavailable")
    assert kept.json() == broken.json()
    assert mended.status_code == 200


@pytest.mark.parametrize("later_ms", [0, 39_300], ids=["early in the minute", "just before the next"])
async def test_who_may_not_ask_the_market_now_is_ready_all_the_same(
    http: HttpClient, exchange: SimulatedExchange, clock: FakeClock, later_ms: int
) -> None:
    clock.advance(60_000 - clock.now_ms() % 60_000 + 20_000)
    exchange.meter.charge(5_500, exchange.now_ms())
    session_id = await http.initialize()
    refused = await http.ask("resources/read", session_id, {"uri": "binance://market/btcusdt"})
    clock.advance(later_ms)
    clock.slept_ms.clear()

    ready = await http.get("/readyz")

    assert refused.json()["error"]["code"] == -32001
    assert ready.status_code == 200
    assert ready.json() == {"status": "ready", "engine": "ok", "upstream": "rate_limited"}
    assert clock.slept_ms == []


async def test_who_was_told_to_stop_is_ready_all_the_same(http: HttpClient, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "60"}))

    asked, again = await http.get("/readyz"), await http.get("/readyz")

    assert (asked.status_code, asked.json()["upstream"]) == (200, "rate_limited")
    assert (again.status_code, len(exchange.requests)) == (200, 1)


async def test_a_balancer_that_asks_often_costs_the_exchange_little(
    http: HttpClient, exchange: SimulatedExchange
) -> None:
    for _ in range(50):
        await http.get("/readyz")

    assert len(exchange.requests) == 1


async def test_a_server_that_winds_down_is_not_ready_and_takes_no_session(http: HttpClient) -> None:
    session_id = await http.initialize()

    await http.http.heart.drain()
    ready, opened, asked = await http.get("/readyz"), await http.initialized(), await http.ask("ping", session_id)

    assert (ready.status_code, ready.json()["status"]) == (503, "draining")
    assert opened.status_code == 503
    assert opened.headers["retry-after"] == "1"
    assert asked.status_code == 200


async def test_a_session_that_opens_while_the_server_winds_down_is_let_go(
    http: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = http.http.heart.http_sessions.registry
    admit = registry.open

    async def admit_late(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - as the registry has it
        session = await admit(*arguments, **options)
        await http.http.heart.drain()
        return session

    monkeypatch.setattr(registry, "open", admit_late)

    opened = await http.initialized()

    assert opened.status_code == 503
    assert registry.snapshot().live == 0


async def test_the_figures_count_what_was_asked(http: HttpClient) -> None:
    session_id = await http.initialize()
    for _ in range(3):
        await http.ask("resources/read", session_id, {"uri": "binance://market/btcusdt"})
    await http.ask("tools/call", session_id, {"name": "get_ticker", "arguments": {"symbol": "nothing"}})
    await http.ask("resources/read", session_id, {"uri": "binance://nothing"})
    await http.ask("made/up", session_id)
    await http.get("/made-up")

    figures = await _figures(http)

    assert figures['mcp_binance_requests_total{method="resources/read",outcome="ok"}'] == 3
    assert figures['mcp_binance_requests_total{method="resources/read",outcome="-32404"}'] == 1
    assert figures['mcp_binance_requests_total{method="tools/call",outcome="tool_error"}'] == 1
    assert figures['mcp_binance_http_answers_total{route="other",status="404"}'] == 1
    assert figures['mcp_binance_request_seconds_count{method="resources/read"}'] == 4
    assert figures["mcp_binance_sessions"] == 1
    assert figures['mcp_binance_upstream_weight_used{ledger="spot"}'] > 0
    assert (figures["mcp_binance_reads_asked"], figures["mcp_binance_reads_sent"]) == (3, 1)
    assert not any("made" in name for name in figures)


@pytest.mark.slow
async def test_the_figures_tell_what_became_of_the_series_of_a_screen(http: HttpClient) -> None:
    session_id = await http.initialize()
    screen = {"name": "scan_market", "arguments": {"where": ["rsi_14@1h < 101"]}}
    before = await _figures(http)
    told = (await http.ask("tools/call", session_id, screen)).json()["result"]["structuredContent"]

    figures = await _figures(http)

    series = "mcp_binance_scan_series{outcome="
    assert {name: value for name, value in before.items() if series in name} == {
        f'{series}"{outcome}"}}': 0 for outcome in ("fetched", "shared", "limited", "failed")
    }
    assert figures[f'{series}"fetched"}}'] == told["listed"] > 20
    assert figures["mcp_binance_rows_dropped"] == 0


async def test_the_figures_tell_what_the_process_uses(http: HttpClient) -> None:
    before = await _figures(http, r"\S+")
    for _ in range(5):
        await http.initialize()
    after = await _figures(http, r"\S+")

    assert after["mcp_binance_tasks"] >= before["mcp_binance_tasks"] + 5
    if sys.platform == "linux":
        assert after["process_open_fds"] > 2
        assert after["process_resident_memory_bytes"] > 2**20


class Locked:
    """Lets nobody in."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:  # noqa: ARG002 - nothing is looked at
        raise Unauthenticated("who are you?", error=None)


@pytest.mark.night
async def test_health_is_everybodys_and_figures_are_not(open_http: OpenHttp) -> None:
    async with open_http(authentication=Authentication(Locked())) as http:
        answers = {path: (await http.get(path)).status_code for path in ("/healthz", "/readyz", "/metrics", "/mcp")}

    assert answers == {"/healthz": 200, "/readyz": 200, "/metrics": 401, "/mcp": 401}


async def test_probes_are_only_read(http: HttpClient) -> None:
    answers = [await http.post(path) for path in ("/healthz", "/readyz", "/metrics")]

    assert {(each.status_code, each.headers["allow"]) for each in answers} == {(405, "GET, HEAD")}


async def _figures(http: HttpClient, names: str = r"mcp_\S+") -> dict[str, float]:
    text = (await http.get("/metrics")).text
    return {name: float(value) for name, value in re.findall(rf"^({names}) ([0-9.e+-]+)$", text, re.MULTILINE)}
