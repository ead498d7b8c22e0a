"""How many places one client may hold before we know who it is."""

from collections import Counter

from mcp_binance_server.domain.access import ANYBODY, client_of
from mcp_binance_server.sessions.model import ConnectionId


class Share:
    """Counts the places of strangers by client; who showed a name holds as many as there are."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._clients: dict[ConnectionId, str] = {}
        self._held: Counter[str] = Counter()

    def take(self, member: ConnectionId, owner: str, remote_addr: str) -> bool:
        """Count one more place, unless the client has its share; `most` 0 counts nothing."""
        if not self._most or owner != ANYBODY:
            return True
        client = client_of(remote_addr)
        if self._held[client] >= self._most:
            return False
        self._clients[member] = client
        self._held[client] += 1
        return True

    def give_back(self, member: ConnectionId) -> None:
        client = self._clients.pop(member, None)
        if client is not None:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]

    def members_of(self, remote_addr: str) -> list[ConnectionId]:
        """Return which places the client behind an address holds."""
        client = client_of(remote_addr)
        return [member for member, holder in self._clients.items() if holder == client]
