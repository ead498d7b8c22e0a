"""What an exchange, or something on the way to it, can do to a request that places or cancels; each with its fate."""

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass

from mcp_binance_server.domain.order_requests import Fate
from support.order_socket import Behave, OrderSocket, Received, answer, ok, refusal, reset, success

HTML = b"<html><h1>maintenance</h1></html>"
HUGE = 3_000_000
DRIP_SECS = 0.05
# How long one waits for what never comes; for the rest a busy machine has time enough.
LATE_SECS = 0.4

Reply = Callable[[Received], bytes]


@dataclass(frozen=True)
class WireFault:
    """One behaviour of the other side, what must be said of the request, and how long to wait for it."""

    name: str
    fate: Fate
    behave: Behave
    words: str = ""
    longest_secs: float = 10.0


def replying(name: str, fate: Fate, reply: Reply, words: str = "", *, then_close: bool = False) -> WireFault:
    """Read the request, answer with bytes."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        writer.write(reply(await seen.take(reader)))
        await writer.drain()
        if then_close:
            writer.close()

    return WireFault(name, fate, behave, words)


def says(name: str, fate: Fate, reply: bytes, words: str = "", *, then_close: bool = False) -> WireFault:
    return replying(name, fate, lambda _: reply, words, then_close=then_close)


def _cut_json(received: Received) -> bytes:
    return answer(200, success(received)[:-1])


def _short(received: Received) -> bytes:
    body = success(received)
    return answer(200, body[:-1], length=len(body))


def _long(received: Received) -> bytes:
    """Send more bytes than the length says. The rest belongs to no answer."""
    body = success(received)
    return answer(200, body + b"garbage", length=len(body))


def _below(received: Received) -> bytes:
    body = success(received)
    return answer(200, body, length=len(body) - 1)


def _chunked(received: Received) -> bytes:
    body = success(received)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def _gzipped(received: Received) -> bytes:
    return answer(200, gzip.compress(success(received)), "Content-Encoding: gzip")


def _with(**changed: object) -> Reply:
    return lambda received: answer(200, success(received, **changed))


async def _reset_after(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
    await seen.take(reader)
    reset(writer)


async def _reset_within(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
    writer.write(ok(await seen.take(reader))[:-1])
    await writer.drain()
    reset(writer)


async def _silence(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
    await seen.take(reader)
    await seen.over.wait()


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
    for byte in ok(await seen.take(reader)):
        writer.write(bytes([byte]))
        await writer.drain()
        try:
            await asyncio.wait_for(seen.over.wait(), DRIP_SECS)
        except TimeoutError:
            continue
        return


async def _before_reading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
    writer.write(refusal(503, -1008, "busy"))
    await writer.drain()
    await seen.take(reader)


UNKNOWN, REFUSED, ACCEPTED = Fate.UNKNOWN, Fate.REFUSED, Fate.ACCEPTED
MAY = "may have been executed"

FAULTS: tuple[WireFault, ...] = (
    replying("accepts", ACCEPTED, ok),
    replying("accepts and closes", ACCEPTED, ok, then_close=True),
    replying("accepts in chunks", ACCEPTED, _chunked),
    replying("answers twice", ACCEPTED, lambda got: ok(got) + refusal(400, -2010, "no")),
    replying("says more than its length", ACCEPTED, _long),
    replying("continues first", ACCEPTED, lambda got: b"HTTP/1.1 100 Continue\r\n\r\n" + ok(got)),
    WireFault("resets after the request", UNKNOWN, _reset_after, MAY),
    WireFault("resets within the answer", UNKNOWN, _reset_within, MAY),
    says("closes after the request", UNKNOWN, b"", MAY, then_close=True),
    WireFault("is silent", UNKNOWN, _silence, MAY, LATE_SECS),
    WireFault("drips", UNKNOWN, _drip, MAY, LATE_SECS),
    WireFault("answers before it reads", UNKNOWN, _before_reading, MAY),
    says("503 in HTML", UNKNOWN, answer(503, HTML), MAY),
    says("502 in HTML", UNKNOWN, answer(502, HTML), MAY),
    says("500 empty", UNKNOWN, answer(500, b""), MAY),
    says("503 with -1008", UNKNOWN, refusal(503, -1008, "Server is currently overloaded."), MAY),
    says("500 with -2010", UNKNOWN, refusal(500, -2010, "Account has insufficient balance"), MAY),
    says("-1006", UNKNOWN, refusal(400, -1006, "An unexpected response was received from the message bus."), MAY),
    says("-1007", UNKNOWN, refusal(408, -1007, "Timeout waiting for response from backend server."), MAY),
    says("-1000", UNKNOWN, refusal(400, -1000, "An unknown error occurred."), MAY),
    says("409", UNKNOWN, refusal(409, -2021, "Order cancel-replace partially failed."), MAY),
    says("a code that nobody knows", UNKNOWN, refusal(400, -9999, "?"), MAY),
    says("400 in HTML", UNKNOWN, answer(400, HTML), MAY),
    says("204", UNKNOWN, b"HTTP/1.1 204 No Content\r\n\r\n", MAY),
    says("101", UNKNOWN, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", MAY, then_close=True),
    replying("cuts the JSON", UNKNOWN, _cut_json, MAY),
    replying("ends before its length", UNKNOWN, _short, MAY, then_close=True),
    replying("has too small a length", UNKNOWN, _below, MAY),
    says("200 in HTML", UNKNOWN, answer(200, HTML), MAY),
    says("200 empty", UNKNOWN, answer(200, b""), MAY),
    says("200 not JSON's depth", UNKNOWN, answer(200, b"[" * 5_000), MAY),
    says("200 that is larger than anything", UNKNOWN, answer(200, b"x" * HUGE), MAY),
    replying("compressed", UNKNOWN, _gzipped, MAY),
    says("two lengths", UNKNOWN, answer(200, b"{}", "Content-Length: 7"), MAY, then_close=True),
    says("no HTTP", UNKNOWN, b"220 smtp.example.test ready\r\n", MAY, then_close=True),
    says("-1021", REFUSED, refusal(400, -1021, "Timestamp for this request is outside of the recvWindow."), "clocks"),
    says("-1022", REFUSED, refusal(400, -1022, "Signature for this request is not valid."), "signature"),
    says("-2015", REFUSED, refusal(401, -2015, "Invalid API-key, IP, or permissions for action."), "key"),
    says("-1013", REFUSED, refusal(400, -1013, "Filter failure: LOT_SIZE"), "LOT_SIZE"),
    says("-1121", REFUSED, refusal(400, -1121, "Invalid symbol."), "symbol"),
    says("403 in HTML", REFUSED, answer(403, HTML), "firewall"),
    says("451", REFUSED, refusal(451, 0, "Service unavailable from a restricted location"), "location"),
    says("429", REFUSED, refusal(429, -1003, "Too many requests", "Retry-After: 7"), "too many requests"),
    says("429 in HTML", REFUSED, answer(429, HTML, "Retry-After: 7"), "too many requests"),
    says("418", REFUSED, refusal(418, -1003, "Way too many requests", "Retry-After: 90"), "banned"),
    says("-1015", REFUSED, refusal(429, -1015, "Too many new orders; current limit is 50."), "too many orders"),
)

# Of an order alone: what it says may be about something else.
CONTRADICTIONS: tuple[WireFault, ...] = (
    replying("another symbol", UNKNOWN, _with(symbol="ETHUSDT"), MAY),
    replying("another id", UNKNOWN, _with(clientOrderId="mbt-another", origClientOrderId="mbt-another"), MAY),
    replying("more executed than ordered", UNKNOWN, _with(executedQty="0.01000001"), MAY),
    replying("no order id", UNKNOWN, _with(orderId=None), MAY),
    replying("a status that is a number", UNKNOWN, _with(status=7), MAY),
    replying("an amount with an exponent", UNKNOWN, _with(executedQty="1e-3"), MAY),
    says("a refusal as a success", UNKNOWN, answer(200, json.dumps({"code": -2010, "msg": "no"}).encode()), MAY),
)
