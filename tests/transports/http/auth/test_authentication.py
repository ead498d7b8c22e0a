"""The application with a lock: what a token opens, and what happens to whoever brings none, a bad one or another's."""

import json
import logging
from collections.abc import AsyncIterator, Callable
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import SCOPES
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled
from mcp_binance_server.transports.http.auth.authenticator import Open
from mcp_binance_server.transports.http.auth.oauth import OAuth
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token
from mcp_binance_server.transports.http.auth.trust import WELL_KNOWN, resource_metadata
from support.bad_tokens import BAD
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.issuer import ISSUER, RESOURCE, AuthorizationServer
from support.webapp import ENVELOPE, MODERN, BareAnswer, assembled, bare, called, initialize, request

METADATA_URL = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
LIST = request("tools/list", {"_meta": ENVELOPE})
NAMED = {
    "mcp_protocol_version": MODERN,
    "mcp_method": "tools/list",
    "accept": "application/json, text/event-stream",
}
WINDOW = 12
# Every address that asks for a token, and a request that a good one would have answered.
TRANSPORTS: dict[str, tuple[str, str, dict[str, Any] | None, dict[str, str]]] = {
    "/mcp, handshake": ("POST", "/mcp", initialize(), {}),
    "/mcp, 2026-07-28": ("POST", "/mcp", LIST, NAMED),
    "/mcp, stream": ("GET", "/mcp", None, {"accept": "text/event-stream"}),
    "/mcp, end": ("DELETE", "/mcp", None, {}),
    "/mcp/sse, open": ("POST", "/mcp/sse", None, {}),
    "/mcp/sse, stream": ("GET", "/mcp/sse", None, {"accept": "text/event-stream"}),
    "/mcp/message": ("POST", "/mcp/message", request("tools/list"), {}),
    "/metrics": ("GET", "/metrics", None, {}),
}  # fmt: skip
MakeBad = Callable[[str], str]
# What is no token of the file, made of one that is.
NO_TOKEN: dict[str, MakeBad] = {
    "somebody else's": lambda _: f"Bearer {new_token()}",
    "cut short": lambda token: f"Bearer {token[:-1]}",
    "one letter longer": lambda token: f"Bearer {token}A",
    "in capitals": lambda token: f"Bearer {token.upper()}",
    "its hash": lambda token: f"Bearer {sha256(token.encode()).hexdigest()}",
    "its line in the file": lambda token: f"Bearer sha256:{sha256(token.encode()).hexdigest()}",
    "empty": lambda _: "Bearer ",
    "two words": lambda token: f"Bearer {token} {token}",
    "another scheme": lambda token: f"Basic {token}",
    "no scheme": lambda token: token,
}


@pytest.fixture
def oauth(authenticator: OAuth) -> Authentication:
    return Authentication(authenticator, resource_metadata(RESOURCE, ISSUER, SCOPES - {"trade"}), RESOURCE)


@pytest.fixture
async def locked(app: App, oauth: Authentication) -> AsyncIterator[Assembled]:
    async with assembled(app, authentication=oauth, shares_server_key=False) as http:
        yield http


async def knock(http: Assembled, name: str, **headers: str) -> BareAnswer:
    method, path, message, more = TRANSPORTS[name]
    return await bare(http, method, path, message, **more, **headers)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def opened(http: Assembled) -> int:
    return http.heart.http_sessions.registry.snapshot().opened


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_token_is_refused_at_every_address_and_opens_nothing(
    case: str, locked: Assembled, issuer: AuthorizationServer
) -> None:
    token = BAD[case](issuer)

    for name in TRANSPORTS:
        answer = await knock(locked, name, **bearer(token))

        challenge = answer.headers["www-authenticate"]
        assert (answer.status, json.loads(answer.body)["error"]["data"]["reason"]) == (401, "invalid_token"), name
        assert challenge.startswith('Bearer error="invalid_token", error_description="')
        assert challenge.endswith(f'resource_metadata="{METADATA_URL}"')
        assert len(answer.body) <= 1_000
        assert token not in f"{answer}"
    assert opened(locked) == 0


