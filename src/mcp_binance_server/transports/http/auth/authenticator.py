"""The one question a door asks, and what it says to those whom it does not let in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

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


class Open:
    """Asks nobody: for a server that only its own machine can reach."""

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:  # noqa: ARG002 - nothing is looked at
        return LOCAL
