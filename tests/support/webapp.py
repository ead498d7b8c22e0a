"""Our HTTP application on a real loopback socket, in the test's own loop."""

import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx2

from mcp_binance_server.app import App
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled, HttpOptions, assemble
from mcp_binance_server.transports.http.auth.authenticator import Open
from mcp_binance_server.transports.http.server.serving import serve_http

MODERN = "2026-07-28"
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
OPTIONS = HttpOptions(authentication=Authentication(Open()), allowed=allow(), shares_server_key=True)


@asynccontextmanager
async def assembled(app: App, **changes: Any) -> AsyncGenerator[Assembled]:  # noqa: ANN401 - fields of Options
    """Run the application without a socket; each has a server of its own, which counts for it alone."""
    http = assemble(build_server(app.dispatcher), app.dispatcher, app.clock, replace(OPTIONS, **changes))
    async with http.heart.running():
        yield http


@asynccontextmanager
async def served_http(app: App, **changes: Any) -> AsyncGenerator[str]:  # noqa: ANN401 - fields of Options
    """Serve the application and return its address."""
    async with assembled(app, **changes) as http, served(http) as url:
        yield url


@asynccontextmanager
async def served(http: Assembled) -> AsyncGenerator[str]:
    bound: list[int] = []
    is_ready = anyio.Event()

    def ready(port: int) -> None:
        bound.append(port)
        is_ready.set()

    async def serve() -> None:
        await serve_http(http.asgi, host="127.0.0.1", port=0, ready=ready, drain=http.heart.drain)

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        await is_ready.wait()
        yield f"http://127.0.0.1:{bound[0]}"
        group.cancel_scope.cancel()


class HttpClient(httpx2.AsyncClient):
    """A client that knows how a conversation with an MCP server goes."""

    http: Assembled

    async def initialize(self, revision: str = "2025-11-25", **headers: str) -> str:
        """Open a session on /mcp and return its id."""
        response = await self.initialized(revision, **headers)
        assert response.status_code == 200, response.text
        session_id = response.headers["mcp-session-id"]
        told = await self.ask("notifications/initialized", session_id, request_id=None)
        assert told.status_code == 202
        return session_id

    async def initialized(self, revision: str = "2025-11-25", **headers: str) -> httpx2.Response:
        return await self.post("/mcp", json=initialize(revision), headers=_named(headers))

    async def ask(
        self,
        method: str,
        session_id: str,
        params: dict[str, Any] | None = None,
        request_id: int | str | None = 1,
        **headers: str,
    ) -> httpx2.Response:
        """Send one message in a session."""
        sent = {"mcp-session-id": session_id, **_named(headers)}
        return await self.post("/mcp", json=request(method, params, request_id), headers=sent)

    async def modern(self, method: str, params: dict[str, Any] | None = None, /, **headers: str) -> httpx2.Response:
        """Send one request of 2026-07-28, which belongs to no session."""
        name = (params or {}).get("name") or (params or {}).get("uri")
        sent = {
            "mcp-protocol-version": MODERN,
            "mcp-method": method,
            **({"mcp-name": name} if name else {}),
            **_named(headers),
        }
        return await self.post("/mcp", json=request(method, {**(params or {}), "_meta": ENVELOPE}), headers=sent)


OpenHttp = Callable[..., AbstractAsyncContextManager[HttpClient]]


def initialize(revision: str = "2025-11-25") -> dict[str, Any]:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return request("initialize", params)


def request(method: str, params: dict[str, Any] | None = None, request_id: int | str | None = 1) -> dict[str, Any]:
    identified = {} if request_id is None else {"id": request_id}
    return {"jsonrpc": "2.0", **identified, "method": method, **({"params": params} if params is not None else {})}


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def http_client(http: Assembled) -> AsyncGenerator[HttpClient]:
    """Return a client that calls the application directly, as from this machine."""
    accept = {"accept": "application/json, text/event-stream"}
    transport = httpx2.ASGITransport(http.asgi)
    async with HttpClient(transport=transport, base_url="http://127.0.0.1:3000", headers=accept) as client:
        client.http = http
        yield client


@dataclass(frozen=True, slots=True)
class BareAnswer:
    """What an application answered, without a client's comforts: for tests that ask thousands of times."""

    status: int
    headers: dict[str, str]
    body: bytes


async def bare(
    http: Assembled, method: str, path: str, message: dict[str, Any] | None = None, /, **headers: str
) -> BareAnswer:
    """Call the application directly, as from this machine."""
    sent = {"host": "127.0.0.1", "content-type": "application/json", **_named(headers)}
    body = b"" if message is None else json.dumps(message).encode()
    return await called(http, method, path, body, headers=sent.items())


async def called(
    http: Assembled, method: str, path: str, body: bytes = b"", *, headers: Iterable[tuple[str, str]], query: str = ""
) -> BareAnswer:
    """Call the application with just these headers, and the length of the body."""
    sent = [*headers, ("content-length", str(len(body)))]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "scheme": "http",
        "client": ("127.0.0.1", 50_000),
        "headers": [(name.encode(), value.encode()) for name, value in sent],
    }
    events: list[Any] = []
    given: list[bool] = []

    async def receive() -> dict[str, Any]:
        if given:
            await anyio.sleep_forever()
        given.append(True)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:  # noqa: ANN401 - ASGI
        events.append(event)

    await http.asgi(scope, receive, send)
    start, *rest = events
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return BareAnswer(start["status"], found, b"".join(event["body"] for event in rest))
