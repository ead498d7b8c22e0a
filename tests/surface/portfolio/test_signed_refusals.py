"""Whatever way the exchange refuses a key, every signed tool, page and prompt answers with the one code for it."""

import pytest
from mcp import Client, MCPError
from msgspec.structs import replace

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from support.clock import FakeClock
from support.requirement import requirement
from support.served import Place

REFUSALS = {
    "401": Fault(kind="status", status=401, body="<html>Unauthorized</html>", times=None),
    "-1022": Fault(kind="status", status=400, code=-1022, msg="Signature for this request is not valid.", times=None),
    "-2014": Fault(kind="status", status=401, code=-2014, msg="API-key format invalid.", times=None),
    "-2015": Fault(kind="status", status=401, code=-2015, msg="Invalid API-key, IP, or permissions.", times=None),
}


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


async def code_of_page(client: Client, uri: str) -> int:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    assert caught.value.data["error_type"] == "invalid_credentials"
    return caught.value.data.get("contract_code", caught.value.code)


async def code_of_prompt(client: Client) -> int:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt("portfolio_risk", {})
    assert caught.value.data["error_type"] == "invalid_credentials"
    return caught.value.data.get("contract_code", caught.value.code)


async def code_of_tool(client: Client, name: str) -> int:
    result = await client.call_tool(name, {})
    assert result.is_error is True
    assert result.structured_content["error_type"] == "invalid_credentials"
    return result.structured_content["code"]


@requirement("ruling/09-signed")
@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_key_is_the_same_code_everywhere(place: Place, refusal: str) -> None:
    for path in ("*/account", "*/openOrders"):
        place.exchange.faults.add(replace(REFUSALS[refusal], path=path))

    async with place.served() as client:
        codes = [
            await code_of_page(client, "binance://account/balances"),
            await code_of_page(client, "binance://orders/open"),
            await code_of_prompt(client),
            await code_of_tool(client, "get_account_info"),
            await code_of_tool(client, "get_open_orders"),
        ]

    assert codes == [-32002] * 5


@requirement("ruling/09-signed")
async def test_no_key_is_the_same_code_and_asks_the_exchange_nothing(place: Place) -> None:
    async with place.served({}) as client:
        codes = [
            await code_of_page(client, "binance://account/balances"),
            await code_of_page(client, "binance://orders/open"),
            await code_of_prompt(client),
            await code_of_tool(client, "get_account_info"),
            await code_of_tool(client, "get_open_orders"),
        ]

    assert codes == [-32002] * 5
    assert place.asked() == []


@requirement("ruling/09")
@pytest.mark.parametrize(("status", "code"), [(429, -1003), (418, -1003), (400, -1003)])
async def test_a_spent_limit_on_a_signed_call_is_no_matter_of_the_key(place: Place, status: int, code: int) -> None:
    place.exchange.faults.add(
        Fault(kind="status", path="*/account", status=status, code=code, headers={"Retry-After": "7"})
    )

    async with place.served() as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("binance://account/balances")

    assert (caught.value.code, caught.value.data["error_type"]) == (-32001, "rate_limited")
