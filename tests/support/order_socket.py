"""An exchange that takes orders over a raw socket and misbehaves; it counts what it really received."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Target, WrittenOrder
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.attempt import Attempts
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from support.orders.lists import SHAPES, Body, amended_body, cancelled_list_body, list_body, replaced_body

API_KEY, SECRET = "order-socket-api-key-" + "k" * 43, "order-socket-secret-" + "s" * 44
PLACED_MS = 1_794_240_000_123
ORDER = WrittenOrder(
    "mbt-abcdefghijklmnopqrst",
    Symbol("BTCUSDT"),
    "BUY",
    "LIMIT",
    "GTC",
    Quantity(Decimal("0.01000")),
    Price(Decimal("61834.20")),
)
TARGET = Target(Symbol("BTCUSDT"), ORDER.client_order_id)
CANCEL_ID = f"{ORDER.client_order_id}-c"


@dataclass
class Received:
    """One request as it came: its line, its parameters, its headers."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]


@dataclass
class OrderSocket:
    """What the other side has seen."""

    connections: int = 0
    bytes_in: int = 0
    requests: list[Received] = field(default_factory=list[Received])
    url: str = ""
    over: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    tasks: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = field(
        default_factory=dict[asyncio.StreamWriter, "asyncio.Task[None] | None"], repr=False
    )

    @property
    def paths(self) -> list[str]:
        return [f"{each.method} {each.path.removeprefix('/api/v3/')}" for each in self.requests]

    async def close(self) -> None:
        """End every connection and wait for what served it."""
        self.over.set()
        for writer in self.tasks:
            if not writer.is_closing():  # on Python 3.11.2 a TLS transport cannot be aborted twice
                writer.transport.abort()
        await asyncio.gather(*(task for task in self.tasks.values() if task is not None))

    async def take(self, reader: asyncio.StreamReader) -> Received:
        """Read one request to its end."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.bytes_in += len(head)
        first, *lines = head.decode().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        address = urlsplit(target)
        self.requests.append(Received(method, address.path, dict(parse_qsl(address.query)), headers))
        return self.requests[-1]


Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter, OrderSocket], Awaitable[None]]


def answer(status: int, body: bytes, *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def refusal(status: int, code: int, msg: str, *headers: str) -> bytes:
    return answer(status, json.dumps({"code": code, "msg": msg}).encode(), *headers)


def success(received: Received, **changed: Any) -> bytes:  # noqa: ANN401 - JSON
    """Return what the exchange says to a write."""
    if received.path.endswith("/test"):
        return b"{}"
    sent, call = received.params, received.path.removeprefix("/api/v3/")
    if call != "order":
        return json.dumps({**_other_success(received, call), **changed}).encode()
    told = {
        "symbol": "BTCUSDT",
        "orderId": 28,
        "orderListId": -1,
        "clientOrderId": sent["newClientOrderId"],
        "transactTime": PLACED_MS,
        "price": "61834.20000000",
        "origQty": "0.01000000",
        "executedQty": "0.00000000",
        "origQuoteOrderQty": "0.00000000",
        "cummulativeQuoteQty": "0.00000000",
        "status": "NEW" if received.method == "POST" else "CANCELED",
        "timeInForce": sent.get("timeInForce", "GTC"),
        "type": sent.get("type", "LIMIT"),
        "side": sent.get("side", "BUY"),
        "selfTradePreventionMode": "EXPIRE_MAKER",
    }
    more: dict[str, Any] = {"fills": []} if received.method == "POST" else {"origClientOrderId": ORDER.client_order_id}
    if "stopPrice" in sent:
        more["stopPrice"] = sent["stopPrice"]
    if "trailingDelta" in sent:
        more |= {"trailingDelta": int(sent["trailingDelta"]), "trailingTime": -1}
    return json.dumps({**told, **more, **changed}).encode()


def _other_success(received: Received, call: str) -> Body:
    if call == "orderList":
        return cancelled_list_body(received.params["newClientOrderId"])
    if call == "order/cancelReplace":
        return replaced_body(received.params)
    if call == "order/amend/keepPriority":
        return amended_body(received.params)
    return list_body(received.params, SHAPES[call])


def ok(received: Received) -> bytes:
    return answer(200, success(received))


def scripted(script: Callable[[Received], bytes], clock: Clock | None = None) -> Behave:
    """Answer whatever comes by a script, and what time it is by a clock if there is one."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        while True:
            received = await seen.take(reader)
            if clock is not None and received.path.endswith("/time"):
                writer.write(answer(200, json.dumps({"serverTime": clock.now_ms()}).encode()))
            else:
                writer.write(script(received))
            await writer.drain()

    return behave


def reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _met(behave: Behave, seen: OrderSocket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    seen.connections += 1
    seen.tasks[writer] = asyncio.current_task()
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ValueError):
        await behave(reader, writer, seen)
        while more := await reader.read(65_536):  # whatever else comes counts as well
            seen.bytes_in += len(more)
    writer.close()


@asynccontextmanager
async def serving(behave: Behave, tls: ssl.SSLContext | None = None) -> AsyncGenerator[OrderSocket]:
    """Serve one behaviour on a free port of this machine."""
    seen = OrderSocket()
    server = await asyncio.start_server(partial(_met, behave, seen), "127.0.0.1", 0, ssl=tls)
    seen.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield seen
    finally:
        server.close()
        await seen.close()


@asynccontextmanager
async def ordering(
    url: str,
    *,
    longest_secs: float = 10.0,
    clock: Clock | None = None,
    recv_window_ms: int = 60_000,
    shared: Channel | None = None,
    has_read_clock: bool = True,
) -> AsyncGenerator[OrderClient]:
    """Open an order client whose exchange is at an address, and whose clock has just been read, or never.

    A channel can be shared: its TLS context is most of what this costs.
    """
    clock = clock or SystemClock()
    engine = MemoryEngine(clock, reserves=Reserves())
    await engine.start()
    channel, time = shared or Channel(deadline_secs=longest_secs), ServerTime(clock)
    if has_read_clock:
        now_ms = clock.monotonic_ms()
        time.learn(clock.now_ms(), asked_at_ms=now_ms, answered_at_ms=now_ms)
    attempts = Attempts(
        Network("testnet", url, "https://help.invalid/"), channel, Budget(engine, time, clock, "test"), time
    )
    principal = Principal.of(Credentials(API_KEY, SECRET))
    try:
        yield OrderClient(ExchangeCaller(attempts, clock), principal, OrderCounts(time), recv_window_ms, longest_secs)
    finally:
        if shared is None:
            await channel.close()
        await engine.close()
