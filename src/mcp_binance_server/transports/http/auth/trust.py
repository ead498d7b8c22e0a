"""Whose access tokens count here, for what, and how they must be signed."""

from dataclasses import dataclass

from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.http.auth.addresses import check_address

ALGORITHMS = ("RS256", "ES256", "EdDSA")
MOST_LEEWAY_SECS = 30
MOST_KEEP_SECS = 43_200


@dataclass(frozen=True, slots=True)
class Family:
    """What a key must be to verify an algorithm."""

    kty: str
    crv: str | None = None


_RSA = Family("RSA")
# No HS*: a secret that verifies could also sign. No none.
FAMILIES = {
    "RS256": _RSA, "RS384": _RSA, "RS512": _RSA, "PS256": _RSA, "PS384": _RSA, "PS512": _RSA,
    "ES256": Family("EC", "P-256"), "ES384": Family("EC", "P-384"), "ES512": Family("EC", "P-521"),
    "EdDSA": Family("OKP", "Ed25519"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trust:
    """One issuer and this server. Issuer and resource are compared as they are written, character by character."""

    issuer: str
    resource: str
    jwks_url: str | None = None
    """Where the issuer's keys are; None asks the issuer's own metadata."""
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
                problems.append("issuer: must be without a query")
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
