"""The HTTP application: who may come in, and which door an address leads to."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mcp.server.lowlevel import Server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.errors import EngineUnavailable, InsufficientScope
from mcp_binance_server.sessions.errors import SessionNotFound, TooManySessions
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.showcase import Showcase
from mcp_binance_server.transports.http.auth.authenticator import (
    Authenticator,
    Open,
    Unauthenticated,
    Withdrawing,
    still_is,
)
from mcp_binance_server.transports.http.auth.challenge import refusal_headers, scope_headers
from mcp_binance_server.transports.http.auth.metadata import WELL_KNOWN, metadata_path, metadata_url
from mcp_binance_server.transports.http.conversation import is_json, not_allowed, takes_events, unknown_session
from mcp_binance_server.transports.http.cut_short import CutShort
from mcp_binance_server.transports.http.front_page import LIVE, reply_page, wants_page
from mcp_binance_server.transports.http.keys import KeysMisplaced, KeysRefused
from mcp_binance_server.transports.http.modern_door import ModernDoor, TakesLong
from mcp_binance_server.transports.http.pair_door import MESSAGES, PairDoor
from mcp_binance_server.transports.http.probes import Probes
from mcp_binance_server.transports.http.refusals import refuse, refuse_with
from mcp_binance_server.transports.http.replies import reply_json
from mcp_binance_server.transports.http.scopes import ScopeNeeded, missing_scopes
from mcp_binance_server.transports.http.session_door import SessionDoor
from mcp_binance_server.transports.http.showcase_page import SHOWN, reply_showcase
from mcp_binance_server.transports.http.switchboard import Switchboard, header
from mcp_binance_server.transports.standing import Standing

Door = Callable[[Scope, Receive, Send, Visitor], Awaitable[None]]
PROBES = ("/healthz", "/readyz", "/metrics")
ROUTES = frozenset({"/mcp", "/mcp/sse", MESSAGES, WELL_KNOWN, f"{WELL_KNOWN}/mcp", "/", *PROBES, *SHOWN})


@dataclass(frozen=True, slots=True)
class Entrance:
    """How callers are told apart, and what a client may read to learn where tokens come from."""

    authenticator: Authenticator
    metadata: bytes | None = None
    resource: str | None = None
    """The address clients use, where an issuer makes tokens for it."""

    @property
    def metadata_url(self) -> str | None:
        return None if self.resource is None else metadata_url(self.resource)

    def is_metadata(self, path: str) -> bool:
        """Tell whether a client looks here for the metadata: at the well-known place, or there for this resource."""
        return self.resource is not None and path in (WELL_KNOWN, metadata_path(self.resource))


@dataclass
class HttpApp:
    """Leads a request that the guard let pass to its door; `running` must be entered first."""

    server: Server[Any]
    switchboard: Switchboard
    entrance: Entrance
    probes: Probes
    scope_needed: ScopeNeeded
    takes_long: TakesLong
    end_listening: Callable[[], None]
    pace: LoopPace
    greeting: str = LIVE
    showcase: Showcase | None = None
    _doors: dict[str, Door] = field(init=False)
    _sessions: SessionDoor = field(init=False)
    _modern: ModernDoor = field(init=False)
    _standing: Standing | None = field(init=False)

    def __post_init__(self) -> None:
        who = self.entrance.authenticator
        self._standing = Standing(who.edition, self.probes.clock) if isinstance(who, Withdrawing) else None
        pair = PairDoor(self.switchboard)
        self._sessions = SessionDoor(self.switchboard)
        self._modern = ModernDoor(self.server, self.switchboard, self.takes_long, self.pace)
        self._doors = {"/mcp": self._mcp, "/mcp/sse": pair.sse, MESSAGES: pair.message}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._modern.running())
            await stack.enter_async_context(self.switchboard.running())
            if self._standing is not None:
                await stack.enter_async_context(self._standing.running())
            yield

    async def drain(self) -> None:
        """Take no more sessions and let the streams go; requests under way finish by themselves."""
        self.probes.draining = True
        self.end_listening()
        await self.switchboard.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path in ("/healthz", "/readyz"):
            await self._probe(path, scope, send)
        elif self.entrance.metadata and self.entrance.is_metadata(path):
            await reply_json(send, self.entrance.metadata)
        elif wants_page(scope):
            is_open = isinstance(self.entrance.authenticator, Open)
            await reply_page(scope, send, self.greeting, asks_for_token=not is_open, showcase=self.showcase)
        elif self.showcase is not None and path in SHOWN:
            await reply_showcase(self.showcase, scope, send)
        elif path not in self._doors and path != "/metrics":
            await refuse(send, 404, "not_found", "There is nothing at this address; MCP is at /mcp")
        else:
            await self._enter(path, scope, receive, send)

    async def _enter(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        metadata_url = self.entrance.metadata_url
        try:
            visitor = await self.entrance.authenticator.visitor(scope["headers"], scope["query_string"])
        except Unauthenticated as unknown:
            headers = refusal_headers(unknown, metadata_url)
            await refuse(send, unknown.status, unknown.error or "token_missing", str(unknown), headers=headers)
            return
        if path == "/metrics":
            await self._probe(path, scope, send)
            return
        missing, receive = await missing_scopes(scope, receive, visitor, self.scope_needed)
        if missing:
            lacking = InsufficientScope(needed_scopes=tuple(sorted(missing)))
            await refuse(send, 403, lacking.error_type, lacking.message, headers=scope_headers(missing, metadata_url))
            return
        try:
            await self._let_in(path, scope, receive, send, visitor)
        except KeysMisplaced as late:
            # 404: a client that follows the protocol opens a new session by itself, and sends the keys with it.
            await refuse(send, 404, "keys_need_new_session", str(late))
        except KeysRefused as refused:
            await refuse(send, 400, "keys_refused", str(refused))
        except SessionNotFound:
            await unknown_session(send)
        except TooManySessions as full:
            wait = [(b"retry-after", b"%d" % full.retry_after_secs)]
            await refuse_with(send, full, full.http_status, headers=wait)
        except EngineUnavailable as lost:
            await refuse(send, 503, lost.error_type, lost.message, headers=[(b"retry-after", b"1")])

    async def _let_in(self, path: str, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        if self._standing is None:
            await self._doors[path](scope, receive, send, visitor)
            return
        asked = partial(still_is, self.entrance.authenticator, visitor, scope["headers"], scope["query_string"])
        with self._standing.watching(asked) as stay:
            answer = CutShort(send, partial(self._standing.let_go, stay))
            await self._doors[path](scope, receive, answer.send, visitor)
        if stay.was_ended and not await answer.end():
            gone = Unauthenticated("The token was withdrawn.")
            headers = refusal_headers(gone, self.entrance.metadata_url)
            await refuse(send, gone.status, "invalid_token", str(gone), headers=headers)

    async def _mcp(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        revision = header(scope, b"mcp-protocol-version")
        if revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._sessions(scope, receive, send, visitor)
        elif scope["method"] != "POST":
            await not_allowed(send, b"POST")
        elif await is_json(scope, send) and await takes_events(scope, send):  # else the SDK says no in bare words
            await self._modern(scope, receive, send, visitor)

    async def _probe(self, path: str, scope: Scope, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await not_allowed(send, b"GET, HEAD")
        elif path == "/healthz":
            await self.probes.healthz(send)
        elif path == "/readyz":
            await self.probes.readyz(send)
        else:
            await self.probes.figures(send)
