"""preview_order through an MCP client: good orders, each rule broken once, and nothing ever sent."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.orders.references import PriceRange
from mcp_binance_server.app import running_app
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.surface.tools.orders.preview import PREVIEW_ORDER
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.golden import Golden
from support.requirement import requirement
from support.samples import SAMPLE_MOMENT_MS

HARMLESS = {
    f"/api/v3/{name}"
    for name in ("depth", "ticker/24hr", "account", "time", "exchangeInfo", "referencePrice", "executionRules")
}


@pytest.fixture(autouse=True)
def _nothing_ever_leaves_but_reads(exchange: SimulatedExchange, clock: FakeClock) -> Iterator[None]:
    clock.set_wall(SAMPLE_MOMENT_MS)
    exchange.set_scenario("contract")
    yield
    assert {request.method for request in exchange.requests} <= {"GET"}
    assert {request.path for request in exchange.requests} <= HARMLESS
    assert {request.path for request in exchange.requests if request.signed} <= {"/api/v3/account"}


@pytest.fixture
async def keyless(clock: FakeClock, exchange: SimulatedExchange, era: str) -> AsyncIterator[Client]:
    async with (
        running_app(read_settings({}), clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        yield client


async def tried(client: Client, symbol: str = "BTCUSDT", **arguments: str) -> tuple[str, dict[str, Any]]:
    result = await client.call_tool("preview_order", {"symbol": symbol, **arguments})
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    validate(result.structured_content, PREVIEW_ORDER.wire.output_schema or {})
    assert result.is_error is not result.structured_content["success"]
    return content.text, result.structured_content


async def test_a_limit_order_is_shown_with_what_was_rounded(client: Client, golden: Golden) -> None:
    text, data = await tried(client, "btcusdt", side="BUY", quantity="0.0100009", price="50000.005")

    assert data["sent"] is False
    golden.check("tools/preview_order.limit.json", data)
    golden.check("tools/preview_order.limit.md", text + "\n")


async def test_a_market_order_is_shown_with_its_fill(client: Client, golden: Golden) -> None:
    text, data = await tried(client, side="SELL", type="MARKET", quantity="0.3")

    golden.check("tools/preview_order.market.json", data)
    golden.check("tools/preview_order.market.md", text + "\n")


async def test_a_refusal_names_the_rule_and_the_nearest_order(client: Client, golden: Golden) -> None:
    text, data = await tried(client, side="BUY", quantity="0.00005", price="50000")

    golden.check("tools/preview_order.refused.json", data)
    golden.check("tools/preview_order.refused.md", text + "\n")


async def test_on_a_warm_table_a_preview_costs_depth_reference_price_and_account_alone(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await tried(client, side="BUY", quantity="0.01", price="50000")
    clock.advance(5_000)
    exchange.requests.clear()

    await tried(client, side="BUY", quantity="0.01", price="50000")
    await tried(client, side="BUY", quantity="0.0000001", price="50000")

    assert [(request.path, request.weight) for request in exchange.requests] == [
        ("/api/v3/depth", 5),
        ("/api/v3/referencePrice", 2),
        ("/api/v3/account", 20),
    ]
    assert exchange.requests[0].params["limit"] == "100"


REFERENCE = "Price rules are checked at Binance's reference price, $40,000.00"
MID = "Price rules are checked at the mid price; Binance uses its own average price"
UNREAD = "Price rules are checked at the mid price; Binance's reference price could not be read"


@pytest.mark.parametrize(
    ("fixed", "faults", "note"),
    [
        ({"BTCUSDT": 4_000_000_000_000}, (), REFERENCE),
        ({"BTCUSDT": None}, (), MID),
        ({}, (), MID),
        ({}, (Fault(kind="status", path="*referencePrice", status=400, code=-1130, msg="no"),), UNREAD),
    ],
)
async def test_a_preview_names_the_price_that_it_checked_the_rules_with(
    client: Client, exchange: SimulatedExchange, fixed: dict[str, int | None], faults: tuple[Fault, ...], note: str
) -> None:
    references = exchange.orders.engine.references
    references.averaged.clear()
    references.fixed |= fixed
    for each in faults:
        exchange.faults.add(each)

    text, data = await tried(client, side="BUY", quantity="0.01", price="50000")

    assert data["notes"][0] == note
    assert note in text


async def test_the_band_of_prices_lies_around_the_reference_price(client: Client, exchange: SimulatedExchange) -> None:
    exchange.orders.engine.references.fixed["BTCUSDT"] = 1_000_000_000_000

    _, data = await tried(client, side="BUY", quantity="0.01", price="50000.01")

    assert (data["rule"], data["limit"]) == ("PERCENT_PRICE_BY_SIDE", "at most 50000")


async def test_an_order_beyond_the_price_range_is_shown_to_expire(client: Client, exchange: SimulatedExchange) -> None:
    references = exchange.orders.engine.references
    references.fixed["BTCUSDT"] = 4_000_000_000_000
    references.rules["BTCUSDT"] = PriceRange(bid_limit_mult_up="1.0500")

    text, data = await tried(client, side="BUY", type="MARKET", quantity="0.01")

    assert (data["behaviour"], data["fill"]["quantity"], data["fill"]["unfilled"]) == ("expires", "0", "0.01")
    assert "Price range of Binance: an order that would trade above $42,000.00 expires" in text


@pytest.mark.parametrize(
    ("symbol", "arguments", "rule"),
    [
        ("BTCUSDT", {"price": "1000000.01", "quantity": "0.01"}, "PRICE_FILTER"),
        ("BTCUSDT", {"price": "0.001", "quantity": "0.01"}, "PRICE_FILTER"),
        ("ETHUSDT", {"price": "3000", "quantity": "0.00009"}, "LOT_SIZE"),
        ("ETHUSDT", {"price": "3000", "quantity": "9000.0001"}, "LOT_SIZE"),
        ("BNBUSDT", {"price": "300", "quantity": "0.016"}, "NOTIONAL"),
        ("BTCUSDT", {"price": "260000", "quantity": "0.01"}, "PERCENT_PRICE_BY_SIDE"),
        ("BTCUSDT", {"type": "MARKET", "quantity": "128.53"}, "MARKET_LOT_SIZE"),
        ("BTCUSDT", {"type": "MARKET", "quote_quantity": "1"}, "NOTIONAL"),
        ("BTCUSDT", {"type": "LIMIT_MAKER", "price": "50300", "quantity": "0.01"}, "LIMIT_MAKER"),
        ("BTCUSDT", {"type": "STOP_LOSS_LIMIT", "price": "51000", "stop_price": "1", "quantity": "1"}, "STOP_PRICE"),
        ("TESTBUSDT", {"price": "0.000001", "quantity": "100"}, "PERCENT_PRICE"),
        ("TESTBUSDT", {"price": "3", "quantity": "0.01"}, "MIN_NOTIONAL"),
        ("TESTBUSDT", {"price": "3", "quantity": "10000.01"}, "MAX_POSITION"),
    ],
)  # fmt: skip
async def test_each_rule_that_is_broken_is_named_and_the_nearest_order_passes(
    client: Client, exchange: SimulatedExchange, symbol: str, arguments: dict[str, str], rule: str
) -> None:
    text, data = await tried(client, symbol, side="BUY", **arguments)

    assert (data["code"], data["error_type"], data["rule"]) == (-32602, "order_rule_broken", rule)
    assert rule in text
    assert data["received"]
    assert data["limit"]
    if rule != "MAX_POSITION":  # that one alone needs to know what the account holds
        assert "/api/v3/account" not in {request.path for request in exchange.requests}
    _, again = await tried(client, symbol, side="BUY", **{**arguments, **data["nearest"]})
    assert again.get("rule") is None
    assert again["success"] or again["error_type"] == "insufficient_balance"
    assert not again.get("changes")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"type": "LIMIT_MAKER", "price": "50300", "quantity": "0.01"}, "would immediately match and take"),
        ({"price": "50000", "quantity": "0.00005"}, "rounded up: more than requested"),
        ({"price": "2000000", "quantity": "0.01"}, "at most 1000000"),
    ],
)
async def test_a_refusal_says_why_and_what_the_nearest_order_changes(
    client: Client, arguments: dict[str, str], words: str
) -> None:
    text, data = await tried(client, side="BUY", **arguments)

    assert words in text
    assert "Nothing was sent" in text
    assert data["nearest"]


@pytest.mark.parametrize(
    ("symbol", "arguments", "rule"),
    [
        ("BTCBUSD", {"price": "50000", "quantity": "1"}, "SYMBOL_STATUS"),
        ("LUNAUSDT", {"price": "1", "quantity": "10"}, "SYMBOL_STATUS"),
        ("TESTAUSDT", {"price": "1", "quantity": "10"}, "SYMBOL_STATUS"),
        ("TESTBUSDT", {"type": "MARKET", "quantity": "10"}, "ORDER_TYPE"),
    ],
)
async def test_what_a_symbol_does_not_take_at_all_is_refused_without_asking_for_a_book(
    client: Client, exchange: SimulatedExchange, symbol: str, arguments: dict[str, str], rule: str
) -> None:
    _, data = await tried(client, symbol, side="BUY", **arguments)

    assert data["rule"] == rule
    assert "nearest" not in data
    assert [request.path for request in exchange.requests] == ["/api/v3/exchangeInfo"]


async def test_rules_that_are_switched_off_refuse_nothing(keyless: Client) -> None:
    _, data = await tried(keyless, "TESTBUSDT", side="SELL", quantity="10", price="3.1234567")

    assert data["success"] is True
    assert data["changes"] == []
    assert data["order"]["price"] == "3.1234567"


@requirement("prompts/code-insufficient-balance", "ruling/09-signed")
async def test_a_short_balance_is_told_with_all_four_amounts(client: Client) -> None:
    text, data = await tried(client, side="BUY", quantity="1", price="50000")

    assert text.startswith("Insufficient USDT balance: 50000 needed, 10000 available.")
    assert (data["code"], data["error_type"]) == (-32004, "insufficient_balance")
    assert {name: data[name] for name in ("asset", "required_amount", "available_amount", "shortfall")} == {
        "asset": "USDT",
        "required_amount": "50000",
        "available_amount": "10000",
        "shortfall": "40000",
    }


async def test_without_a_key_all_but_the_balances_is_answered(keyless: Client, exchange: SimulatedExchange) -> None:
    text, data = await tried(keyless, side="BUY", type="MARKET", quote_quantity="1000000")

    assert data["balance_check"] == "not checked: no API key"
    assert data["balances"] == []
    assert data["fee"]["source"] == "assumed"
    assert "**Balances**: not checked: no API key" in text
    assert not any(request.signed for request in exchange.requests)


async def test_a_book_too_thin_is_said_and_not_guessed(keyless: Client) -> None:
    text, data = await tried(keyless, side="BUY", type="MARKET", quantity="128.5")
    by_quote, quoted = await tried(keyless, side="BUY", type="MARKET", quote_quantity="6000000")

    assert data["fill"]["complete"] is False
    assert data["fill"]["levels"] == 100
    assert "**Complete**: no, " in text
    assert "beyond the known levels" in text
    assert quoted["fill"]["unfilled_asset"] == "USDT"
    assert "beyond the known levels" in by_quote


async def test_a_limit_that_crosses_takes_and_rests(client: Client) -> None:
    text, data = await tried(client, "ETHUSDT", side="SELL", quantity="5", price="3000.45")
    stop, waiting = await tried(
        client, side="SELL", type="STOP_LOSS_LIMIT", quantity="0.1", price="49000", stop_price="49500"
    )

    assert data["behaviour"] in {"takes", "takes_then_rests"}
    assert "**Fill**:" in text
    assert (waiting["behaviour"], waiting["fill"]) == ("waits_for_trigger", None)
    assert "stop $49,500.00" in stop


async def test_a_silent_market_gives_no_price_and_says_which_rules_that_leaves_open(
    keyless: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(
        Fault(kind="status", status=200, path="*/depth", body='{"lastUpdateId":1,"bids":[],"asks":[]}', times=None)
    )
    exchange.orders.engine.references.averaged.clear()

    text, data = await tried(keyless, side="BUY", type="MARKET", quantity="1")
    _, absurd = await tried(keyless, "TESTBUSDT", side="BUY", quantity="90000", price="9" * 20)

    assert (data["best_bid"], data["value"], data["fill"]["average_price"]) == (None, None, None)
    assert "NOTIONAL" in data["rules_not_checked"]
    assert "that side of the book is empty" in text
    assert absurd["value"] == f"{int('9' * 20) * 90000}"


async def test_a_crossed_book_is_not_believed(client: Client, exchange: SimulatedExchange) -> None:
    crossed = '{"lastUpdateId":1,"bids":[["3","1"]],"asks":[["2","1"]]}'
    exchange.faults.add(Fault(kind="status", status=200, path="*/depth", body=crossed, times=None))

    _, data = await tried(client, side="BUY", quantity="1", price="2")

    assert data["error_type"] == "exchange_unavailable"


@pytest.mark.parametrize(
    "arguments",
    [
        {"quantity": "1"},
        {"quantity": "1", "price": "0"},
        {"quantity": "1e3", "price": "1"},
        {"quantity": "-1", "price": "1"},
        {"quantity": "1,5", "price": "1"},
        {"quantity": "9" * 21, "price": "1"},
        {"quantity": "1", "price": "1", "stop_price": "1"},
        {"type": "MARKET", "quantity": "1", "quote_quantity": "1"},
        {"type": "OCO", "quantity": "1", "price": "1"},
    ],
)
async def test_amounts_that_do_not_fit_are_refused_without_any_request(
    client: Client, exchange: SimulatedExchange, arguments: dict[str, str]
) -> None:
    _, data = await tried(client, side="BUY", **arguments)

    assert (data["code"], data["error_type"]) == (-32602, "invalid_arguments")
    assert data["errors"]
    assert exchange.requests == []


async def test_a_symbol_that_the_exchange_denies_makes_the_table_doubtful(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    await tried(client, side="BUY", quantity="0.01", price="50000")
    clock.advance(120_000)
    exchange.faults.add(Fault(kind="status", path="*/depth", status=400, code=-1121, msg="Invalid symbol."))
    exchange.requests.clear()

    _, data = await tried(client, side="BUY", quantity="0.01", price="50000")
    await tried(client, side="BUY", quantity="0.01", price="50000")

    assert data["code"] == -32003
    asked = [request.path.removeprefix("/api/v3/") for request in exchange.requests]
    assert asked[:3] == ["depth", "referencePrice", "exchangeInfo"]


async def test_an_account_that_may_not_trade_is_warned(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(
        Fault(
            kind="status",
            status=200,
            path="*/account",
            body='{"canTrade":false,"canWithdraw":false,"canDeposit":true,"updateTime":1,"balances":'
            '[{"asset":"USDT","free":"1000","locked":"0"}]}',
        )
    )

    text, data = await tried(client, side="BUY", quantity="0.01", price="50000")

    assert data["may_trade"] is False
    assert "does not let this account trade" in text


async def test_the_offline_exchange_is_named_as_such(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    async with (
        running_app(settings, clock=clock, network=OFFLINE, transport=Loop(exchange)) as app,
        Client(app.server, cache=None) as client,
    ):
        text, _ = await tried(client, side="BUY", quantity="0.01", price="50000")

    assert "Simulated exchange, no real market" in text
