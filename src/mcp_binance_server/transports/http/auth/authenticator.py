"""The one question a door asks, and what it says to those whom it does not let in."""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol, runtime_checkable

from mcp_binance_server.domain.access import LOCAL, Visitor

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(eq=False)
class Unauthenticated(Exception):
    """A request that is not let in; its words are ours alone, nothing of what was sent is in them.

    `error` is a word of RFC 6750; a request that brought no token at all has none.
    """

    description: str
    error: str | None = "invalid_token"
    status: int = 401
    retry_after_secs: int | None = None

    def __str__(self) -> str:
        return self.description


class Authenticator(Protocol):
    """A way to tell who asks."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:
        """Return who sends a request with these headers and this query string, both as ASGI has them.

        Raises:
            Unauthenticated: nobody who may come in.
        """
        ...


@runtime_checkable
class Withdrawing(Authenticator, Protocol):
    """A way to tell who asks whose tokens can cease to be good."""

    def edition(self) -> object:
        """Return what is another than before whenever a token that was good may be so no more."""
        ...


async def still_is(authenticator: Authenticator, visitor: Visitor, headers: Headers, query: bytes) -> bool:
    """Tell whether a request would be let in again as the same visitor; yes, while nobody can tell."""
    try:
        return await authenticator.visitor(headers, query) == visitor
    except Unauthenticated as refused:
        return refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class Open:
    """Asks nobody: for a server that only its own machine can reach."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:  # noqa: ARG002 - nothing is looked at
        return LOCAL
