"""ASGI application: routes, authentication, scopes and probes."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import msgspec
from mcp.server.lowlevel import Server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import SCOPES, Visitor
from mcp_binance_server.domain.access import Scope as Permission
from mcp_binance_server.errors import AppError, EngineUnavailable, InsufficientScope, RateLimited
from mcp_binance_server.sessions.errors import SessionNotFound, TooManySessions
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.subscriptions import MOST_PAGES
from mcp_binance_server.telemetry.metrics import Gauges, Metrics
from mcp_binance_server.transports.http.admission.guard import replayed
from mcp_binance_server.transports.http.admission.keys import KeysMisplaced, KeysRefused
from mcp_binance_server.transports.http.admission.refusals import refuse, refuse_with
from mcp_binance_server.transports.http.auth.authenticator import (
    Authenticator,
    Open,
    RevocableAuthenticator,
    Unauthenticated,
    is_still_valid,
    refusal_headers,
    scope_headers,
)
from mcp_binance_server.transports.http.auth.trust import WELL_KNOWN, metadata_path, metadata_url
from mcp_binance_server.transports.http.front_page import LIVE, SHOWN, Showcase, reply_page, reply_showcase, wants_page
from mcp_binance_server.transports.http.mcp.exchange import (
    is_json,
    not_allowed,
    reply_figures,
    reply_json,
    takes_events,
    unknown_session,
)
from mcp_binance_server.transports.http.mcp.sessions import HttpSessions, header
from mcp_binance_server.transports.http.mcp.sse import MESSAGES, SseHttp
from mcp_binance_server.transports.http.mcp.streamable import SessionHttp, SessionlessHttp, TakesLong
from mcp_binance_server.transports.http.server.disconnect import CutShort
from mcp_binance_server.transports.standing import TokenRevocation

Check = Callable[[], Awaitable[object]]
CHECK_SECS = 1.0
# A load balancer sends a probe every second or two. Cached results save most requests to the exchange. Failures expire
# sooner.
UPSTREAM_KEPT_MS, TROUBLE_KEPT_MS = 10_000, 1_000
RATE_LIMITED = RateLimited.error_type

ScopeNeeded = Callable[[str, str, object], Permission | None]

RouteHandler = Callable[[Scope, Receive, Send, Visitor], Awaitable[None]]
PROBES = ("/healthz", "/readyz", "/metrics")
ROUTES = frozenset({"/mcp", "/mcp/sse", MESSAGES, WELL_KNOWN, f"{WELL_KNOWN}/mcp", "/", *PROBES, *SHOWN})


@dataclass
class Probes:
    """Endpoints for monitoring: health for a supervisor, readiness for a load balancer, and metrics."""

    clock: Clock
    metrics: Metrics
    engine: Check
    upstream: Check
    moment: Callable[[], Awaitable[Gauges]]
    draining: bool = False
    _upstream_said: str = field(default="", init=False)
    _upstream_asked_ms: float = field(default=float("-inf"), init=False)

    async def healthz(self, send: Send) -> None:
        await reply_json(send, b'{"status":"ok"}')

    async def readyz(self, send: Send) -> None:
        """Report whether the server is ready: not draining, with its state engine and the market.

        A market over its rate limit counts as ready, because cached and streamed data is still served. Other answers
        state the time to wait. Another server behind the same address would have the same limit.
        """
        found = {"engine": await _outcome(self.engine), "upstream": await self._upstream()}
        is_ready = not self.draining and found["engine"] == "ok" and found["upstream"] in {"ok", RATE_LIMITED}
        status = "ready" if is_ready else "draining" if self.draining else "not ready"
        body = json.dumps({"status": status, **found}).encode()
        await reply_json(send, body, status=200 if is_ready else 503)

    async def figures(self, send: Send) -> None:
        await reply_figures(send, self.metrics.text(await self.moment()))

    async def _upstream(self) -> str:
        now = self.clock.monotonic_ms()
        kept_ms = UPSTREAM_KEPT_MS if self._upstream_said == "ok" else TROUBLE_KEPT_MS
        if now - self._upstream_asked_ms >= kept_ms:
            self._upstream_asked_ms = now
            self._upstream_said = await _outcome(self.upstream)
        return self._upstream_said


async def _outcome(check: Check) -> str:
    with anyio.move_on_after(CHECK_SECS):
        try:
            await check()
        except AppError as error:
            return error.error_type
        return "ok"
    return "timeout"


class _Params(msgspec.Struct):
    # Fields accept any type. An invalid field that the method ignores must not make the others unreadable.
    name: object = None
    uri: object = None
    arguments: object = None
    notifications: object = None


class _Wishes(msgspec.Struct, rename="camel"):
    resource_subscriptions: list[str]


class _Asked(msgspec.Struct):
    method: str = ""
    params: _Params | None = None


async def missing_scopes(
    scope: Scope, receive: Receive, visitor: Visitor, needed: ScopeNeeded
) -> tuple[frozenset[Permission], Receive]:
    """Return the scopes that the visitor lacks for this request, and a `receive` that replays the body.

    Missing scopes need a response with HTTP 403 before the request reaches MCP, so the body is parsed here. For
    visitors with all scopes it is not parsed. The handler refuses an unreadable body.
    """
    if visitor.scopes == SCOPES or scope["method"] != "POST":
        return frozenset(), receive
    body = (await receive()).get("body", b"")
    return visitor.lacks(_needed(body, needed)), replayed(body, receive)


def _needed(body: bytes, needed: ScopeNeeded) -> frozenset[Permission]:
    try:
        asked = msgspec.json.decode(body, type=_Asked)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    params = asked.params or _Params()
    names = (each if isinstance(each, str) else "" for each in _names(asked.method, params))
    scopes: set[Permission | None] = {needed(asked.method, name, params.arguments) for name in names}
    return frozenset(each for each in scopes if each is not None)


def _names(method: str, params: _Params) -> Sequence[object]:
    """Return the names of tools, prompts or pages in a request. A subscription stream names several pages."""
    if method == "subscriptions/listen":
        return _pages(params.notifications)[:MOST_PAGES] or ("",)  # the handler refuses more pages
    return (params.uri if method in ("resources/read", "resources/subscribe") else params.name,)


def _pages(wished: object) -> list[str]:
    try:
        return msgspec.convert(wished, type=_Wishes).resource_subscriptions
    except msgspec.ValidationError:
        return []


@dataclass(frozen=True, slots=True)
class Authentication:
    """Authentication of callers, and the OAuth metadata that names the token issuer."""

    authenticator: Authenticator
    metadata: bytes | None = None
    resource: str | None = None
    """Public address of this server, if an issuer makes tokens for it."""

    @property
    def metadata_url(self) -> str | None:
        return None if self.resource is None else metadata_url(self.resource)

    def is_metadata(self, path: str) -> bool:
        """Return True for a path of the OAuth metadata: the well-known path, with or without the resource's path."""
        return self.resource is not None and path in (WELL_KNOWN, metadata_path(self.resource))


