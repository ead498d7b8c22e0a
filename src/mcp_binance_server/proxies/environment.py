"""Proxy variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, and the choice of proxy for an address.

As in Python's urllib, a lower-case name takes precedence over upper case, and an empty value disables its proxy.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, Final
from urllib.parse import quote, unquote, urlsplit

from pydantic import InstanceOf, WithJsonSchema

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.installation import with_extra

PROXY_VARIABLES = HTTPS, HTTP, ALL, NO = "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"
# Proxy variables that this program ignores. Some libraries use them for some connections.
UNREAD: Final = ("WSS_PROXY", "WS_PROXY", "SOCKS_PROXY")
SYSTEM = "system settings"
PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
SOCKS_PACKAGES = ("socksio", "python_socks")
NEEDS_CREDENTIALS, FORBIDDEN = 407, 403
UNREACHED = (502, 503, 504)
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?")

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the variable that sets it. Text and repr hide the credentials."""

    variable: str
    scheme: str
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{_bracketed(self.host)}:{self.port} ({self.variable})"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def address(self) -> str:
        """The URL without credentials.

        With SOCKS, names are always resolved by the proxy, so that HTTP and WebSocket libraries behave the same.
        """
        return f"{'socks5h' if self.is_socks else self.scheme}://{_bracketed(self.host)}:{self.port}"

    @property
    def credentials(self) -> tuple[str, str] | None:
        return (self.user, self.password) if self.user or self.password else None

    @property
    def url(self) -> str:
        """The URL with credentials, for libraries that accept them only there."""
        scheme, _, place = self.address.partition("://")
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.credentials else ""
        return f"{scheme}://{login}{place}"


ProxySetting = Annotated[InstanceOf[Proxy], WithJsonSchema({"type": "string"})]


class ProxyFailure(ConnectionError):
    """Error of a proxy. The text names the proxy without its credentials."""

    def __init__(self, proxy: Proxy, what: str) -> None:
        super().__init__(f"the proxy {proxy} {what}")


@dataclass(frozen=True, slots=True)
class OutgoingProxies:
    """Proxies by URL scheme, with `all` as the fallback. Hosts in NO_PROXY (`bypass`) are reached directly."""

    https: Proxy | None = None
    http: Proxy | None = None
    all: Proxy | None = None
    bypass: str = ""

    def __bool__(self) -> bool:
        return (self.https or self.http or self.all) is not None

    def of(self, url: str) -> Proxy | None:
        """Return the proxy for an address, or None for a direct connection."""
        parts = urlsplit(url)
        host, is_secure = (parts.hostname or "").rstrip("."), parts.scheme in {"https", "wss"}
        proxy = (self.https if is_secure else self.http) or self.all
        if proxy is None or _is_listed(self.bypass, host, parts.port or (443 if is_secure else 80)):
            return None
        if proxy.variable == SYSTEM and _bypassed_by_system(host):
            return None
        return proxy

    @property
    def private_hosts(self) -> list[str]:
        """IP addresses of proxies in a private network."""
        addresses = (_address(each.host) for each in self._set)
        return [str(each) for each in addresses if each is not None and each.is_private]

    @property
    def secrets(self) -> list[str]:
        """The passwords of all proxies, plain and URL-quoted, for redaction."""
        passwords = {each.password for each in self._set}
        return [form for password in passwords if password for form in (password, quote(password, safe=""))]

    @property
    def _set(self) -> list[Proxy]:
        return [each for each in (self.https, self.http, self.all) if each is not None]


def read_proxies(
    environment: Mapping[str, str], system: Callable[[], Mapping[str, str]] | None = None
) -> dict[str, Proxy | str]:
    """Read the four variables. If none is set, use the system settings of macOS or Windows.

    Raises:
        SettingsError: a configured proxy cannot be used; the message names its variable and never its value.
    """
    bypass = _named(environment, NO)[1]
    if "*" in _entries(bypass):
        return {}
    named = {name: _named(environment, name) for name in (HTTPS, HTTP, ALL)}
    if not any(text for _, text in named.values()):
        named |= {name: (SYSTEM, text) for name, text in (system or _system_proxies)().items()}
    if named[HTTPS][1] and named[HTTP][1]:
        del named[ALL]
    given: dict[str, Proxy | str] = {name: _proxy(*each) for name, each in named.items() if each[1]}
    return {**given, NO: bypass} if bypass else given


