"""What the page of trading_analysis says of a size: its bound, the reason for none, and the stop of a holder."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.portfolio import Balance, Portfolio
from support.clock import FakeClock
from support.desk import raw
from support.served import Place

HOUR_MS = 3_600_000
UNREAD = "Binance API is temporarily unavailable"


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange) -> Place:
    return Place(clock, exchange, "auto")


def having(place: Place, balances: Mapping[str, str]) -> None:
    held = tuple(Balance(asset, amount, "0.00000000") for asset, amount in balances.items())
    place.exchange.stage = replace(place.exchange.stage, portfolio=Portfolio(held))


def answer(place: Place, path: str, body: str) -> None:
    place.exchange.faults.add(Fault(kind="status", status=200, path=path, body=body, times=None))


async def page(client: Client, **arguments: str) -> str:
    (message,) = (await client.get_prompt("trading_analysis", {**arguments, "detail": "true"})).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def size_of(text: str) -> str:
    (line,) = [each for each in text.split("\n") if each.startswith("**Position Size**: ")]
    return line.partition(": ")[2]


@pytest.mark.parametrize(
    ("symbol", "held", "said"),
    [
        ("SOLUSDT", {"USDT": "99999"}, r"[0-9.]+ SOL \(\$[0-9,.]+\), limited by asks near the touch \("),
        ("SOLUSDT", {"USDT": "300", "BTC": "2"}, r"1\.[0-9]+ SOL \(\$299\.[0-9]+\), limited by free USDT \("),
        (
            "SOLUSDT",
            {"USDT": "5.1", "BTC": "2"},
            r"no order: below the exchange's minimum of \$5, limited by free USDT$",
        ),
        ("SOLUSDT", {"BTC": "2"}, r"no order: no free USDT$"),
        ("SOLUSDT", {"OBSCURE": "2"}, r"no order: nothing in your account has a price$"),
        (
            "SOLUSDT", {"SOL": "100", "USDT": "9999"},
            r"no order: SOL including open buy orders is 6[0-9]\.[0-9]% of equity, the ceiling is 25%$",
        ),
        (
            "XRPBTC", {"BTC": "0.00011", "ETH": "9"},
            r"no order: below the exchange's minimum of 0\.0001 BTC, limited by free BTC$",
        ),
        (
            "BTCTRY", {"TRY": "40", "ETH": "9"},
            r"no order: below the exchange's minimum of 0\.00001 BTC, limited by free TRY$",
        ),
        (
            "TESTBUSDT", {"USDT": "9999999", "TESTB": "10000"},
            r"no order: the exchange's MAX_POSITION of 10000 TESTB is reached$",
        ),
        (
            "TESTBUSDT", {"USDT": "9999999", "TESTB": "9990"},
            r"10\.00 TESTB \(\$[0-9.]+\), limited by the exchange's MAX_POSITION \(",
        ),
    ],
)  # fmt: skip
async def test_a_page_names_the_bound_or_why_there_is_no_order(
    place: Place, symbol: str, held: dict[str, str], said: str
) -> None:
    having(place, held)

    async with place.served() as client:
        size = size_of(await page(client, symbol=symbol, strategy="aggressive"))

    assert re.match(said, size), size


BOOKS: dict[str, tuple[list[list[str]], list[list[str]], str]] = {
    "crossed": ([["3", "1"]], [["2", "1"]], "the order book is crossed and cannot be trusted"),
    "no asks": ([["3", "1"]], [], "no SOL is offered now"),
    "far away": ([["9000", "1000"]], [["9001", "1000"]], "the entry band breaks the exchange's PERCENT_PRICE_BY_SIDE"),
}


@pytest.mark.parametrize("kind", BOOKS)
async def test_a_book_that_no_order_can_be_held_against_gives_no_size(place: Place, kind: str) -> None:
    bids, asks, why = BOOKS[kind]
    answer(place, "*/depth", json.dumps({"lastUpdateId": 1, "bids": bids, "asks": asks}))

    async with place.served() as client:
        text = await page(client, symbol="SOLUSDT")

    assert size_of(text) == f"no order: {why}"


async def test_a_symbol_that_takes_no_orders_has_no_size(place: Place) -> None:
    async with place.served({}) as client:
        text = await page(client, symbol="TESTAUSDT")

    assert size_of(text) == "no order: the exchange accepts no limit orders on TESTAUSDT (CANCEL\\_ONLY)"


@pytest.mark.slow
async def test_an_account_with_all_the_orders_it_may_have_gets_no_size(place: Place) -> None:
    waiting = place.exchange.stage.portfolio.orders[3]
    small = replace(waiting, symbol="SOLUSDT", price="100", quantity="0.001")
    full = tuple(replace(small, order_id=number) for number in range(1, 201))
    portfolio = Portfolio((Balance("USDT", "9999", "0"),), full)

    sizes: list[str] = []
    for orders in (full[:-1], full):
        place.exchange.stage = replace(place.exchange.stage, portfolio=replace(portfolio, orders=orders))
        async with place.served() as client:
            sizes.append(size_of(await page(client, symbol="SOLUSDT")))

    assert "limited by" in sizes[0]
    assert sizes[1] == "no order: you have reached the exchange's limit of 200 open orders on SOLUSDT"


async def test_a_book_that_cannot_be_read_gives_no_size_and_the_rest_of_the_page(place: Place) -> None:
    place.exchange.faults.add(Fault(kind="html", path="*/depth", times=None))

    async with place.served() as client:
        text = await page(client, symbol="SOLUSDT")

    assert size_of(text) == "no order: the order book could not be read"
    assert f"_Unavailable: order book: {UNREAD}" in text
    assert "## Levels by Rule" in text


@pytest.mark.parametrize(
    ("path", "name"),
    [("*/account", "your account"), ("*/openOrders", "your open orders"), ("*/ticker/price", "prices")],
)
async def test_an_account_of_which_a_part_is_unread_is_no_account(place: Place, path: str, name: str) -> None:
    place.exchange.faults.add(Fault(kind="html", path=path, times=None))

    async with place.served() as client:
        text = await page(client, symbol="SOLUSDT")

    assert " per $10,000 equity (" in text
    assert "_Sized without an account: " in text
    assert f"_Unavailable: {name}: {UNREAD}" in text


async def test_without_a_key_ten_thousand_dollars_are_told_in_the_quote_asset_too(place: Place) -> None:
    prices = {each["symbol"]: Decimal(each["price"]) for each in await raw(place.exchange, "ticker/price")}

    async with place.served({}) as client:
        text = await page(client, symbol="ETHBTC")

    (bitcoins,) = re.findall(r"% per ([0-9.]+) BTC \(\$10,000\) equity \(", text)
    assert Decimal(bitcoins) == pytest.approx(10_000 / prices["BTCUSDT"], abs=Decimal("0.00001"))
    assert "**Bounds (ETH)**: risk " in text
    assert "free BTC" not in text
    assert "exposure" not in text


async def test_a_quote_asset_without_a_price_sizes_nothing(place: Place) -> None:
    answer(place, "*/ticker/price", '[{"symbol":"ETHBTC","price":"0.03"}]')

    async with place.served({}) as client:
        text = await page(client, symbol="ETHBTC")

    assert size_of(text) == "no order: the value of BTC in USDT is unknown"


async def test_prices_that_cannot_be_read_size_nothing_in_another_currency(place: Place) -> None:
    place.exchange.faults.add(Fault(kind="html", path="*/ticker/price", times=None))

    async with place.served({}) as client:
        text = await page(client, symbol="ETHBTC")

    assert size_of(text) == "no order: the value of BTC in USDT is unknown"


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"SOL": "3", "USDT": "5000"}, r"for your 3 SOL the stop is a sell at \$[0-9.]+, [0-9.]+% below"),
        ({"USDT": "5000"}, None),
    ],
)  # fmt: skip
async def test_only_a_holder_is_told_of_a_stop_that_sells(place: Place, held: dict[str, str], said: str | None) -> None:
    having(place, held)

    async with place.served() as client:
        told = re.search(r"^\*\*Holder\*\*: (.+)$", await page(client, symbol="SOLUSDT"), re.MULTILINE)

    assert (told is None) is (said is None)
    if told is not None and said is not None:
        assert re.match(said, told[1])


async def test_with_no_account_a_stop_is_for_whoever_holds(place: Place) -> None:
    async with place.served({}) as client:
        text = await page(client, symbol="SOLUSDT")

    assert re.search(r"^\*\*Holder\*\*: for a holder of SOL the stop is a sell at \$[0-9.]+, ", text, re.MULTILINE)


async def falling(place: Place, symbol: str) -> str:
    """Return two hundred hourly bars that fall to the last price of a symbol."""
    price = float((await raw(place.exchange, f"ticker/24hr?symbol={symbol}"))["lastPrice"])
    first_ms = (place.clock.now_ms() // HOUR_MS - 200) * HOUR_MS
    steps = [price * 1.003 ** (200 - hour) * (1 + hour % 2 / 1000) for hour in range(201)]
    return json.dumps(
        [
            [
                first_ms + hour * HOUR_MS, f"{steps[hour]:.2f}", f"{steps[hour]:.2f}", f"{steps[hour + 1]:.2f}",
                f"{steps[hour + 1]:.2f}", "10", first_ms + (hour + 1) * HOUR_MS - 1, "1000", 5, "4", "400", "0",
            ]
            for hour in range(200)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(("strategy", "waits"), [("conservative", True), ("balanced", False)])
async def test_a_conservative_strategy_prints_no_size_while_the_bias_is_down(
    place: Place, strategy: str, *, waits: bool
) -> None:
    answer(place, "*/klines", await falling(place, "SOLUSDT"))

    async with place.served({}) as client:
        text = await page(client, symbol="SOLUSDT", strategy=strategy)

    assert (size_of(text) == "no order: a conservative strategy does not buy while the bias is down") is waits
