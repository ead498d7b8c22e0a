"""A failed call has a status by its kind, and loses nothing of the contract's error."""

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from grpc import StatusCode
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server import errors
from mcp_binance_server.app import App
from mcp_binance_server.charts import errors as chart_errors
from mcp_binance_server.feeds import errors as feed_errors
from mcp_binance_server.guide import errors as guide_errors
from mcp_binance_server.surface.catalogue import Catalogue
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from mcp_binance_server.trading.errors import InsufficientBalance, OutcomeUnknown
from mcp_binance_server.transports.grpc import errors as grpc_errors
from mcp_binance_server.transports.grpc.errors import refusal_of
from support.provider import Provider, provided, refused
from support.samples import INVALID_SYMBOL_DATA, NOT_FOUND_DATA

MODULES = (errors, chart_errors, guide_errors, feed_errors, grpc_errors)
# Nobody but the one place for the unexpected may say INTERNAL; this one ends the start.
NEVER_CALLED = {errors.AppError, errors.SettingsError}


def kinds() -> Iterator[type[errors.AppError]]:
    for module in MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, errors.AppError) and kind.__module__ == module.__name__:
                yield kind


@pytest.mark.parametrize("kind", [*kinds()], ids=lambda kind: kind.__name__)
def test_every_kind_of_error_has_a_status_of_its_own(kind: type[errors.AppError]) -> None:
    refusal = refusal_of(MCPError(kind.code, "said", {"error_type": kind.error_type}))

    assert (refusal.status is StatusCode.INTERNAL) == (kind in NEVER_CALLED)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.RateLimited, StatusCode.RESOURCE_EXHAUSTED),
        (errors.InvalidCredentials, StatusCode.UNAUTHENTICATED),
        (errors.InvalidSymbol, StatusCode.INVALID_ARGUMENT),
        (errors.InvalidArguments, StatusCode.INVALID_ARGUMENT),
        (errors.ResourceNotFound, StatusCode.NOT_FOUND),
        (InsufficientBalance, StatusCode.FAILED_PRECONDITION),
        (errors.InsufficientScope, StatusCode.PERMISSION_DENIED),
        (errors.ExchangeUnavailable, StatusCode.UNAVAILABLE),
        (errors.EngineUnavailable, StatusCode.UNAVAILABLE),
        (OutcomeUnknown, StatusCode.UNKNOWN),
    ],
)
def test_the_contracts_errors_have_the_statuses_gRPC_has_for_them(  # noqa: N802 - its name
    kind: type[errors.AppError], status: StatusCode
) -> None:
    assert refusal_of(MCPError(kind.code, "said", {"error_type": kind.error_type})).status is status


@pytest.mark.parametrize(
    ("uri", "status", "code", "data"),
    [
        ("binance://market/invalidsymbol", StatusCode.INVALID_ARGUMENT, -32003, INVALID_SYMBOL_DATA),
        ("binance://invalid/resource", StatusCode.NOT_FOUND, -32404, NOT_FOUND_DATA),
    ],
)
async def test_an_error_carries_the_contracts_code_and_data(
    provider: Provider, uri: str, status: StatusCode, code: int, data: dict[str, Any]
) -> None:
    async with refused() as seen:
        await provider.read(uri)

    assert (seen[0].status, seen[0].error["code"], seen[0].error["data"]) == (status, code, data)
    assert seen[0].sentence == seen[0].error["message"]


@pytest.mark.parametrize(("name", "arguments"), [("trading_analysis", {}), ("nothing", {})])
async def test_what_mcp_refuses_is_refused_with_the_same_words(
    app: App, provider: Provider, name: str, arguments: dict[str, str]
) -> None:
    async with Client(app.server, cache=None) as client:
        with pytest.raises(MCPError) as expected:
            await client.get_prompt(name, arguments)

    async with refused() as seen:
        await provider.prompt(name, arguments)

    assert seen[0].status is StatusCode.INVALID_ARGUMENT
    assert (seen[0].error["code"], seen[0].error["message"], seen[0].error["data"]) == (
        expected.value.code, expected.value.message, expected.value.data,
    )  # fmt: skip


async def test_a_rate_limit_says_how_long_to_wait(provider: Provider, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=429, code=-1003, headers={"Retry-After": "12"}))

    async with refused() as seen:
        await provider.read("binance://market/btcusdt")

    assert seen[0].status is StatusCode.RESOURCE_EXHAUSTED
    assert (seen[0].error["code"], seen[0].error["data"]["retry_after_secs"]) == (-32001, 12)


async def test_an_exchange_that_is_down_is_unavailable(provider: Provider, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", status=503, code=-1000, times=None))

    async with refused() as seen:
        await provider.read("binance://market/btcusdt")

    assert seen[0].status is StatusCode.UNAVAILABLE
    assert seen[0].error["data"]["error_type"] == "exchange_unavailable"


@pytest.mark.parametrize("tool", ["no_such_tool", "x" * 5_000, "\N{ROCKET}" * 2_000])
async def test_an_unknown_tool_is_an_invalid_argument(provider: Provider, tool: str) -> None:
    async with refused() as seen:
        await provider.invoke(tool)

    assert seen[0].status is StatusCode.INVALID_ARGUMENT
    assert seen[0].error["code"] == -32602


class NoArguments(Arguments):
    pass


async def fail(_context: Context, _arguments: NoArguments) -> str:
    raise RuntimeError("hunter2")


async def test_a_defect_of_ours_tells_an_id_and_nothing_else(app: App, caplog: pytest.LogCaptureFixture) -> None:
    broken = Catalogue(prompts=(PromptSpec("broken", "Fails", NoArguments, fail),))

    async with provided(Dispatcher(broken, app.context)) as provider, refused() as seen:
        await provider.prompt("broken", {})

    (failed,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert (seen[0].status, seen[0].sentence, seen[0].error["code"]) == (StatusCode.INTERNAL, "Internal error", -32603)
    assert seen[0].error["data"]["error_id"] in failed.getMessage()
    assert "hunter2" not in json.dumps(seen[0].error)
    assert "guide" not in seen[0].error["data"]


@pytest.mark.parametrize("character", ["x", "é", "\N{ROCKET}", "\\", '"'])
def test_an_error_always_fits_into_the_trailing_metadata(character: str) -> None:
    data = {"error_type": "invalid_arguments", "retryable": False} | {
        f"field_{place}": character * length for place, length in enumerate([10, 500, 3_000, 20_000])
    }

    refusal = refusal_of(MCPError(-32602, character * 10_000, data))

    told = json.loads(refusal.details)
    assert len(base64.b64encode(refusal.details)) + len(quote(refusal.sentence)) < 8_000
    assert told["data"]["left_out"][0] == "field_3"
    assert (told["code"], told["data"]["error_type"], told["data"]["field_0"]) == (
        -32602, "invalid_arguments", character * 10,
    )  # fmt: skip
