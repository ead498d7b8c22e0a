"""Messages from other processes. One connection carries all subscriptions of this process."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import msgspec

from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.channels import Channels
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.keys import RedisWire, Reply, happened
from mcp_binance_server.state.redis.link import TROUBLES, Link

LOG = logging.getLogger(__name__)

# Part of a call's deadline. After this time without a message, a PING is sent. After the same time again, the
# connection counts as lost.
QUIET_SHARE = 7 / 8
SEND_SECS = 0.2


@dataclass(slots=True, eq=False)
class _Standing:
    users: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False


class RedisSubscriptions:
    """Subscriptions of this process, with local queues for their messages.

    A lost connection ends every iterator with `EngineUnavailable`. Missed messages are lost. Only the subscriber knows
    which values to read after subscribing again.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._local = Channels()
        self._standing: dict[str, _Standing] = {}
        self._unconfirmed: dict[str, int] = {}
        self._connection: RedisWire | None = None
        self._reader: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def dropped(self) -> int:
        return self._local.dropped

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncGenerator[AsyncIterator[bytes]]:
        name = keys.channel(channel)
        async with self._local.subscribe(name) as messages:
            if self._closed:
                yield messages
                return
            standing = self._standing.get(name)
            if standing is None:
                standing = self._standing[name] = _Standing()
                await self._send("SUBSCRIBE", name)
            standing.users += 1
            try:
                await self._stand(standing)
                yield messages
            finally:
                standing.users -= 1
                if standing.users == 0 and self._standing.get(name) is standing:
                    del self._standing[name]
                    await self._send("UNSUBSCRIBE", name)

    async def close(self) -> None:
        self._closed = True
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait((self._reader,))
        self._local.close()

    async def _stand(self, standing: _Standing) -> None:
        if self._reader is None or self._reader.done():
            self._reader = asyncio.get_running_loop().create_task(self._read())
        if not await happened(standing.settled, within_secs=self._link.call_secs) or standing.broken:
            raise EngineUnavailable(operation="subscribe")

    async def _send(self, verb: str, *names: str) -> None:
        if self._connection is None:
            return
        if verb == "SUBSCRIBE":
            for name in names:
                self._unconfirmed[name] = self._unconfirmed.get(name, 0) + 1
        # The reader will soon notice a connection that cannot be written to.
        with suppress(*TROUBLES):
            async with asyncio.timeout(SEND_SECS):
                await self._connection.send_command(verb, *names, check_health=False)

    async def _read(self) -> None:
        connection: RedisWire | None = None
        try:
            connection = self._connection = await self._link.dial()
            if self._standing:
                await self._send("SUBSCRIBE", *self._standing)
            asked = False
            while True:
                reply = await connection.read_response(timeout=QUIET_SHARE * self._link.call_secs)
                if reply is not None:
                    asked = False
                    self._hear(reply)
                elif asked:
                    raise TimeoutError
                else:
                    asked = True
                    await connection.send_command("PING", check_health=False)
        except TROUBLES as error:
            LOG.info("The connection of the subscriptions was lost: %s", type(error).__name__)
        finally:
            self._connection = None
            self._break()
            if connection is not None:
                await connection.disconnect(nowait=True)

    def _hear(self, reply: Reply) -> None:
        kind, *rest = msgspec.convert(reply, list[bytes | int])
        name = rest[0].decode() if rest and isinstance(rest[0], bytes) else ""
        if kind == b"message" and isinstance(rest[1], bytes):
            self._local.publish(name, rest[1])
        elif kind == b"subscribe":
            # The reply may belong to an earlier subscription that was abandoned before it was confirmed.
            self._unconfirmed[name] -= 1
            if not self._unconfirmed[name]:
                del self._unconfirmed[name]
                if name in self._standing:
                    self._standing[name].settled.set()

    def _break(self) -> None:
        standing, self._standing = self._standing, {}
        self._unconfirmed.clear()
        for each in standing.values():
            each.broken = True
            each.settled.set()
        if not self._closed:
            self._local.break_off(EngineUnavailable(operation="subscribe"))
