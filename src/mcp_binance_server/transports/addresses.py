"""Which addresses only this machine can reach."""

from ipaddress import IPv4Address, IPv6Address, ip_address


def is_loopback(host: str) -> bool:
    """Tell whether a host, by number or by name, is this machine as it calls itself."""
    try:
        return unmapped(host).is_loopback
    except ValueError:
        return host == "localhost"


def unmapped(address: str) -> IPv4Address | IPv6Address:
    """Return an address in its own family: a socket for both shows IPv4 callers in IPv6.

    Raises:
        ValueError: it is none.
    """
    found = ip_address(address)
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
