"""How many places one client may hold before we know who it is."""

from collections import Counter
from ipaddress import IPv6Address, ip_address

from mcp_binance_server.domain.access import ANYBODY
from mcp_binance_server.sessions.model import ConnectionId


def client_of(remote_addr: str) -> str:
    """Name the client behind an address: a line has a whole /64 of IPv6 and may take a new address for each request."""
    try:
        address = ip_address(remote_addr)
    except ValueError:
        return remote_addr
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped) if address.ipv4_mapped else f"{int(address) >> 64:x}::/64"
    return str(address)


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
