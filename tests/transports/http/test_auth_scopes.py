"""What each scope of a token opens: every tool, page and prompt, asked for by every kind of visitor."""

from collections.abc import Awaitable, Callable
from itertools import chain, combinations

import pytest

from mcp_binance_server.app import App
from mcp_binance_server.domain.access import SCOPES, Scope, Visitor
from mcp_binance_server.errors import AppError, InsufficientScope
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.issuer import AuthorizationServer

Enter = Callable[[str], Awaitable[Visitor]]

# Written out: a new name that touches the account must be added here by somebody who thought about it.
PRIVATE = {
    "tools/call": {
        "get_account_info",
        "get_account_trades",
        "get_open_orders",
        "get_order",
        "get_all_orders",
        "preview_order",
    },
    "resources/read": {
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


async def test_looking_around_needs_no_scope(app: App) -> None:
    methods = ("tools/list", "resources/list", "prompts/list", "initialize", "server/discover", "ping")

    assert {app.dispatcher.scope_needed(method, "") for method in methods} == {None}


async def missing_scopes(app: App, caller: Caller, method: str, name: str) -> tuple[str, ...]:
    try:
        await ask(app, caller, method, name)
    except InsufficientScope as refusal:
        return refusal.needed_scopes
    except AppError:
        pass  # past the door: wrong arguments, or no account to show
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
        (method, name): await missing_scopes(app, Caller(visitor, None), method, name) for method, name in EVERYTHING
    }

    needed = {each: app.dispatcher.scope_needed(*each) for each in EVERYTHING}
    assert missing == {each: () if scope in granted else (scope,) for each, scope in needed.items()}
