"""Two servers that share accounts on paper over one state: each visitor has one account, whichever server they meet."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import Vault, Visitor
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.caller import Caller
from support.desk import Loop
from support.paper import AT_ONCE, RESTING, SYMBOL, policy_file, round_key_file
from support.state_server import StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.flood, pytest.mark.usefixtures("patient_engines")]

ANN, BOB = Visitor("ann"), Visitor("bob")
CLOCK = SystemClock()
# The shared state is not open again, or the machine is so busy that the book has become old.
COMES_LATER = ("trading_not_ready", "preview_stale")
RULES = "[limits]\norders_per_day = 3\n"


@asynccontextmanager
async def paper_app(server: StateServer, exchange: SimulatedExchange, folder: Path) -> AsyncGenerator[App]:
    settings = read_settings(
        {
            "MCP_BINANCE_TRADING": "paper",
            "MCP_BINANCE_TRADING_DIR": str(folder),
            "MCP_BINANCE_STATE_URL": server.url,
            "MCP_BINANCE_PAPER_LATENCY_MS": "0",
        }
        | policy_file(folder.parent, RULES)
        | round_key_file(folder.parent)
    )
    async with running_app(settings, clock=SystemClock(), transport=Loop(exchange), dialer=Loopback(exchange)) as app:
        yield app


@asynccontextmanager
async def two_servers(server: StateServer, folder: Path) -> AsyncGenerator[tuple[App, App]]:
    exchange = SimulatedExchange(SystemClock(), seed=7)
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(paper_app(server, exchange, folder / name)) for name in ("one", "two")
        ]
        yield one, two


async def told(app: App, visitor: Visitor, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - as it takes
    caller = Caller(visitor, Vault(None))
    return (await app.dispatcher.call_tool(caller, tool, arguments)).structured_content or {}


async def placed(shown_by: App, placed_by: App, visitor: Visitor, **order: Any) -> dict[str, Any]:  # noqa: ANN401
    shown = await told(shown_by, visitor, "preview_order", **order)
    if shown.get("preview_id") is None:
        return shown
    return await told(placed_by, visitor, "place_order", preview_id=shown["preview_id"])


async def placed_at_last(shown_by: App, placed_by: App, visitor: Visitor, **order: Any) -> dict[str, Any]:  # noqa: ANN401
    """Place it as soon as the emptied state knows again what this day has used."""
    with anyio.fail_after(30):
        while (made := await placed(shown_by, placed_by, visitor, **order)).get("error_type") in COMES_LATER:
            await CLOCK.sleep_ms(100)
    return made


@pytest.mark.timeout(120)
async def test_an_account_on_paper_is_one_at_every_server_and_nobody_elses(server: StateServer, tmp_path: Path) -> None:
    async with two_servers(server, tmp_path) as (one, two):
        bought = await placed_at_last(one, two, ANN, **AT_ONCE)
        rests = await placed_at_last(two, one, ANN, **RESTING)
        held = [await told(each, ANN, "get_account_info") for each in (one, two)]
        others = [await told(each, BOB, "get_account_info") for each in (one, two)]
        status = await told(two, ANN, "get_trading_status")
        foreign = await told(two, BOB, "get_trading_status")
        stolen = await told(one, BOB, "cancel_order", symbol=SYMBOL, client_order_id=rests["client_order_id"])
        third = await placed(one, one, ANN, **{**RESTING, "price": "116400"})
        fourth = await placed(two, two, ANN, **{**RESTING, "price": "116300"})
        cancelled = await told(two, ANN, "cancel_order", symbol=SYMBOL, client_order_id=rests["client_order_id"])

    assert (bought["status"], rests["status"], third["status"]) == ("FILLED", "NEW", "NEW")
    assert held[0]["balances"] == held[1]["balances"]
    assert {each["asset"] for each in held[0]["balances"]} == {"BTC", "USDT"}
    assert [each["balances"][0]["free"] for each in others] == ["10000", "10000"]
    assert rests["client_order_id"] in str(status)
    assert foreign["open_orders"] == []
    assert stolen["error_type"] == "order_not_found"
    assert fourth["refused_by"][0].startswith("orders_per_day: ")
    assert cancelled["status"] == "CANCELED"


@pytest.mark.timeout(120)
async def test_an_emptied_state_begins_accounts_anew_and_says_so(server: StateServer, tmp_path: Path) -> None:
    async with two_servers(server, tmp_path) as (one, two):
        bought = await placed_at_last(one, two, ANN, **AT_ONCE)
        server.command("FLUSHALL")
        held = await told(two, ANN, "get_account_info")
        again = await placed_at_last(one, two, ANN, **{**AT_ONCE, "quote_quantity": "300"})
        status = await told(two, ANN, "get_trading_status")
        elsewhere = await told(one, ANN, "get_account_info")

    assert bought["status"] == "FILLED"
    assert again.get("status") == "FILLED", again
    for said in (held, status, elsewhere):
        assert "started again" in str(said)
    assert [(each["asset"], each["free"]) for each in held["balances"]] == [("USDT", "10000")]
