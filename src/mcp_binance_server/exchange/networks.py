"""The networks Binance runs, and where each of them answers."""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Network:
    """One Binance: its REST address, a second host for public data where there is one, and where keys are made."""

    name: str
    rest_url: str
    help_url: str
    public_data_url: str | None = None
    simulated: bool = False


# https://developers.binance.com/docs/binance-spot-api-docs/rest-api and .../testnet, .../demo-mode
NETWORKS: dict[str, Network] = {
    network.name: network
    for network in (
        Network(
            "mainnet",
            "https://api.binance.com",
            "https://www.binance.com/en/my/settings/api-management",
            "https://data-api.binance.vision",
        ),
        Network("testnet", "https://testnet.binance.vision", "https://testnet.binance.vision/"),
        Network("demo", "https://demo-api.binance.com", "https://demo.binance.com/en/my/settings/api-management"),
    )
}


# Reached without a socket, so the address only has to be one that nobody can have.
OFFLINE = Network("offline", "http://simulator.invalid", "https://testnet.binance.vision/", simulated=True)


def network_at(name: str, rest_url: str | None = None) -> Network:
    """Return a network, at another address if one is given; then no second host is guessed."""
    network = NETWORKS[name]
    return replace(network, rest_url=rest_url, public_data_url=None) if rest_url else network


def host_of(url: str) -> str:
    """Return the host and port of an address, as pages name it."""
    return urlsplit(url).netloc
