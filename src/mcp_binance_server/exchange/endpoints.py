"""Binance networks with their addresses, and the definition of a REST call: path, weight, budget."""

from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:  # the greeting of a client needs only the networks, and should not load the state package
    from mcp_binance_server.state.engine import CallKind

MIB = 2**20

AddressOf = Literal["rest_url", "ws_api_url", "stream_url", "futures_rest_url", "futures_stream_url"]


@dataclass(frozen=True, slots=True)
class RestCall:
    """One public REST call; equal reads share an answer for `shared_ms`.

    `patience` multiplies the time limit of a call with a large answer. No client waits for a call `in_background`, and
    it leaves half of the budget to other calls. A call that `may_queue` waits for the next minute if that is near. A
    call `for_all` is charged to no party. A call with a `counter` also counts as one request in the counter of that
    name. `tells_weight` is False if the weight in the answer's header is wrong.
    """

    name: str
    weight: int
    shared_ms: int = 1_000
    body_cap: int = 2 * MIB
    patience: int = 1
    in_background: bool = False
    may_queue: bool = True
    root: str = "/api/v3"
    for_all: bool = False
    counter: str = ""
    tells_weight: bool = True

    @property
    def path(self) -> str:
        return f"{self.root}/{self.name}"

    @property
    def kind(self) -> "CallKind":
        return "public"


@dataclass(frozen=True, slots=True)
class Endpoint(RestCall):
    """A call of the spot API, which may be signed; no other API here has signed calls."""

    signed: bool = False

    @property
    def kind(self) -> "CallKind":
        return "private" if self.signed else "public"


@dataclass(frozen=True, slots=True)
class WriteCall(RestCall):
    """A signed call that writes or tests an order; its answer is never shared, and it is never retried."""

    method: Literal["POST", "PUT", "DELETE"] = "POST"
    shared_ms: int = 0
    may_queue: bool = False

    @property
    def is_cancel(self) -> bool:
        """Return True for a cancel.

        A cancel only reduces risk, so it is sent even if the weight count or the exchange's time is unknown.
        """
        return self.method == "DELETE"

    @property
    def kind(self) -> "CallKind":
        return "order"


def signed(name: str, weight: int) -> Endpoint:
    return Endpoint(name, weight, signed=True, shared_ms=0)


TIME = Endpoint("time", 1, shared_ms=0)
# Reachability check; its callers wait at most about a second.
REACH = replace(TIME, may_queue=False)
# Three thousand symbols with their filters are several MiB, which take seconds on a slow line. No other answer is as
# large.
EXCHANGE_INFO = Endpoint("exchangeInfo", 20, shared_ms=0, body_cap=48 * MIB, patience=6, for_all=True)
ORDER = signed("order", 4)


@dataclass(frozen=True, slots=True)
class Network:
    """One Binance network: its addresses, and the page where its API keys are managed.

    `public_data_url` is a second host for public data. Without `stream_url` there is no live market, and every read
    uses the REST API. Without futures addresses there is no data on contracts. Without `ws_api_url` orders are polled,
    not streamed.
    """

    name: str
    rest_url: str
    help_url: str
    public_data_url: str | None = None
    stream_url: str | None = None
    futures_rest_url: str | None = None
    futures_stream_url: str | None = None
    ws_api_url: str | None = None
    simulated: bool = False

    @property
    def source(self) -> str:
        """Name of the network as shown to users. If mainnet has the address of another host, this is that host."""
        if self.name != MAINNET or self.simulated:
            return self.name
        addresses: dict[AddressOf, str | None] = {"rest_url": self.rest_url, "stream_url": self.stream_url}
        foreign = [url for part, url in addresses.items() if url is not None and not is_published(MAINNET, part, url)]
        return host_of(foreign[0]) if foreign else self.name

    @property
    def futures(self) -> "Network | None":
        """This network with its futures host in place of the spot host; None without a futures host."""
        if self.futures_rest_url is None:
            return None
        return replace(
            self,
            rest_url=self.futures_rest_url,
            stream_url=self.futures_stream_url,
            public_data_url=None,
            ws_api_url=None,
        )


