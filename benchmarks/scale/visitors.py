"""Clients of a real fleet, cheap enough to run beside it: a session each, a call, a pause."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fleet_load import CALLS
from mcp_binance_server.clock import SystemClock
from support.webapp import initialize, request
from worker_load import posted

CLOCK = SystemClock()
# The server closes a connection after five idle seconds; a careful client does not meet it at that moment.
KEPT_MS = 4_000
PATIENCE_SECS = 60
TRIES = 5


@dataclass
class Heard:
    """What the clients saw since somebody last looked."""

    took_ms: list[float] = field(default_factory=list[float])
    began_ms: list[int] = field(default_factory=list[int])
    failed: Counter[str] = field(default_factory=Counter[str])
    dialled: int = 0
    answered_bytes: int = 0

    def clear(self) -> None:
        self.took_ms, self.began_ms, self.failed, self.dialled, self.answered_bytes = [], [], Counter(), 0, 0


class Visitor:
    """One session, on a connection of its own while it is not idle for long."""

    def __init__(self, port: int, heard: Heard, address: str = "") -> None:
        """With an address it comes through a proxy, as somebody of their own; without, all are one caller."""
        self._port, self._heard = port, heard
        self._named = {"x_forwarded_for": address} if address else {}
        self._session: dict[str, str] = {}
        self._line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._spoke_ms = 0.0

    async def open(self) -> None:
        """Shake hands; a server that is busy is asked again, as it wishes."""
        status, headers, body = await self._exchange(posted(initialize(), **self._named))
        for _ in range(TRIES):
            if status != 503:
                break
            await CLOCK.sleep_ms(1_000)
            status, headers, body = await self._exchange(posted(initialize(), **self._named))
        if status != 200:
            raise SystemExit(f"a session was refused with {status}: {body[:300].decode()}")
        self._session = {"mcp_session_id": headers["mcp-session-id"], **self._named}

    async def call(self, tool: str, arguments: dict[str, Any]) -> None:
        sent = posted(request("tools/call", {"name": tool, "arguments": arguments}), **self._session)
        began, began_at_ms = CLOCK.monotonic_ms(), CLOCK.now_ms()
        try:
            async with asyncio.timeout(PATIENCE_SECS):
                status, _, body = await self._exchange(sent)
        except (OSError, EOFError, TimeoutError) as error:
            self._heard.failed[type(error).__name__] += 1
            self.close()
            return
        self._heard.took_ms.append(CLOCK.monotonic_ms() - began)
        self._heard.began_ms.append(began_at_ms)
        self._heard.answered_bytes += len(body)
        if status != 200 or b'"isError":true' in body:
            self._heard.failed[f"{status} {body[:200].decode()}"] += 1

    async def live(self, symbols: list[str], pause_secs: float, chance: Random) -> None:
        """Call and pause until cancelled."""
        await CLOCK.sleep_ms(chance.uniform(0, pause_secs * 1000))
        while True:
            tool, arguments = chance.choice(CALLS)
            await self.call(tool, {"symbol": chance.choice(symbols), **arguments})
            await CLOCK.sleep_ms(chance.uniform(0.5, 1.5) * pause_secs * 1000)

    def close(self) -> None:
        if self._line is not None:
            self._line[1].close()
            self._line = None

    async def _exchange(self, sent: bytes) -> tuple[int, dict[str, str], bytes]:
        if CLOCK.monotonic_ms() - self._spoke_ms > KEPT_MS:
            self.close()
        if self._line is None:
            self._line = await asyncio.open_connection("127.0.0.1", self._port)
            self._heard.dialled += 1
        reader, writer = self._line
        writer.write(sent)
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await _body(reader, headers)
        self._spoke_ms = CLOCK.monotonic_ms()
        return int(status.split()[1]), headers, body


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    parts = list[bytes]()
    while size := int(await reader.readline(), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readline()
    return b"".join(parts)
