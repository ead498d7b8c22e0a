"""Load over Streamable HTTP: a raw keep-alive client, one connection per simulated client."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from measuring import HANDSHAKE, INITIALIZE, INITIALIZED, MODERN, SLICES, Calls, Row, Window, checked, cpu_seconds


@dataclass
class HttpSide:
    name: str
    url: str
    calls: Calls
    pid: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "127.0.0.1", parts.port or 80

    def encode(self, message: dict[str, Any], extra: dict[str, str]) -> bytes:
        host, port = self.address
        body = json.dumps(message).encode()
        headers = {
            "host": f"{host}:{port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "content-length": str(len(body)),
            **self.headers,
            **extra,
        }
        head = f"POST {urlsplit(self.url).path or '/'} HTTP/1.1\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in headers.items()
        )
        return head.encode() + b"\r\n" + body


@dataclass
class Reply:
    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.encode():
                return value.strip().decode()
        return ""

    def message(self) -> dict[str, Any]:
        if self.header("content-type").startswith("text/event-stream"):
            data = [
                line[5:].strip() for line in self.body.splitlines() if line.startswith(b"data:") and line[5:].strip()
            ]
            return json.loads(data[-1])
        return json.loads(self.body)


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    head = await reader.readuntil(b"\r\n\r\n")
    reply = Reply(int(head[9:12]), head, b"")
    if length := reply.header("content-length"):
        reply.body = await reader.readexactly(int(length))
    elif reply.header("transfer-encoding").lower() == "chunked":
        parts: list[bytes] = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            parts.append((await reader.readexactly(size + 2))[:-2])
        await reader.readexactly(2)
        reply.body = b"".join(parts)
    return reply


class Connection:
    def __init__(self, side: HttpSide, mode: str, kind: str) -> None:
        self.side, self.mode, self.kind = side, mode, kind
        self.content_type = ""

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(*self.side.address)
        extra = {"mcp-protocol-version": HANDSHAKE}
        if self.mode == "modern":
            method, _, name = self.side.calls.parts(self.kind)
            extra = {"mcp-protocol-version": MODERN, "mcp-method": method, "mcp-name": name}
        elif self.mode == "stateful":
            reply = await self.exchange(self.side.encode(INITIALIZE, {}))
            if reply.status != 200:
                raise SystemExit(f"{self.side.name} initialize: HTTP {reply.status} {reply.body[:300]!r}")
            extra["mcp-session-id"] = reply.header("mcp-session-id")
            await self.exchange(self.side.encode(INITIALIZED, extra))
        self.payload = self.side.encode(self.side.calls.request(self.kind, 1, modern=self.mode == "modern"), extra)
        for _ in range(5):  # the first few warm the server up
            reply = await self.exchange(self.payload)
            self.content_type = reply.header("content-type").split(";")[0]
            if reply.status != 200:
                raise SystemExit(f"{self.side.name} {self.mode} {self.kind}: HTTP {reply.status} {reply.body[:300]!r}")
            checked(reply.message(), f"{self.side.name} {self.mode} {self.kind}")

    async def exchange(self, payload: bytes) -> Reply:
        self.writer.write(payload)
        return await read_reply(self.reader)

    async def drive(self, until: float, latencies: list[float]) -> None:
        while (before := time.perf_counter()) < until:
            await self.exchange(self.payload)
            latencies.append(time.perf_counter() - before)


async def window(side: HttpSide, connections: list[Connection], seconds: float) -> Window:
    latencies: list[float] = []
    cpu = cpu_seconds(side.pid) if side.pid else 0.0
    started = time.perf_counter()
    await asyncio.gather(*(c.drive(started + seconds, latencies) for c in connections))
    wall = time.perf_counter() - started
    return Window(latencies, wall, [(cpu_seconds(side.pid) - cpu) / len(latencies)] if side.pid else [])


async def run(
    bare: HttpSide, ours: HttpSide, modes: list[str], kinds: list[str], clients: list[int], rounds: int, seconds: float
) -> list[Row]:
    rows: list[Row] = []
    for mode in modes:
        for kind in kinds:
            for count in clients:
                row = Row(f"http {mode} {kind} c={count}")
                open_: dict[str, list[Connection]] = {}
                for side in (bare, ours):
                    open_[side.name] = [Connection(side, mode, kind) for _ in range(count)]
                    await asyncio.gather(*(c.open() for c in open_[side.name]))
                    await window(side, open_[side.name], min(seconds, 0.5))  # warm-up
                kinds_of_answer = {side.name: open_[side.name][0].content_type for side in (bare, ours)}
                if len(set(kinds_of_answer.values())) > 1:
                    print(f"WARNING {row.case}: unequal answers {kinds_of_answer}; set --response to match")
                for _ in range(rounds):
                    taken: dict[str, list[Window]] = {"bare": [], "ours": []}
                    for number in range(SLICES):
                        for side in (bare, ours) if number % 2 == 0 else (ours, bare):
                            taken[side.name].append(await window(side, open_[side.name], seconds / SLICES))
                    row.bare.append(Window.joined(taken["bare"]))
                    row.ours.append(Window.joined(taken["ours"]))
                for connection in [c for group in open_.values() for c in group]:
                    connection.writer.close()
                rows.append(row)
    return rows
