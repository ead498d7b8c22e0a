"""What a request needs its caller to be allowed, before it is carried out."""

from collections.abc import Callable

import msgspec
from starlette.types import Receive, Scope

from mcp_binance_server.domain.access import SCOPES, Visitor
from mcp_binance_server.domain.access import Scope as Permission
from mcp_binance_server.transports.http.bodies import replayed

ScopeNeeded = Callable[[str, str, object], Permission | None]


class _Params(msgspec.Struct):
    # Of any kind: a member that the method does not look at must not hide the one that it does.
    name: object = None
    uri: object = None
    arguments: object = None


class _Asked(msgspec.Struct):
    method: str = ""
    params: _Params | None = None


async def missing_scopes(
    scope: Scope, receive: Receive, visitor: Visitor, needed: ScopeNeeded
) -> tuple[frozenset[Permission], Receive]:
    """Return what the visitor lacks for this request, and the body to read anew.

    A client learns by HTTP 403 which scopes to ask for; so the body is looked into here, for visitors who do not have
    every scope anyway. Whatever cannot be read is left to be refused by whoever reads it properly.
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
    name = params.uri if asked.method in ("resources/read", "resources/subscribe") else params.name
    found = needed(asked.method, name if isinstance(name, str) else "", params.arguments)
    return frozenset() if found is None else frozenset({found})
