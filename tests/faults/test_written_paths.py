"""What ever leaves of a server that trades: reads, three writes, and no order with an open price."""

import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp import MCPError

from support.attacked import Assistant, FormUser
from support.calls import arguments_of, prompt_arguments
from support.exchange_socket import ServedExchange, served_exchange
from support.orders.attacked import ASKED, LIMIT, STOP
from support.orders.sockets import SocketTrader, socket_trader
from support.orders.wire import wire_market
from support.paper_market import new_world

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

WRITES = {("POST", "/api/v3/order"), ("DELETE", "/api/v3/order"), ("POST", "/api/v3/order/test")}
# Reads of the market, and of the account that the key belongs to.
READS = re.compile(
    r"/api/v3/[A-Za-z0-9/]+|/sapi/v1/account/apiRestrictions|/fapi/v[123]/[A-Za-z]+|/futures/data/[A-Za-z]+"
)
# What becomes of an account's orders is listened to.
FOLLOWS = "/ws-api/v3/userDataStream.subscribe.signature"
MONEY = re.compile(
    r"withdraw|transfer|margin|borrow|loan|repay|convert|earn|sub-account|leverage|capital", re.IGNORECASE
)
CLOSED = {"LIMIT", "LIMIT_MAKER", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT"}
# All that ask Binance for something; charts are drawn by somebody else.
TOOLSETS = {"MCP_BINANCE_TOOLSETS": "market,account,orders,trade,analysis"}
POLICY = """
[limits]
orders_per_minute = 10000
orders_per_day = 10000
open_orders = 10000
"""
ROUNDS = 4


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as found:
        yield found


@pytest.mark.night
async def test_whoever_calls_every_tool_with_money_sends_reads_and_two_of_the_three_writes(tmp_path: Path) -> None:
    user, world = FormUser("yes"), new_world()
    async with wire_market(tmp_path, ASKED, "live", world, environment=TOOLSETS) as market:
        client = await market.join("auto", elicitation_callback=user.answer)
        of = Assistant(market, client, user)
        stop, limit = await of.placed(STOP), await of.placed(LIMIT)
        await of.placed({"side": "BUY", "type": "MARKET", "quantity": "0.0004"})
        for order in (stop, limit):
            cancelled = await of.call("cancel_order", {"symbol": "BTCUSDT", "client_order_id": order})
            assert cancelled["outcome"] == "cancelled", cancelled
        tools = [each.name for each in (await client.list_tools()).tools]
        for name in tools:
            await of.call(name, arguments_of(name))
        for page in (await client.list_resources()).resources:
            await of.read(str(page.uri))
        for prompt in (await client.list_prompts()).prompts:
            with suppress(MCPError):
                await market.answered(lambda name=prompt.name: client.get_prompt(name, prompt_arguments(name)))
        seen = {(each.method, each.path) for each in world.exchange.requests}

    assert {"place_order", "cancel_order", "get_account_info"} <= {*tools}
    assert {each for each in seen if each[0] not in {"GET", "WS"}} == WRITES - {("POST", "/api/v3/order/test")}
    assert {path for method, path in seen if method == "WS"} <= {FOLLOWS}
    assert {path for method, path in seen if method == "GET" and not READS.fullmatch(path)} == set()
    assert {path for _, path in seen if MONEY.search(path)} == set()


def orders(random: Random, price: Decimal) -> Iterator[dict[str, str]]:
    """Give orders of every kind that can be asked for, and of some that cannot."""
    for number in range(ROUNDS):
        side = random.choice(("BUY", "SELL"))
        amount = {"side": side, "quantity": f"{0.0003 + number * 0.00001:.5f}"}
        low, high = (f"{price * random.randrange(*each) / 10_000:.2f}" for each in ((9_850, 9_900), (10_100, 10_150)))
        rests, stops = (low, high) if side == "BUY" else (high, low)
        for stays in ("GTC", "IOC", "FOK"):
            yield {**amount, "type": "LIMIT", "price": rests, "time_in_force": stays}
        yield {**amount, "type": "LIMIT_MAKER", "price": rests}
        yield {**amount, "type": "MARKET"}
        yield {"side": side, "type": "MARKET", "quote_quantity": str(random.randrange(40, 60))}
        yield {**amount, "type": "STOP_LOSS_LIMIT", "stop_price": stops, "price": stops}
        yield {**amount, "type": "TAKE_PROFIT_LIMIT", "stop_price": rests, "price": rests}
        for kind in ("STOP_LOSS", "TAKE_PROFIT", "OCO", "market", ""):
            yield {**amount, "type": kind}


def queries(trader: SocketTrader) -> list[dict[str, str]]:
    """Return what was asked in each write, by the bytes on the line."""
    found = [urlsplit(each.partition(" ")[2]).query for each in trader.line.writes()]
    return [{name: values[0] for name, values in parse_qs(each, keep_blank_values=True).items()} for each in found]


@pytest.mark.night
async def test_no_order_ever_leaves_with_an_open_price(served: ServedExchange, tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []
    async with socket_trader(served, tmp_path, POLICY) as trader:
        await trader.previewed(side="BUY", quantity="0.0005", price=await trader.price("95"))
        for order in orders(Random("kinds"), Decimal(await trader.price("100"))):
            preview = await trader.call("preview_order", symbol="BTCUSDT", **order)
            if preview.get("preview_id"):
                asked.append((order["type"], await trader.call("place_order", preview_id=preview["preview_id"])))
        sent, raw = queries(trader), b"".join(trader.line.sent)

    assert {each["type"] for each in sent} == CLOSED
    assert {kind for kind, told in asked if told.get("outcome") == "placed"} == CLOSED | {"MARKET"}
    assert [each for each in sent if float(each["price"]) <= 0 or "quoteOrderQty" in each] == []
    assert len(sent) == len(asked)
    for never in (
        b"type=MARKET",
        b"type=STOP_LOSS&",
        b"type=TAKE_PROFIT&",
        b"quoteOrderQty",
        b"icebergQty",
    ):
        assert never not in raw