MAINNET = "mainnet"
# The testnet has the futures of the demo: https://developers.binance.com/docs/derivatives/usds-margined-futures
_DEMO_FUTURES = ("https://demo-fapi.binance.com", "wss://fstream.binancefuture.com")
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
            futures_rest_url="https://fapi.binance.com",
            futures_stream_url="wss://fstream.binance.com",
            ws_api_url="wss://ws-api.binance.com:443/ws-api/v3",
        ),
        Network(
            "testnet",
            "https://testnet.binance.vision",
            "https://testnet.binance.vision/",
            stream_url="wss://stream.testnet.binance.vision",
            futures_rest_url=_DEMO_FUTURES[0],
            futures_stream_url=_DEMO_FUTURES[1],
            ws_api_url="wss://ws-api.testnet.binance.vision/ws-api/v3",
        ),
        Network(
            "demo",
            "https://demo-api.binance.com",
            "https://demo.binance.com/en/my/settings/api-management",
            stream_url="wss://demo-stream.binance.com",
            futures_rest_url=_DEMO_FUTURES[0],
            futures_stream_url=_DEMO_FUTURES[1],
            ws_api_url="wss://demo-ws-api.binance.com/ws-api/v3",
        ),
    )
}


# The simulator is called in this process, without a socket. The reserved domain `.invalid` can never exist.
OFFLINE = Network(
    "offline",
    "http://simulator.invalid",
    "https://testnet.binance.vision/",
    stream_url="ws://simulator.invalid",
    futures_rest_url="http://futures.simulator.invalid",
    futures_stream_url="ws://futures.simulator.invalid",
    ws_api_url="ws://simulator.invalid/ws-api/v3",
    simulated=True,
)


def network_at(
    name: str,
    rest_url: str | None = None,
    stream_url: str | None = None,
    futures_rest_url: str | None = None,
    futures_stream_url: str | None = None,
    *,
    ws_api_url: str | None = None,
) -> Network:
    """Return a network with the given addresses instead of its own.

    A `rest_url` also clears every address that is not given.
    """
    network = NETWORKS[name]
    if rest_url:
        network = replace(
            network,
            rest_url=rest_url,
            public_data_url=None,
            stream_url=None,
            futures_rest_url=None,
            futures_stream_url=None,
            ws_api_url=None,
        )
    if ws_api_url:
        network = replace(network, ws_api_url=ws_api_url)
    if stream_url:
        network = replace(network, stream_url=stream_url)
    return futures_at(network, futures_rest_url, futures_stream_url)


def futures_at(network: Network, rest_url: str | None, stream_url: str | None) -> Network:
    """Return a network with the given futures addresses instead of its own."""
    if rest_url:
        network = replace(network, futures_rest_url=rest_url, futures_stream_url=None)
    return replace(network, futures_stream_url=stream_url) if stream_url else network


# https://developers.binance.com/docs/binance-spot-api-docs/rest-api/general-api-information
REST_TWINS: dict[str, tuple[str, ...]] = {
    "mainnet": ("api-gcp.binance.com", *(f"api{number}.binance.com" for number in range(1, 5))),
    "testnet": ("api1.testnet.binance.vision",),
}


def is_published(name: str, part: AddressOf, url: str) -> bool:
    """Return whether an address is encrypted, and published by Binance for this use on this network."""
    own: str = getattr(NETWORKS[name], part)
    twins = REST_TWINS.get(name, ()) if part == "rest_url" else ()
    asked = urlsplit(url)
    return asked.scheme in ("https", "wss") and asked.hostname in (urlsplit(own).hostname, *twins)


def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(url: str) -> str:
    """Return the host and port of an address, as shown on pages."""
    return urlsplit(url).netloc
