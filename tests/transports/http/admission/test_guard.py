"""The guard around an application, without a socket: what passes, what does not, and what is read of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.transports.http.admission.guard import LONG, BodyLimits, Guard
from mcp_binance_server.transports.http.admission.hosts import allow

CAP = BodyLimits().most
HOST = (b"host", b"localhost:8000")
ROUTES = ("/mcp", "/mcp/sse", "/mcp/message", "/metrics", "/healthz", "/readyz", "/", "/nothing", "/.well-known/x")
Header = tuple[bytes, bytes]


@dataclass
class Inner:
    """The application inside: remembers what reached it."""

    scopes: list[Scope] = field(default_factory=list[Scope])
    messages: list[Message] = field(default_factory=list[Message])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            self.messages.append(await receive())
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"inside"})


@dataclass
class Client:
    """The server's side of ASGI: gives the parts of a body, then waits; keeps what is sent."""

    parts: list[bytes] = field(default_factory=list[bytes])
    stalls: bool = False
    leaves: bool = False
    taken: int = 0
    sent: list[Message] = field(default_factory=list[Message])

    async def receive(self) -> Message:
        await anyio.lowlevel.checkpoint()
        if not self.parts:
            if self.stalls:
                await anyio.sleep_forever()
            return {"type": "http.disconnect"} if self.leaves else {"type": "http.request"}
        part = self.parts.pop(0)
        self.taken += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(self.parts) or self.stalls or self.leaves}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


@pytest.fixture
def inner() -> Inner:
    return Inner()


@pytest.fixture
def guard(inner: Inner) -> Guard:
    return Guard(inner, allow())


def scope_of(headers: Sequence[Header], path: str = "/mcp", method: str = "POST") -> Scope:
    return {"type": "http", "method": method, "path": path, "headers": [*headers]}


def chunked(*more: Header) -> Scope:
    return scope_of([HOST, (b"transfer-encoding", b"chunked"), *more])


def sized(length: int, *more: Header) -> Scope:
    return scope_of([HOST, (b"content-length", b"%d" % length), *more])


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "HEAD"])
async def test_host_and_origin_are_looked_at_on_every_route(guard: Guard, inner: Inner, path: str, method: str) -> None:
    stranger, page, friend = Client(), Client(), Client()

    await guard(scope_of([(b"host", b"localhost:8000@evil.com")], path, method), stranger.receive, stranger.send)
    await guard(scope_of([HOST, (b"origin", b"http://evil.com")], path, method), page.receive, page.send)
    assert inner.scopes == []
    await guard(scope_of([HOST], path, method), friend.receive, friend.send)

    assert (stranger.status, page.status, friend.status) == (421, 403, 200)
    assert json.loads(stranger.body)["error"]["data"] == {"reason": "wrong_host"}
    assert json.loads(page.body)["error"]["data"] == {"reason": "wrong_origin"}
    assert b"evil" not in stranger.body + page.body


@pytest.mark.parametrize("headers", [[], [HOST, HOST], [(b"host", b"")]])
async def test_no_host_and_two_hosts_are_misdirected(guard: Guard, headers: list[Header]) -> None:
    client = Client()

    await guard(scope_of(headers), client.receive, client.send)

    assert client.status == 421


async def test_a_preflight_learns_nothing(guard: Guard) -> None:
    for origin in (b"http://evil.com", b"http://localhost:3000"):
        client = Client()
        asked = [HOST, (b"origin", origin), (b"access-control-request-method", b"POST")]

        await guard(scope_of(asked, method="OPTIONS"), client.receive, client.send)

        assert not any(name.startswith(b"access-control") for name in client.headers)


@pytest.mark.parametrize("path", ["http://evil.com/mcp", "*", "", "evil.com:80"])
async def test_a_target_that_names_a_host_of_its_own_is_refused(guard: Guard, path: str) -> None:
    client = Client()

    await guard(scope_of([HOST], path), client.receive, client.send)

    assert client.status == 400


async def test_a_request_without_a_body_is_handed_on_untouched(guard: Guard, inner: Inner) -> None:
    for headers in ([HOST], [HOST, (b"content-length", b"0")]):
        client = Client(stalls=True, parts=[b""])
        scope = scope_of(headers, method="GET")

        await guard(scope, client.receive, client.send)

        assert inner.scopes[-1] is scope
        assert client.body == b"inside"


@pytest.mark.parametrize("parts", [[b"{}"], [b"a", b"b", b"", b"c"], [b"x" * 65_536] * 64, [b"x" * CAP]])
async def test_a_body_arrives_in_one_piece(guard: Guard, inner: Inner, parts: list[bytes]) -> None:
    for scope in (chunked(), sized(sum(map(len, parts)))):
        client = Client([*parts])

        await guard(scope, client.receive, client.send)

        assert inner.messages[-1] == {"type": "http.request", "body": b"".join(parts), "more_body": False}


async def test_after_the_body_comes_only_the_end_of_the_connection() -> None:
    client, seen = Client([b"{}"]), list[Message]()

    async def patient(_scope: Scope, receive: Receive, _send: Send) -> None:
        seen.append(await receive())
        client.leaves = True
        seen.append(await receive())

    await Guard(patient, allow())(sized(2), client.receive, client.send)

    assert [message["type"] for message in seen] == ["http.request", "http.disconnect"]