async def test_without_a_token_a_client_is_told_where_to_get_one(locked: Assembled) -> None:
    for name in TRANSPORTS:
        answer = await knock(locked, name)

        assert (answer.status, answer.headers["www-authenticate"]) == (
            401,
            f'Bearer resource_metadata="{METADATA_URL}"',
        ), name
    assert opened(locked) == 0


async def test_a_good_token_is_let_in_at_every_address(locked: Assembled, issuer: AuthorizationServer) -> None:
    # A stream would go on for ever; whoever takes none is told so, once it is let in.
    accepted = {name: {"accept": "application/json"} if "stream" in name else {} for name in TRANSPORTS}

    statuses = {
        name: (await called_with(locked, name, bearer(issuer.token()) | more)).status for name, more in accepted.items()
    }

    assert statuses == {
        "/mcp, handshake": 200,
        "/mcp, 2026-07-28": 200,
        "/mcp, stream": 400,
        "/mcp, end": 400,
        "/mcp/sse, open": 200,
        "/mcp/sse, stream": 406,
        "/mcp/message": 400,
        "/metrics": 200,
    }


async def called_with(http: Assembled, name: str, headers: dict[str, str]) -> BareAnswer:
    method, path, message, more = TRANSPORTS[name]
    return await bare(http, method, path, message, **{**more, **headers})


@pytest.mark.parametrize("name", TRANSPORTS)
async def test_a_token_in_the_address_or_two_of_them_are_a_mistake_and_any_case_of_the_scheme_is_none(
    name: str, locked: Assembled, issuer: AuthorizationServer
) -> None:
    method, path, message, _ = TRANSPORTS[name]
    body = b"" if message is None else json.dumps(message).encode()
    token = issuer.token()
    one = ("authorization", f"Bearer {token}")
    plain = [("host", "127.0.0.1"), ("content-type", "application/json"), ("accept", "application/json")]

    queried = await called(locked, method, path, body, headers=plain, query=f"access_token={token}")
    both = await called(locked, method, path, body, headers=[*plain, one], query=f"x=1&token={token}")
    twice = await called(locked, method, path, body, headers=[*plain, one, one])
    lower = await called(locked, method, path, body, headers=[*plain, ("authorization", f"bearer {token}")])

    for answer in (queried, both, twice):
        assert answer.status == 400
        assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_request"')
        assert token not in f"{answer}"
    assert lower.status != 401


@pytest.mark.parametrize("path", [WELL_KNOWN, f"{WELL_KNOWN}/mcp"])
async def test_where_tokens_come_from_is_told_to_everybody(path: str, locked: Assembled) -> None:
    answer = await bare(locked, "GET", path)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(answer.body) == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["account:read", "market:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "mcp-binance-server",
    }


async def test_the_document_lies_where_the_refusals_of_this_address_point(app: App) -> None:
    authentication = Authentication(Open(), b"{}", "https://desk.example/binance/mcp")

    async with assembled(app, authentication=authentication) as http:
        there = await bare(http, "GET", f"{WELL_KNOWN}/binance/mcp")
        elsewhere = await bare(http, "GET", f"{WELL_KNOWN}/mcp")

    assert authentication.metadata_url == f"https://desk.example{WELL_KNOWN}/binance/mcp"
    assert (there.status, there.body, elsewhere.status) == (200, b"{}", 404)


