"""Networks and their addresses, and what a REST call is: path, weight, whose budget it spends."""

from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call: `shared_ms` long equal reads share an answer, and a large one may take `patience` times as long.

    One that nobody waits for runs `in_background` and leaves half of the budget to those who do. One that `may_queue`
    waits for the next minute where that is near.
    """

    name: str
    weight: int
    signed: bool = False
    shared_ms: int = 1_000
    body_cap: int = 2 * MIB
    patience: int = 1
    in_background: bool = False
    may_queue: bool = True
    root: str = "/api/v3"

    @property
    def path(self) -> str:
        return f"{self.root}/{self.name}"

    @property
    def kind(self) -> Literal["public", "private"]:
        return "private" if self.signed else "public"


def signed(name: str, weight: int) -> Endpoint:
    return Endpoint(name, weight, signed=True, shared_ms=0)


TIME = Endpoint("time", 1, shared_ms=0)
# Whether the exchange is there, for one who has a second to find out.
REACH = replace(TIME, may_queue=False)
# Three thousand symbols with their filters are several MiB, seconds on a slow line; nothing else comes near that.
EXCHANGE_INFO = Endpoint("exchangeInfo", 20, shared_ms=0, body_cap=48 * MIB, patience=6)
ORDER = signed("order", 4)


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