async def test_one_byte_too_many_is_refused_when_it_is_announced(guard: Guard, inner: Inner) -> None:
    client = Client([b"x" * 65_536] * 100)

    await guard(sized(CAP + 1), client.receive, client.send)

    assert (client.status, client.headers[b"connection"]) == (413, b"close")
    assert json.loads(client.body)["error"]["data"] == {"reason": "too_long"}
    assert client.taken <= 65_536
    assert inner.scopes == []


@pytest.mark.parametrize("value", [b"0,", b"{},", b"[],", b"["])
async def test_a_body_of_more_values_than_anybody_needs_is_refused_unparsed(
    guard: Guard, inner: Inner, value: bytes
) -> None:
    client = Client([b"[" + value * 20_000 + b"0]"])

    await guard(chunked(), client.receive, client.send)

    assert client.status == 413
    assert json.loads(client.body)["error"]["data"] == {"reason": "too_many_values"}
    assert inner.scopes == []


async def test_a_long_body_of_few_values_is_read(guard: Guard, inner: Inner) -> None:
    body = b'["' + (b"one, two, three " + b"and so on in words that go further " * 4) * 8_000 + b'"]'
    assert len(body) > LONG
    client = Client([body])

    await guard(chunked(), client.receive, client.send)

    assert client.status == 200
    assert len(inner.scopes) == 1


@pytest.mark.parametrize("piece", [1_000, 16_384, 65_536])
async def test_a_body_that_hides_its_length_is_read_to_the_cap_and_no_further(
    guard: Guard, inner: Inner, piece: int
) -> None:
    for scope in (chunked(), sized(10)):
        client = Client([b"x" * piece] * (2 * CAP // piece))

        await guard(scope, client.receive, client.send)

        assert (client.status, client.headers[b"connection"]) == (413, b"close")
        assert CAP < client.taken <= CAP + 65_536
    assert inner.scopes == []


@pytest.mark.parametrize(
    ("encoding", "status"),
    [(b"gzip", 415), (b"identity, gzip", 415), (b"br", 415), (b"", 415), (b"identity", 200), (b"Identity", 200)],
)
async def test_a_compressed_body_is_refused_unread(guard: Guard, encoding: bytes, status: int) -> None:
    client = Client([b"x" * 100])

    await guard(sized(100, (b"content-encoding", encoding)), client.receive, client.send)

    assert client.status == status
    assert client.headers.get(b"accept-encoding") == (None if status == 200 else b"identity")


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"2"), (b"content-length", b"3")],
        [(b"content-length", b"2"), (b"transfer-encoding", b"chunked")],
        [(b"content-length", b"-2")],
        [(b"content-length", b"2e1")],
        [(b"content-length", b"")],
        [(b"content-length", b"9" * 5_000)],
    ],
)
async def test_a_length_that_can_be_read_in_two_ways_is_refused(guard: Guard, headers: list[Header]) -> None:
    client = Client([b"{}"])

    await guard(scope_of([HOST, *headers]), client.receive, client.send)

    assert client.status == 400


async def test_a_body_that_stalls_is_refused_in_time_and_its_connection_closed(inner: Inner) -> None:
    client = Client([b"x", b"y"], stalls=True)
    guard = Guard(inner, allow(), BodyLimits(secs=0.05))

    with anyio.fail_after(10):
        await guard(sized(100), client.receive, client.send)

    assert (client.status, client.headers[b"connection"]) == (408, b"close")
    assert not client.sent[-1].get("more_body", False)
    assert inner.scopes == []


async def test_a_client_that_leaves_is_neither_answered_nor_served(guard: Guard, inner: Inner) -> None:
    for parts in ([], [b"x"], [b"x", b"y"]):
        client = Client(parts, leaves=True)

        await guard(sized(100), client.receive, client.send)

        assert client.sent == []
    assert inner.scopes == []


async def test_half_sent_long_bodies_share_a_limit_that_short_ones_do_not_feel(inner: Inner) -> None:
    guard = Guard(inner, allow(), replace(BodyLimits(), secs=30, small=100, held=1_000))
    crowd = [Client([b"x" * 600], stalls=True) for _ in range(3)]
    for client in crowd:
        client.parts.append(b"y")
    late, small = Client([b"x" * 600, b"y", b"z"]), Client([b"x" * 40, b"y", b"z"])

    async with anyio.create_task_group() as group:
        for client in crowd:
            group.start_soon(guard, sized(2_000), client.receive, client.send)
        await anyio.wait_all_tasks_blocked()
        await guard(sized(602), late.receive, late.send)
        await guard(sized(42), small.receive, small.send)
        group.cancel_scope.cancel()
    again = Client([b"x" * 600, b"y", b"z"])
    await guard(sized(602), again.receive, again.send)

    assert (late.status, small.status, again.status) == (503, 200, 200)
    assert late.headers[b"retry-after"] == b"1"


async def test_a_websocket_finds_no_door(guard: Guard, inner: Inner) -> None:
    client = Client()

    await guard({"type": "websocket", "path": "/mcp", "headers": [HOST]}, client.receive, client.send)

    assert client.sent == [{"type": "websocket.close", "code": 1008}]
    assert inner.scopes == []


async def test_the_life_of_the_process_is_passed_on(guard: Guard, inner: Inner) -> None:
    client = Client()

    await guard({"type": "lifespan"}, client.receive, client.send)

    assert inner.scopes == [{"type": "lifespan"}]
