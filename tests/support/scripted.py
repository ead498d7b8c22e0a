"""WebSocket connections that say what a test puts into them, and keep what they were told."""

import asyncio
from typing import Any

import msgspec


class ScriptedConnection:
    """A connection that says what a test puts into it."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.is_closed = False
        self._said: asyncio.Queue[bytes | None] = asyncio.Queue()

    def say(self, text: bytes) -> None:
        self._said.put_nowait(text)

    def cut(self) -> None:
        self._said.put_nowait(None)

    async def send(self, text: str) -> None:
        self.sent.append(msgspec.json.decode(text))

    async def recv(self) -> bytes:
        text = await self._said.get()
        if text is None:
            raise ConnectionError("cut")
        return text

    async def close(self) -> None:
        self.is_closed = True


class ScriptedDialer:
    """Opens them at one address, unless it is told to fail."""

    def __init__(self, url: str) -> None:
        self.connections: list[ScriptedConnection] = []
        self.attempts = 0
        self.fails = False
        self._url = url

    async def connect(self, url: str) -> ScriptedConnection:
        assert url == self._url
        self.attempts += 1
        if self.fails:
            raise ConnectionRefusedError("nobody there")
        self.connections.append(ScriptedConnection())
        return self.connections[-1]
