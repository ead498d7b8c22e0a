"""A caller's keys once the caller has left: nothing refers to them, not even garbage that waits to be found."""

import asyncio
import gc
import json
from collections.abc import Generator, Iterator
from typing import Any

import anyio
import pytest

from binance_simulator.account import DemoAccount
from binance_simulator.exchange import Guest, SimulatedExchange
from binance_simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.app import App
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.exchange.signing import HmacSigner
from support.webapp import ENVELOPE, MODERN, initialize, request, served_http

pytestmark = pytest.mark.slow

KEY, SECRET = "canary", "yranac"
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/call", {"name": "get_account_info", "arguments": {}}),
    ("tools/call", {"name": "get_portfolio", "arguments": {}}),
    ("tools/call", {"name": "get_analysis", "arguments": {"kind": "trading", "symbol": "BTCUSDT"}}),
    ("resources/read", {"uri": "binance://account/balances"}),
    ("resources/read", {"uri": "binance://account/nothing"}),
    ("prompts/get", {"name": "portfolio_risk", "arguments": {}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
)


@pytest.fixture
def uncollected() -> Generator[None]:
    """Without the collector only what nothing refers to goes away: whatever lies in a cycle stays."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def post(url: str, body: dict[str, Any] | None, headers: dict[str, str], method: str = "POST") -> bytes:
    """Send one request on a connection of its own, and keep nothing of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    sent = b"" if body is None else json.dumps(body).encode()
    told = {
        "Host": url.removeprefix("http://"),
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(sent)),
        "Connection": "close",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    writer.write(f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode() + sent)
    answer = await reader.read(-1)
    writer.close()
    await writer.wait_closed()
    return answer


async def visit(url: str, keys: dict[str, str]) -> int:
    """Ask everything in a session that is then ended, and once more without one; return how much came back."""
    opened = await post(url, initialize(), keys)
    (named,) = [line for line in opened.lower().split(b"\r\n") if line.startswith(b"mcp-session-id: ")]
    session = {"Mcp-Session-Id": named.partition(b": ")[2].decode()}
    heard = 0
    for method, params in ASKED:
        heard += len(await post(url, request(method, params), {**session, **keys}))
        about = params.get("name") or params["uri"]
        modern = {**keys, "MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": about}
        heard += len(await post(url, request(method, {**params, "_meta": ENVELOPE}), modern))
    await post(url, None, session, "DELETE")
    return heard


def holders_of(*canaries: str) -> Iterator[str]:
    """Name the objects that hold a text with one of the canaries in it."""
    for each in gc.get_objects():
        for held in gc.get_referents(each):
            text = held.decode("latin-1") if isinstance(held, bytes | bytearray) else held
            if isinstance(text, str) and any(canary * 10 in text for canary in canaries):
                yield f"{type(each).__module__}.{type(each).__qualname__}"
                break


async def settled() -> None:
    """Let the tasks of connections that were closed come to their ends."""
    for _ in range(200):
        await anyio.lowlevel.checkpoint()


@pytest.mark.usefixtures("uncollected")
async def test_keys_that_the_exchange_refused_cannot_be_reached_any_more(app: App) -> None:
    async with served_http(app) as url:
        heard = await visit(url, {"X-Binance-Api-Key": KEY * 10, "X-Binance-Secret-Key": SECRET * 10})
        await settled()
        found = [*holders_of(KEY, SECRET)]

    assert heard > 5_000
    assert found == []


@pytest.mark.usefixtures("uncollected")
async def test_keys_that_worked_cannot_be_reached_any_more(app: App, exchange: SimulatedExchange) -> None:
    account = DemoAccount(99)
    exchange.guests.append(Guest(account, Portfolio((Balance("USDT", "31415.92", "0.0"),))))
    before = {id(each) for each in gc.get_objects() if isinstance(each, Credentials | HmacSigner)}

    async with served_http(app) as url:
        heard = await visit(url, {"X-Binance-Api-Key": account.api_key, "X-Binance-Secret-Key": account.secret_key})
        await settled()
        found = [
            type(each).__name__
            for each in gc.get_objects()
            if isinstance(each, Credentials | HmacSigner) and id(each) not in before
        ]

    assert heard > 10_000
    assert found == []
