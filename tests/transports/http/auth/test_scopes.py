"""What each scope of a token opens: every tool, page and prompt, asked for by every kind of visitor."""

import json
from collections.abc import Awaitable, Callable
from itertools import chain, combinations
from typing import Any

import pytest

from mcp_binance_server.app import App
from mcp_binance_server.domain.access import SCOPES, Scope, Vault, Visitor
from mcp_binance_server.errors import AppError, InsufficientScope
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import Assembled
from mcp_binance_server.transports.http.auth.oauth import OAuth
from support.issuer import AuthorizationServer
from support.webapp import ENVELOPE, MODERN, BareAnswer, assembled, bare, called, initialize, request

Enter = Callable[[str], Awaitable[Visitor]]

# Written out: a new name that touches the account must be added here by somebody who thought about it.
PRIVATE = {
    "tools/call": {
        "get_account_info",
        "get_account_trades",
        "get_open_orders",
        "get_order",
        "get_all_orders",
        "get_portfolio",
        "preview_order",
    },
    "resources/read": {
        "binance://account",
        "binance://orders",
        "binance://account/balances",
        "binance://account/positions",
        "binance://orders/open",
        "binance://orders/history",
    },
    "prompts/get": {"portfolio_risk"},
}
EVERYTHING = [
    *(("tools/call", spec.name) for spec in CATALOGUE.tools),
    *(("resources/read", spec.uri) for spec in CATALOGUE.resources),
    *(("resources/read", spec.uri_template) for spec in CATALOGUE.templates),
    *(("prompts/get", spec.name) for spec in CATALOGUE.prompts),
]
EVERY_GRANT: list[tuple[Scope, ...]] = list(chain.from_iterable(combinations(sorted(SCOPES), n) for n in range(4)))


async def test_what_touches_the_account_needs_its_scope_and_all_else_the_markets(app: App) -> None:
    needed = {(method, name): app.dispatcher.scope_needed(method, name) for method, name in EVERYTHING}

    assert needed == {
        (method, name): "account:read" if name in PRIVATE[method] else "market:read" for method, name in EVERYTHING
    }


async def test_to_hear_of_a_page_needs_what_reading_it_does(app: App) -> None:
    for spec in CATALOGUE.resources:
        read = app.dispatcher.scope_needed("resources/read", spec.uri)
        assert app.dispatcher.scope_needed("resources/subscribe", spec.uri) == read
    assert app.dispatcher.scope_needed("subscriptions/listen", "") == "market:read"


async def test_looking_around_needs_no_scope(app: App) -> None:
    methods = ("tools/list", "resources/list", "prompts/list", "initialize", "server/discover", "ping")

    assert {app.dispatcher.scope_needed(method, "") for method in methods} == {None}


async def missing_scopes(app: App, caller: Caller, method: str, name: str) -> tuple[str, ...]:
    try:
        await ask(app, caller, method, name)
    except InsufficientScope as refusal:
        return refusal.needed_scopes
    except AppError:
        pass  # past the check: wrong arguments, or no account to show
    return ()


async def ask(app: App, caller: Caller, method: str, name: str) -> None:
    if method == "tools/call":
        await app.dispatcher.call_tool(caller, name, {"no": "such argument"})
    elif method == "prompts/get":
        await app.dispatcher.get_prompt(caller, name, {"no": "such argument"})
    else:
        await app.dispatcher.read_resource(caller, name)


@pytest.mark.parametrize("granted", EVERY_GRANT, ids=lambda granted: "+".join(granted) or "nothing")
async def test_a_token_opens_what_its_scopes_say_and_nothing_more(
    granted: tuple[Scope, ...], app: App, enter: Enter, issuer: AuthorizationServer
) -> None:
    visitor = await enter(issuer.token(scope=f"openid {' '.join(granted)}"))

    missing = {
        (method, name): await missing_scopes(app, Caller(visitor, Vault(None)), method, name)
        for method, name in EVERYTHING
    }

    needed = {each: app.dispatcher.scope_needed(*each) for each in EVERYTHING}
    assert missing == {each: () if scope in granted else (scope,) for each, scope in needed.items()}


RESOURCE = "https://mcp.example/mcp"
PLACE = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
OVER_HTTP = ("/mcp, handshake", "/mcp, 2026-07-28", "/mcp/message")
NO_SUCH: dict[str, Any] = {"no": "such argument"}


