"""The least HTTP client that can hold a server to its word: one connection, one request at a time, no library."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from support.raw import ENVELOPE

MODERN = "2026-07-28"
PATIENCE_SECS = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, the headers in lower case, and what came with them."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def complaint(self) -> str:
        """What was wrong with it, in a word; empty if it is the answer that was asked for."""
        if self.status not in (200, 202):
            return f"http {self.status}"
        if not self.body:
            return ""
        answer: dict[str, Any] = json.loads(self.body)
        if "error" in answer:
            told: dict[str, Any] = answer["error"].get("data") or {}
            return str(told.get("error_type") or answer["error"]["code"])
        result = answer.get("result", {})
        return str(result.get("structuredContent", {}).get("error_type", "tool error")) if result.get("isError") else ""


@dataclass
class Line:
    """A connection of one caller, opened when it is needed."""

    port: int
    token: str
    reader: asyncio.StreamReader | None = field(default=None, repr=False)
    writer: asyncio.StreamWriter | None = field(default=None, repr=False)

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, method: str, headers: dict[str, str], message: dict[str, Any] | None = None) -> Reply:
        """Send one request and take its whole answer; a connection that is gone is opened again, once."""
        async with asyncio.timeout(PATIENCE_SECS):
            if self.writer is None or self.writer.is_closing() or (self.reader and self.reader.at_eof()):
                await self.connect()
            status, told = await self.begin(method, headers, message)
            assert self.reader is not None
            body = await self.reader.readexactly(int(told.get("content-length", 0)))
            if told.get("connection") == "close":
                self.close()
            return Reply(status, told, body)

    async def begin(
        self, method: str, headers: dict[str, str], message: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, str]]:
        """Send one request and read the head of its answer."""
        assert self.reader is not None
        assert self.writer is not None
        body = b"" if message is None else json.dumps(message).encode()
        lines = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.writer.write(f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        await self.writer.drain()
        first, *rest = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        pairs = (line.partition(": ") for line in rest if line)
        return int(first.split()[1]), {name.lower(): value for name, _, value in pairs}

    async def next_event(self) -> bytes:
        """Return the next piece of a stream of events; empty at its end."""
        assert self.reader is not None
        size = int((await self.reader.readline()).strip() or b"0", 16)
        piece = await self.reader.readexactly(size + 2)
        return piece[:-2]

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


def stateless(method: str, params: dict[str, Any], name: str = "") -> tuple[dict[str, str], dict[str, Any]]:
    """Return the headers and the message of a request of 2026-07-28."""
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": ENVELOPE}}


def call(tool: str, **arguments: object) -> tuple[dict[str, str], dict[str, Any]]:
    return stateless("tools/call", {"name": tool, "arguments": arguments}, tool)


def listen(*uris: str) -> tuple[dict[str, str], dict[str, Any]]:
    return stateless("subscriptions/listen", {"notifications": {"resourceSubscriptions": [*uris]}})


async def ordered(line: Line, quantity: str) -> tuple[Reply, Reply | None]:
    """Preview a small order, and place it if that is allowed."""
    order = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quantity": quantity}
    preview = await line.ask("POST", *call("preview_order", **order))
    told: dict[str, Any] = json.loads(preview.body or b"{}").get("result", {}).get("structuredContent", {})
    if not (preview_id := told.get("preview_id")):
        return preview, None
    return preview, await line.ask("POST", *call("place_order", preview_id=preview_id))
