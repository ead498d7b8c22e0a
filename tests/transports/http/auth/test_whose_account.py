"""The operator's own key: lent by how a request came, each request anew, and never to who was passed on."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from mcp_binance_server.app import App
from mcp_binance_server.cli.listening import ListenOn
from mcp_binance_server.cli.serve_http import options_of
from mcp_binance_server.domain.access import SCOPES
from mcp_binance_server.settings import read_settings
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token
from support.clock import FakeClock
from support.issuer import ISSUER, RESOURCE, AuthorizationServer
from support.requirement import requirement
from support.webapp import HttpClient, assembled, http_client, initialize

BALANCES = {"uri": "binance://account/balances"}
HERE, ELSEWHERE, PROXY = "127.0.0.1", "203.0.113.9", "10.0.0.1"
KEYS = {"x-binance-api-key": "k" * 64, "x-binance-secret-key": "s" * 64}
# What a program that passes requests on says of it.
PASSED_ON = [
    ("X-Forwarded-For", ELSEWHERE),
    ("X-Forwarded-For", HERE),
    ("X-Forwarded-For", ""),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Host", "mcp.example"),
    ("Forwarded", "for=203.0.113.9"),
    ("Via", "1.1 proxy"),
    ("X-Real-IP", ELSEWHERE),
    ("CF-Connecting-IP", ELSEWHERE),
    ("X-Envoy-External-Address", ELSEWHERE),
    ("True-Client-IP", ELSEWHERE),
]


@asynccontextmanager
async def calling(http: Assembled, peer: str, scheme: str = "http") -> AsyncGenerator[HttpClient]:
    """Call as from another address; `scheme` is how the connection to us is."""
    async with http_client(http) as usual:
        transport = httpx2.ASGITransport(http.asgi, client=(peer, 5))
        async with HttpClient(
            transport=transport, base_url=f"{scheme}://127.0.0.1:3000", headers=usual.headers
        ) as client:
            yield client


def is_lent(answer: httpx2.Response) -> bool:
    """Tell whether the operator's balances were shown; if not, the answer says why and shows none of them."""
    if "Account Balances" in answer.text:
        return True
    assert answer.json()["error"]["data"]["likely_cause"] == "key_not_lent"
    assert "docs/hosting.md" in answer.json()["error"]["data"]["recovery_suggestion"]
    return False


@pytest.mark.parametrize(("name", "value"), PASSED_ON)
async def test_nobody_who_was_passed_on_reads_the_operators_account(http: HttpClient, name: str, value: str) -> None:
    session = await http.initialize()
    named = {name.replace("-", "_"): value}

    direct = await http.ask("resources/read", session, BALANCES)
    in_session = await http.ask("resources/read", session, BALANCES, **named)
    alone = await http.modern("resources/read", BALANCES, **named)
    tool = await http.modern("tools/call", {"name": "get_account_info", "arguments": {}}, **named)
    market = await http.modern("resources/read", {"uri": "binance://market/btcusdt"}, **named)

    assert (is_lent(direct), is_lent(in_session), is_lent(alone)) == (True, False, False)
    assert tool.json()["result"]["structuredContent"]["likely_cause"] == "key_not_lent"
    assert "BTCUSDT" in market.text


@pytest.mark.parametrize(
    ("peer", "lent"),
    [(HERE, True), ("::1", True), ("::ffff:127.0.0.1", True), (ELSEWHERE, False), ("::ffff:203.0.113.9", False)],
)
async def test_a_peer_elsewhere_reads_no_account_of_ours(app: App, peer: str, *, lent: bool) -> None:
    async with assembled(app) as running, calling(running, peer) as http:
        assert is_lent(await http.modern("resources/read", BALANCES)) is lent


@pytest.mark.parametrize(
    "chain", [ELSEWHERE, f"{HERE}, {ELSEWHERE}", f"{ELSEWHERE}, {HERE}", "garbage", "::1", HERE, None]
)
@pytest.mark.parametrize("proxy", [HERE, PROXY])
async def test_whatever_a_trusted_proxy_says_its_callers_are_not_on_this_machine(
    app: App, proxy: str, chain: str | None
) -> None:
    said = {} if chain is None else {"x_forwarded_for": chain}
    async with assembled(app, trusted_proxies=(proxy,)) as running, calling(running, proxy) as http:
        plain = await http.modern("resources/read", BALANCES, **said)
        secure = await http.modern("resources/read", BALANCES, **said, x_forwarded_proto="https")

    assert (is_lent(plain), is_lent(secure)) == (False, False)


