"""Host and Origin on every address of the real application: who may ask at all, before anything else is looked at."""

import json

import pytest

from mcp_binance_server.app import App
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.app import ROUTES, Authentication
from mcp_binance_server.transports.http.assembly import Assembled
from mcp_binance_server.transports.http.auth.authenticator import Open
from support.webapp import assembled, called

HOSTS = ("127.0.0.1:*", "localhost:*", "[::1]:*", "mcp.example.com")
ORIGINS = ("http://localhost:*", "https://app.example.com")
ADDRESSES = (*sorted(ROUTES), "/", "/nothing", "/mcp/", "/MCP")
METHODS = ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT")
WRONG_HOST, WRONG_ORIGIN, THROUGH = 421, 403, 0
GOOD = "127.0.0.1:3000"
# What is sent as Host and as Origin, each as often as it stands here, and what becomes of it.
TABLE: tuple[tuple[tuple[str, ...], tuple[str, ...], int], ...] = (
    ((GOOD,), (), THROUGH),
    (("LocalHost:80",), (), THROUGH),
    (("[::1]:3000",), (), THROUGH),
    (("mcp.example.com",), (), THROUGH),
    ((GOOD,), ("http://localhost:5173",), THROUGH),
    ((GOOD,), ("https://app.example.com",), THROUGH),
    (("mcp.example.com",), ("https://app.example.com",), THROUGH),
    ((), (), WRONG_HOST),
    (("",), (), WRONG_HOST),
    ((GOOD, GOOD), (), WRONG_HOST),
    ((GOOD, "evil.com"), (), WRONG_HOST),
    (("evil.com",), (), WRONG_HOST),
    (("evil.com",), ("http://localhost:3000",), WRONG_HOST),
    (("127.0.0.1:3000@evil.com",), (), WRONG_HOST),
    (("localhost:evil.com",), (), WRONG_HOST),
    (("localhost.evil.com",), (), WRONG_HOST),
    (("127.0.0.1.evil.com",), (), WRONG_HOST),
    (("localhost:65536",), (), WRONG_HOST),
    (("0x7f.1",), (), WRONG_HOST),
    (("2130706433",), (), WRONG_HOST),
    (("mcp.example.com:443",), (), WRONG_HOST),
    (("localhost\x00",), (), WRONG_HOST),
    ((GOOD,), ("http://evil.com",), WRONG_ORIGIN),
    ((GOOD,), ("null",), WRONG_ORIGIN),
    ((GOOD,), ("",), WRONG_ORIGIN),
    ((GOOD,), ("http://localhost:evil.com",), WRONG_ORIGIN),
    ((GOOD,), ("http://localhost:80@evil.com",), WRONG_ORIGIN),
    ((GOOD,), ("http://localhost.evil.com",), WRONG_ORIGIN),
    ((GOOD,), ("https://localhost:3000",), WRONG_ORIGIN),
    ((GOOD,), ("http://localhost", "http://evil.com"), WRONG_ORIGIN),
    ((GOOD,), ("http://localhost, http://evil.com",), WRONG_ORIGIN),
    ((GOOD,), ("http://app.example.com",), WRONG_ORIGIN),
    ((GOOD,), ("file://",), WRONG_ORIGIN),
)
OPENED = Authentication(Open(), metadata=b"{}", resource="https://mcp.example.com/mcp")

pytestmark = pytest.mark.flood


async def check(http: Assembled, address: str, method: str, row: tuple[tuple[str, ...], tuple[str, ...], int]) -> None:
    hosts, origins, expected = row
    headers = [*(("host", host) for host in hosts), *(("origin", origin) for origin in origins)]
    # A GET of an event stream would not end; what it does not accept is answered at once.
    sent = [*headers, ("accept", "application/json"), ("access-control-request-method", "POST")]

    answer = await called(http, method, address, headers=sent)

    assert not [name for name in answer.headers if name.startswith("access-control")], (address, row)
    if expected == THROUGH:
        assert answer.status not in (WRONG_HOST, WRONG_ORIGIN), (address, method, row)
        return
    reason = {WRONG_HOST: "wrong_host", WRONG_ORIGIN: "wrong_origin"}[expected]
    assert (answer.status, json.loads(answer.body)["error"]["data"]["reason"]) == (expected, reason), (address, row)
    assert b"evil" not in answer.body


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_wrong_host_is_misdirected_and_a_wrong_origin_forbidden_wherever_they_ask(
    app: App, address: str
) -> None:
    async with assembled(app, authentication=OPENED, allowed=allow(HOSTS, ORIGINS), session_cap=10_000) as http:
        for method in METHODS:
            for row in TABLE:
                await check(http, address, method, row)

    assert len(TABLE) >= 30


async def test_whoever_is_turned_away_takes_no_session(app: App) -> None:
    async with assembled(app, allowed=allow(HOSTS, ORIGINS)) as http:
        for hosts, origins, expected in TABLE:
            headers = [*(("host", host) for host in hosts), *(("origin", origin) for origin in origins)]
            answer = await called(http, "POST", "/mcp/sse", headers=headers)
            assert answer.status == (expected or 200)

        assert http.heart.http_sessions.registry.snapshot().opened == sum(not row[2] for row in TABLE)
