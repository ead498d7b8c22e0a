"""Where a network is reached: its own addresses, or those that were set; none is guessed."""

import pytest

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.exchange.endpoints import NETWORKS, OFFLINE, Network, network_at
from mcp_binance_server.exchange.futures.side import FuturesNotOffered
from mcp_binance_server.settings import read_settings
from mcp_binance_server.startup_checks import missing_for_futures, network_of
from mcp_binance_server.surface.views.trading.terms import money_notes

ELSEWHERE = "http://127.0.0.1:9"


def futures_of(network: Network) -> tuple[str | None, str | None]:
    return network.futures_rest_url, network.futures_stream_url


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("mainnet", ("https://fapi.binance.com", "wss://fstream.binance.com")),
        ("testnet", ("https://demo-fapi.binance.com", "wss://fstream.binancefuture.com")),
        ("demo", ("https://demo-fapi.binance.com", "wss://fstream.binancefuture.com")),
    ],
)
def test_every_network_has_its_futures(name: str, addresses: tuple[str, str]) -> None:
    assert futures_of(network_at(name)) == futures_of(NETWORKS[name]) == addresses


def test_another_address_of_spot_brings_no_futures_along() -> None:
    network = network_at("mainnet", ELSEWHERE, "ws://127.0.0.1:9")

    assert futures_of(network) == (None, None)
    assert network.futures is None


def test_another_address_of_futures_leaves_spot_where_it_is_and_guesses_no_streams() -> None:
    network = network_at("mainnet", futures_rest_url=ELSEWHERE)

    assert futures_of(network) == (ELSEWHERE, None)
    assert (network.rest_url, network.stream_url) == ("https://api.binance.com", "wss://stream.binance.com:443")
    assert network.public_data_url is not None


def test_streams_of_futures_can_be_elsewhere_alone() -> None:
    network = network_at("demo", futures_stream_url="ws://127.0.0.1:9")

    assert futures_of(network) == ("https://demo-fapi.binance.com", "ws://127.0.0.1:9")


def test_the_futures_of_a_network_are_one_host_without_a_second() -> None:
    futures = NETWORKS["mainnet"].futures

    assert futures is not None
    assert (futures.rest_url, futures.stream_url) == ("https://fapi.binance.com", "wss://fstream.binance.com")
    assert futures.public_data_url is None
    assert OFFLINE.futures is not None
    assert OFFLINE.futures.simulated


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({}, None),
        ({"BINANCE_REST_URL": ELSEWHERE}, "BINANCE_FUTURES_REST_URL"),
        ({"BINANCE_REST_URL": ELSEWHERE, "BINANCE_FUTURES_REST_URL": ELSEWHERE}, None),
        ({"MCP_BINANCE_TOOLSETS": "market,orders"}, "MCP_BINANCE_TOOLSETS with derivatives in its list"),
        ({"MCP_BINANCE_TOOLSETS": "derivatives"}, None),
    ],
)
def test_who_has_no_futures_is_told_which_setting_is_missing(environment: dict[str, str], missing: str | None) -> None:
    settings = read_settings(environment)

    assert missing_for_futures(settings, network_of(settings)) == missing


def test_the_refusal_names_the_setting_in_plain_words() -> None:
    error = FuturesNotOffered(setting="BINANCE_FUTURES_REST_URL")

    assert error.message == "This server was set up without Binance's futures: BINANCE_FUTURES_REST_URL is not set."
    assert error.data()["setting"] == "BINANCE_FUTURES_REST_URL"
    assert "set BINANCE_FUTURES_REST_URL" in error.data()["recovery_suggestion"]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("mainnet", "wss://ws-api.binance.com:443/ws-api/v3"),
        ("testnet", "wss://ws-api.testnet.binance.vision/ws-api/v3"),
        ("demo", "wss://demo-ws-api.binance.com/ws-api/v3"),
    ],
)
def test_every_network_has_a_websocket_api_of_its_own(name: str, address: str) -> None:
    assert network_of(read_settings({"BINANCE_NETWORK": name})).ws_api_url == address
    futures = NETWORKS[name].futures
    assert futures is not None
    assert futures.ws_api_url is None


def test_with_another_address_no_websocket_api_is_guessed() -> None:
    elsewhere, given = {"BINANCE_REST_URL": ELSEWHERE}, "ws://127.0.0.1:9/ws-api/v3"

    assert network_of(read_settings(elsewhere)).ws_api_url is None
    assert network_of(read_settings({**elsewhere, "BINANCE_WS_API_URL": given})).ws_api_url == given
    assert network_of(read_settings({"BINANCE_WS_API_URL": given})).rest_url == "https://api.binance.com"


@pytest.mark.parametrize(
    ("network", "source"),
    [
        (network_at("mainnet"), "mainnet"),
        (network_at("mainnet", "https://api1.binance.com"), "mainnet"),
        (network_at("mainnet", ELSEWHERE), "127.0.0.1:9"),
        (network_at("mainnet", "http://api.binance.com"), "api.binance.com"),
        (network_at("mainnet", "https://api.binance.com.example"), "api.binance.com.example"),
        (network_at("mainnet", stream_url="wss://stream.example"), "stream.example"),
        (network_at("testnet", ELSEWHERE), "testnet"),
        (OFFLINE, "offline"),
    ],
)
def test_only_data_of_binances_own_hosts_is_said_to_be_of_mainnet(network: Network, source: str) -> None:
    assert network.source == source


@pytest.mark.parametrize(
    ("network", "prices"),
    [
        (network_at("mainnet"), "at the live prices of mainnet."),
        (network_at("mainnet", ELSEWHERE), "at the prices of 127.0.0.1:9."),
        (OFFLINE, "at made-up prices."),
    ],
)
def test_paper_orders_name_the_source_of_their_prices(network: Network, prices: str) -> None:
    (note,) = money_notes("paper", Venue(network.source, "paper", simulated=True))

    assert note == f"No real money: this server matches orders {prices}"