async def test_without_an_issuer_there_is_no_such_document(app: App) -> None:
    async with assembled(app) as http:
        assert {(await bare(http, "GET", path)).status for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp")} == {404}


@pytest.mark.parametrize("case", NO_TOKEN)
async def test_what_is_no_token_of_the_file_is_refused_at_every_address(
    case: str, app: App, clock: FakeClock, tmp_path: Path
) -> None:
    token, file = new_token(), tmp_path / "tokens"
    file.write_text(TokenEntry("ada", digest_of(token), frozenset({"market:read"})).line)

    async with assembled(app, authentication=Authentication(TokenFile(file, clock))) as http:
        good = await knock(http, "/metrics", **bearer(token))
        refused = {name: await knock(http, name, authorization=NO_TOKEN[case](token)) for name in TRANSPORTS}

        assert opened(http) == 0
    assert good.status == 200
    assert {answer.status for answer in refused.values()} == {401}
    assert all(answer.headers["www-authenticate"].startswith("Bearer ") for answer in refused.values())
    assert all('realm="mcp-binance-server"' in answer.headers["www-authenticate"] for answer in refused.values())


async def test_a_token_whose_last_day_is_over_and_one_that_was_withdrawn_open_nothing(
    app: App, clock: FakeClock, tmp_path: Path
) -> None:
    ada, bob, file = new_token(), new_token(), tmp_path / "tokens"
    last = TokenEntry("bob", digest_of(bob), SCOPES, date(2000, 1, 1)).line
    file.write_text(f"{TokenEntry('ada', digest_of(ada), SCOPES).line}\n{last}\n")

    async with assembled(app, authentication=Authentication(TokenFile(file, clock))) as http:
        session = (await knock(http, "/mcp/sse, open", **bearer(ada))).headers["connection-id"]
        over = await knock(http, "/mcp/message", connection_id=session, **bearer(bob))
        file.write_text("")
        clock.advance(2_000)
        withdrawn = await knock(http, "/mcp/message", connection_id=session, **bearer(ada))

    assert (over.status, withdrawn.status) == (401, 401)


async def test_a_session_is_its_openers_and_nobody_elses(locked: Assembled, issuer: AuthorizationServer) -> None:
    ada, eve = bearer(issuer.token()), bearer(issuer.token(sub="eve"))
    renewed = bearer(issuer.token(jti="another token of hers"))
    for first in ("/mcp, handshake", "/mcp/sse, open"):
        session = (await knock(locked, first, **ada)).headers["connection-id"]
        for name in ("/mcp/message", "/mcp, stream", "/mcp, end"):
            stolen = await knock(locked, name, connection_id=session, mcp_session_id=session, **eve)
            unknown = await knock(locked, name, connection_id="x", mcp_session_id="x", **eve)
            assert (stolen, stolen.status) == (unknown, 404), name

        assert (await knock(locked, "/mcp/message", connection_id=session, **renewed)).status == 200


async def test_whoever_is_not_let_in_is_told_so_even_when_there_is_no_place(
    app: App, oauth: Authentication, issuer: AuthorizationServer
) -> None:
    async with assembled(app, authentication=oauth, session_cap=1) as http:
        first = await knock(http, "/mcp/sse, open", **bearer(issuer.token()))
        second = await knock(http, "/mcp/sse, open", **bearer(issuer.token(sub="eve")))
        stranger = await knock(http, "/mcp/sse, open", **bearer(issuer.token(exp=1)))

        counts = http.heart.http_sessions.registry.snapshot()
    assert (first.status, second.status, stranger.status) == (200, 503, 401)
    assert (counts.opened, counts.refused) == (1, 1)


class Upstream(Loop):
    """The way to the exchange, with everything that was sent on it."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.seen: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(f"{request.url} {request.headers.raw} {await request.aread()!r}")
        return await super().handle_async_request(request)


async def test_no_piece_of_a_clients_token_is_seen_upstream_or_in_a_log(  # noqa: PLR0917 - fixtures
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, oauth: Authentication,
    issuer: AuthorizationServer, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    upstream, token = Upstream(exchange), issuer.token()
    asks: tuple[tuple[str, dict[str, Any]], ...] = (("tools/call", {"name": "get_account_info", "arguments": {}}),
            ("resources/read", {"uri": "binance://market/btcusdt"}),
            ("resources/read", {"uri": "binance://orders/open"}),
            ("prompts/get", {"name": "portfolio_risk", "arguments": {}}))  # fmt: skip

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=upstream) as app,
        assembled(app, authentication=oauth, shares_server_key=True) as http,
    ):
        session = (await knock(http, "/mcp, handshake", **bearer(token))).headers["connection-id"]
        for method, params in asks:
            answer = await bare(
                http, "POST", "/mcp/message", request(method, params), connection_id=session, **bearer(token)
            )
            assert "result" in json.loads(answer.body)
        figures = await knock(http, "/metrics", **bearer(token))

    everything = "\n".join([*upstream.seen, caplog.text, figures.body.decode()])
    secret = token.partition(".")[2]
    assert len(upstream.seen) > 5
    assert "x-mbx-apikey" in everything.lower()
    assert "authorization" not in "\n".join(upstream.seen).lower()
    assert not [at for at in range(len(secret) - WINDOW) if secret[at : at + WINDOW] in everything]