def params_of(method: str, name: str) -> dict[str, Any]:
    return {"uri": name} if method == "resources/read" else {"name": name, "arguments": NO_SUCH}


class Talk:
    """One caller of one of the transports; what is asked goes in the session that it needs."""

    def __init__(self, http: Assembled, transport: str, token: str) -> None:
        self._http = http
        self._transport = transport
        self._authorization = f"Bearer {token}"
        self._session = ""

    async def open(self) -> None:
        if self._transport == "/mcp, handshake":
            self._session = (await self._post("/mcp", initialize())).headers["connection-id"]
        elif self._transport == "/mcp/message":
            self._session = (await self._post("/mcp/sse", None)).headers["connection-id"]

    async def ask(self, method: str, params: dict[str, Any]) -> BareAnswer:
        if self._transport == "/mcp, 2026-07-28":
            name = params.get("name") or params.get("uri") or ""
            return await self._post(
                "/mcp", request(method, {**params, "_meta": ENVELOPE}),
                mcp_protocol_version=MODERN, mcp_method=method, mcp_name=name,
                accept="application/json, text/event-stream",
            )  # fmt: skip
        path = self._transport.partition(",")[0]
        return await self._post(
            path, request(method, params), mcp_session_id=self._session, connection_id=self._session
        )

    async def send(self, body: bytes) -> BareAnswer:
        headers = {
            "host": "127.0.0.1", "content-type": "application/json", "authorization": self._authorization,
            "mcp-session-id": self._session, "connection-id": self._session,
        }  # fmt: skip
        return await called(self._http, "POST", self._transport.partition(",")[0], body, headers=headers.items())

    async def _post(self, path: str, message: dict[str, Any] | None, **headers: str) -> BareAnswer:
        return await bare(self._http, "POST", path, message, authorization=self._authorization, **headers)


@pytest.mark.parametrize("transport", OVER_HTTP)
@pytest.mark.parametrize("granted", EVERY_GRANT[:4], ids=lambda granted: "+".join(granted) or "nothing")
async def test_over_http_a_missing_scope_is_403_with_all_that_is_needed_and_nothing_else_is(
    granted: tuple[Scope, ...], transport: str, app: App, authenticator: OAuth, issuer: AuthorizationServer
) -> None:
    async with assembled(
        app, authentication=Authentication(authenticator, b"{}", RESOURCE), shares_server_key=True
    ) as http:
        talk = Talk(http, transport, issuer.token(scope=" ".join(granted)))
        await talk.open()
        for method, name in EVERYTHING:
            answer = await talk.ask(method, params_of(method, name))

            needed = app.dispatcher.scope_needed(method, name)
            if needed in granted:
                assert answer.status != 403, (method, name)
                assert b"insufficient_scope" not in answer.body
                continue
            scopes = " ".join(sorted({"market:read", str(needed)}))
            assert (answer.status, json.loads(answer.body)["error"]["data"]["reason"]) == (403, "insufficient_scope")
            assert answer.headers["www-authenticate"] == (
                'Bearer error="insufficient_scope", error_description="The token does not allow this.", '
                f'scope="{scopes}", resource_metadata="{PLACE}"'
            )


SNEAKY = (
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"name":"get_ticker","uri":"binance://account/balances"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"uri":"binance://market/btcusdt","name":"get_account_info"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"uri":5,"name":"get_account_info","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"uri":null,"name":"portfolio_risk"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"get_account_info"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_ticker","name":"get_account_info"}}',
    b'{"jsonrpc":"2.0","id":1,"\\u006dethod":"tools/call","params":{"name":"get_account_inf\\u006f"}}',
)
UNREADABLE = (
    b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xed\xa0\x80"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 5_000,
    b"\xff",
)


@pytest.mark.parametrize("transport", ["/mcp, handshake", "/mcp/message"])
async def test_no_way_to_write_a_request_gets_round_its_scope_or_is_our_fault(
    transport: str, app: App, authenticator: OAuth, issuer: AuthorizationServer
) -> None:
    async with assembled(
        app, authentication=Authentication(authenticator, b"{}", RESOURCE), shares_server_key=True
    ) as http:
        talk = Talk(http, transport, issuer.token(scope="market:read"))
        await talk.open()
        sneaky = [(await talk.send(body)).status for body in SNEAKY]
        unreadable = [(await talk.send(body)).status for body in UNREADABLE]

    assert sneaky == [403] * len(SNEAKY)
    assert unreadable == [400] * len(UNREADABLE)
