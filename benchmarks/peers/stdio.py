"""A raw JSON-RPC client over the stdio of a server: no SDK, so that every byte can be counted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import IO, Any, cast

Json = dict[str, Any]
INITIALIZE: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}


class Gone(RuntimeError):
    """The server ended, or did not answer in time."""


class StdioServer:
    """Start a server in an empty folder with a bare environment; `async with` ends it."""

    def __init__(self, command: list[str], env: dict[str, str], stderr: int | IO[Any] = DEVNULL) -> None:
        self.command, self.env, self.stderr = command, env, stderr
        self.impure: list[bytes] = []  # stdout lines that are not JSON-RPC
        self.last_id = 0
        self.start_secs = 0.0
        self.about: Json = {}

    async def __aenter__(self) -> StdioServer:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # No user settings and no real keys: HOME and the working folder are empty.
        base = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.folder.name}
        began = time.perf_counter()
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=self.stderr,
            env=base | self.env,
            cwd=self.folder.name,
            limit=2**26,
        )
        try:
            reply, _ = await self.call("initialize", INITIALIZE)
        except Gone:
            await self.__aexit__()
            raise
        self.start_secs = time.perf_counter() - began
        self.about = reply.get("result", {})
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            async with asyncio.timeout(5):
                await self.process.communicate()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        self.folder.cleanup()

    async def send(self, message: Json) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            await self.process.stdin.drain()
        except ConnectionError:
            raise Gone(f"the server ended, exit code {await self.process.wait()}") from None

    async def call(self, method: str, params: Json, wait: float = 60) -> tuple[Json, int]:
        """Return the reply to this request and its size in bytes on the wire."""
        assert self.process.stdout
        self.last_id += 1
        await self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(wait):
                while line := await self.process.stdout.readline():
                    message = _message(line)
                    if message is None:
                        self.impure.append(line)
                    elif message.get("id") == self.last_id and "method" not in message:
                        return message, len(line)
        except TimeoutError:
            raise Gone(f"no answer to {method} in {wait:g} s") from None
        raise Gone(f"the server ended, exit code {await self.process.wait()}")

    async def list_all(self, method: str, key: str) -> tuple[list[Json], int]:
        found: list[Json] = []
        size, cursor = 0, None
        while True:
            reply, length = await self.call(method, {"cursor": cursor} if cursor else {})
            size += length
            found += reply.get("result", {}).get(key, [])
            if not (cursor := reply.get("result", {}).get("nextCursor")):
                return found, size

    def rss_mb(self) -> float:
        """Return the memory of the process and of those it started; 0 where there is no /proc."""
        pages = 0
        for pid in _family(self.process.pid):
            with contextlib.suppress(OSError):
                pages += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _family(pid: int) -> list[int]:
    found = [pid]
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in path.read_text(encoding="ascii").split():
                found += _family(int(child))
    return found


def _message(line: bytes) -> Json | None:
    try:
        read = json.loads(line)
    except ValueError:
        return None
    if not isinstance(read, dict):
        return None
    message = cast("Json", read)
    return message if message.get("jsonrpc") == "2.0" else None


def is_error(reply: Json) -> bool:
    return "error" in reply or reply.get("result", {}).get("isError") is True
