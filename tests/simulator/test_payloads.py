"""Every answer has the names and types of its documented example, every error its very words."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

Get = Callable[[str], Awaitable[httpx2.Response]]
Examples = dict[str, dict[str, dict[str, Any]]]

AMOUNT = re.compile(r"-?\d+\.(\d+)")

PUBLIC = {
    "ping": "ping",
    "time": "time",
    "depth": "depth?symbol=BTCUSDT&limit=5",
    "trades": "trades?symbol=BTCUSDT&limit=2",
    "historicalTrades": "historicalTrades?symbol=BTCUSDT&limit=1&fromId=743500000",
    "aggTrades": "aggTrades?symbol=BTCUSDT&limit=2",
    "klines": "klines?symbol=BTCUSDT&interval=1m&limit=2",
    "uiKlines": "uiKlines?symbol=BTCUSDT&interval=1m&limit=2",
    "avgPrice": "avgPrice?symbol=BTCUSDT",
    "ticker24hr": "ticker/24hr?symbol=BTCUSDT",
    "ticker24hr_mini": "ticker/24hr?symbol=BTCUSDT&type=MINI",
    "ticker24hr_many": "ticker/24hr?symbols=%5B%22BTCUSDT%22,%22ETHUSDT%22%5D",
    "ticker24hr_no_trades": "ticker/24hr?symbol=LUNAUSDT",
    "tickerPrice": "ticker/price?symbol=BTCUSDT",
    "tickerPrice_all": "ticker/price",
    "bookTicker": "ticker/bookTicker?symbol=BTCUSDT",
}
SIGNED = {
    "account": "account?omitZeroBalances=true",
    "getOrder": "order?symbol=BTCUSDT&orderId=41200880004",
    "openOrders": "openOrders?symbol=BTCUSDT",
    "openOrders_empty": "openOrders",
    "allOrders": "allOrders?symbol=BTCUSDT",
    "myTrades": "myTrades?symbol=BTCUSDT",
    "rateLimitOrder": "rateLimit/order",
    "commission": "account/commission?symbol=BTCUSDT",
}


Json = dict[str, "Json"] | list["Json"] | str | int | bool | None


def shape(value: Json) -> object:
    """Reduce a body to its names and types; amounts keep their number of decimals."""
    if isinstance(value, dict):
        return tuple((name, shape(inner)) for name, inner in value.items())
    if isinstance(value, list):
        if all(isinstance(item, dict) for item in value):
            return frozenset(shape(item) for item in value)
        return tuple(shape(item) for item in value)
    amount = AMOUNT.fullmatch(value) if isinstance(value, str) else None
    return f"amount with {len(amount[1])} decimals" if amount else type(value).__name__


@pytest.mark.parametrize("name", PUBLIC)
async def test_a_public_answer_looks_like_its_example(get: Get, examples: Examples, name: str) -> None:
    answer = await get(PUBLIC[name])

    ours, theirs = answer.json(), examples["rest"][name]["body"]
    if name == "depth":
        ours, theirs = ({**body, "bids": body["bids"][:3], "asks": body["asks"][:3]} for body in (ours, theirs))
    assert shape(ours) == shape(theirs)


@pytest.mark.parametrize("name", SIGNED)
async def test_a_signed_answer_looks_like_its_example(
    signed_get: Get, exchange: SimulatedExchange, examples: Examples, name: str
) -> None:
    exchange.set_scenario("empty_account" if name == "openOrders_empty" else "market")

    answer = await signed_get(SIGNED[name])

    assert answer.status_code == 200
    assert shape(answer.json()) == shape(examples["rest"][name]["body"])


@pytest.mark.parametrize("name", [*PUBLIC, *SIGNED])
def test_every_example_is_answered_by_the_endpoint_it_names(examples: Examples, name: str) -> None:
    path = (PUBLIC | SIGNED)[name].partition("?")[0]

    assert examples["rest"][name]["request"] == f"GET /api/v3/{path}"


@pytest.mark.parametrize("name", [*PUBLIC, *SIGNED])
async def test_a_call_costs_and_carries_what_its_example_says(
    get: Get, signed_get: Get, examples: Examples, name: str
) -> None:
    ask = signed_get if name in SIGNED else get

    answer = await ask((PUBLIC | SIGNED)[name])

    example = examples["rest"][name]
    assert answer.headers["x-mbx-used-weight-1m"] == str(example["weight"])
    assert answer.headers["content-type"] == example["headers"]["Content-Type"]


async def test_exchange_info_is_the_constructed_document(
    get: Get, clock: FakeClock, exchange: SimulatedExchange, example_exchange_info: dict[str, object]
) -> None:
    exchange.weight_limit = 6000

    answer = await get("exchangeInfo")

    assert answer.json() == example_exchange_info | {"serverTime": clock.now_ms()}
    assert "币安人生".encode() in answer.content


@pytest.mark.parametrize(
    ("name", "path", "signed"),
    [
        ("invalid_symbol", "depth?symbol=NOSUCH", False),
        ("bad_interval", "klines?symbol=BTCUSDT&interval=7m", False),
        ("status_mismatch", "depth?symbol=BTCUSDT&symbolStatus=BREAK", False),
        ("too_many_hours", "allOrders?symbol=BTCUSDT&startTime=0&endTime=99999999", True),
        ("bad_key_format", "account", False),
        ("no_such_order", "order?symbol=BTCUSDT&orderId=1", True),
        ("client_id_mismatch", "order?symbol=BTCUSDT&orderId=41200880004&origClientOrderId=x", True),
    ],
)
async def test_an_error_has_the_words_of_its_example(
    get: Get, signed_get: Get, examples: Examples, name: str, path: str, *, signed: bool
) -> None:
    answer = await (signed_get if signed else get)(path)

    assert answer.status_code == examples["errors"][name]["status"]
    assert answer.json() == examples["errors"][name]["body"]


@pytest.mark.night
@pytest.mark.slow
async def test_limits_are_refused_in_the_words_of_the_examples(
    get: Get, exchange: SimulatedExchange, clock: FakeClock, examples: Examples
) -> None:
    exchange.weight_limit = 6000
    clock.set_wall(1_784_592_060_000 + 23_000)
    for _ in range(24):
        await get("depth?symbol=BTCUSDT&limit=5000")

    refused = await get("ping")
    clock.set_wall(1_784_592_063_456 + 29_000)
    banned = await get("ping")

    errors = examples["errors"]
    assert (refused.status_code, refused.json()) == (429, errors["too_many_requests_429"]["body"])
    assert refused.headers["retry-after"] == errors["too_many_requests_429"]["headers"]["Retry-After"]
    until = str(1_784_592_063_456 + 29_000 + 120_000)
    expected = errors["ip_banned_418"]["body"]["msg"].replace("1784592243456", until)
    assert (banned.status_code, banned.json()["msg"]) == (418, expected)
    assert banned.headers["retry-after"] == errors["ip_banned_418"]["headers"]["Retry-After"]
