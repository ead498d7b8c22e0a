"""State engine of one process: dicts and a monotonic clock.

No locks are needed, because everything runs on one event loop and no decision awaits.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from math import ceil
from uuid import uuid4

from mcp_binance_server.clock import Clock
from mcp_binance_server.state.channels import Channels
from mcp_binance_server.state.claims import (
    AccountBook,
    AccountClaims,
    AccountStop,
    Claim,
    ClaimNews,
    ClaimRoom,
    Reservation,
)
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
from mcp_binance_server.state.expiry import Expiring, ValueShelf
from mcp_binance_server.state.flight import Flights
from mcp_binance_server.state.logs import LogMark, LogPart, MemoryLog, check_tag
from mcp_binance_server.state.pace import gives_way
from mcp_binance_server.state.weight import EDGE_MS, Ledger, outgrown


class MemoryEngine:
    """A StateEngine for a server that is alone behind its address. It loses everything when the process ends."""

    def __init__(self, clock: Clock, *, reserves: Reserves | None = None, edge_ms: int = EDGE_MS) -> None:
        self._clock = clock
        self._offset_ms = clock.now_ms() - clock.monotonic_ms()
        self._epoch = uuid4().hex
        self._values: Expiring[str, bytes] = Expiring()
        self._leases: Expiring[str, Lease] = Expiring()
        self._newest_tokens: dict[str, int] = {}
        self._pools: dict[str, Expiring[str, str]] = {}  # parties of the members, by pool
        self._shelves: dict[str, ValueShelf] = {}
        self._accounts: dict[str, AccountClaims] = {}
        self._logs: Expiring[str, MemoryLog] = Expiring()
        self._channels = Channels()
        self._flights = Flights[bytes](clock)
        self._ledger = Ledger(reserves or Reserves(), edge_ms=edge_ms)

    async def start(self) -> None:
        """Return at once, because dicts are always ready."""

    async def close(self) -> None:
        self._channels.close()
        await self._flights.close()

    def now_ms(self) -> int:
        return int(self._clock.monotonic_ms() + self._offset_ms)

    @property
    def epoch(self) -> str:
        return self._epoch

    @property
    def dropped_messages(self) -> int:
        """Number of messages that slow subscribers lost."""
        return self._channels.dropped

    async def get(self, key: str) -> bytes | None:
        return self._values.get(key, self._clock.monotonic_ms())

    async def put(self, key: str, value: bytes, *, ttl_ms: int) -> None:
        check_ttl(ttl_ms)
        self._keep(key, value, ttl_ms)

    async def delete(self, key: str) -> bool:
        return self._values.drop(key, self._clock.monotonic_ms())

    async def shelve(self, shelf: str, key: str, value: bytes, *, ttl_ms: int, most_bytes: int) -> None:
        check_ttl(ttl_ms)
        check_size(value, MAX_SHELVED_BYTES)
        now = self._clock.monotonic_ms()
        place = self._shelves.setdefault(shelf, ValueShelf())
        place.put(key, value, until_ms=now + ttl_ms, most_bytes=most_bytes, now_ms=now)

    async def shelved(self, shelf: str, key: str) -> bytes | None:
        place = self._shelves.get(shelf)
        return None if place is None else place.get(key, self._clock.monotonic_ms())

    async def on_shelf(self, shelf: str) -> dict[str, bytes]:
        place = self._shelves.get(shelf)
        return {} if place is None else place.all(self._clock.monotonic_ms())

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        check_ttl(ttl_ms)
        now = self._clock.monotonic_ms()
        held = self._leases.get(name, now)
        if held is None:
            # Start from the time, so that tokens after a restart are higher than before.
            token = max(self._newest_tokens.get(name, 0) + 1, self.now_ms())
            self._newest_tokens[name] = token
        elif held.owner == owner:
            token = int(held.token)
        else:
            return None
        lease = Lease(name=name, owner=owner, token=str(token), ttl_ms=ttl_ms)
        self._leases.put(name, lease, deadline=now + ttl_ms, now=now)
        return lease

    async def release(self, lease: Lease) -> bool:
        now = self._clock.monotonic_ms()
        held = self._leases.get(lease.name, now)
        if held is None or (held.owner, held.token) != (lease.owner, lease.token):
            return False
        return self._leases.drop(lease.name, now)

    async def put_fenced(self, key: str, value: bytes, *, lease: Lease, ttl_ms: int, channel: str = "") -> Fenced:
        check_ttl(ttl_ms)
        check_size(value)
        fenced = self._fenced(lease)
        if fenced is Fenced.WRITTEN:
            self._keep(key, value, ttl_ms)
            if channel:
                self._channels.publish(channel, value)
        return fenced

    async def publish(self, channel: str, payload: bytes) -> None:
        check_size(payload)
        self._channels.publish(channel, payload)

    def subscribe(self, channel: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._channels.subscribe(channel)

    async def single_flight(
        self,
        key: str,
        produce: Callable[[], Awaitable[bytes]],
        *,
        ttl_ms: int,
        lock_ms: int,
        or_alone: bool = False,  # noqa: ARG002 - this engine is never away
    ) -> bytes:
        value = self._values.get(key, self._clock.monotonic_ms())
        if value is not None:
            return value

        async def produce_and_keep() -> bytes:
            # A caller that no longer trusts an earlier production can get here after a later production has finished.
            made = self._values.get(key, self._clock.monotonic_ms())
            if made is None:
                made = await produce()
                self._keep(key, made, ttl_ms)
            return made

        return await self._flights.join(key, produce_and_keep, lock_ms=lock_ms)

    async def acquire_weight(
        self,
        ip: str,
        kind: CallKind,
        cost: int,
        *,
        limit: int,
        now_ms: int,
        party: str = "",
        local_limit: int = 0,  # noqa: ARG002 - this engine is never away
    ) -> Grant:
        at = self._clock.monotonic_ms()
        return self._ledger.acquire(ip, kind, cost, limit=limit, now_ms=now_ms, at=at, party=party)

    async def read_weight(self, ip: str, *, now_ms: int) -> int:
        return self._ledger.used(ip, now_ms, self._clock.monotonic_ms())

    async def report_weight(self, ip: str, used: int, *, minute: int) -> None:
        self._ledger.report(ip, used, minute=minute, at=self._clock.monotonic_ms())

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:
        await self.report_weight(ip, used, minute=minute)

    async def stop_weight(self, ip: str, *, ms: int, reason: str) -> int:
        return self._ledger.stop(ip, ms=ms, reason=reason, at=self._clock.monotonic_ms())

    async def admit(
        self, pool: str, member: str, *, ttl_ms: int, cap: int, party: str = "", channel: str = ""
    ) -> Admission:
        check_ttl(ttl_ms)
        now = self._clock.monotonic_ms()
        places = self._pools.setdefault(pool, Expiring())
        soonest_ms = places.soonest(now)
        before, gone = places.get(member, now), None
        if before is None and len(places) >= cap:
            gone = gives_way([*places.alive(now)], party)
            if gone is None:
                return Admission(admitted=False, count=len(places), retry_ms=ceil(soonest_ms or ttl_ms))
            places.drop(gone, now)
            if channel:
                self._channels.publish(channel, gone.encode())
        places.put(member, party if before is None else before, deadline=now + ttl_ms, now=now)
        return Admission(admitted=True, count=len(places), retry_ms=0, evicted=gone or "")

    async def take_share(
        self, pool: str, member: str, *, party: str, ttl_ms: int, cap: int, newcomers: int
    ) -> Admission:
        check_ttl(ttl_ms)
        now = self._clock.monotonic_ms()
        places = self._pools.setdefault(pool, Expiring())
        soonest_ms = places.soonest(now)
        before, own, share = places.get(member, now), 0, 0
        if before is None:
            held = [each for _, each, _ in places.alive(now)]
            if party and len(held) < cap:
                own, share = outgrown(held, party, cap=cap, newcomers=newcomers) or (0, 0)
            if share or len(held) >= cap:
                retry_ms = ceil(soonest_ms or ttl_ms)
                return Admission(admitted=False, count=len(held), retry_ms=retry_ms, own=own, share=share)
        places.put(member, party if before is None else before, deadline=now + ttl_ms, now=now)
        return Admission(admitted=True, count=len(places), retry_ms=0)

    async def touch(self, pool: str, member: str, *, ttl_ms: int) -> bool:
        check_ttl(ttl_ms)
        now = self._clock.monotonic_ms()
        places = self._pools.get(pool)
        party = None if places is None else places.get(member, now)
        if places is None or party is None:
            return False
        places.put(member, party, deadline=now + ttl_ms, now=now)
        return True

    async def leave(self, pool: str, member: str) -> None:
        places = self._pools.get(pool)
        if places is not None:
            places.drop(member, self._clock.monotonic_ms())

    async def members(self, pool: str) -> int:
        places = self._pools.get(pool)
        if places is None:
            return 0
        places.purge(self._clock.monotonic_ms())
        return len(places)

    async def reserve(
        self, account: str, claim: Claim, *, room: ClaimRoom | None = None, alike_ms: int = 0
    ) -> Reservation:
        check_size(claim.value)
        return self._claims(account).reserve(claim, room, alike_ms)

    async def depart(self, account: str, news: ClaimNews) -> Reservation:
        check_size(news.value)
        return self._claims(account).depart(news)

    async def tell(self, account: str, news: ClaimNews) -> bool:
        check_size(news.value)
        return self._claims(account).tell(news)

    async def recount(
        self, account: str, claims: Sequence[tuple[Claim, ClaimNews]], *, lease: Lease | None = None
    ) -> Fenced:
        fenced = Fenced.WRITTEN if lease is None else self._fenced(lease)
        if fenced is Fenced.WRITTEN:
            own = self._claims(account)
            own.recount(claims)
            own.is_open = own.is_open or lease is not None
        return fenced

    async def account_book(self, account: str, *, now_ms: int, since_ms: int) -> AccountBook:
        return self._claims(account).book(now_ms, since_ms)

    async def find_claim(self, account: str, name: str) -> bytes | None:
        return self._claims(account).find(name)

    async def stop_account(
        self, account: str, why: str, *, since_ms: int, allows_exits: bool = True
    ) -> AccountStop | None:
        own = self._claims(account)
        is_harder = own.stop is not None and own.stop.allows_exits and not allows_exits
        if (own.stop is None or is_harder) and since_ms > own.resumed_ms:
            own.stop = AccountStop(why, since_ms, allows_exits)
        return own.stop

    async def resume_account(self, account: str, *, now_ms: int) -> None:
        own = self._claims(account)
        own.stop, own.resumed_ms = None, max(own.resumed_ms, now_ms)

    async def append_log(self, log: str, entry: bytes, *, after: LogMark, tag: str, ttl_ms: int) -> LogPart:
        check_ttl(ttl_ms)
        check_size(entry)
        check_tag(tag)
        now = self._clock.monotonic_ms()
        held = self._logs.get(log, now) or MemoryLog()
        part = held.append(entry, after, tag)
        if part.is_appended:
            self._logs.put(log, held, deadline=now + ttl_ms, now=now)
        return part

    async def read_log(self, log: str, *, after: LogMark) -> LogPart:
        return (self._logs.get(log, self._clock.monotonic_ms()) or MemoryLog()).since(after)

    async def trim_log(self, log: str, snapshot: bytes, *, at: LogMark, ttl_ms: int) -> bool:
        check_ttl(ttl_ms)
        check_size(snapshot, MAX_SHELVED_BYTES)
        now = self._clock.monotonic_ms()
        held = self._logs.get(log, now)
        if held is None or not held.trim(snapshot, at):
            return False
        self._logs.put(log, held, deadline=now + ttl_ms, now=now)
        return True

    def _claims(self, account: str) -> AccountClaims:
        return self._accounts.setdefault(account, AccountClaims())

    def _fenced(self, lease: Lease) -> Fenced:
        newest = self._newest_tokens.get(lease.name)
        if newest is None:
            return Fenced.LOST
        return Fenced.WRITTEN if str(newest) == lease.token else Fenced.STALE

    def _keep(self, key: str, value: bytes, ttl_ms: int) -> None:
        check_size(value)
        now = self._clock.monotonic_ms()
        self._values.put(key, value, deadline=now + ttl_ms, now=now)
