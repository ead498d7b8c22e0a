"""Sessions with their streams, shared by all MCP transports over HTTP."""

import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server
from starlette.types import Scope

from mcp_binance_server.domain.access import Vault, Visitor, party_of
from mcp_binance_server.exchange.signing import AcceptedKeys, Principal
from mcp_binance_server.sessions.errors import TooManySessions
from mcp_binance_server.sessions.model import Cleanup, ConnectionId, Session
from mcp_binance_server.sessions.registry import Registry
from mcp_binance_server.surface.caller import CALLER, Caller
from mcp_binance_server.transports.http.admission.hosts import arrival_of
from mcp_binance_server.transports.http.admission.keys import KeysMisplaced, named_key, principal_in
from mcp_binance_server.transports.http.mcp.session_stream import SessionStream
from mcp_binance_server.transports.http.server.connection_registry import tell_let_in

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session and its stream."""

    session: Session[Principal]
    stream: SessionStream


@dataclass
class HttpSessions:
    """Open sessions with their streams. A stream is closed when its session ends."""

    server: Server[Any]
    registry: Registry[Principal]
    own: Principal | None
    """This process's own key, for callers without a key.

    The route of each request decides whether the caller can use it.
    """
    accepted: AcceptedKeys = field(default_factory=AcceptedKeys, repr=False)
    _opened: dict[ConnectionId, OpenSession] = field(default_factory=dict[ConnectionId, OpenSession])
    _group: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run the streams inside the block. At its end close every session."""
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                async with self.registry.running():
                    yield
            finally:
                self._group = None
                group.cancel_scope.cancel()

    async def open(self, scope: Scope, visitor: Visitor) -> OpenSession:
        """Open a session for a request and start its stream.

        Raises:
            KeysRefused: the API key in the request is refused.
            TooManySessions: no session is free.
        """
        self._tasks()
        principal = principal_in(scope)
        session = await self.registry.open(
            visitor,
            remote_addr=_address(scope),
            user_agent=header(scope, b"user-agent"),
            credentials=principal,
            party=self._party(scope, visitor, principal),
        )
        try:
            tasks = self._tasks()
        except TooManySessions:  # shutdown began while the session was opened
            await self.registry.end(session)
            raise
        opened = self._opened[session.connection_id] = OpenSession(session, SessionStream(self.server))
        session.on_end(self._cut(opened))
        tasks.start_soon(self._run, opened)
        return self._noted(scope, visitor, opened)

    def find(self, scope: Scope, visitor: Visitor, connection_id: str) -> OpenSession | None:
        """Return the visitor's live session. Return None for any other ID.

        Raises:
            KeysMisplaced: the session was opened without the API key in the request.
        """
        session = self.registry.find(connection_id, visitor)
        opened = self._opened.get(session.connection_id) if session else None
        if session is None or opened is None:
            return None
        # A request with another key than the session's is refused. The refusal reveals nothing, because the same
        # request without a key would be admitted.
        named, held = named_key(scope), session.credentials
        if named is not None and (held is None or named != held.credentials.api_key.encode()):
            raise KeysMisplaced
        return self._noted(scope, visitor, opened)

    def opened(self) -> list[OpenSession]:
        """Return all open sessions with their streams."""
        return [*self._opened.values()]

    @contextmanager
    def stateless(self, scope: Scope, visitor: Visitor) -> Generator[None]:
        """Set the caller of a request without a session, with its own API key or the server's.

        Raises:
            KeysRefused: the API key in the request is refused.
        """
        brought = principal_in(scope)
        vault = Vault(brought or self._lent(scope, visitor))
        _introduce(scope, Caller(visitor, vault, self._party(scope, visitor, brought)))
        try:
            yield
        finally:
            vault.wipe()

    def _tasks(self) -> TaskGroup:
        """Return the task group of the streams.

        Raises:
            TooManySessions: the server is shutting down.
        """
        if self._group is None:
            raise TooManySessions(retry_after_secs=1)
        return self._group

    def _noted(self, scope: Scope, visitor: Visitor, opened: OpenSession) -> OpenSession:
        session, brought = opened.session, opened.session.credentials
        vault = session.vault if brought else Vault(self._lent(scope, visitor))
        _introduce(scope, Caller(visitor, vault, self._party(scope, visitor, brought)))
        return opened

    def _party(self, scope: Scope, visitor: Visitor, brought: Principal | None) -> str:
        key = brought.credentials.api_key if brought is not None and brought in self.accepted else None
        return party_of(visitor, key, _address(scope))

    def _lent(self, scope: Scope, visitor: Visitor) -> Principal | None:
        return self.own if arrival_of(scope).allows_server_key(visitor) else None

    async def _run(self, opened: OpenSession) -> None:
        try:
            await opened.stream.run()
        except Exception:
            LOG.exception("a session failed and was ended")
        with anyio.CancelScope(shield=True):
            await self.registry.end(opened.session)

    async def drain(self) -> None:
        """Refuse new sessions and end all streams, because a stream never ends on its own."""
        self._group = None
        for opened in self.opened():
            opened.stream.hush()

    def _cut(self, opened: OpenSession) -> Cleanup:
        async def cut() -> None:
            self._opened.pop(opened.session.connection_id, None)
            opened.stream.close()

        return cut


def header(scope: Scope, name: bytes) -> str | None:
    """Return the first value of a header as text."""
    for key, value in scope["headers"]:
        if key == name:
            return value.decode("latin-1")
    return None


def _introduce(scope: Scope, caller: Caller) -> None:
    scope[CALLER] = caller
    tell_let_in(scope, caller.party)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"
