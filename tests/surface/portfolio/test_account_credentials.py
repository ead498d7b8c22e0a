"""What a caller learns when a key is missing or refused: on every transport, in both eras, never the key itself."""

from dataclasses import replace
from typing import Any

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.exchange.endpoints import NETWORKS, Network
from support.clock import FakeClock
from support.desk import NETWORK
from support.requirement import requirement
from support.served import Place, read_page, text_of

MESSAGE = "Invalid API credentials. Please check your BINANCE_API_KEY and BINANCE_SECRET_KEY environment variables."
PAGES = ("account/balances", "account/positions", "orders/open", "orders/history")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_account_info", {}),
    ("get_account_trades", {"symbol": "BTCUSDT"}),
    ("get_open_orders", {}),
    ("get_open_orders", {"symbol": "BTCUSDT"}),
    ("get_order", {"symbol": "BTCUSDT", "order_id": 1}),
    ("get_all_orders", {"symbol": "BTCUSDT"}),
    ("get_all_orders", {}),
    ("get_portfolio", {}),
    ("get_analysis", {"kind": "portfolio_risk"}),
)
UNKNOWN_KEY = "Zz9" * 21 + "x"
REFUSED = Fault(kind="status", path="*/account", status=401, code=-2015, msg="Invalid API-key, IP, or permissions.")


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


def keys(api_key: str, secret: str) -> dict[str, str]:
    return {"BINANCE_API_KEY": api_key, "BINANCE_SECRET_KEY": secret}


def code_of(era: str) -> tuple[int, int | None]:
    """The newest era forbids the contract's number; there it is mirrored and the contract's stands in the data."""
    return (-32002, None) if era == "legacy" else (32002, -32002)


async def refused(client: Client, uri: str = "binance://account/balances") -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    return caught.value


@requirement("data-model/credentials")
@pytest.mark.parametrize("page", PAGES)
async def test_without_a_key_every_page_says_how_to_set_one_up(place: Place, page: str) -> None:
    async with place.served({}) as client:
        error = await refused(client, f"binance://{page}")

    assert (error.code, error.data.pop("contract_code", None)) == code_of(place.era)
    assert error.message == MESSAGE
    assert error.data == {
        "masked_api_key": "not set",
        "help_url": "https://testnet.binance.vision/",
        "network": "testnet",
        "reason": "no API key is configured",
        "recovery_suggestion": (
            "Create a key for testnet at https://testnet.binance.vision/. Then run mcp-binance-server setup in a "
            "terminal: it stores and tests the key. Or set BINANCE_API_KEY and BINANCE_SECRET_KEY in the environment "
            "of this server and restart it. Over HTTP, send your own key in the headers X-Binance-Api-Key and "
            "X-Binance-Secret-Key"
        ),
        "error_type": "invalid_credentials",
        "retryable": False,
        "guide": "guide://document/errors/credentials.md",
        "uri": f"binance://{page}",
    }
    assert place.asked() == []


@requirement("data-model/credentials")
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_without_a_key_every_tool_says_the_same(place: Place, name: str, arguments: dict[str, Any]) -> None:
    async with place.served({}) as client:
        result = await client.call_tool(name, arguments)

    answer = result.structured_content
    assert result.is_error is True
    assert (answer["code"], answer["error"], answer["masked_api_key"]) == (-32002, MESSAGE, "not set")
    assert "set BINANCE_API_KEY and BINANCE_SECRET_KEY" in text_of(result)
    assert place.asked() == []


@pytest.mark.parametrize("fault", [Fault(kind="cut_before", times=None), Fault(kind="status", status=451, times=None)])
async def test_trouble_with_the_network_names_the_doctor(place: Place, fault: Fault) -> None:
    place.exchange.faults.add(fault)

    async with place.served() as client:
        result = await client.call_tool("get_account_info", {})

    assert "mcp-binance-server doctor" in text_of(result)
    assert "mcp-binance-server doctor" in result.structured_content["recovery_suggestion"]


@requirement("data-model/credentials")
async def test_without_a_key_the_market_is_open(place: Place) -> None:
    async with place.served({}) as client:
        assert "BTCUSDT" in await read_page(client, "binance://market/btcusdt")


@pytest.mark.parametrize("name", ["mainnet", "testnet", "demo"])
async def test_the_set_up_line_is_that_of_the_configured_network(place: Place, name: str) -> None:
    network = NETWORKS[name]

    async with place.served({}, network) as client:
        error = await refused(client)

    assert error.data["help_url"] == network.help_url
    assert f"Create a key for {name} at {network.help_url}. Then run" in error.data["recovery_suggestion"]


async def test_a_key_the_host_does_not_know_is_told_from_one_it_does(place: Place) -> None:
    async with place.served(keys(UNKNOWN_KEY, "s" * 64)) as client:
        error = await refused(client)

    assert error.code == code_of(place.era)[0]
    assert error.data["masked_api_key"] == "Zz9Z****Zz9x"
    assert error.data["likely_cause"] == "unknown_key_or_wrong_network"
    assert "BINANCE_NETWORK is testnet" in error.data["explanation"]
    assert error.data["recovery_suggestion"] == (
        "Verify credentials at https://testnet.binance.vision/ and ensure correct environment variables"
    )
    assert place.asked() == ["time", "account", "order"]


