"""binance://orders/… through the SDK's client, in every protocol era."""

from dataclasses import replace

import pytest
from mcp import Client, MCPError

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import ZERO, Balance, Order
from mcp_binance_server.exchange.endpoints import NETWORKS
from support.clock import FakeClock
from support.golden import Golden
from support.requirement import requirement
from support.served import Place, read_page

OPEN = "binance://orders/open"
HISTORY = "binance://orders/history"
OPEN_MOMENT_MS = 1_760_711_045_234
EMPTY_MOMENT_MS = 1_760_711_050_567


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


def order(number: int, symbol: str = "BTCUSDT", **changes: str) -> Order:
    usual = Order(
        symbol=symbol,
        order_id=number,
        client_order_id=f"test-{number}",
        side="BUY",
        price="100000.00000000",
        quantity="0.02000000",
        executed=ZERO,
        executed_value=ZERO,
        status="NEW",
        placed_ms=1_784_500_000_000 + number * 1000,
        updated_ms=1_784_500_000_000 + number * 1000,
    )
    return replace(usual, **changes)


def place_orders(exchange: SimulatedExchange, *orders: Order, balances: tuple[Balance, ...] = ()) -> None:
    portfolio = replace(exchange.stage.portfolio, orders=orders, balances=balances)
    exchange.stage = replace(exchange.stage, portfolio=portfolio)


def total_line(page: str) -> str:
    (line,) = (each for each in page.split("\n") if each.startswith("**Total Value**"))
    return line


@requirement(
    "FR-012", "resources/us4-3", "resources/open-orders-page", "resources/open-orders-summary",
    "resources/format-tables", "ruling/13",
)  # fmt: skip
async def test_the_sample_orders_are_met_but_for_their_sum(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden
) -> None:
    clock.set_wall(OPEN_MOMENT_MS)
    exchange.set_scenario("contract")

    page = await read_page(client, OPEN)

    assert total_line(page) == "**Total Value**: ~$3,074.00 (estimated)"
    golden.check("views/orders_open.contract.md", page)


@requirement("resources/no-open-orders")
async def test_without_orders_the_page_is_the_samples_sentence(
    client: Client, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    clock.set_wall(EMPTY_MOMENT_MS)
    exchange.set_scenario("empty_account")

    assert await read_page(client, OPEN) == (
        "# Open Orders\n\nNo open orders found.\n\n*Last updated: 2025-10-17T14:24:10.567Z*"
    )


@requirement("ruling/22")
async def test_without_orders_on_mainnet_the_page_still_names_who_answered(place: Place) -> None:
    place.exchange.set_scenario("empty_account")

    async with place.served(network=NETWORKS["mainnet"]) as client:
        page = await read_page(client, OPEN)

    assert page.endswith("Z*\n*Network: mainnet; answered by api.binance.com*")


@requirement("ruling/13")
async def test_the_rest_of_each_order_is_summed_per_quote(client: Client, exchange: SimulatedExchange) -> None:
    place_orders(
        exchange,
        order(1, quantity="1.00000000", executed="0.25000000"),
        order(2, "BTCUSDC", price="90000.00000000"),
        order(3, "ETHBTC", price="0.03100000", quantity="2.00000000"),
    )

    page = await read_page(client, OPEN)

    assert total_line(page) == "**Total Value**: ~0.06200000 BTC, ~$1,800.00 in USDC, ~$75,000.00 in USDT (estimated)"
    assert "| 0.031 |" in page


@requirement("ruling/13")
async def test_what_cannot_be_valued_is_counted_apart(client: Client, exchange: SimulatedExchange) -> None:
    place_orders(exchange, order(1, "GONEUSDT", quantity="5.50000000"), order(2, price=ZERO, kind="MARKET"))

    page = await read_page(client, OPEN)

    assert "| GONEUSDT | BUY | LIMIT | 100,000.00 | 5.5 | 0 | NEW |" in page
    assert "| MARKET | market | 0.02000 |" in page
    assert "**Not in the Total**: 2 without a price or on a symbol not listed now" in page
    assert total_line(page) == "**Total Value**: ~$0.00 (estimated)"


async def test_unlisted_symbols_alone_have_no_value(client: Client, exchange: SimulatedExchange) -> None:
    place_orders(exchange, order(1, "GONEUSDT"))

    assert total_line(await read_page(client, OPEN)) == "**Total Value**: n/a"


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"price": "2.34560000"}, "2.3456"),
        ({"price": "2.30000000"}, "2.30"),
        ({"price": "0.00001234"}, "0.00001234"),
        ({"price": "98000.00000000", "stop_price": "99000.00000000"}, "98,000.00 (stop 99,000.00)"),
        ({"price": ZERO, "stop_price": "99000.50000000"}, "stop 99,000.50"),
        (
            {"price": ZERO, "executed": "0.01000000", "executed_value": "1000.00333333"},
            "market (avg 100,000.333)",
        ),
        ({"price": ZERO, "executed": "0.01000000", "executed_value": "-1.00000000"}, "market"),
    ],
)
async def test_a_price_says_what_the_order_works_at(
    client: Client, exchange: SimulatedExchange, changes: dict[str, str], shown: str
) -> None:
    place_orders(exchange, order(1, **changes))

    assert f"| LIMIT | {shown} |" in await read_page(client, OPEN)


@pytest.mark.parametrize(
    ("symbol", "sent", "shown"),
    [
        ("BTCUSDT", "0.02000000", "0.02000"),
        ("BTCUSDT", "0.02", "0.02"),
        ("BTCUSDT", "0.00000001", "0.00000001"),
        ("DOGEUSDT", "1500.00000000", "1500"),
        ("DOGEUSDT", "1500", "1500"),
    ],
)
async def test_a_quantity_is_as_it_was_sent_without_zeros_below_the_step(
    client: Client, exchange: SimulatedExchange, symbol: str, sent: str, shown: str
) -> None:
    place_orders(exchange, order(1, symbol, quantity=sent))

    assert f"| 100,000.00 | {shown} |" in await read_page(client, OPEN)


