"""Where one process sits among those that share an address, and how it finds the others."""

import os
from dataclasses import dataclass
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from urllib.parse import parse_qs

import httpx2
from starlette.types import Scope

from mcp_binance_server.sessions.model import ConnectionId, giver_of, new_connection_id
from mcp_binance_server.transports.http.conversation import CONNECTION_ID, SESSION_ID
from mcp_binance_server.transports.http.pair_door import MESSAGES
from mcp_binance_server.transports.http.switchboard import header

# Which headers name a session, in the order in which the doors look at them.
NAMED_BY = {"/mcp": (SESSION_ID,), "/mcp/sse": (CONNECTION_ID, SESSION_ID), MESSAGES: (CONNECTION_ID, SESSION_ID)}

# The keeper of a connection must be the more patient side: a request on one that just closes would look unanswered.
KEPT_SECS = 60


@dataclass(frozen=True, slots=True)
class Seat:
    """One of several processes. A session lives in the one that opened it, and its id says which that is."""

    number: int
    of: int
    folder: Path
    """A folder of this user alone, with one socket for each process."""

    @property
    def worth(self) -> float:
        """How much of a processor each of them has when all are at work."""
        return min(1.0, (os.cpu_count() or 1) / self.of)

    def new_id(self) -> ConnectionId:
        return new_connection_id(self.number, self.of)

    def address(self, number: int) -> Path:
        return address_in(self.folder, number)

    def owner(self, scope: Scope) -> int:
        """Return the process that a request belongs to: this one, unless it names a session of another."""
        named = _session(scope)
        giver = None if named is None else giver_of(named, self.of)
        return self.number if giver is None else giver


class WorkerLines:
    """Connections to the processes that share an address, made when they are first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: dict[int, httpx2.AsyncHTTPTransport] = {}

    def to(self, number: int) -> httpx2.AsyncHTTPTransport:
        if number not in self._lines:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEPT_SECS)
            path, no_tls = str(address_in(self._folder, number)), SSLContext(PROTOCOL_TLS_CLIENT)
            self._lines[number] = httpx2.AsyncHTTPTransport(no_tls, trust_env=False, limits=limits, uds=path)
        return self._lines[number]

    async def close(self) -> None:
        for line in self._lines.values():
            await line.aclose()


def address_in(folder: Path, number: int) -> Path:
    """Return the socket on which a process hears the others."""
    return folder / str(number)


def _session(scope: Scope) -> str | None:
    names = NAMED_BY.get(scope["path"], ())
    named = next((found for name in names if (found := header(scope, name))), None)
    if named is None and scope["path"] == MESSAGES:
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [])
        named = asked[0] if len(asked) == 1 else None
    return named
