"""Every fault of the exchange against every resource, prompt and tool: the right error, in time, and nothing stale."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from mcp_binance_server.app import running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.faults import Fault
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

    def break_with(self, exchange: SimulatedExchange, fault: Fault) -> None:
        """Let the host that this is asked of fail; the other one stays as it is."""
        (exchange.faults if self.host == "spot" else exchange.futures.faults).add(fault)

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


@asynccontextmanager
async def warm_client(
    target: Target, settings: Settings, clock: FakeClock, transport: Loop, attempt_secs: float = 3
) -> AsyncGenerator[Client]:
    network = NETWORK if target.host == "spot" else WITH_FUTURES
    async with (
        running_app(settings, clock=clock, network=network, transport=transport, attempt_secs=attempt_secs) as app,
        Client(app.server, cache=None) as client,
    ):
        assert await target.ask(client) is None, "the target must answer before anything is broken"
        clock.advance(3_600_001)
        await client.call_tool("get_exchange_info", {"symbol": "BTCUSDT"})
        if target.host == "futures":
            assert app.futures is not None
            await app.futures.contracts.table()
            await app.futures.contracts.rules()
        yield client


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_is_told_for_what_it_is(
    name: str, target: Target, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    fault, (code, error_type) = FAULTS[name]
    async with warm_client(target, settings, clock, Loop(exchange)) as client:
        target.break_with(exchange, fault)
        with anyio.fail_after(LONGEST_SECS):
            failure = await target.ask(client)

    assert failure is not None, "old data must never pass for an answer"
    got_code, data, message = failure
    assert (got_code, data["error_type"]) == (code, error_type)
    assert data["retryable"] is (error_type in {"rate_limited", "exchange_unavailable"})
    assert len(message) <= 300
    assert "<html" not in f"{message}{data}"
    assert "x" * 201 not in f"{message}{data}"


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_an_answer_that_drips_is_given_up(
    target: Target, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    transport = Drip(exchange)
    async with warm_client(target, settings, clock, transport, attempt_secs=0.02) as client:
        transport.stalled = True
        with anyio.fail_after(LONGEST_SECS):
            failure = await target.ask(client)

    assert failure is not None
    assert failure[1]["error_type"] == "exchange_unavailable"


@pytest.mark.parametrize("target", TARGETS, ids=str)
async def test_a_wrong_content_type_does_no_harm_to_a_right_body(
    target: Target, settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with warm_client(target, settings, clock, Loop(exchange)) as client:
        target.break_with(exchange, Fault(kind="content_type", times=None))

        assert await target.ask(client) is None