async def test_who_speaks_http_1_0_was_passed_on_by_nginx(app: App) -> None:
    async with assembled(app) as running:

        async def old(scope: Scope, receive: Receive, send: Send) -> None:
            await running.asgi({**scope, "http_version": "1.0"}, receive, send)

        async with http_client(replace(running, asgi=old)) as nginx:
            assert not is_lent(await nginx.modern("resources/read", BALANCES))


@pytest.fixture
def token() -> str:
    return new_token()


@pytest.fixture
async def locked(app: App, clock: FakeClock, tmp_path: Path, token: str) -> AsyncIterator[Assembled]:
    """The application with a token file, behind a trusted proxy or not."""
    file = tmp_path / "tokens"
    file.write_text(TokenEntry("ada", digest_of(token), SCOPES).line)
    async with assembled(
        app, authentication=Authentication(TokenFile(file, clock)), trusted_proxies=(PROXY,)
    ) as running:
        yield running


# By the peer, the scheme of its connection to us and what it says: whether others can read on the way.
WAYS: list[tuple[str, str, dict[str, str], bool]] = [
    (HERE, "http", {}, True),
    (ELSEWHERE, "https", {}, True),
    (PROXY, "http", {"X-Forwarded-For": ELSEWHERE, "X-Forwarded-Proto": "https"}, True),
    (ELSEWHERE, "http", {}, False),
    (ELSEWHERE, "http", {"X-Forwarded-For": HERE, "X-Forwarded-Proto": "https"}, False),
    (HERE, "http", {"X-Forwarded-For": ELSEWHERE, "X-Forwarded-Proto": "https"}, False),
    (PROXY, "http", {"X-Forwarded-For": HERE}, False),
    (PROXY, "http", {}, False),
    (PROXY, "http", {"X-Forwarded-For": ELSEWHERE, "X-Forwarded-Proto": "http"}, False),
    (PROXY, "http", {"X-Forwarded-For": ELSEWHERE, "X-Forwarded-Proto": "https, http"}, False),
    (PROXY, "https", {"X-Forwarded-For": ELSEWHERE, "X-Forwarded-Proto": "http"}, False),
]


@pytest.mark.parametrize(("peer", "scheme", "said", "private"), WAYS)
async def test_a_token_borrows_the_key_where_nobody_reads_along(
    locked: Assembled, token: str, peer: str, scheme: str, said: dict[str, str], *, private: bool
) -> None:
    async with calling(locked, peer, scheme) as http:
        http.headers.update({"authorization": f"Bearer {token}", **said})
        session = await http.initialize()
        in_session = await http.ask("resources/read", session, BALANCES)
        alone = await http.modern("resources/read", BALANCES)

    assert (is_lent(in_session), is_lent(alone)) == (private, private)


@requirement("ruling/47")
@pytest.mark.parametrize(("peer", "scheme", "said", "private"), WAYS)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/sse"])
async def test_keys_of_callers_are_refused_where_others_read_along(  # noqa: PLR0917 - two tables
    locked: Assembled, token: str, path: str, peer: str, scheme: str, said: dict[str, str], *, private: bool
) -> None:
    async with calling(locked, peer, scheme) as http:
        http.headers.update({"authorization": f"Bearer {token}", **said, **KEYS})
        opened = await http.post(path, json=initialize())
        alone = await http.modern("tools/list")

    assert (opened.status_code, alone.status_code) == ((200, 200) if private else (400, 400))
    if not private:
        error = opened.json()["error"]
        assert error["data"]["reason"] == "keys_refused"
        assert "MCP_BINANCE_TRUSTED_PROXIES" in error["message"]
        assert "kkkk" not in opened.text
        assert locked.heart.http_sessions.registry.snapshot().opened == 0


async def test_callers_of_an_issuer_never_borrow(app: App, authenticator: OAuth, issuer: AuthorizationServer) -> None:
    settings = read_settings({"MCP_BINANCE_OAUTH_ISSUER": ISSUER, "MCP_BINANCE_PUBLIC_URL": RESOURCE})
    options = options_of(settings, ListenOn(HERE, 0), Authentication(authenticator, b"{}", RESOURCE))

    async with (
        assembled(app, authentication=options.authentication, shares_server_key=options.shares_server_key) as running,
        http_client(running) as http,
    ):
        http.headers["authorization"] = f"Bearer {issuer.token()}"
        assert not is_lent(await http.modern("resources/read", BALANCES))
