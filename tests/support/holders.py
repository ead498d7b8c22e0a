"""Callers who are told apart by their tokens, and the authenticator that does it."""

from pathlib import Path

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import Scope, Visitor
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token

MARKET: frozenset[Scope] = frozenset({"market:read"})


class Holders:
    """A token file with a line for each name."""

    def __init__(self, path: Path, *names: str, scopes: frozenset[Scope] = MARKET) -> None:
        self.path = path
        self.tokens = {name: new_token() for name in names}
        lines = [TokenEntry(name, digest_of(token), scopes).line for name, token in self.tokens.items()]
        path.write_text("".join(f"{line}\n" for line in lines))

    def authentication(self, clock: Clock) -> Authentication:
        return Authentication(TokenFile(self.path, clock))

    @staticmethod
    def visitor(name: str) -> Visitor:
        """Return who the server takes the holder of a name for."""
        return Visitor(f"token {name}")

    def bearer(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[name]}"}
