"""Identity, age and clock of the state server's memory. A server that lost its data has a new memory."""

import asyncio
from collections.abc import Awaitable, Callable
from math import ceil
from uuid import uuid4

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import GREET, RedisWire, Reply
from mcp_binance_server.state.redis.link import Link

# Time in ms after a loss in which a new memory gives no new places. The former members come back first, because every
# process checks for a new memory twice a second.
SETTLE_MS = 1_250
OTHER_MEMORY: Reply = [-3]
CATCH_UP_SECS = 0.25


class Memory:
    """Memory of the state server, as reported to this process."""

    def __init__(self, clock: Clock) -> None:
        self.id = ""
        self._clock = clock
        self._offset_ms = clock.now_ms() - clock.monotonic_ms()
        self._lost_at_ms: float | None = None
        self._watched: list[str] = []
        self._stops: dict[str, float] = {}

    def now_ms(self) -> float:
        return self._clock.monotonic_ms() + self._offset_ms

    @property
    def lost_ms_ago(self) -> float | None:
        """Milliseconds since this memory replaced a lost memory. None if no process knew an earlier memory."""
        return None if self._lost_at_ms is None else self._clock.monotonic_ms() - self._lost_at_ms

    def watch(self, stop: str) -> None:
        """Include a stop's key in each greeting."""
        self._watched.append(stop)

    def stop_left_ms(self, stop: str) -> int:
        """Return the remaining time of a reported stop, in ms."""
        return max(0, ceil(self._stops.get(stop, 0.0) - self._clock.monotonic_ms()))

    async def greet(self, connection: RedisWire) -> None:
        """Do the handshake and greet the server, before any other command on a connection."""
        await connection.on_connect()
        asked_ms = self._clock.monotonic_ms()
        await connection.send_command(*self._greeting(), check_health=False)
        self._hear(await connection.read_response(), asked_ms=asked_ms)

    async def ask(self, link: Link) -> None:
        """Greet again, even while the server is lost.

        Raises:
            EngineUnavailable: the server does not answer, or is not the primary.
        """
        asked_ms = self._clock.monotonic_ms()
        self._hear(await link.call("greet", *self._greeting(), probe=True), asked_ms=asked_ms)

    async def shared(self, link: Link, operation: str, ask: Callable[[], Awaitable[Reply]]) -> list[int]:
        """Send a request for numbers, as `answered` does.

        Raises:
            EngineUnavailable: the server does not answer.
        """
        return msgspec.convert(await self.answered(link, operation, ask), list[int])

    async def answered(self, link: Link, operation: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Send a request with the ID of the memory.

        If the server has another memory, it refuses; then greet it and send the request again.

        Raises:
            EngineUnavailable: the server does not answer.
        """
        reply = await ask()
        if reply != OTHER_MEMORY:
            return reply
        try:
            async with asyncio.timeout(CATCH_UP_SECS):
                while reply == OTHER_MEMORY:
                    await self.ask(link)
                    reply = await ask()
        except TimeoutError:
            raise EngineUnavailable(operation=operation) from None
        return reply

    def _greeting(self) -> tuple[str | int, ...]:
        # Send the whole script, because a new server does not have it.
        named = (keys.MEMORY, *self._watched)
        return ("EVAL", GREET.text, len(named), *named, uuid4().hex, self.id, SETTLE_MS)

    def _hear(self, reply: Reply, *, asked_ms: float) -> None:
        found, born_ms, follows, seconds, micros, stops = msgspec.convert(
            reply, tuple[bytes, int, int, int, int, list[int]]
        )
        now_ms = self._clock.monotonic_ms()
        for stop, left_ms in zip(self._watched, stops, strict=False):
            # A memory that was emptied does not have the stops that still apply.
            self._stops[stop] = max(self._stops.get(stop, 0.0), now_ms + left_ms)
        server_ms = seconds * 1000 + micros / 1000
        self._set_time(server_ms, asked_ms, now_ms)
        self.id = found.decode()
        # This also applies to processes that started later, because the loss affects all processes.
        if follows:
            self._lost_at_ms = now_ms - max(0.0, server_ms - born_ms)

    def _set_time(self, server_ms: float, asked_ms: float, now_ms: float) -> None:
        middle_ms, error_ms = (asked_ms + now_ms) / 2, (now_ms - asked_ms) / 2
        measured_ms = server_ms - middle_ms
        # Ignore differences within the travel time, otherwise every greeting would move the clock a little.
        if abs(measured_ms - self._offset_ms) > error_ms:
            self._offset_ms = measured_ms
