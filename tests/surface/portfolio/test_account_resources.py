"""binance://account/… through the SDK's client, in every protocol era."""

import re
from dataclasses import replace

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import ZERO, Balance
from mcp_binance_server.exchange.endpoints import NETWORKS, OFFLINE, Network
from support.clock import FakeClock
from support.golden import Golden
from support.requirement import requirement
from support.served import Place, read_page

BALANCES = "binance://account/balances"
POSITIONS = "binance://account/positions"
BALANCES_MOMENT_MS = 1_760_711_040_789


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


def hold(exchange: SimulatedExchange, *balances: Balance) -> None:
    portfolio = replace(exchange.stage.portfolio, balances=balances)
    exchange.stage = replace(exchange.stage, portfolio=portfolio)


@requirement(
    "FR-011", "resources/us4-1", "resources/balances-page", "resources/balances-summary", "resources/format-tables",
    "resources/format-amounts", "data-model/resource-mime-type", "data-model/resource-content",
)  # fmt: skip
async def test_the_sample_balances_are_met_byte_for_byte(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden
) -> None:
    clock.set_wall(BALANCES_MOMENT_MS)
    exchange.set_scenario("contract")

    golden.check("views/account_balances.contract.md", await read_page(client, BALANCES))


@requirement("resources/zero-balances")
async def test_an_empty_account_is_a_sentence_and_not_an_empty_table(
    client: Client, exchange: SimulatedExchange, golden: Golden
) -> None:
    exchange.set_scenario("empty_account")

    page = await read_page(client, BALANCES)

    assert "No holdings" in page
    assert "|" not in page
    golden.check("views/account_balances.empty.md", page)


@requirement("ruling/22")
@pytest.mark.parametrize(
    ("network", "last_line"),
    [
        (NETWORKS["mainnet"], "*Network: mainnet; answered by api.binance.com*"),
        (NETWORKS["demo"], "*Network: demo; answered by demo-api.binance.com*"),
        (OFFLINE, "*Network: offline, a simulated exchange without real funds; answered by simulator.invalid*"),
        (
            replace(NETWORKS["testnet"], rest_url="https://api3.binance.com"),
            "*Network: mainnet; answered by api3.binance.com*",
        ),
    ],
    ids=["mainnet", "demo", "offline", "testnet by name only"],
)
@pytest.mark.parametrize("uri", [BALANCES, "binance://orders/open"])
async def test_outside_the_testnet_a_page_names_who_really_answered(
    place: Place, network: Network, last_line: str, uri: str
) -> None:
    async with place.served(network=network) as client:
        page = await read_page(client, uri)

    assert page.split("\n")[-1] == last_line
    assert "Testnet" not in page


@requirement("ruling/22")
async def test_rights_are_shown_as_the_exchange_reports_them(place: Place) -> None:
    stage = place.exchange.stage
    rights = replace(stage.portfolio, can_trade=False, can_withdraw=True, can_deposit=False)
    place.exchange.stage = replace(stage, portfolio=rights)

    async with place.served(network=NETWORKS["mainnet"]) as client:
        page = await read_page(client, BALANCES)

    assert "**Trading Enabled**: No\n**Withdrawal Enabled**: Yes\n**Deposit Enabled**: No\n" in page


@requirement("data-model/account-category")
@pytest.mark.parametrize("scenario", ["contract", "market", "empty_account"])
async def test_positions_are_the_valued_holdings_that_are_not_stable(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden, scenario: str
) -> None:
    clock.set_wall(BALANCES_MOMENT_MS if scenario == "contract" else clock.now_ms())
    exchange.set_scenario(scenario)

    page = await read_page(client, POSITIONS)

    assert "A spot account has no positions" in page
    golden.check(f"views/account_positions.{scenario}.md", page)


async def test_an_asset_without_a_market_is_listed_and_not_valued(client: Client, exchange: SimulatedExchange) -> None:
    hold(exchange, Balance("BTC", "1.00000000", ZERO), Balance("DUST*", "3.00000000", ZERO))

    page = await read_page(client, POSITIONS)

    assert "**Total Positions**: 1" in page
    assert "**Without a Price**: 3.00000000 DUST\\*; not included in any value" in page


async def test_a_price_below_one_keeps_what_it_needs(client: Client, exchange: SimulatedExchange) -> None:
    hold(exchange, Balance("SHIB", "1000000.00", ZERO), Balance("TRY", "100.00000000", ZERO))

    page = await read_page(client, POSITIONS)

    (shib,) = (line for line in page.split("\n") if line.endswith("| SHIBUSDT |"))
    assert re.search(r"\| \$0\.0000\d{1,4} \|", shib)
    assert "| 1/USDTTRY |" in page


@requirement("resources/account-pattern")
@pytest.mark.parametrize("identifier", ["nothing", "Balances", "balances/btc"])
async def test_an_unknown_account_page_is_not_found(
    client: Client, exchange: SimulatedExchange, identifier: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(f"binance://account/{identifier}")

    assert caught.value.code == -32404
    assert BALANCES in caught.value.data["valid_examples"]
    assert exchange.requests == []


@requirement(
    "SC-005", "resources/us4-2", "resources/list-response", "resources/balances-registration",
    "resources/open-orders-registration", "data-model/resource-attributes",
)  # fmt: skip
async def test_the_list_opens_with_the_samples_four_and_goes_on_with_ours(client: Client) -> None:
    listed = [each.model_dump(exclude_none=True, by_alias=True) for each in (await client.list_resources()).resources]

    assert [each["uri"].removeprefix("binance://") for each in listed[:6]] == [
        "market/btcusdt",
        "market/ethusdt",
        "account/balances",
        "orders/open",
        "account/positions",
        "orders/history",
    ]
    assert listed[2:4] == [
        {
            "uri": BALANCES,
            "name": "Account Balances",
            "description": "Current account balances for all assets (free and locked)",
            "mimeType": "text/markdown",
        },
        {
            "uri": "binance://orders/open",
            "name": "Open Orders",
            "description": "All currently active orders (NEW, PARTIALLY_FILLED)",
            "mimeType": "text/markdown",
        },
    ]


async def test_no_other_client_may_keep_a_page_of_an_account(client: Client) -> None:
    for uri in (BALANCES, POSITIONS, "binance://orders/open", "binance://orders/history"):
        result = await client.read_resource(uri)

        assert (result.cache_scope or "private", result.ttl_ms or 0) == ("private", 0)


@pytest.mark.parametrize(
    ("uri", "calls"),
    [
        (BALANCES, ["account"]),
        ("binance://orders/open", ["openOrders"]),
        (POSITIONS, ["account", "ticker/price"]),
    ],
)
async def test_a_page_costs_the_calls_it_needs_and_no_more(place: Place, uri: str, calls: list[str]) -> None:
    async with place.served() as client:
        await read_page(client, "binance://orders/open")
        place.asked()

        await read_page(client, uri)

    assert place.asked() == calls


async def test_an_exchange_that_does_not_answer_is_worth_another_try(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="html", path="*/account", times=None))

    with pytest.raises(MCPError) as caught:
        await client.read_resource(BALANCES)

    assert (caught.value.data["error_type"], caught.value.data["retryable"]) == ("exchange_unavailable", True)
