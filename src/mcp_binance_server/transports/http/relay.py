"""Several workers at one address.

A request is forwarded to the worker with its session, and the metrics of all are merged.
"""

import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any
from urllib.parse import parse_qs

import anyio
import httpx2
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_binance_server.sessions.model import ConnectionId, giver_of, new_connection_id
from mcp_binance_server.surface.caller import CALLER, Caller
from mcp_binance_server.surface.errors import LONGEST_SECS
from mcp_binance_server.transports.arrival import Arrival
from mcp_binance_server.transports.http.admission.hosts import ARRIVAL, arrival_of
from mcp_binance_server.transports.http.admission.keys import PARTY_TOLD
from mcp_binance_server.transports.http.admission.refusals import HttpRefusal
from mcp_binance_server.transports.http.mcp.exchange import CONNECTION_ID, SESSION_ID, reply_figures, unknown_session
from mcp_binance_server.transports.http.mcp.sessions import header
from mcp_binance_server.transports.http.mcp.sse import MESSAGES
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from mcp_binance_server.transports.http.server.connection_registry import tell_let_in

# Headers that can contain a session ID, in the order in which they are read.
NAMED_BY = {"/mcp": (SESSION_ID,), "/mcp/sse": (CONNECTION_ID, SESSION_ID), MESSAGES: (CONNECTION_ID, SESSION_ID)}

# Keep-alive between processes, in seconds. The accepting side waits longer (`INSIDE`), otherwise it could close a
# connection just when a request is sent.
KEPT_SECS = 60

RELAYED_FOR = b"x-relayed-for"
RELAYED_PARTY = b"x-relayed-party"
PROBED = "probe"
"""Caller of the worker supervisor's own requests, which need no token."""
# Headers that belong to one connection (hop-by-hop), or that are set again for the next connection.
_OF_ONE_HOP = frozenset({
    b"connection", b"keep-alive", b"transfer-encoding", b"trailer", b"upgrade", b"content-length", b"expect",
    RELAYED_FOR, RELAYED_PARTY,
})  # fmt: skip
_FIGURES_SECS = 2.0
# Not a 404, from which the client would conclude that its session has ended.
_BUSY = HttpRefusal(503, "busy", "The process that has this session is busy; try again", ((b"retry-after", b"1"),))
_NO_ANSWER = HttpRefusal(
    504, "no_answer", "The process that has this session did not answer; the request may have been executed"
)
INSIDE = ConnectionLimits(most=100_000, idle_secs=KEPT_SECS * 60)


@dataclass(frozen=True, slots=True)
class WorkerSlot:
    """One of several worker processes.

    A session lives in the process that opened it, and its ID identifies this process.
    """

    number: int
    of: int
    folder: Path
    """Folder that only this user can read. It has one socket per process."""

    @property
    def processor_share(self) -> float:
        """Share of a processor for each worker when all workers are busy."""
        return min(1.0, (os.cpu_count() or 1) / self.of)

    def new_id(self) -> ConnectionId:
        return new_connection_id(self.number, self.of)

    def address(self, number: int) -> Path:
        return address_in(self.folder, number)

    def owner(self, scope: Scope) -> int:
        """Return the number of the process that must answer a request: the one that has its session, or this one."""
        named = _session(scope)
        giver = None if named is None else giver_of(named, self.of)
        return self.number if giver is None else giver


class WorkerLines:
    """Connections to the workers, opened when first used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: dict[int, httpx2.AsyncHTTPTransport] = {}

    def to(self, number: int) -> httpx2.AsyncHTTPTransport:
        if number not in self._lines:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEPT_SECS)
            path, no_tls = str(address_in(self._folder, number)), SSLContext(PROTOCOL_TLS_CLIENT)
            self._lines[number] = httpx2.AsyncHTTPTransport(no_tls, trust_env=False, limits=limits, uds=path)
        return self._lines[number]

    async def close(self) -> None:
        for line in self._lines.values():
            await line.aclose()


def address_in(folder: Path, number: int) -> Path:
    """Return the path of a process's socket for requests of other processes."""
    return folder / str(number)


def _session(scope: Scope) -> str | None:
    names = NAMED_BY.get(scope["path"], ())
    named = next((found for name in names if (found := header(scope, name))), None)
    if named is None and scope["path"] == MESSAGES:
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [])
        named = asked[0] if len(asked) == 1 else None
    return named


def merged(texts: Mapping[int, str]) -> str:
    """Merge metrics of several workers. Each series gets a label `worker`.

    The lines of a metric family stay together, as the format requires.
    """
    families: dict[str, tuple[list[str], list[str]]] = {}
    for number, text in texts.items():
        about, series, is_new = list[str](), list[str](), False
        for line in text.splitlines():
            if line.startswith("# HELP"):
                about, series = families.setdefault(line.split(" ", 3)[2], ([], []))
                is_new = not about
            if line.startswith("#"):
                if is_new:
                    about.append(line)
            elif line:
                series.append(_labelled(line, number))
    return "".join(f"{line}\n" for about, series in families.values() for line in (*about, *series))


def _labelled(line: str, number: int) -> str:
    name, space, value = line.rpartition(" ")
    head, brace, labels = name.partition("{")
    return f'{head}{{worker="{number}"{"," + labels if brace else "}"}{space}{value}'