async def test_a_known_key_that_is_not_let_in_is_a_matter_of_its_rights(place: Place) -> None:
    place.exchange.faults.add(REFUSED)

    async with place.served() as client:
        error = await refused(client)

    assert error.data["likely_cause"] == "ip_not_allowed_or_permission_missing"
    assert "tick Enable Reading" in error.data["explanation"]
    assert "IP access list" in error.data["explanation"]
    assert error.data["exchange_code"] == -2015
    assert place.asked() == ["time", "account", "order"]


@pytest.mark.parametrize("key", ["short", "x" * 65, "ключ" * 16, "half of a key", "k" * 63 + "\u00e9"])
async def test_a_key_of_the_wrong_form_is_recognised_by_its_form(place: Place, key: str) -> None:
    async with place.served(keys(key, "s" * 64)) as client:
        error = await refused(client)

    assert error.data["likely_cause"] == "key_format"
    assert "64 letters and digits" in error.data["explanation"]
    assert place.asked() in ([], ["time", "account"])


async def test_a_key_of_the_wrong_form_needs_no_probe_whatever_the_code(place: Place) -> None:
    place.exchange.faults.add(REFUSED)

    async with place.served(keys("short-key-with-more-than-16", "s" * 64)) as client:
        error = await refused(client)

    assert error.data["likely_cause"] == "key_format"
    assert place.asked() == ["time", "account"]


async def test_a_wrong_secret_is_a_matter_of_the_signature(place: Place) -> None:
    async with place.served(keys(place.exchange.account.api_key, "wrong" * 12)) as client:
        error = await refused(client)

    assert error.data["likely_cause"] == "signature"
    assert "BINANCE_SECRET_KEY is not the secret of this API key" in error.data["explanation"]
    assert place.asked() == ["time", "account"]


@pytest.mark.parametrize("host", ["https://api.binance.com", "https://api2.binance.com"])
async def test_a_host_of_another_network_is_pointed_out_without_a_probe(place: Place, host: str) -> None:
    place.exchange.faults.add(REFUSED)

    async with place.served(network=replace(NETWORKS["testnet"], rest_url=host)) as client:
        error = await refused(client)

    assert error.data["likely_cause"] == "unknown_key_or_wrong_network"
    assert "BINANCE_NETWORK is testnet" in error.data["explanation"]
    assert "a host of mainnet" in error.data["explanation"]
    assert place.asked() == ["time", "account"]


@pytest.mark.parametrize(
    "probe",
    [
        Fault(kind="status", path="*/order", status=503),
        Fault(kind="cut_before", path="*/order"),
        Fault(kind="status", path="*/order", status=400, code=-1021),
    ],
    ids=["503", "cut", "clock"],
)
async def test_a_probe_that_fails_leaves_the_three_possibilities(place: Place, probe: Fault) -> None:
    place.exchange.faults.add(REFUSED)
    place.exchange.faults.add(probe)

    async with place.served() as client:
        error = await refused(client)

    assert error.code == code_of(place.era)[0]
    assert "likely_cause" not in error.data
    assert error.data["explanation"].startswith("Binance does not report the cause:")
    assert place.asked() == ["time", "account", "order"]


async def test_a_stop_met_by_the_probe_is_obeyed(place: Place) -> None:
    place.exchange.faults.add(REFUSED)
    place.exchange.faults.add(
        Fault(kind="status", path="*/order", status=429, code=-1003, headers={"Retry-After": "30"})
    )

    async with place.served() as client:
        first = await refused(client)
        second = await refused(client)

    assert first.data["error_type"] == "invalid_credentials"
    assert (second.code, second.data["retry_after_secs"]) == (-32001, 30)


async def test_a_401_that_is_not_binances_is_not_explained(place: Place) -> None:
    page = Fault(kind="status", path="*/account", status=401, body="<html>sign in to the proxy</html>")
    place.exchange.faults.add(page)

    async with place.served() as client:
        error = await refused(client)

    assert error.code == code_of(place.era)[0]
    assert "explanation" not in error.data
    assert error.data["reason"] == "HTTP 401"


async def test_a_public_call_that_is_refused_speaks_of_no_key(place: Place) -> None:
    place.exchange.faults.add(Fault(kind="status", path="*/exchangeInfo", status=401, code=-2015))

    async with place.served() as client:
        error = await refused(client, "binance://market/btcusdt")

    assert error.data["masked_api_key"] == "not set"


@pytest.mark.parametrize("network", [NETWORK, NETWORKS["mainnet"]], ids=["testnet", "mainnet"])
async def test_no_door_shows_more_of_a_key_than_its_mask(place: Place, network: Network) -> None:
    account = place.exchange.account
    said: list[str] = []
    for key, secret in ((account.api_key, "wrong" * 12), (UNKNOWN_KEY, account.secret_key)):
        async with place.served(keys(key, secret), network) as client:
            for page in PAGES:
                error = await refused(client, f"binance://{page}")
                said.append(f"{error.message} {error.data}")
            for name, arguments in CALLS:
                result = await client.call_tool(name, arguments)
                assert result.structured_content["code"] == -32002
                assert result.structured_content["likely_cause"]
                said.append(result.model_dump_json())

    for text in said:
        for secret in (account.api_key, account.secret_key, UNKNOWN_KEY):
            assert secret[4:13] not in text
            assert secret[-13:-4] not in text
