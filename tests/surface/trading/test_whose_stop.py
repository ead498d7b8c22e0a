"""A stop belongs to an account: who stops their own stops nobody else, and nobody else reads why."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from mcp_binance_server.domain.access import Vault, Visitor
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.trading.journal.ledger import HostLedger
from support.paper import RESTING, PaperTrader, Told, paper_trader

JOURNAL = "binance://orders/journal"
WHY, FLOOD = "ann has seen enough", "the operator has seen enough"
LOWER = {**RESTING, "price": "116400"}


@dataclass(frozen=True)
class Visited:
    """A server on paper where each visitor has an account."""

    paper: PaperTrader

    @property
    def trading(self) -> TradingService:
        trading = self.paper.market.app.context.trading
        assert trading is not None
        return trading

    async def ask(self, name: str, tool: str, **arguments: Any) -> Told:  # noqa: ANN401 - whatever the tool takes
        dispatcher, caller = self.paper.market.app.dispatcher, Caller(Visitor(name), Vault(None))
        result = await self.paper.market.answered(lambda: dispatcher.call_tool(caller, tool, arguments))
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return Told(content.text, result.structured_content or {}, bool(result.is_error))

    async def previewed(self, name: str, **order: str) -> str:
        told = await self.ask(name, "preview_order", **order)
        assert told.data["preview_id"], told.text
        return told.data["preview_id"]

    async def page(self, name: str) -> str:
        dispatcher, caller = self.paper.market.app.dispatcher, Caller(Visitor(name), Vault(None))
        (content,) = (await self.paper.market.answered(lambda: dispatcher.read_resource(caller, JOURNAL))).contents
        assert isinstance(content, types.TextResourceContents)
        return content.text


@asynccontextmanager
async def visited(folder: Path, policy: str = "") -> AsyncGenerator[Visited]:
    async with paper_trader(folder, policy) as paper:
        yield Visited(paper)


@pytest.mark.slow
async def test_who_stops_trading_stops_their_own_account_and_nobody_else_hears_why(tmp_path: Path) -> None:
    async with visited(tmp_path) as server:
        anns, bobs = [await server.previewed(each, **RESTING) for each in ("ann", "bob")]
        stopped = await server.ask("ann", "stop_trading", reason=WHY)
        refused = await server.ask("ann", "place_order", preview_id=anns)
        denied = await server.ask("ann", "preview_order", **LOWER)
        placed = await server.ask("bob", "place_order", preview_id=bobs)
        again = await server.ask("bob", "preview_order", **LOWER)
        status, page = await server.ask("bob", "get_trading_status"), await server.page("bob")
        duplicate = await server.ask("bob", "preview_order", **RESTING)
        tally, own_page = await server.trading.tally(), await server.page("ann")

    assert stopped.text.startswith("PAPER: TRADING IS STOPPED for this account since ")
    assert (refused.data["error_type"], refused.data["why"]) == ("trading_stopped", WHY)
    assert [each.partition(":")[0] for each in denied.data["refused_by"]] == ["stop"]
    assert WHY in own_page
    assert (placed.data["outcome"], again.data["refused_by"]) == ("placed", [])
    assert (status.data["is_stopped"], status.text.startswith("PAPER: trading is on")) == (False, True)
    for each in (placed, again, status, duplicate):
        assert WHY not in f"{each.text} {each.data}"
    assert WHY not in page
    assert "stopped" not in page.lower()
    assert tally.is_stopped


@pytest.mark.slow
async def test_the_operators_stop_holds_every_visitor_until_it_is_lifted(tmp_path: Path) -> None:
    async with visited(tmp_path) as server:
        anns, bobs = [await server.previewed(each, **RESTING) for each in ("ann", "bob")]
        await server.ask("ann", "stop_trading", reason=WHY)
        store, now_ms = server.trading.desk.ledger.store, server.trading.now_ms()
        await HostLedger(store, "a terminal").stop(FLOOD, "a person", now_ms)
        held = [await server.ask(*each) for each in (("ann", "get_trading_status"), ("bob", "get_trading_status"))]
        refused = await server.ask("bob", "place_order", preview_id=bobs)
        page = await server.page("bob")
        await HostLedger(store, "a terminal").resume("a person", now_ms)
        placed = [
            await server.ask(name, "place_order", preview_id=each) for name, each in (("ann", anns), ("bob", bobs))
        ]

    assert {each.data["stopped_because"] for each in held} == {FLOOD}
    assert all(each.text.startswith("PAPER: TRADING IS STOPPED for all accounts since ") for each in held)
    assert (refused.data["error_type"], refused.data["why"]) == ("trading_stopped", FLOOD)
    assert f'**Trading is stopped** for all accounts: "{FLOOD}"' in page
    assert [each.data["outcome"] for each in placed] == ["placed", "placed"]


@pytest.mark.slow
async def test_what_one_has_lost_stops_them_alone(tmp_path: Path) -> None:
    async with visited(tmp_path, '[limits]\ndaily_loss = "0.01"\n') as server:
        bobs = await server.previewed("bob", **RESTING)
        bought = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "5000"}
        await server.ask("ann", "place_order", preview_id=await server.previewed("ann", **bought))
        await server.paper.market.run(2)
        anns = await server.ask("ann", "get_trading_status")
        status = await server.ask("bob", "get_trading_status")
        placed = await server.ask("bob", "place_order", preview_id=bobs)

    assert (anns.data["is_stopped"], "daily_loss" in anns.data["stopped_because"]) == (True, True)
    assert (status.data["is_stopped"], placed.data["outcome"]) == (False, "placed")
