"""Every fault of the exchange against every resource, prompt and tool: the right error, in time, and nothing stale."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, Faults
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.calls import arguments_of, prompt_arguments
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.whole_market import WITH_FUTURES

pytestmark = pytest.mark.flood

LONGEST_SECS = 10
WORDS = "x" * 5_000
RATE_LIMITED, REJECTED = (-32001, "rate_limited"), (-32603, "exchange_rejected")
RESTRICTED, UNAVAILABLE = (-32603, "region_restricted"), (-32603, "exchange_unavailable")


def refusal(status: int, code: int, **more: Any) -> Fault:  # noqa: ANN401 - the fields of a fault
    return Fault(kind="status", status=status, code=code, msg=WORDS, times=None, **more)


FAULTS: dict[str, tuple[Fault, tuple[int, str]]] = {
    "429": (refusal(429, -1003, headers={"Retry-After": "7"}), RATE_LIMITED),
    "418": (refusal(418, -1003, headers={"Retry-After": "7"}), RATE_LIMITED),
    "403 html": (refusal(403, 0, body=f"<html>{WORDS}</html>"), REJECTED),
    "451": (refusal(451, 0), RESTRICTED),
    "500": (refusal(500, -1000), UNAVAILABLE),
    "503 unknown": (refusal(503, -1007), UNAVAILABLE),
    "truncated": (Fault(kind="truncated", times=None), UNAVAILABLE),
    "html": (Fault(kind="html", times=None), UNAVAILABLE),
    "reset": (Fault(kind="cut_before", times=None), UNAVAILABLE),
    "reset within": (Fault(kind="cut_within", times=None), UNAVAILABLE),
}
# Answered from the table of symbols, which is an hour old at most and says so: no request, so no fault.
FROM_THE_TABLE = {"search_symbols", "get_exchange_info"}
# Tells how our own streams are doing.
FROM_HERE = {"get_orderbook_health"}
# Guides and charts ask no exchange, or do without it: tests/faults/test_guide_files.py and tests/charts have the faults
# that reach them.
OTHERS = {"guide", "charts"}
OF_FUTURES = {"derivatives"}


@dataclass(frozen=True)
class Target:
    """One thing a client can ask for."""

    kind: str
    name: str
    host: Literal["spot", "futures"] = "spot"

    async def ask(self, client: Client) -> tuple[int, dict[str, Any], str] | None:
        """Return code, data and text of the failure, or None when there was an answer."""
        try:
            if self.kind == "resource":
                await client.read_resource(self.name)
            elif self.kind == "prompt":
                await client.get_prompt(self.name, prompt_arguments(self.name))
            else:
                result = await client.call_tool(self.name, self._arguments)
                data: dict[str, Any] = result.structured_content
                return (data["code"], data, data["error"]) if result.is_error else None
        except MCPError as error:
            return error.code, error.data, error.message
        return None

    def faults_of(self, exchange: SimulatedExchange) -> Faults:
        """Return the faults of the host that this is asked of; the other one stays as it is."""
        return exchange.faults if self.host == "spot" else exchange.futures.faults

    @property
    def _arguments(self) -> dict[str, Any]:
        is_screen_of_futures = self.host == "futures" and self.name == "scan_market"
        return {"market": "perpetual"} if is_screen_of_futures else arguments_of(self.name)

    def __str__(self) -> str:
        return f"{self.kind}-{self.name}{'' if self.host == 'spot' else ' of futures'}"


TARGETS = (
    *(Target("resource", spec.uri) for spec in CATALOGUE.resources if spec.toolset not in OTHERS),
    *(Target("prompt", spec.name) for spec in CATALOGUE.prompts),
    *(
        Target("tool", spec.name)
        for spec in CATALOGUE.tools
        if spec.name not in FROM_THE_TABLE | FROM_HERE and spec.toolset not in OTHERS | OF_FUTURES
    ),
    *(Target("tool", spec.name, "futures") for spec in CATALOGUE.tools if spec.toolset in OF_FUTURES),
    Target("tool", "scan_market", "futures"),
)


class Drip(Loop):
    """A network that, once told to, sends the first byte of an answer and then nothing more."""

    stalled = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not self.stalled:
            return response
        return httpx2.Response(200, headers={"content-type": "application/json"}, stream=_OneByte())


class _OneByte(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"{"
        await anyio.Event().wait()


async def warmed(target: Target, app: App, client: Client, clock: FakeClock) -> None:
    """Have an answer an hour ago, and everything else that it takes at hand."""
    assert await target.ask(client) is None, "the target must answer before anything is broken"
    await an_hour_later(target, app, client, clock)


async def an_hour_later(target: Target, app: App, client: Client, clock: FakeClock) -> None:
    clock.advance(3_600_001)
    await client.call_tool("get_exchange_info", {"symbol": "BTCUSDT"})
    if target.host == "futures":
        assert app.futures is not None
        await app.futures.contracts.table()
        await app.futures.contracts.rules()


@asynccontextmanager
async def opened(
    target: Target, settings: Settings, clock: FakeClock, transport: Loop, attempt_secs: float = 3
) -> AsyncGenerator[tuple[App, Client]]:
    network = NETWORK if target.host == "spot" else WITH_FUTURES
    async with (
        running_app(settings, clock=clock, network=network, transport=transport, attempt_secs=attempt_secs) as app,
        Client(app.server, cache=None) as client,
    ):
        yield app, client


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_a_fault_is_told_for_what_it_is_and_forgotten_an_hour_later(
    target: Target, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with opened(target, settings, clock, Loop(exchange)) as (app, client):
        await warmed(target, app, client, clock)
        faults = target.faults_of(exchange)
        for name, (fault, (code, error_type)) in FAULTS.items():
            faults.add(fault)
            with anyio.fail_after(LONGEST_SECS):
                failure = await target.ask(client)
            faults.clear()
            await an_hour_later(target, app, client, clock)

            assert failure is not None, f"{name}: old data must never pass for an answer"
            got_code, data, message = failure
            assert (got_code, data["error_type"]) == (code, error_type), name
            assert data["retryable"] is (error_type in {"rate_limited", "exchange_unavailable"}), name
            assert len(message) <= 300, name
            assert "<html" not in f"{message}{data}", name
            assert "x" * 201 not in f"{message}{data}", name
        assert await target.ask(client) is None, "what was broken an hour ago is no longer"


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_a_wrong_type_does_no_harm_and_an_answer_that_drips_is_given_up(
    target: Target, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    transport = Drip(exchange)
    async with opened(target, settings, clock, transport, attempt_secs=0.02) as (app, client):
        await warmed(target, app, client, clock)
        target.faults_of(exchange).add(Fault(kind="content_type", times=None))
        assert await target.ask(client) is None
        target.faults_of(exchange).clear()

        await warmed(target, app, client, clock)
        transport.stalled = True
        with anyio.fail_after(LONGEST_SECS):
            failure = await target.ask(client)

    assert failure is not None
    assert failure[1]["error_type"] == "exchange_unavailable"
