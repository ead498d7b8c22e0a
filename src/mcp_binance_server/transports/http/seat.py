"""Where one process sits among those that share an address, and how it finds the others."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

from starlette.types import Scope

from mcp_binance_server.sessions.model import ConnectionId, giver_of, new_connection_id
from mcp_binance_server.transports.http.conversation import CONNECTION_ID, SESSION_ID
from mcp_binance_server.transports.http.pair_door import MESSAGES
from mcp_binance_server.transports.http.switchboard import header

# Which headers name a session, in the order in which the doors look at them.
NAMED_BY = {"/mcp": (SESSION_ID,), "/mcp/sse": (CONNECTION_ID, SESSION_ID), MESSAGES: (CONNECTION_ID, SESSION_ID)}


@dataclass(frozen=True, slots=True)
class Seat:
    """One of several processes. A session lives in the one that opened it, and its id says which that is."""

    number: int
    of: int
    folder: Path
    """A folder of this user alone, with one socket for each process."""

    def new_id(self) -> ConnectionId:
        return new_connection_id(self.number, self.of)

    def address(self, number: int) -> Path:
        return self.folder / str(number)

    def owner(self, scope: Scope) -> int:
        """Return the process that a request belongs to: this one, unless it names a session of another."""
        named = _session(scope)
        giver = None if named is None else giver_of(named, self.of)
        return self.number if giver is None else giver


def _session(scope: Scope) -> str | None:
    names = NAMED_BY.get(scope["path"], ())
    named = next((found for name in names if (found := header(scope, name))), None)
    if named is None and scope["path"] == MESSAGES:
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [])
        named = asked[0] if len(asked) == 1 else None
    return named
