"""Over HTTP, callers who bring keys that the operator's rules name: each trades on their own account, only there."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from binance_simulator.account import DemoAccount, KeyRights
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.paper import RESTING, SYMBOL, policy_file
from support.spot import PRACTICE
from support.webapp import HttpClient, assembled, http_client

ANN, BOB, EVE = DemoAccount(101), DemoAccount(102), DemoAccount(103)
WRONG = "x" * 64


def key_id(account: DemoAccount) -> str:
    return Principal.of(Credentials(account.api_key, account.secret_key)).key_id


def brought(account: DemoAccount, secret: str | None = None) -> dict[str, str]:
    return {"x_binance_api_key": account.api_key, "x_binance_secret_key": secret or account.secret_key}


RULES = f"""[limits]
orders_per_day = 9

[keys."{key_id(ANN)}"]
mode = "practice"
[keys."{key_id(ANN)}".limits]
orders_per_day = 1

[keys."{key_id(BOB)}"]
mode = "practice"
"""


@asynccontextmanager
async def hosted(folder: Path, rules: str = RULES) -> AsyncGenerator["Hosted"]:
    exchange = SimulatedExchange(SystemClock(), seed=7)
    exchange.rights = KeyRights(trading=True)
    for each in (ANN, BOB, EVE):
        exchange.guests.append(Guest(each, Portfolio((Balance("USDT", "10000", "0"), Balance("BTC", "1", "0")))))
    settings = read_settings(
        {
            "BINANCE_NETWORK": "testnet",
            "MCP_BINANCE_TRADING": "practice",
            "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
            "BINANCE_API_KEY": exchange.account.api_key,
            "BINANCE_SECRET_KEY": exchange.account.secret_key,
        }
        | policy_file(folder, rules)
    )
    async with (
        running_app(settings, network=PRACTICE, transport=Loop(exchange), dialer=Loopback(exchange)) as app,
        assembled(app) as running,
        http_client(running) as http,
    ):
        yield Hosted(http, exchange)


class Hosted:
    """One server, its callers and the exchange behind it."""

    def __init__(self, http: HttpClient, exchange: SimulatedExchange) -> None:
        self.http, self.exchange = http, exchange

    async def call(self, tool: str, arguments: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        response = await self.http.modern("tools/call", {"name": tool, "arguments": arguments}, **headers)
        return response.json()["result"]["structuredContent"]

    async def page(self, headers: dict[str, str]) -> str:
        response = await self.http.modern("resources/read", {"uri": "binance://orders/journal"}, **headers)
        return response.text

    async def place(self, headers: dict[str, str], **changed: str) -> dict[str, Any]:
        shown = await self.call("preview_order", {**RESTING, **changed}, headers)
        if shown.get("preview_id") is None:
            return shown
        return await self.call("place_order", {"preview_id": shown["preview_id"]}, headers)

    def orders_of(self, account: DemoAccount) -> list[str]:
        made = self.exchange.orders.records.orders.values()
        return [each.wanted.client_order_id for each in made if each.holder == account.api_key]


@pytest.mark.slow
async def test_each_caller_trades_on_their_own_account_by_their_own_limits(tmp_path: Path) -> None:
    async with hosted(tmp_path) as server:
        ann = await server.place(brought(ANN))
        bob = await server.place(brought(BOB))
        again = await server.place(brought(ANN), quantity="0.002")
        further = await server.place(brought(BOB), quantity="0.002")
        own = await server.place({})
        held = {each: server.orders_of(each) for each in (ANN, BOB, server.exchange.account)}

    assert [each["status"] for each in (ann, bob, further, own)] == ["NEW"] * 4
    assert again["refused_by"][0].startswith("orders_per_day: ")
    assert held == {
        ANN: [ann["client_order_id"]],
        BOB: [bob["client_order_id"], further["client_order_id"]],
        server.exchange.account: [own["client_order_id"]],
    }


@pytest.mark.slow
async def test_nobody_sees_cancels_or_places_what_is_anothers(tmp_path: Path) -> None:
    async with hosted(tmp_path) as server:
        ann = await server.place(brought(ANN), quantity="0.00123")
        shown = await server.call("preview_order", RESTING, brought(BOB))
        name, stolen = ann["client_order_id"], {"preview_id": shown["preview_id"]}
        by_bob = [
            await server.call("get_trading_status", {}, brought(BOB)),
            await server.call("get_order", {"symbol": SYMBOL, "client_order_id": name}, brought(BOB)),
            await server.call("cancel_order", {"symbol": SYMBOL, "client_order_id": name}, brought(BOB)),
            await server.call("cancel_all_orders", {"symbol": SYMBOL}, brought(BOB)),
            await server.call("place_order", {"preview_id": name.removeprefix("mbt-")}, brought(BOB)),
        ]
        pages = [await server.page(brought(BOB)), await server.page({})]
        by_others = [await server.call("place_order", stolen, each) for each in (brought(ANN), {})]
        unknown = await server.call("place_order", {"preview_id": "a" * 20}, brought(ANN))
        own = await server.page(brought(ANN))
        held = server.orders_of(ANN), server.orders_of(BOB)

    assert name in own
    for said in (*map(str, by_bob), *pages):
        assert key_id(ANN) not in said
        assert "0.00123" not in said
    assert not any(name in page for page in pages)
    assert by_others == [unknown, unknown]
    assert held == ([name], [])


async def test_a_key_whose_secret_is_not_known_shows_and_does_nothing(tmp_path: Path) -> None:
    async with hosted(tmp_path) as server:
        ann = await server.place(brought(ANN))
        thief = brought(ANN, WRONG)
        answers = [
            await server.call("get_trading_status", {}, thief),
            await server.call("preview_order", RESTING, thief),
            await server.call("stop_trading", {"reason": "mine now"}, thief),
            await server.call("cancel_all_orders", {"symbol": SYMBOL}, thief),
        ]
        page = await server.page(thief)
        status = await server.call("get_trading_status", {}, brought(ANN))

    assert {each["error_type"] for each in answers} == {"invalid_credentials"}
    assert ann["client_order_id"] not in page
    assert status["is_stopped"] is False


async def test_a_key_that_the_rules_do_not_name_reads_and_does_not_trade(tmp_path: Path) -> None:
    async with hosted(tmp_path) as server:
        tried = await server.call("preview_order", RESTING, brought(EVE))
        refused = await server.call("get_trading_status", {}, brought(EVE))
        read = await server.call("get_account_info", {}, brought(EVE))

    assert tried["preview_id"] is None
    assert refused["error_type"] == "key_does_not_trade"
    assert refused["key_id"] == key_id(EVE)
    assert "10000" in str(read["balances"])


async def test_the_servers_own_key_brought_by_its_holder_is_the_same_account(tmp_path: Path) -> None:
    own = Principal.of(Credentials(SimulatedExchange(SystemClock(), seed=7).account.api_key, "")).key_id
    async with hosted(tmp_path, f'{RULES}[keys."{own}"]\nmode = "practice"\n') as server:
        lent = await server.place({})
        status = await server.call("get_trading_status", {}, brought(server.exchange.account))
        foreign = await server.call(
            "place_order", {"preview_id": lent["client_order_id"][4:]}, brought(server.exchange.account)
        )

    assert lent["client_order_id"] in str(status)
    assert foreign["error_type"] == "preview_not_found"