async def test_of_very_many_orders_the_newest_are_shown_and_all_are_summed(
    client: Client, exchange: SimulatedExchange
) -> None:
    place_orders(exchange, *(order(number) for number in reversed(range(1, 121))))

    page = await read_page(client, OPEN)

    assert "| 120 | BTCUSDT" in page
    assert "| 70 | BTCUSDT" not in page
    assert "**Total Open Orders**: 120" in page
    assert total_line(page) == "**Total Value**: ~$240,000.00 (estimated)"
    assert '*Shown: the newest 50; for all of them call get_open_orders {"limit": 1000}*' in page
    assert len(page.encode()) <= 8_000


async def test_a_word_of_the_exchange_cannot_break_the_table(client: Client, exchange: SimulatedExchange) -> None:
    place_orders(exchange, order(1, kind="LIMIT | <b>"))

    assert r"| LIMIT \| \<b\> |" in await read_page(client, OPEN)


@requirement("data-model/orders-category")
@pytest.mark.parametrize("scenario", ["contract", "market", "empty_account"])
async def test_the_history_is_newest_first_and_says_what_it_left_out(
    client: Client, exchange: SimulatedExchange, clock: FakeClock, golden: Golden, scenario: str
) -> None:
    clock.set_wall(OPEN_MOMENT_MS if scenario == "contract" else clock.now_ms())
    exchange.set_scenario(scenario)

    page = await read_page(client, HISTORY)

    assert "get_all_orders with the symbol" in page
    golden.check(f"views/orders_history.{scenario}.md", page)


async def test_the_history_asks_at_most_five_symbols_and_names_the_others(
    place: Place, exchange: SimulatedExchange
) -> None:
    held = ("USDT", "USDC", "ETH", "SOL", "XRP", "DOGE", "ADA", "NOMARKET")
    balances = tuple(Balance(asset, "1.00000000", ZERO) for asset in held)
    place_orders(exchange, order(1, "BNBUSDT"), order(2, "BTCUSDT"), balances=balances)

    async with place.served() as client:
        page = await read_page(client, HISTORY)

    assert "**Symbols Asked**: BTCUSDT, BNBUSDT, ETHUSDT, SOLUSDT, XRPUSDT\n" in page
    assert "**Not Asked**: DOGEUSDT, ADAUSDT, USDCUSDT\n" in page
    assert "*Cost: 7 calls, weight 200*" in page
    asked = place.asked()
    assert (asked.count("account"), asked.count("openOrders"), asked.count("allOrders")) == (1, 1, 5)


async def test_the_history_names_only_some_of_many_symbols_it_did_not_ask(
    client: Client, exchange: SimulatedExchange
) -> None:
    held = ("ETH", "SOL", "XRP", "DOGE", "ADA", "LTC", "TRX", "LINK", "AVAX", "DOT", "XLM", "ATOM", "PAXG", "BNB",
            "BTC", "SHIB", "PEPE")  # fmt: skip
    place_orders(exchange, balances=tuple(Balance(asset, "1.00000000", ZERO) for asset in held))

    assert "BNBUSDT, BTCUSDT and 2 more\n" in await read_page(client, HISTORY)


async def test_the_history_shows_fifty_and_says_that_there_are_older_ones(
    client: Client, exchange: SimulatedExchange
) -> None:
    past = [order(number, status="FILLED") for number in range(1, 41)]
    other = [order(number, "ETHUSDT", status="CANCELED") for number in range(41, 81)]
    place_orders(
        exchange,
        *past,
        *other,
        balances=(Balance("BTC", "1.00000000", ZERO), Balance("ETH", "1.00000000", ZERO)),
    )

    page = await read_page(client, HISTORY)

    assert "**Orders Shown**: 50, newest first; there are older ones" in page
    assert page.index("| 80 | ETHUSDT") < page.index("| 40 | BTCUSDT")
    assert "| 30 | BTCUSDT" not in page


async def test_a_symbol_that_does_not_answer_is_a_gap_and_not_the_end(place: Place) -> None:
    place.exchange.set_scenario("contract")

    async with place.served() as client:
        await read_page(client, HISTORY)
        place.exchange.faults.add(Fault(kind="status", path="*/allOrders", status=503, times=None))
        page = await read_page(client, HISTORY)

    assert "**No Answer**: ETHUSDT, BTCUSDT, BNBUSDT; read this page again" in page
    assert "No orders found." in page


@pytest.mark.parametrize(
    ("status", "code", "error"), [(429, -1003, "rate_limited"), (401, -2015, "invalid_credentials")]
)
async def test_a_limit_or_a_refused_key_is_the_whole_answer(
    client: Client, exchange: SimulatedExchange, status: int, code: int, error: str
) -> None:
    exchange.faults.add(Fault(kind="status", path="*/allOrders", status=status, code=code, times=None))

    with pytest.raises(MCPError) as caught:
        await client.read_resource(HISTORY)

    assert caught.value.data["error_type"] == error


@requirement("resources/orders-pattern")
async def test_an_unknown_order_page_is_not_found(client: Client, exchange: SimulatedExchange) -> None:
    with pytest.raises(MCPError) as caught:
        await client.read_resource("binance://orders/filled")

    assert (caught.value.code, caught.value.message) == (-32404, "Resource not found: binance://orders/filled")
    assert exchange.requests == []
