"""The trusted OAuth issuer, and the metadata of this server (protected resource) that names the issuer."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec

from mcp_binance_server.domain.access import Scope
from mcp_binance_server.errors import SettingsError

ALGORITHMS = ("RS256", "ES256", "EdDSA")
MOST_LEEWAY_SECS = 30
MOST_KEEP_SECS = 43_200

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def check_address(url: str) -> None:
    """Check that a URL uses HTTPS, or HTTP on this machine. Otherwise answers could be changed on the way.

    Raises:
        ValueError: the URL is not safe, or has parts that are not allowed.
    """
    if not (url.isascii() and url.isprintable()) or any(mark in url for mark in ' "\\'):
        raise ValueError("must be a plain address")
    parts = urlsplit(url)
    _ = parts.port  # raises ValueError for an invalid port
    if not parts.hostname or "@" in parts.netloc or "#" in url:
        raise ValueError("must have a host, and no user or fragment")
    if parts.scheme != "https" and not is_local_http(url):
        raise ValueError("must start with https:// (http:// only on this machine)")


def is_local_http(url: str) -> bool:
    """Return True if a URL is plain HTTP to this machine."""
    parts = urlsplit(url)
    return parts.scheme == "http" and _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Family:
    """Key type and curve that an algorithm requires."""

    kty: str
    crv: str | None = None


_RSA = Family("RSA")
# HS* is missing because a secret that verifies could also sign. `none` is missing because it verifies nothing.
FAMILIES = {
    "RS256": _RSA, "RS384": _RSA, "RS512": _RSA, "PS256": _RSA, "PS384": _RSA, "PS512": _RSA,
    "ES256": Family("EC", "P-256"), "ES384": Family("EC", "P-384"), "ES512": Family("EC", "P-521"),
    "EdDSA": Family("OKP", "Ed25519"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trust:
    """An OAuth issuer and this server as its resource. Both URLs are compared character by character."""

    issuer: str
    resource: str
    jwks_url: str | None = None
    """Address of the issuer's keys; None looks it up in the issuer's metadata."""
    algorithms: tuple[str, ...] = ALGORITHMS
    leeway_secs: int = 10
    keep_secs: int = 3_600

    def __post_init__(self) -> None:
        problems = [*_address_problems(self), *_other_problems(self)]
        if problems:
            raise SettingsError(problems=tuple(problems))


def _address_problems(trust: Trust) -> list[str]:
    problems: list[str] = []
    for name, url in (("issuer", trust.issuer), ("resource", trust.resource), ("JWKS address", trust.jwks_url)):
        try:
            if url is not None:
                check_address(url)
            if name == "issuer" and "?" in trust.issuer:
                problems.append("issuer: must not have a query")
        except ValueError as problem:
            problems.append(f"{name}: {problem}")
    return problems


def _other_problems(trust: Trust) -> list[str]:
    problems: list[str] = []
    if not trust.algorithms or not FAMILIES.keys() >= {*trust.algorithms}:
        problems.append(f"algorithms: choose from {', '.join(FAMILIES)}")
    if not 0 <= trust.leeway_secs <= MOST_LEEWAY_SECS:
        problems.append(f"leeway: must be 0 to {MOST_LEEWAY_SECS} seconds")
    if not 60 <= trust.keep_secs <= MOST_KEEP_SECS:
        problems.append(f"keeping keys: must be 60 to {MOST_KEEP_SECS} seconds")
    return problems


def metadata_path(resource: str) -> str:
    """Return the path of a resource's metadata on its host. Clients also try `WELL_KNOWN` without a suffix."""
    return f"{WELL_KNOWN}{urlsplit(resource).path.rstrip('/')}"


def metadata_url(resource: str) -> str:
    """Return the URL of the metadata, which refusals contain."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{metadata_path(resource)}"


def resource_metadata(resource: str, issuer: str, scopes: Iterable[Scope]) -> bytes:
    """Return the protected resource metadata as JSON.

    Clients may request all of its `scopes`, so it should list only scopes in use.
    """
    return msgspec.json.encode(
        {
            "resource": resource,
            "authorization_servers": [issuer],
            "scopes_supported": sorted(scopes),
            "bearer_methods_supported": ["header"],
            "resource_name": "mcp-binance-server",
        }
    )
