"""Replay of a captured answer: our own client asks, and gets the bytes of the file."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import httpx2
import msgspec

from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.exchange.spot.streams import FrameWire
from mcp_binance_server.settings import read_settings
from mcp_binance_server.upstream import Upstream, opened_upstream
from support.captured.doors import DOORS, STREAMS
from support.clock import FakeClock

NETWORK: Final = Network(
    "testnet", "http://exchange.test", "https://testnet.binance.vision/", futures_rest_url="http://futures.test"
)
KEYS: Final = {"BINANCE_API_KEY": "k" * 64, "BINANCE_SECRET_KEY": "s" * 64}
NO_LIST: Final = b'{"rateLimits":[],"symbols":[]}'
_WORD: Final = re.compile("[A-Z_]+")
TOMORROW: Final = "WORD_OF_TOMORROW"
# Words of the exchange that get new ones without notice.
WORDS: Final = frozenset({
    "status", "type", "side", "timeInForce", "accountType", "contractType", "orderTypes", "permissions", "filterType",
    "ruleType", "expiryReason",
    "rateLimitType", "selfTradePreventionMode", "rateType", "S", "o", "f", "x", "X", "r", "V",
})  # fmt: skip


@dataclass
class Replay(httpx2.AsyncBaseTransport):
    """Answers one path with the bytes of a file, the time with the clock's, and a list with an empty one."""

    path: str
    body: bytes
    clock: FakeClock

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == self.path:
            body = self.body
        elif request.url.path.endswith("/time"):
            body = msgspec.json.encode({"serverTime": self.clock.now_ms()})
        else:
            body = NO_LIST
        return httpx2.Response(200, stream=httpx2.ByteStream(body))


@asynccontextmanager
async def replayed(path: str, body: bytes) -> AsyncGenerator[Upstream]:
    """Open a client with a key whose exchange says one thing."""
    clock = FakeClock()
    async with opened_upstream(
        read_settings(KEYS), clock=clock, network=NETWORK, transport=Replay(path, body, clock)
    ) as upstream:
        yield upstream


async def read_answer(name: str, params: Mapping[str, str | int], body: bytes) -> object:
    """Return an answer as the client's own method reads it."""
    door = DOORS[name]
    async with replayed(door.call.path, body) as upstream:
        return await door.ask(upstream, params)


def read_event(name: str, body: bytes) -> Any:  # noqa: ANN401 - any struct of an event
    """Return an event as its struct reads it, under the name of its stream where it has one."""
    shape = STREAMS[name].shape
    framed = msgspec.json.encode({"stream": STREAMS[name].stream, "data": msgspec.Raw(body)})
    read: Any = msgspec.json.decode(msgspec.json.decode(framed, type=FrameWire).data, type=shape)
    if hasattr(read, "to_domain"):
        read.to_domain()
    return read


def with_unknown_members(body: Any) -> Any:  # noqa: ANN401 - JSON
    """Return an answer with a member of tomorrow in every object."""
    if isinstance(body, dict):
        members = cast("dict[str, Any]", body)
        known = {name: with_unknown_members(each) for name, each in members.items()}
        return {**known, "memberOfTomorrow": {"nested": [1, "2", None]}}
    if isinstance(body, list):
        return [with_unknown_members(each) for each in cast("list[Any]", body)]
    return body


def with_unknown_words(body: Any, member: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return an answer with new words where the exchange may add some."""
    if isinstance(body, dict):
        members = cast("dict[str, Any]", body)
        return {name: with_unknown_words(each, name) for name, each in members.items()}
    if isinstance(body, list):
        return [with_unknown_words(each, member) for each in cast("list[Any]", body)]
    return TOMORROW if member in WORDS and isinstance(body, str) and _WORD.fullmatch(body) else body
