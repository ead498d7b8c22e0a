"""Diagnosis of a refused API key, from its form, the configured host and Binance's error code.

https://developers.binance.com/docs/binance-spot-api-docs/errors#-2015-rejected_mbx_key
"""

import re
from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.exchange.endpoints import NETWORKS, REST_TWINS, Network, host_of
from mcp_binance_server.exchange.wire import BAD_KEY_FORMAT, BAD_SIGNATURE, REJECTED_KEY, ExchangeRefusal

LikelyCause = Literal["unknown_key_or_wrong_network", "ip_not_allowed_or_permission_missing", "key_format", "signature"]
KEY_FORMAT = re.compile(r"[A-Za-z0-9]{64}")
_HOMES = {
    **{host_of(network.rest_url): network.name for network in NETWORKS.values()},
    **{twin: name for name, twins in REST_TWINS.items() for twin in twins},
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The most likely cause of a refusal (None if unclear), and a sentence that says where to look."""

    cause: LikelyCause | None
    explanation: str
    setting: str | None = None
    """The setting and value with which the key works, if they are certain."""


@dataclass(frozen=True, slots=True)
class Probed:
    """Result of a probe: whether this host knows the key, and the name of another network that knows it."""

    is_known: bool | None = None
    home: str | None = None


def home_of(host: str) -> str | None:
    """Return the network of a host; None if Binance does not publish the host."""
    return _HOMES.get(host)


def can_be_sent(api_key: str) -> bool:
    """Return whether a key consists of printable ASCII, as an HTTP header requires."""
    return api_key.isascii() and api_key.isprintable()


def is_worth_a_probe(refusal: ExchangeRefusal, credentials: Credentials, network: Network) -> bool:
    """Return whether a probe of the exchange could find the cause.

    The code -2015 has three causes; a probe is useful if neither the form of the key nor the host explains it.
    """
    is_odd = _is_misformed(credentials) or _foreign_home(network) is not None
    return refusal.code == REJECTED_KEY and not is_odd


def diagnose(
    refusal: ExchangeRefusal | None, credentials: Credentials, network: Network, probed: Probed
) -> Diagnosis | None:
    """Explain a refusal; `refusal` is None if the key could not even be sent."""
    if refusal is None or refusal.code == BAD_KEY_FORMAT:
        return _key_format()
    if refusal.code == BAD_SIGNATURE:
        return _signature(credentials)
    if refusal.code != REJECTED_KEY:
        return None  # the code is not about keys, so a guess would mislead
    if _is_misformed(credentials):
        return _key_format()
    if (home := _foreign_home(network)) is not None:
        return _foreign(network, home)
    return _of_another(network, probed.home) if probed.home else _rejected(network, is_known=probed.is_known)


def _is_misformed(credentials: Credentials) -> bool:
    return KEY_FORMAT.fullmatch(credentials.api_key) is None


def _foreign_home(network: Network) -> str | None:
    home = home_of(host_of(network.rest_url))
    return None if home == network.name else home


def _key_format() -> Diagnosis:
    return Diagnosis(
        "key_format",
        "An API key has 64 letters and digits, and BINANCE_API_KEY does not: copy the whole key again, without quotes "
        "or spaces.",
    )


def _signature(credentials: Credentials) -> Diagnosis:
    if credentials.is_pem:
        return Diagnosis(
            "signature",
            "The file in BINANCE_PRIVATE_KEY_FILE is not the private key of this API key: use the private key of the "
            "registered public key. If the API key has a secret (HMAC), set BINANCE_SECRET_KEY instead.",
        )
    return Diagnosis(
        "signature",
        "BINANCE_SECRET_KEY is not the secret of this API key: copy it again. If the key was made as Ed25519 or RSA, "
        "set BINANCE_PRIVATE_KEY_FILE instead.",
    )


def _foreign(network: Network, home: str) -> Diagnosis:
    return Diagnosis(
        "unknown_key_or_wrong_network",
        f"BINANCE_NETWORK is {network.name}, but BINANCE_REST_URL points to {host_of(network.rest_url)}, a host of "
        f"{home}. A key works only on its own network: set both to the same network.",
    )


def _of_another(network: Network, home: str) -> Diagnosis:
    return Diagnosis(
        "unknown_key_or_wrong_network",
        f"This key belongs to {home}, but BINANCE_NETWORK is {network.name}: {host_of(network.rest_url)} does not know "
        f"this key, {home} does. Set BINANCE_NETWORK={home}, or make a key for {network.name} at {network.help_url}.",
        f"BINANCE_NETWORK={home}",
    )


def _rejected(network: Network, *, is_known: bool | None) -> Diagnosis:
    host = host_of(network.rest_url)
    if is_known:
        return Diagnosis(
            "ip_not_allowed_or_permission_missing",
            f"{host} knows this key but refuses it. Edit the key at {network.help_url}: tick Enable Reading, and "
            "check that its IP access list has the public address of this server.",
        )
    if is_known is False:
        return Diagnosis(
            "unknown_key_or_wrong_network",
            f"{host} does not accept this key: look for it in the list at {network.help_url}. If it is missing, it was "
            f"deleted, mistyped or made on another network (BINANCE_NETWORK is {network.name}). If it is listed, "
            "check its IP access list.",
        )
    return Diagnosis(
        None,
        f"Binance does not report the cause: {host} does not know the key, the key's IP access list lacks this "
        f"server's public address, or Enable Reading is not ticked. Check all three at {network.help_url}.",
    )