@dataclass
class HttpApp:
    """The ASGI application behind the guard. It serves only while `running` is open."""

    server: Server[Any]
    http_sessions: HttpSessions
    authentication: Authentication
    probes: Probes
    scope_needed: ScopeNeeded
    takes_long: TakesLong
    end_listening: Callable[[], None]
    pace: LoopPace
    greeting: str = LIVE
    showcase: Showcase | None = None
    _routes: dict[str, RouteHandler] = field(init=False)
    _sessions: SessionHttp = field(init=False)
    _modern: SessionlessHttp = field(init=False)
    _standing: TokenRevocation | None = field(init=False)

    def __post_init__(self) -> None:
        who = self.authentication.authenticator
        self._standing = (
            TokenRevocation(who.edition, self.probes.clock) if isinstance(who, RevocableAuthenticator) else None
        )
        sse = SseHttp(self.http_sessions)
        self._sessions = SessionHttp(self.http_sessions)
        self._modern = SessionlessHttp(self.server, self.http_sessions, self.takes_long, self.pace)
        self._routes = {"/mcp": self._mcp, "/mcp/sse": sse, MESSAGES: sse.message}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._modern.running())
            await stack.enter_async_context(self.http_sessions.running())
            if self._standing is not None:
                await stack.enter_async_context(self._standing.running())
            yield

    async def drain(self) -> None:
        """Refuse new sessions and end all streams. Requests in progress continue."""
        self.probes.draining = True
        self.end_listening()
        await self.http_sessions.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path in ("/healthz", "/readyz"):
            await self._probe(path, scope, send)
        elif self.authentication.metadata and self.authentication.is_metadata(path):
            await reply_json(send, self.authentication.metadata)
        elif wants_page(scope):
            is_open = isinstance(self.authentication.authenticator, Open)
            await reply_page(scope, send, self.greeting, asks_for_token=not is_open, showcase=self.showcase)
        elif self.showcase is not None and path in SHOWN:
            await reply_showcase(self.showcase, scope, send)
        elif path not in self._routes and path != "/metrics":
            await refuse(send, 404, "not_found", "Nothing is served at this address; MCP is at /mcp")
        else:
            await self._enter(path, scope, receive, send)

    async def _enter(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        metadata_url = self.authentication.metadata_url
        try:
            visitor = await self.authentication.authenticator.visitor(scope["headers"], scope["query_string"])
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
            # After a 404 an MCP client opens a new session, and sends its keys with the request.
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
            await self._routes[path](scope, receive, send, visitor)
            return
        asked = partial(
            is_still_valid, self.authentication.authenticator, visitor, scope["headers"], scope["query_string"]
        )
        with self._standing.watching(asked) as stay:
            answer = CutShort(send, partial(self._standing.let_go, stay))
            await self._routes[path](scope, receive, answer.send, visitor)
        if stay.was_ended and not await answer.end():
            gone = Unauthenticated("The token was revoked.")
            headers = refusal_headers(gone, self.authentication.metadata_url)
            await refuse(send, gone.status, "invalid_token", str(gone), headers=headers)

    async def _mcp(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        revision = header(scope, b"mcp-protocol-version")
        if revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._sessions(scope, receive, send, visitor)
        elif scope["method"] != "POST":
            await not_allowed(send, b"POST")
        # The SDK's own refusal would be plain text.
        elif await is_json(scope, send) and await takes_events(scope, send):
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
