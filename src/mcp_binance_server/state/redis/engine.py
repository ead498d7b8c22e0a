"""State engine of a fleet. Every decision is made on one server, in one atomic step."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress

import msgspec

from mcp_binance_server.clock import Clock, SystemClock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.claims import AccountBook, AccountStop, Claim, ClaimNews, ClaimRoom, Reservation
from mcp_binance_server.state.engine import (
    MAX_SHELVED_BYTES,
    Admission,
    CallKind,
    Fenced,
    Grant,
    Lease,
    Reserves,
    check_size,
    check_ttl,
)
from mcp_binance_server.state.logs import LogMark, LogPart, check_tag
from mcp_binance_server.state.redis import keys
from mcp_binance_server.state.redis.channels import RedisSubscriptions
from mcp_binance_server.state.redis.claims import FENCED, SharedClaims
from mcp_binance_server.state.redis.flight import SharedFlights
from mcp_binance_server.state.redis.keys import LEASE, ON_SHELF, PUT_FENCED, RELEASE, SHELVE, SHELVED, happened
from mcp_binance_server.state.redis.limits import SharedLedger, SharedPlaces
from mcp_binance_server.state.redis.link import CALL_SECS, MAX_CONNECTIONS, Link, StateAddress
from mcp_binance_server.state.redis.logs import SharedLogs
from mcp_binance_server.state.redis.memory import Memory
from mcp_binance_server.state.weight import EDGE_MS

PULSE_SECS = 0.5
SEARCH_SECS = 0.25


class RedisEngine:
    """A StateEngine for many processes behind one address.

    Twice a second, a heartbeat asks for the ID of the server's memory. While the server is lost, only the heartbeat
    tries to reach it.
    """

    def __init__(
        self,
        address: StateAddress,
        clock: Clock,
        *,
        reserves: Reserves | None = None,
        edge_ms: int = EDGE_MS,
        max_connections: int = MAX_CONNECTIONS,
        call_secs: float = CALL_SECS,
    ) -> None:
        self._memory = Memory(clock)
        self._link = Link(address, clock, self._memory.greet, max_connections=max_connections, call_secs=call_secs)
        self._ledger = SharedLedger(self._link, self._memory, clock, reserves or Reserves(), edge_ms=edge_ms)
        self._places = SharedPlaces(self._link, self._memory, clock)
        self._claims = SharedClaims(self._link, self._memory)
        self._logs = SharedLogs(self._link)
        self._subscriptions = RedisSubscriptions(self._link)
        self._flights = SharedFlights(self._link, clock)
        self._closing = asyncio.Event()
        self._pulse: asyncio.Task[None] | None = None

    @classmethod
    def from_url(cls, url: str, clock: Clock | None = None, *, max_connections: int = MAX_CONNECTIONS) -> "RedisEngine":
        """Create an engine for a redis://, rediss:// or unix:// address.

        Raises:
            SettingsError: the address cannot be used.
        """
        return cls(StateAddress.parse(url), clock or SystemClock(), max_connections=max_connections)

    def __repr__(self) -> str:
        return f"RedisEngine({self._link!r})"

    async def start(self) -> None:
        """Greet the server and start the heartbeat. Until the server is reached, calls raise `EngineUnavailable`."""
        with suppress(EngineUnavailable):
            await self._memory.ask(self._link)
        self._pulse = asyncio.get_running_loop().create_task(self._beat())

    async def close(self) -> None:
        self._closing.set()
        if self._pulse is not None:
            await asyncio.wait((self._pulse,))
        await self._subscriptions.close()
        await self._flights.close()
        await self._link.close()

    def now_ms(self) -> int:
        return int(self._memory.now_ms())

    @property
    def epoch(self) -> str:
        return self._memory.id

    @property
    def dropped_messages(self) -> int:
        """Number of messages that slow subscribers lost."""
        return self._subscriptions.dropped

    async def get(self, key: str) -> bytes | None:
        reply = await self._link.call("get", "GET", keys.value(key))
        return reply if isinstance(reply, bytes) else None

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        check_ttl(ttl_ms)
        check_size(value)
        self._flights.forget(key)
        await self._link.call("put", "SET", keys.value(key), value, "PX", _px(ttl_ms))

    async def delete(self, key: str) -> bool:
        self._flights.forget(key)
        return await self._link.call("delete", "DEL", keys.value(key)) == 1

    async def shelve(self, shelf: str, key: str, value: bytes, *, ttl_ms: int, most_bytes: int) -> None:
        check_ttl(ttl_ms)
        check_size(value, MAX_SHELVED_BYTES)
        await self._link.run("shelve", SHELVE, keys.shelf(shelf), key, value, ttl_ms, most_bytes)

    async def shelved(self, shelf: str, key: str) -> bytes | None:
        reply = await self._link.run("shelved", SHELVED, keys.shelf(shelf), key)
        return reply if isinstance(reply, bytes) else None

    async def on_shelf(self, shelf: str) -> dict[str, bytes]:
        reply = await self._link.run("on_shelf", ON_SHELF, keys.shelf(shelf))
        told = msgspec.convert(reply, list[bytes])
        return {key.decode(): value for key, value in zip(told[::2], told[1::2], strict=True)}

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        check_ttl(ttl_ms)
        named = (keys.lease(name), keys.newest_token(name))
        token = await self._link.run("lease", LEASE, named, owner, ttl_ms)
        return Lease(name=name, owner=owner, token=token.decode(), ttl_ms=ttl_ms) if isinstance(token, bytes) else None

    async def release(self, lease: Lease) -> bool:
        return await self._link.run("release", RELEASE, (keys.lease(lease.name),), lease.owner, lease.token) == 1

    async def put_fenced(self, key: str, value: bytes, *, lease: Lease, ttl_ms: int, channel: str = "") -> Fenced:
        check_ttl(ttl_ms)
        check_size(value)
        reply = await self._link.run(
            "put_fenced",
            PUT_FENCED,
            (keys.newest_token(lease.name), keys.value(key)),
            lease.token,
            value,
            _px(ttl_ms),
            keys.channel(channel) if channel else "",
        )
        return FENCED[msgspec.convert(reply, int)]

    async def publish(self, channel: str, payload: bytes) -> None:
        check_size(payload)
        await self._link.call("publish", "PUBLISH", keys.channel(channel), payload)

    def subscribe(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._subscriptions.subscribe(channel)

    async def single_flight(
        self, key: str, produce: Callable[[], Awaitable[bytes]], *, ttl_ms: int, lock_ms: int, or_alone: bool = False
    ) -> bytes:
        return await self._flights.join(key, produce, ttl_ms=ttl_ms, lock_ms=lock_ms, or_alone=or_alone)

    async def acquire_weight(
        self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, party: str = "", local_limit: int = 0
    ) -> Grant:
        return await self._ledger.acquire(
            ip, kind, cost, limit=limit, now_ms=now_ms, party=party, local_limit=local_limit
        )

    async def read_weight(self, ip: str, *, now_ms: int) -> int:
        return await self._ledger.used(ip, now_ms)

    async def report_weight(self, ip: str, used: int, *, minute: int) -> None:
        await self._ledger.report(ip, used, minute=minute)

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:
        await self._ledger.recall(ip, used, minute=minute)

    async def stop_weight(self, ip: str, *, ms: int, reason: str) -> int:
        return await self._ledger.stop(ip, ms=ms, reason=reason)

    async def admit(
        self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str = "", channel: str = ""
    ) -> Admission:
        check_ttl(ttl_ms)
        return await self._places.admit(pool, member, ttl_ms=ttl_ms, cap=cap, party=party, channel=channel)

    async def take_share(
        self, pool: str, member: str, *, party: str, ttl_ms: int, cap: int, newcomers: int
    ) -> Admission:
        check_ttl(ttl_ms)
        return await self._places.take_share(pool, member, party=party, ttl_ms=ttl_ms, cap=cap, newcomers=newcomers)

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        check_ttl(ttl_ms)
        return await self._places.touch(pool, member, ttl_ms=ttl_ms)

    async def leave(self, pool: str, member: str) -> None:
        await self._places.leave(pool, member)

    async def members(self, pool: str) -> int:
        return await self._places.count(pool)

    async def reserve(
        self, account: str, claim: Claim, *, room: ClaimRoom | None = None, alike_ms: int = 0
    ) -> Reservation:
        return await self._claims.reserve(account, claim, room, alike_ms)

    async def depart(self, account: str, news: ClaimNews) -> Reservation:
        return await self._claims.depart(account, news)

    async def tell(self, account: str, news: ClaimNews) -> bool:
        return await self._claims.tell(account, news)

    async def recount(
        self, account: str, claims: Sequence[tuple[Claim, ClaimNews]], *, lease: Lease | None = None
    ) -> Fenced:
        return await self._claims.recount(account, claims, lease)

    async def account_book(self, account: str, *, now_ms: int, since_ms: int) -> AccountBook:
        return await self._claims.book(account, now_ms, since_ms)

    async def find_claim(self, account: str, name: str) -> bytes | None:
        return await self._claims.find(account, name)

    async def stop_account(
        self, account: str, why: str, *, since_ms: int, allows_exits: bool = True
    ) -> AccountStop | None:
        return await self._claims.stop(account, why, since_ms, allows_exits=allows_exits)

    async def resume_account(self, account: str, *, now_ms: int) -> None:
        await self._claims.resume(account, now_ms)

    async def append_log(self, log: str, entry: bytes, *, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        check_ttl(ttl_ms)
        check_size(entry)
        check_tag(tag)
        return await self._logs.append(log, entry, after, tag, _px(ttl_ms))

    async def read_log(self, log: str, *, after: LogMark) -> LogPart:
        return await self._logs.since(log, after)

    async def trim_log(self, log: str, snapshot: bytes, *, at: LogMark, ttl_ms: int) -> bool:
        check_ttl(ttl_ms)
        check_size(snapshot, MAX_SHELVED_BYTES)
        return await self._logs.trim(log, snapshot, at, _px(ttl_ms))

    async def _beat(self) -> None:
        while not await happened(self._closing, within_secs=SEARCH_SECS if self._link.lost else PULSE_SECS):
            with suppress(EngineUnavailable):
                await self._memory.ask(self._link)
                await self._places.restate()
                await self._ledger.local.renew()


def _px(ttl_ms: int) -> int:
    # The server keeps a key through its last millisecond. The minimum that it accepts is 1 ms.
    return max(1, ttl_ms - 1)
