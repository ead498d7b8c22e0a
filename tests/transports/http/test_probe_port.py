"""Probes on a port of their own: answered while the loop is held, and by the same rules as everywhere."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import anyio.to_thread
import pytest

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.admission.guard import Guard
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.admission.refusals import contained
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.token_file import TokenFile
from mcp_binance_server.transports.http.probe_port import (
    BEAT_MS,
    SILENT_MS,
    Heartbeat,
    PortProbes,
    beating,
    serve_probe_port,
)
from mcp_binance_server.transports.http.server.serving import ListeningApp, listen
from support.clock import FakeClock
from support.stepped import SteppedClock
from support.webapp import assembled

TOKEN = "a-token-that-nobody-guesses-123"  # noqa: S105 - of these tests alone
PATIENCE_SECS = 60.0


class Told(NamedTuple):
    status: int
    body: bytes


Ask = Callable[..., Told]


@asynccontextmanager
async def probes(app: App, clock: FakeClock, *, patience_secs: float, **changes: Any) -> AsyncGenerator[Ask]:  # noqa: ANN401 - fields of Options
    """Open the port; who asks waits for the answer where it stands, and may hold this loop by that."""
    asks_for_token = changes.pop("asks_for_token", False)
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]

    def ask(path: str, method: str = "GET", **headers: str) -> Told:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECS)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        told = Told(answer.status, answer.read())
        connection.close()
        return told

    async with assembled(app, **changes) as http:
        home = asyncio.get_running_loop()
        answers = PortProbes(
            http.heart, Heartbeat(clock), home, asks_for_token=asks_for_token, patience_secs=patience_secs
        )
        with serve_probe_port(ListeningApp(listener, Guard(contained(answers), allow()))):
            yield ask


async def test_health_is_told_while_the_loop_is_held_and_that_it_is(app: App, clock: FakeClock) -> None:
    async with probes(app, clock, patience_secs=0.05) as ask:
        # This test does not give way to the loop here, so nothing on it can answer.
        soon, ready, figures = ask("/healthz"), ask("/readyz"), ask("/metrics")
        clock.advance(5_000)
        later = ask("/healthz")

    assert soon == (200, b'{"status":"ok"}')
    assert [ready.status, figures.status] == [503, 503]
    assert json.loads(ready.body)["error"]["data"] == {"reason": "busy"}
    assert (later.status, json.loads(later.body)) == (503, {"status": "held", "silent_secs": 5})


async def test_a_loop_that_turns_answers_the_rest(app: App, clock: FakeClock) -> None:
    async with probes(app, clock, patience_secs=PATIENCE_SECS) as ask:
        ready = await anyio.to_thread.run_sync(ask, "/readyz")
        figures = await anyio.to_thread.run_sync(ask, "/metrics")

    assert (ready.status, json.loads(ready.body)["status"]) == (200, "ready")
    assert (figures.status, b"mcp_binance_sessions" in figures.body) == (200, True)


async def test_nothing_else_is_there_and_the_guard_is_the_same(app: App, clock: FakeClock) -> None:
    async with probes(app, clock, patience_secs=PATIENCE_SECS) as ask:
        elsewhere = [ask(path).status for path in ("/mcp", "/mcp/sse", "/", "/healthz/")]
        posted = ask("/healthz", "POST").status
        foreign = [ask("/healthz", Host="evil.example").status, ask("/metrics", Origin="http://evil.example").status]

    assert elsewhere == [404] * 4
    assert posted == 405
    assert foreign == [421, 403]


@pytest.mark.parametrize(("asks_for_token", "status"), [(True, 401), (False, 200)])
async def test_figures_ask_for_a_token_unless_only_this_machine_can_ask(
    app: App, clock: FakeClock, tmp_path: Path, *, asks_for_token: bool, status: int
) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"ann sha256:{sha256(TOKEN.encode()).hexdigest()} market:read\n", encoding="utf-8")
    file.chmod(0o600)
    authentication = Authentication(TokenFile(file, clock))

    async with probes(
        app, clock, patience_secs=PATIENCE_SECS, asks_for_token=asks_for_token, authentication=authentication
    ) as ask:
        without = await anyio.to_thread.run_sync(ask, "/metrics")
        by_token = await anyio.to_thread.run_sync(lambda: ask("/metrics", Authorization=f"Bearer {TOKEN}"))
        health = ask("/healthz")

    assert without.status == status
    assert (by_token.status, health.status) == (200, 200)


async def test_a_loop_that_turns_has_a_pulse_and_one_that_does_not_has_none() -> None:
    clock = SteppedClock()

    async with beating(clock) as pulse:
        await clock.run(3 * SILENT_MS, lambda: None)
        turning_ms = pulse.silent_ms
        clock.advance(2 * SILENT_MS)
        held_ms = pulse.silent_ms

    assert turning_ms <= BEAT_MS
    assert held_ms > SILENT_MS
