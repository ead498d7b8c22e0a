"""One production per key over all workers, shared by all concurrent callers."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import fields
from itertools import count
from typing import Any
from uuid import uuid4

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError, EngineUnavailable
from mcp_binance_server.state.engine import check_size
from mcp_binance_server.state.expiry import Expiring
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import BOARD, HOLD, LAND, pause
from mcp_binance_server.state.redis.link import Link

LOG = logging.getLogger(__name__)

# Polling interval. A poll costs a tenth of a millisecond and, unlike a message, cannot be missed.
FIRST_POLL_SECS = 0.005
LONGEST_POLL_SECS = 0.05
# TTL of a lock in ms. The lock is renewed during the production. A process that died, or does not know that it has the
# lock, blocks others no longer than the TTL.
HOLD_MS = 1_500
HOLD_EVERY_SECS = 0.4
# Time in ms in which the waiting callers must read an outcome.
TELL_MS = 5_000
# Time in ms for which values of the server are cached locally. Without the cache, a request to the server is a third of
# a call's cost. A value that another process deletes stays visible for this time.
AT_HAND_MS = 1_000

VALUE = b"v"
ERROR = b"e"


class SharedFlights:
    """Productions of a fleet.

    Callers of one process share a task. The tasks of all processes share a lock and an outcome.
    """

    def __init__(self, link: Link, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._local = Flights[bytes](clock)
        self._at_hand = Expiring[str, bytes]()
        self._process = uuid4().hex
        self._numbers = count()

    async def join(
        self, key: str, produce: Callable[[], Awaitable[bytes]], *, ttl_ms: int, lock_ms: int, or_alone: bool = False
    ) -> bytes:
        kept = self._at_hand.get(key, self._clock.monotonic_ms())
        if kept is not None:
            return kept
        return await self._local.join(
            key, lambda: self._fly(key, produce, ttl_ms, lock_ms, or_alone=or_alone), lock_ms=lock_ms
        )

    def forget(self, key: str) -> None:
        """Drop the local copy of a key. The next call asks the server."""
        self._at_hand.drop(key, self._clock.monotonic_ms())

    async def close(self) -> None:
        await self._local.close()

    async def _fly(
        self, key: str, produce: Callable[[], Awaitable[bytes]], ttl_ms: int, lock_ms: int, *, or_alone: bool
    ) -> bytes:
        own, awaited = f"{self._process}-{next(self._numbers)}", ""
        poll_secs = FIRST_POLL_SECS
        while True:
            named, began_ms = (keys.value(key), keys.lock(key), keys.outcome(awaited)), self._clock.monotonic_ms()
            try:
                reply = await self._link.run("single_flight", BOARD, named, own, _at_a_time(lock_ms), awaited)
            except EngineUnavailable:
                if not or_alone:
                    raise
                return await self._produce_alone(key, produce, ttl_ms)
            answer, *rest = msgspec.convert(reply, list[bytes])
            if answer == b"taken":
                until_ms = began_ms + lock_ms
                async with self._holding(key, own, until_ms):
                    return await self._produce(key, own, produce, ttl_ms)
            if answer == b"landed":
                return opened(rest[0])
            if answer == b"kept":
                self._keep(key, rest[0], began_ms, int(rest[1]))
                return rest[0]
            awaited = rest[0].decode()
            await pause(poll_secs)
            poll_secs = min(LONGEST_POLL_SECS, poll_secs * 1.5)

    async def _produce(self, key: str, own: str, produce: Callable[[], Awaitable[bytes]], ttl_ms: int) -> bytes:
        try:
            value = await produce()
            check_size(value)
        except asyncio.CancelledError:
            await self._land(key, own, b"", 0)
            raise
        except Exception as error:
            # An error that concerns only the producer is not shared. Another waiting caller then becomes the producer.
            for_one = isinstance(error, AppError) and error.concerns_one
            await self._land(key, own, b"" if for_one else of_error(error), 0)
            raise
        began_ms, keep_ms = self._clock.monotonic_ms(), max(1, ttl_ms - 1) if ttl_ms > 0 else 0
        if await self._land(key, own, of_value(value), keep_ms):
            self._keep(key, value, began_ms, keep_ms)
        return value

    async def _produce_alone(self, key: str, produce: Callable[[], Awaitable[bytes]], ttl_ms: int) -> bytes:
        value = await produce()
        check_size(value)
        if ttl_ms > 0:
            self._keep(key, value, self._clock.monotonic_ms(), ttl_ms)
        return value

    @asynccontextmanager
    async def _holding(self, key: str, own: str, until_ms: float) -> AsyncGenerator[None]:
        """Hold the lock while the context is open, but not beyond `until_ms`."""
        holding = asyncio.get_running_loop().create_task(self._hold(key, own, until_ms))
        try:
            yield
        finally:
            holding.cancel()
            await asyncio.wait((holding,))

    async def _hold(self, key: str, own: str, until_ms: float) -> None:
        await pause(HOLD_EVERY_SECS)
        while (left_ms := int(until_ms - self._clock.monotonic_ms())) > 0:
            with suppress(EngineUnavailable):
                if await self._link.run("single_flight", HOLD, (keys.lock(key),), own, _at_a_time(left_ms)) == 0:
                    return
            await pause(HOLD_EVERY_SECS)

    def _keep(self, key: str, value: bytes, began_ms: float, left_ms: int) -> None:
        # The time counts from before the request, so the copy never outlives the value on the server.
        self._at_hand.put(key, value, deadline=began_ms + min(left_ms, AT_HAND_MS), now=self._clock.monotonic_ms())

    async def _land(self, key: str, own: str, told: bytes, keep_ms: int) -> bool:
        named = (keys.value(key), keys.lock(key), keys.outcome(own))
        try:
            await self._link.run("single_flight", LAND, named, own, told, keep_ms, TELL_MS)
        except EngineUnavailable:
            # Callers in this process have the result. Other processes take over when the lock expires.
            LOG.info("A result could not be sent to other processes")
            return False
        return True


def _at_a_time(lock_ms: int) -> int:
    return max(1, min(lock_ms, HOLD_MS))


def of_value(value: bytes) -> bytes:
    return VALUE + value


def of_error(error: Exception) -> bytes:
    """Encode an error: an `AppError` with its fields, a `ValueError` with its text, any other error without a text."""
    name, content = "", dict[str, Any]()
    if isinstance(error, AppError):
        name, content = type(error).__name__, {item.name: getattr(error, item.name) for item in fields(error)}
    elif isinstance(error, ValueError):
        name, content = "ValueError", {"text": str(error)}
    return ERROR + msgspec.json.encode([name, content])


def opened(outcome: bytes) -> bytes:
    """Return the value of an outcome, or raise its error.

    Raises:
        AppError: the producer's error, or "Internal error" if the producer raised another exception.
        ValueError: the value was refused.
    """
    if outcome[:1] == VALUE:
        return outcome[1:]
    name, content = msgspec.json.decode(outcome[1:], type=tuple[str, dict[str, Any]])
    if name == "ValueError":
        raise ValueError(content.get("text", ""))
    raise _ours(name, content)


def _ours(name: str, content: dict[str, Any]) -> AppError:
    kind = next((each for each in _below(AppError) if each.__name__ == name), AppError)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError:
        # The error comes from another version of this program, with other fields.
        return AppError()


def _below(kind: type[AppError]) -> list[type[AppError]]:
    return [each for child in kind.__subclasses__() for each in (child, *_below(child))]
