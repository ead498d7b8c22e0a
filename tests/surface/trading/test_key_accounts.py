"""Accounts of callers' keys: opened once however many call, let go when idle, and refused for a reason."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest
from binance_simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.domain.access import Credentials, Vault, Visitor
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.services.trading.trader import OpenAccount
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.fleet.keeper import KeeperPace
from mcp_binance_server.trading_assembly.accounts import LINGER_MS, KeyAccounts, KeyOpening
from support.paper import RESTING, SYMBOL, PaperTrader
from support.spot import spot_trader

GUEST = DemoAccount(101)
KEY = Principal.of(Credentials(GUEST.api_key, GUEST.secret_key))
RULES = f'[keys."{KEY.key_id}"]\nmode = "practice"\n'
READ_OPEN = "/api/v3/openOrders"


@dataclass(frozen=True)
class Host:
    """A server that trades, and a caller who brings a key of their own."""

    own: PaperTrader

    @property
    def accounts(self) -> KeyAccounts:
        trading = self.own.market.app.context.trading
        assert trading is not None
        assert isinstance(trading.accounts, KeyAccounts)
        return trading.accounts

    @property
    def held(self) -> list[str]:
        """The accounts of callers that are open."""
        return [each.name for each in self.accounts.held.accounts]

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the tool takes
        return await self.own.market.answered(lambda: self.asked(tool, arguments))

    async def asked(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        caller = Caller(Visitor("guest"), Vault(KEY))
        return (await self.own.market.app.dispatcher.call_tool(caller, tool, arguments)).structured_content or {}

    @property
    def openings(self) -> int:
        """How often all open orders of an account were read, whoever's it was."""
        return sum(each.path == READ_OPEN and "symbol" not in each.params for each in self.own.market.exchange.requests)

    async def idle(self) -> None:
        """Let time pass until nobody has called for long."""
        self.own.market.clock.advance(LINGER_MS)
        await self.own.market.run(1)


@asynccontextmanager
async def hosting(folder: Path) -> AsyncGenerator[Host]:
    async with spot_trader(folder, RULES) as own:
        own.market.exchange.guests.append(Guest(GUEST, Portfolio((Balance("USDT", "10000", "0"),))))
        yield Host(own)


@pytest.mark.slow
async def test_many_first_calls_at_once_open_the_account_once(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:

        async def all_at_once() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = []

            async def one() -> None:
                found.append(await host.asked("get_trading_status", {}))

            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(one)
            return found

        before = host.openings
        found = await host.own.market.answered(all_at_once)

        assert {each["mode"] for each in found} == {"practice"}
        assert host.openings - before == 1


@pytest.mark.slow
async def test_an_idle_account_is_closed_and_known_again_when_its_key_comes_back(tmp_path: Path) -> None:
    async with hosting(tmp_path) as host:
        shown = await host.call("preview_order", **RESTING)
        placed = await host.call("place_order", preview_id=shown["preview_id"])
        was_held = host.held
        await host.idle()
        is_held = host.held
        order = next(each for each in host.own.market.exchange.orders.records.orders.values())
        again = await host.call("get_order", symbol=SYMBOL, client_order_id=placed["client_order_id"])

    assert order.wanted.client_order_id == placed["client_order_id"]
    assert (was_held, is_held) == ([KEY.key_id], [])
    assert again["order"]["status"] == "NEW"
    assert again["journal"]["state"] == "ACKED"


def failing(error: Exception) -> KeyOpening:
    """Return an opening that ends before it began."""

    @asynccontextmanager
    async def opening(_principal: Principal, _pace: KeeperPace) -> AsyncGenerator[OpenAccount]:
        raise error
        yield  # type: ignore[unreachable] # what makes it a context

    return opening


@pytest.mark.slow
async def test_a_key_that_may_do_too_much_is_refused_with_the_reason_and_reads(tmp_path: Path) -> None:
    why = "the box for withdrawals is ticked"
    async with hosting(tmp_path) as host:
        host.accounts.opening = failing(KeyDoesNotTrade(key_id=KEY.key_id, reason=why))
        refused = await host.call("place_order", preview_id="a" * 20)
        tried = await host.call("preview_order", **RESTING)
        read = await host.call("get_account_info")

    assert (refused["error_type"], refused["reason"]) == ("key_does_not_trade", why)
    assert tried["preview_id"] is None
    assert "10000" in str(read["balances"])


@pytest.mark.slow
async def test_a_defect_of_one_account_ends_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with hosting(tmp_path) as host:
        host.accounts.opening = failing(ZeroDivisionError())
        refused = await host.call("get_trading_status")
        own = await host.own.call("get_trading_status")

    assert refused["error_type"] == "trading_not_ready"
    assert not own.is_error
    assert "closed by an unexpected error" in caplog.text