def unread_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the proxy variables that only other programs read."""
    spellings = (spelt for name in UNREAD for spelt in (name, name.lower()))
    return tuple(spelt for spelt in spellings if environment.get(spelt, "").strip())


def explain_status(proxy: Proxy, status: int, host: str) -> ProxyFailure:
    """Return the error for a proxy's status code, with its meaning and a fix."""
    if status == NEEDS_CREDENTIALS and proxy.credentials:
        meaning = f"it does not accept the user name and password in {proxy.variable}"
    elif status == NEEDS_CREDENTIALS:
        meaning = f"it asks for a user name and a password; write {proxy.variable}=http://USER:PASSWORD@HOST:PORT"
    elif status == FORBIDDEN:
        meaning = f"it does not allow connections to {host}; ask its operator to allow this host"
    elif status in UNREACHED:
        meaning = f"it could not reach {host}; try again, or ask its operator"
    else:
        meaning = f"it opens no tunnel to {host}; ask its operator"
    return ProxyFailure(proxy, f"answered HTTP {status}: {meaning}")


def _named(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    if name.lower() in environment:
        return name.lower(), environment[name.lower()].strip()
    if name == HTTP and "REQUEST_METHOD" in environment:
        return name, ""  # in a CGI program, a caller can set this variable with a Proxy header: CVE-2016-1000110
    return name, environment.get(name, "").strip()


def _proxy(variable: str, text: str) -> Proxy:
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError:
        raise _unusable(variable, "it is not a proxy address; write http://HOST:PORT") from None
    if parts.scheme not in PORTS:
        raise _unusable(variable, f"its scheme is none of {', '.join(PORTS)}")
    host = parts.hostname or ""
    if _address(host) is None and not _HOST.fullmatch(host):
        raise _unusable(variable, "it has no host; write http://HOST:PORT")
    if port == 0 or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise _unusable(variable, "its port or path is invalid; in a password write %2F for /, %23 for #")
    proxy = Proxy(
        variable,
        parts.scheme,
        host,
        port or PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )
    if proxy.is_socks and not all(map(find_spec, SOCKS_PACKAGES)):
        raise _unusable(variable, f"a SOCKS proxy needs the extra socks; install it with: {with_extra('socks')}")
    return proxy


def _unusable(variable: str, problem: str) -> SettingsError:
    return SettingsError(problems=(f"{variable}: {problem}",))


def _system_proxies() -> dict[str, str]:
    if sys.platform not in {"darwin", "win32"}:
        return {}
    from urllib.request import getproxies  # noqa: PLC0415 - slow to import

    found = getproxies()
    wanted = {HTTPS: found.get("https", ""), HTTP: found.get("http", "")}
    return {name: text for name, text in wanted.items() if text.startswith(("http://", "https://"))}


def _bypassed_by_system(host: str) -> bool:
    from urllib.request import proxy_bypass  # noqa: PLC0415 - slow to import

    return bool(proxy_bypass(host))


@lru_cache
def _is_listed(bypass: str, host: str, port: int) -> bool:
    return any(_matches(entry, host.lower(), port) for entry in _entries(bypass))


def _matches(entry: str, host: str, port: int) -> bool:
    name, only_port = _split(entry.lower())
    if only_port and only_port != str(port):
        return False
    address = _address(host)
    if address is not None:
        network = _network(name)
        return network is not None and address in network
    name = name.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _split(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, _, port = entry.partition(":")
    return (entry, "") if ":" in port else (name, port)


def _entries(bypass: str) -> list[str]:
    return bypass.replace(",", " ").split()


def _address(text: str) -> _Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _network(text: str) -> _Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
