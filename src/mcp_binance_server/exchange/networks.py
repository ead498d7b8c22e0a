"""The networks Binance runs, and where each of them answers."""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Network:
    """One Binance: its addresses, a second host for public data where there is one, and where keys are made.

    Without a stream address there is no live market, and every read asks the REST API.
    """

    name: str
    rest_url: str
    help_url: str
    public_data_url: str | None = None
    stream_url: str | None = None
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
            stream_url="wss://stream.binance.com:443",
        ),
        Network(
            "testnet",
            "https://testnet.binance.vision",
            "https://testnet.binance.vision/",
            stream_url="wss://stream.testnet.binance.vision",
        ),
        Network(
            "demo",
            "https://demo-api.binance.com",
            "https://demo.binance.com/en/my/settings/api-management",
            stream_url="wss://demo-stream.binance.com",
        ),
    )
}


# Reached without a socket, so the address only has to be one that nobody can have.
OFFLINE = Network(
    "offline",
    "http://simulator.invalid",
    "https://testnet.binance.vision/",
    stream_url="ws://simulator.invalid",
    simulated=True,
)


def network_at(name: str, rest_url: str | None = None, stream_url: str | None = None) -> Network:
    """Return a network, at other addresses if they are given; then none that was not given is guessed."""
    network = NETWORKS[name]
    if rest_url:
        network = replace(network, rest_url=rest_url, public_data_url=None, stream_url=None)
    return replace(network, stream_url=stream_url) if stream_url else network


def host_of(url: str) -> str:
    """Return the host and port of an address, as pages name it."""
    return urlsplit(url).netloc
