"""Addresses that keys and tokens may depend on: https, or http to this machine."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def check_address(url: str) -> None:
    """Make sure that nobody on the way can change what an address answers.

    Raises:
        ValueError: it is no plain address, or not a safe one.
    """
    if not (url.isascii() and url.isprintable()) or any(mark in url for mark in ' "\\'):
        raise ValueError("must be a plain address")
    parts = urlsplit(url)
    _ = parts.port  # a ValueError of its own when it is no number
    if not parts.hostname or "@" in parts.netloc or "#" in url:
        raise ValueError("must be an address with a host, and without a user or a fragment")
    if parts.scheme != "https" and not is_local_http(url):
        raise ValueError("must start with https:// (http:// only on this machine)")


def is_local_http(url: str) -> bool:
    """Tell whether an address is plain HTTP that does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme == "http" and _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