@dataclass(frozen=True, slots=True)
class RelayTimeouts:
    """Timeouts for requests to another process.

    The timeout for an answer exceeds the time limit of any request, and the interval of pings on a stream.
    """

    connect_secs: float = 1.0
    answer_secs: float = LONGEST_SECS + 5

    @property
    def extensions(self) -> dict[str, Any]:
        parts = {"connect": self.connect_secs, "pool": self.connect_secs, "write": 10.0, "read": self.answer_secs}
        return {"timeout": parts}


class Relay:
    """Middleware that forwards requests to the worker with their session, after the guard has read the bodies."""

    def __init__(self, app: ASGIApp, slot: WorkerSlot, patience: RelayTimeouts | None = None) -> None:
        self._app = app
        self._slot = slot
        self._patience = patience or RelayTimeouts()
        self._lines = WorkerLines(slot.folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/metrics":
            await self._figures(scope, receive, send)
        elif (owner := self._slot.owner(scope)) == self._slot.number:
            await self._app(scope, receive, send)
        else:
            await self._pass_on(owner, scope, receive, send)

    async def close(self) -> None:
        await self._lines.close()

    async def _pass_on(self, owner: int, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive()).get("body", b"") if scope["method"] == "POST" else b""
        async with anyio.create_task_group() as both:

            async def until_disconnect() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                both.cancel_scope.cancel()

            both.start_soon(until_disconnect)
            await self._answer(owner, scope, body, send)
            both.cancel_scope.cancel()

    async def _answer(self, owner: int, scope: Scope, body: bytes, send: Send) -> None:
        try:
            response = await self._lines.to(owner).handle_async_request(_request(scope, body, self._patience))
            whole = await response.aread() if "content-length" in response.headers else None
        except (httpx2.ConnectTimeout, httpx2.PoolTimeout):
            await _BUSY.answer(send)
            return
        except httpx2.TimeoutException:
            await _NO_ANSWER.answer(send)
            return
        except httpx2.TransportError:
            # The worker has died, and its sessions are lost.
            await unknown_session(send)
            return
        headers = [(name.lower(), value) for name, value in response.headers.raw]
        scope[PARTY_TOLD] = party = response.headers.get(RELAYED_PARTY.decode(), "")
        if party:
            tell_let_in(scope, party)
        kept = [(name, value) for name, value in headers if name not in _OF_ONE_HOP or name == b"content-length"]
        await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
        if whole is None:
            await _stream(response, send)
        await send({"type": "http.response.body", "body": whole or b""})

    async def _figures(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the metrics of all workers, because a scraper reaches only one worker at random."""
        texts: dict[int, str] = {}
        for number in range(self._slot.of):
            with anyio.move_on_after(_FIGURES_SECS):
                try:
                    response = await self._lines.to(number).handle_async_request(_request(scope, b"", self._patience))
                    text = await response.aread()
                except httpx2.TransportError:
                    continue
                if response.status_code != 200:
                    await self._app(scope, receive, send)
                    return
                texts[number] = text.decode()
        await reply_figures(send, merged(texts).encode())


class RelayedRequests:
    """Requests that another worker has forwarded. A header has the caller's address and route security.

    Only workers can send this header, because only they can reach the socket. The answer names the caller's party,
    which the forwarding worker cannot determine.
    """

    def __init__(self, app: ASGIApp, figures: Callable[[Send], Awaitable[None]]) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        told = dict(scope["headers"]).get(RELAYED_FOR, b"").decode("latin-1")
        if told == PROBED and scope["path"] == "/metrics":
            await self._figures(send)
            return
        scheme, _, rest = told.partition(" ")
        arrival, _, address = rest.partition(" ")
        scope["scheme"] = "http" if scheme in ("", PROBED) else scheme
        scope["client"] = (address, 0) if address else None
        scope[ARRIVAL] = Arrival(arrival or Arrival.READABLE)

        async def tell(message: Message) -> None:
            caller: Caller | None = scope.get(CALLER)
            if message["type"] == "http.response.start" and caller is not None:
                message = {**message, "headers": [*message.get("headers", ()), (RELAYED_PARTY, caller.party.encode())]}
            await send(message)

        await self._app(scope, receive, tell)


def listen_inside(path: Path) -> socket.socket:
    """Return a socket for requests of other processes. It replaces the socket of a dead process."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    return listener


async def _stream(response: httpx2.Response, send: Send) -> None:
    try:
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except httpx2.TransportError:
        return  # the worker's answer was cut short, so end this answer too
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


def _request(scope: Scope, body: bytes, patience: RelayTimeouts) -> httpx2.Request:
    client = scope.get("client")
    caller = f"{scope.get('scheme', 'http')} {arrival_of(scope)} {client[0] if client else ''}".encode("latin-1")
    headers = [(name, value) for name, value in scope["headers"] if name not in _OF_ONE_HOP]
    url = httpx2.URL("http://worker", path=scope["path"], query=scope.get("query_string", b"") or None)
    return httpx2.Request(
        scope["method"], url, headers=[*headers, (RELAYED_FOR, caller)], content=body, extensions=patience.extensions
    )
