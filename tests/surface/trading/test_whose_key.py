"""Orders leave with this server's own key alone: a key that comes with a call reads, and places nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.domain.access import LOCAL, Credentials, Vault, Visitor
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.services.trading.trader import Trader
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.dispatch import Dispatcher
from support.paper import RESTING, SYMBOL, PaperTrader, paper_trader

OWN = Principal.of(Credentials("A" * 64, "own secret"))
ACCOUNT = OWN.key_id
# The same key by name, of somebody who has seen it somewhere and does not know its secret.
NAMESAKE = Principal.of(Credentials("A" * 64, "guessed"))
OTHER = Principal.of(Credentials("B" * 64, "their secret"))
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("place_order", {"preview_id": "a" * 20}),
    ("cancel_order", {"symbol": SYMBOL, "client_order_id": "mbl-" + "a" * 20}),
    ("cancel_all_orders", {"symbol": SYMBOL}),
    ("stop_trading", {"reason": "because"}),
    ("get_trading_status", {}),
)


@dataclass(frozen=True)
class OneAccount:
    """A server whose callers share the account behind its key."""

    paper: PaperTrader
    dispatcher: Dispatcher

    @property
    def trading(self) -> TradingService:
        trading = self.dispatcher.context.trading
        assert trading is not None
        return trading

    async def ask(self, caller: Caller | None, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await self.paper.market.answered(lambda: self.dispatcher.call_tool(caller, tool, arguments))
        return result.structured_content or {}


@asynccontextmanager
async def one_account(folder: Path, policy: str = "") -> AsyncGenerator[OneAccount]:
    async with paper_trader(folder, policy) as paper:
        made = paper.market.app.dispatcher
        assert made.context.trading is not None
        trading = replace(made.context.trading, trader=Trader(LOCAL, ACCOUNT))
        yield OneAccount(paper, replace(made, context=replace(made.context, trading=trading), owner=OWN))


def caller(principal: Principal | None, name: str = "anybody") -> Caller:
    return Caller(Visitor(name), Vault(principal))


@pytest.mark.slow
@pytest.mark.parametrize("principal", [NAMESAKE, OTHER, None], ids=["same name", "another key", "no key"])
async def test_who_is_not_lent_the_key_places_cancels_and_stops_nothing(
    principal: Principal | None, tmp_path: Path
) -> None:
    async with one_account(tmp_path) as server:
        own = await server.ask(None, "preview_order", RESTING)
        stranger = caller(principal)
        tried = await server.ask(stranger, "preview_order", RESTING)
        stolen = await server.ask(stranger, "place_order", {"preview_id": own["preview_id"]})
        refused = [await server.ask(stranger, *call) for call in CALLS]
        stops = await server.trading.desk.reader.stops()
        intents = await server.trading.situation_reader.reader.newest(10, ACCOUNT)

    assert tried["preview_id"] is None
    assert [each.partition(":")[0] for each in tried["refused_by"]] == ["key"]
    assert {each["error_type"] for each in (stolen, *refused)} == {"key_does_not_trade"}
    assert "docs/hosting.md" in stolen["recovery_suggestion"]
    assert stops == []
    assert intents == []


@pytest.mark.slow
async def test_who_is_lent_the_key_trades_on_its_account_under_their_own_name(tmp_path: Path) -> None:
    async with one_account(tmp_path) as server:
        one, other = caller(OWN, "one"), caller(OWN, "other")
        shown = await server.ask(one, "preview_order", RESTING)
        stolen = await server.ask(other, "place_order", {"preview_id": shown["preview_id"]})
        placed = await server.ask(one, "place_order", {"preview_id": shown["preview_id"]})
        (intent,) = await server.trading.situation_reader.reader.newest(10, ACCOUNT)

    assert stolen["error_type"] == "preview_not_found"
    assert placed["outcome"] == "placed", placed
    assert intent.terms.account == ACCOUNT
    assert intent.visitor not in ("", "local")


@pytest.mark.slow
async def test_the_desk_is_one_for_all_callers(tmp_path: Path) -> None:
    async with one_account(tmp_path) as server:
        dispatcher, desk = server.dispatcher, server.trading.desk
        for each in (caller(OWN), caller(OTHER), caller(None), None):
            trading = dispatcher.context_for(each, "account:read").trading
            assert trading is not None
            assert trading.desk is desk
            assert trading.situation_reader is server.trading.situation_reader


@pytest.mark.slow
async def test_what_a_stranger_tries_out_stops_nobody(tmp_path: Path) -> None:
    async with one_account(tmp_path, '[limits]\ndaily_loss = "0"\n') as server:
        tried = await server.ask(caller(OTHER), "preview_order", RESTING)
        before = await server.trading.desk.ledger.stopped(ACCOUNT)
        await server.ask(None, "preview_order", RESTING)
        after = await server.trading.desk.ledger.stopped(ACCOUNT)

    assert tried["refused_by"]
    assert before is None
    assert after is not None
