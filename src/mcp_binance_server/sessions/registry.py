"""Registry of sessions.

It opens sessions, records their use, and ends them at a timeout or in favour of other parties (callers).
"""

import heapq
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from math import ceil, inf
from typing import Generic, TypeVar

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import HeldT, Vault, Visitor
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.sessions.errors import Fullness, SessionNotFound, TooManySessions
from mcp_binance_server.sessions.model import (
    Cleanup,
    ConnectionId,
    Session,
    clean_up,
    new_connection_id,
    place_of,
)
from mcp_binance_server.sessions.places import Places, Share
from mcp_binance_server.state.engine import StateEngine

K = TypeVar("K")

LOG = logging.getLogger(__name__)

CAP = 50
IDLE_MS = 30_000
PER_CLIENT = 10
CLEANUP_SECS = 2.0
RETRY_MS = 1_000


class Deadlines(Generic[K]):
    """Priority queue of names by time.

    A moved or dropped name leaves an old entry in the heap. The heap is rebuilt when more than half of its entries are
    old.
    """

    def __init__(self) -> None:
        self._serials: dict[K, int] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._counter = count()

    def put(self, name: K, at: float) -> None:
        """Add a name, or change its time."""
        serial = self._serials[name] = next(self._counter)
        heapq.heappush(self._heap, (at, serial, name))
        self._tidy()

    def drop(self, name: K) -> None:
        self._serials.pop(name, None)
        self._tidy()

    def next(self) -> float:
        """Return the earliest time. Return infinity if the queue is empty."""
        while self._heap and not self._stands(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else inf

    def pop_due(self, now: float) -> list[K]:
        """Remove and return all names whose time is at or before `now`."""
        due: list[K] = []
        while self.next() <= now and self._heap:
            name = heapq.heappop(self._heap)[2]
            del self._serials[name]
            due.append(name)
        return due

    def _stands(self, entry: tuple[float, int, K]) -> bool:
        return self._serials.get(entry[2]) == entry[1]

    def _tidy(self) -> None:
        if len(self._heap) > 2 * len(self._serials) + 64:
            self._heap = [entry for entry in self._heap if self._stands(entry)]
            heapq.heapify(self._heap)


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """Number of live sessions, and counts since the start. opened = live + expired + ended."""

    live: int
    opened: int
    refused: int
    expired: int
    ended: int


class Registry(Generic[HeldT]):
    """Sessions by ID, with an idle timeout.

    A session is over `idle_ms` after its last use, even if it is not yet removed. Sessions can be opened only while the
    registry is `running`. A task wakes when a session may be over. It ends the session, or extends the session's place
    to the new deadline. So a session costs one call of the engine per idle timeout, however often the session is used.
    If all places are taken, the party with the most sessions loses one to a party with fewer, in any process. A second
    task listens for these evictions and ends the evicted sessions.
    """

    def __init__(
        self,
        engine: StateEngine,
        clock: Clock,
        *,
        cap: int = CAP,
        idle_ms: int = IDLE_MS,
        per_client: int = PER_CLIENT,
        pool: str = "sessions",
        cleanup_secs: float = CLEANUP_SECS,
        new_id: Callable[[], ConnectionId] = new_connection_id,
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._idle_ms = idle_ms
        self._cleanup_secs = cleanup_secs
        self._places = Places(engine, pool, cap, slack_ms=max(RETRY_MS, idle_ms // 3))
        self._share = Share(per_client)
        self._sessions: dict[ConnectionId, Session[HeldT]] = {}
        self._by_place: dict[str, Session[HeldT]] = {}
        self._checks: Deadlines[ConnectionId] = Deadlines()
        self._cleanups: list[Cleanup] = []
        self._nap: anyio.CancelScope | None = None
        self._catching_up: anyio.Event | None = None
        self._is_running = False
        self._opened = self._refused = self._expired = self._ended = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["Registry[HeldT]"]:
        """Allow sessions inside the block, and end all of them after it."""
        async with anyio.create_task_group() as tasks:
            self._is_running = True
            tasks.start_soon(self._keep_up)
            tasks.start_soon(self._end_evicted)
            try:
                yield self
            finally:
                self._is_running = False
                tasks.cancel_scope.cancel()
                await self._end(*self._sessions.values())
                await self._say_left_over()

    async def open(
        self,
        visitor: Visitor,
        *,
        remote_addr: str,
        user_agent: str | None = None,
        credentials: HeldT | None = None,
        party: str = "",
    ) -> Session[HeldT]:
        """Open a session for a visitor.

        Raises:
            TooManySessions: all places are taken, or the client has reached its limit.
            EngineUnavailable: the engine does not answer.
        """
        await self._catch_up()
        member = self._new_id()
        if not self._share.take(member, visitor.name, remote_addr):
            raise self._refusal("too_many_from_you", self._share.members_of(remote_addr))
        try:
            await self._take_place(member, party)
        except BaseException:
            self._share.give_back(member)
            raise
        session = self._sessions[member] = Session(
            connection_id=member,
            owner=visitor.name,
            remote_addr=remote_addr,
            user_agent=user_agent,
            created_ms=self._clock.now_ms(),
            used_ms=self._clock.now_ms(),
            used_at=self._clock.monotonic_ms(),
            idle_ms=self._idle_ms,
            vault=Vault(credentials),
            party=party,
        )
        self._by_place[place_of(member)] = session
        self._opened += 1
        self._checks.put(member, session.deadline(session.used_at))
        self._wake()
        return session

    def find(self, connection_id: str, visitor: Visitor) -> Session[HeldT] | None:
        """Return the visitor's live session, or None for any other ID."""
        session = self._sessions.get(ConnectionId(connection_id))
        if session is None or session.owner != visitor.name or session.is_over(self._clock.monotonic_ms()):
            return None
        return session

    @contextmanager
    def in_use(self, session: Session[HeldT]) -> Generator[None]:
        """Keep a session alive during a request. Restart its idle timeout afterwards.

        Raises:
            SessionNotFound: the session is over.
        """
        if session.is_over(self._clock.monotonic_ms()):
            raise SessionNotFound
        self.touch(session)
        session.in_flight += 1
        try:
            yield
        finally:
            self.touch(session)
            session.in_flight -= 1

    def touch(self, session: Session[HeldT]) -> None:
        """Record a use of the session. A session that is over stays over."""
        now = self._clock.monotonic_ms()
        if not session.is_over(now):
            session.used_at = now
            session.used_ms = self._clock.now_ms()

    async def end(self, session: Session[HeldT]) -> None:
        """End a session: forget its ID, wipe its credentials, release its place, then run its cleanups.

        A second call does nothing. A cleanup that fails or times out does not stop the other cleanups.
        """
        await self._end(session)

    def snapshot(self) -> SessionCounts:
        """Return the counts. Sessions that are over but not yet removed count as expired."""
        now = self._clock.monotonic_ms()
        overdue = sum(session.is_over(now) for session in self._sessions.values())
        return SessionCounts(
            live=len(self._sessions) - overdue,
            opened=self._opened,
            refused=self._refused,
            expired=self._expired + overdue,
            ended=self._ended,
        )

    async def _take_place(self, member: ConnectionId, party: str) -> None:
        if not self._is_running:
            raise self._refusal("too_many_sessions", ())
        try:
            admission = await self._places.take(place_of(member), self._idle_ms, party)
        except EngineUnavailable:
            self._refused += 1
            raise
        if not admission.admitted:
            # If all sessions are in this process, its deadlines are more precise than the engine's.
            are_all_ours = admission.count <= len(self._sessions)
            raise self._refusal("too_many_sessions", self._sessions, inf if are_all_ours else admission.retry_ms)
        self._give_up(admission.evicted)
        if not self._is_running:  # the registry closed during the call, and would never end this session
            await self._places.leave(place_of(member))
            raise self._refusal("too_many_sessions", ())

    def _refusal(self, reason: Fullness, holders: Iterable[ConnectionId], elsewhere_ms: float = inf) -> TooManySessions:
        self._refused += 1
        now = self._clock.monotonic_ms()
        held = (self._sessions[member] for member in holders if member in self._sessions)
        wait_ms = min((session.deadline(now) - now for session in held), default=self._idle_ms)
        if reason == "too_many_sessions":
            wait_ms = 0 if self._places.leaving else min(wait_ms, elsewhere_ms)
        return TooManySessions(retry_after_secs=max(1, ceil(wait_ms / 1000)), reason=reason)

    async def _end_evicted(self) -> None:
        """End the sessions that were evicted for other parties, by any process."""
        while True:
            with suppress(EngineUnavailable):
                async with self._places.evictions() as places:
                    async for place in places:
                        self._give_up(place.decode(errors="replace"))
            # An eviction that is missed here is noticed when the place is extended.
            await self._clock.sleep_until_ms(self._clock.monotonic_ms() + RETRY_MS)

    def _give_up(self, place: str) -> None:
        session = self._by_place.get(place)
        if session is not None:
            LOG.info("session %s gave its place to a client with fewer sessions", session.label)
            self._cleanups += self._forget(session)
            self._wake()

    def _wake(self) -> None:
        if self._nap is not None:
            self._nap.cancel()

    async def _keep_up(self) -> None:
        while True:
            if not self._cleanups:
                with anyio.CancelScope() as self._nap:
                    await self._clock.sleep_until_ms(self._checks.next())
            try:
                await self._catch_up()
                await self._say_left_over()
            except Exception:  # A bug here must not end the server and all its sessions.
                LOG.exception("the check of sessions failed")
                await self._clock.sleep_until_ms(self._clock.monotonic_ms() + RETRY_MS)

    async def _catch_up(self) -> None:
        """Check the sessions whose deadline has come. End the expired sessions, and extend the places of the others."""
        # Wait for a check in progress, because it may free the place that this caller needs.
        while self._catching_up is not None:
            await self._catching_up.wait()
        now = self._clock.monotonic_ms()
        due = [self._sessions[member] for member in self._checks.pop_due(now)]
        if not due:
            return
        over = [session for session in due if session.is_over(now)]
        used = [session for session in due if not session.is_over(now)]
        for session in used:
            self._checks.put(session.connection_id, session.deadline(now))
        for session in over:
            self._cleanups += self._forget(session)
        self._catching_up = anyio.Event()
        try:
            with anyio.CancelScope(shield=True):
                await self._places.leave(*(place_of(session.connection_id) for session in over))
                await self._renew(used)
        finally:
            self._catching_up.set()
            self._catching_up = None

    async def _renew(self, used: list[Session[HeldT]]) -> None:
        now = self._clock.monotonic_ms()
        for number, session in enumerate(used):
            place = place_of(session.connection_id)
            try:
                left_ms = session.deadline(now) - now
                is_kept = session.has_ended or await self._places.keep(place, left_ms, session.party)
            except EngineUnavailable:
                LOG.warning("places of %d live sessions could not be renewed; trying again", len(used) - number)
                for each in used[number:]:
                    if not each.has_ended:
                        self._checks.put(each.connection_id, now + RETRY_MS)
                return
            if session.has_ended:  # the session ended during the call, which may have taken its place again
                await self._places.leave(place)
            elif not is_kept:
                LOG.warning("session %s lost its place, and no other is free", session.label)
                self._cleanups += self._forget(session)

    async def _end(self, *sessions: Session[HeldT]) -> None:
        ours = [session for session in sessions if session.connection_id in self._sessions]
        cleanups = [cleanup for session in ours for cleanup in self._forget(session)]
        await self._places.leave(*(place_of(session.connection_id) for session in ours))
        await clean_up(cleanups, within_secs=self._cleanup_secs)

    def _forget(self, session: Session[HeldT]) -> list[Cleanup]:
        if session.is_over(self._clock.monotonic_ms()):
            self._expired += 1
        else:
            self._ended += 1
        del self._sessions[session.connection_id]
        del self._by_place[place_of(session.connection_id)]
        self._checks.drop(session.connection_id)
        self._share.give_back(session.connection_id)
        return session.close()

    async def _say_left_over(self) -> None:
        cleanups, self._cleanups = self._cleanups, []
        await clean_up(cleanups, within_secs=self._cleanup_secs)
