"""Every answer, page and question about an account begins with its kind of money, and names where that is."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from binance_simulator.account import DemoAccount, KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.exchange.dialing import Dialer
from mcp_binance_server.surface.confirm import Able, Decision, PageLink, Question
from support.attacked import STOP
from support.calls import arguments_of
from support.paper import AT_ONCE, RESTING, SYMBOL, PaperTrader
from support.spot import PRACTICE, SEED, TRADES
from support.stepped import live_market

LIVE = replace(PRACTICE, name="mainnet")
LIMITS = '[limits]\nsymbols = ["BTCUSDT"]\nper_order = "1000"\nper_day = "5000"\ndaily_loss = "100"\n'
PAGES = ("account/balances", "account/positions", "orders/open", "orders/history", "orders/journal")


@asynccontextmanager
async def trader_in(
    mode: str, folder: Path, confirm: str = "", rights: KeyRights = TRADES
) -> AsyncGenerator[PaperTrader]:
    key = DemoAccount(SEED)
    policy = folder / "trading.toml"
    named = f'[keys."{key_id(key.api_key)}"]\nmode = "{mode}"\n'
    policy.write_text(f"{LIMITS}[confirm]\n{confirm}\n{named}")
    network = LIVE if mode == "live" else PRACTICE
    environment = {
        "MCP_BINANCE_TRADING": mode,
        "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
        "MCP_BINANCE_TRADING_POLICY": str(policy),
        "BINANCE_NETWORK": network.name,
        "BINANCE_API_KEY": key.api_key,
        "BINANCE_SECRET_KEY": key.secret_key,
    }

    def ready(exchange: SimulatedExchange) -> Dialer:
        exchange.rights = rights  # asked for before anything is served
        return Loopback(exchange)

    async with live_market(seed=SEED, network=network, environment=environment, dialer=ready) as market:
        await market.watch(SYMBOL, 5)
        yield PaperTrader(market, market.client)


WORDS = {"practice": "PRACTICE (testnet): ", "live": "LIVE (127.0.0.1:8080): "}
PRIVATE = ("get_account_info", "get_portfolio", "get_open_orders", "get_all_orders", "get_order", "get_account_trades")


@dataclass
class Answering:
    """A user who is shown questions, and answers all of them alike."""

    decision: Decision
    shown: list[str] = field(default_factory=list[str])
    able: Able = field(default_factory=lambda: Able(forms=True, pages=False))

    async def show(self, link: PageLink) -> Decision:
        raise AssertionError(f"a page is shown to who cannot see one: {link.about}")

    async def ask(self, question: Question) -> Decision:
        self.shown.append(question.message)
        return self.decision


async def placed(trader: PaperTrader, preview_id: str, user: Answering | None = None) -> dict[str, Any]:
    return await answered(trader, user, "place_order", preview_id=preview_id)


async def answered(trader: PaperTrader, user: Answering | None, tool: str, **given: str) -> dict[str, Any]:
    ask = trader.market.app.dispatcher.call_tool
    result = await trader.market.answered(lambda: ask(None, tool, given, None, user))
    assert isinstance(result, types.CallToolResult)
    return result.structured_content or {}


@pytest.mark.parametrize("mode", WORDS)
async def test_every_answer_and_page_about_an_account_begins_with_the_mode(mode: str, tmp_path: Path) -> None:
    async with trader_in(mode, tmp_path) as trader:
        told = {name: (await trader.call(name, **arguments_of(name))) for name in PRIVATE}
        told["preview_order"] = await trader.call("preview_order", **RESTING)
        told["get_trading_status"] = await trader.call("get_trading_status")
        told["cancel_all_orders"] = await trader.call("cancel_all_orders", symbol=SYMBOL)
        told["an error"] = await trader.call("cancel_order", symbol=SYMBOL, client_order_id="mbl-" + "a" * 20)
        pages = {page: await trader.page(f"binance://{page}") for page in PAGES}
        prompt = await trader.market.page("portfolio_risk")
        ticker = await trader.call("get_ticker", symbol=SYMBOL)

    begins = {**{name: each.text for name, each in told.items()}, **pages, "prompt": prompt}
    assert [name for name, text in begins.items() if not text.startswith(WORDS[mode])] == []
    assert {each.data["mode"] for each in told.values() if not each.is_error} == {mode}
    assert told["an error"].is_error
    assert not ticker.text.startswith(WORDS[mode])


async def test_live_asks_for_every_order_and_the_question_names_money_and_host(tmp_path: Path) -> None:
    async with trader_in("live", tmp_path) as trader:
        refused = await placed(trader, await trader.previewed(**RESTING))
        no, yes = Answering("no"), Answering("yes")
        declined = await placed(trader, await trader.previewed(**{**RESTING, "price": "116400"}), no)
        sent = await placed(trader, await trader.previewed(**{**RESTING, "price": "116300"}), yes)
        accepted = [each.client_order_id for each in trader.market.exchange.orders.accepted]

    assert refused["error_type"] == "approval_impossible"
    assert declined["error_type"] == "declined"
    assert sent["status"] == "NEW", sent
    assert accepted == [sent["client_order_id"]]
    (question,) = yes.shown
    assert question.startswith("LIVE (127.0.0.1:8080): place this order? This is real money.\nBUY 0.0005 BTC")
    assert no.shown[0].startswith("LIVE (127.0.0.1:8080): place this order?")


async def test_live_a_stop_is_asked_about_in_words_of_its_own(tmp_path: Path) -> None:
    stop = {"symbol": SYMBOL, **STOP, "price": "115000", "stop_price": "116000"}
    async with trader_in("live", tmp_path) as trader:
        yes = Answering("yes")
        sent = await placed(trader, await trader.previewed(**stop), yes)
        name = sent["client_order_id"]
        cancelled = await answered(trader, yes, "cancel_order", symbol=SYMBOL, client_order_id=name)

    assert cancelled["outcome"] == "cancelled", cancelled
    assert yes.shown[-1].startswith("LIVE (127.0.0.1:8080): cancel this stop? It protects real money.\nSELL 0.0005 BTC")


async def test_live_a_preview_that_only_an_approver_could_allow_says_that_there_is_none(tmp_path: Path) -> None:
    async with trader_in("live", tmp_path) as trader:
        told = await trader.call("preview_order", **AT_ONCE)
        status = await trader.call("get_trading_status")

    assert told.data["preview_id"] is None
    (refusal,) = told.data["refused_by"]
    assert refusal.startswith("confirmation: ")
    assert "without an approver" in refusal
    assert "100.00 USDT" in refusal
    assert "approve --new" in told.text
    assert "It cannot be placed" in told.text
    assert any("up to 100.00 USDT" in each for each in status.data["confirmation"])


async def test_the_status_tells_what_the_owner_of_a_key_should_know(tmp_path: Path) -> None:
    async with trader_in("practice", tmp_path) as trader:
        practice = await trader.call("get_trading_status")
    (tmp_path / "live").mkdir()
    async with trader_in("live", tmp_path / "live", rights=KeyRights(trading=True, ip_restricted=False)) as trader:
        live = await trader.call("get_trading_status")

    assert "**Key**: testnet does not report the rights of a key" in practice.text
    assert "**Key**: This key works from any IP address" in live.text
    assert any("This key works from any IP address" in each for each in live.data["notes"])


async def test_practice_asks_nobody_unless_its_limits_say_so(tmp_path: Path) -> None:
    async with trader_in("practice", tmp_path) as trader:
        sent = await placed(trader, await trader.previewed(**RESTING))

    assert sent["status"] == "NEW"


async def test_practice_that_asks_says_which_money_it_is(tmp_path: Path) -> None:
    user = Answering("yes")
    async with trader_in("practice", tmp_path, 'ask = "always"') as trader:
        sent = await placed(trader, await trader.previewed(**RESTING), user)

    assert sent["status"] == "NEW"
    assert user.shown[0].startswith("PRACTICE (testnet): place this order? No real money is moved.")
