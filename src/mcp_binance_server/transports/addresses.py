"""Which addresses only this machine can reach."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Tell whether a host, by number or by name, is this machine as it calls itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
