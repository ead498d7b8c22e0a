"""Arguments as clients write them: Binance's names, numbers for text and text for numbers, any case; never a guess."""

import json
import math
from decimal import Decimal
from typing import Any, Literal, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp import Client
from pydantic import Field, ValidationError

from mcp_binance_server.domain.periods import Interval
from mcp_binance_server.surface.arguments import Arguments, DecimalText
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.requirement import requirement
from support.served import text_of

LIMIT = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.01", "price": "40000"}
ORDER = {"symbol": "BTCUSDT", "side": "BUY", "type": "STOP_LOSS_LIMIT", "quantity": "0.01"}


class Sample(Arguments):
    """One argument of every kind."""

    order_id: int = 0
    amount: DecimalText = "0"
    side: Literal["BUY", "SELL"] = "BUY"
    interval: Interval = "1h"
    levels: Literal[20, 100] = 20
    names: list[str] = Field(default_factory=list)
    extra: dict[str, Any] = Field(default_factory=dict)
    start: str | int | None = None
    client_order_id: str | None = None


@pytest.mark.slow
@requirement("ruling/46")
@pytest.mark.parametrize(
    ("tool", "ours", "binances"),
    [
        (
            "preview_order",
            {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "100"},
            {"symbol": "BTCUSDT", "side": "buy", "type": "market", "quoteOrderQty": 100},
        ),
        (
            "preview_order",
            {**ORDER, "price": "40000", "stop_price": "80000"},
            {**ORDER, "price": 40000.0, "stopPrice": 80000, "timeInForce": "GTC", "newClientOrderId": "mine-1"},
        ),
        (
            "get_klines",
            {"symbol": "BTCUSDT", "interval": "1h", "start": "6h", "limit": 3},
            {"symbol": "BTCUSDT", "interval": "1H", "startTime": "6h", "limit": "3"},
        ),
        ("get_all_orders", {"symbol": "BTCUSDT", "end": "1h"}, {"symbol": "BTCUSDT", "endTime": "1h"}),
        ("get_account_trades", {"symbol": "BTCUSDT", "order_id": 1}, {"symbol": "BTCUSDT", "orderId": "1"}),
        ("get_order", {"symbol": "BTCUSDT", "order_id": 1}, {"symbol": "BTCUSDT", "orderId": 1}),
        (
            "get_order",
            {"symbol": "BTCUSDT", "client_order_id": "mine-1"},
            {"symbol": "BTCUSDT", "origClientOrderId": "mine-1"},
        ),
        ("get_ticker", {"symbols": ["BTCUSDT", "ETHUSDT"]}, {"symbols": '["BTCUSDT","ETHUSDT"]'}),
        ("estimate_slippage", {"symbol": "BTCUSDT", "side": "SELL", "amount": "0.5", "amount_type": "base"},
         {"symbol": "BTCUSDT", "side": "Sell", "amount": 0.5, "amountType": "BASE"}),
        ("construct_chart_config", {"naturalLanguage": "BTC 4h", "preferences": {"theme": "dark"}},
         {"natural_language": "BTC 4h", "preferences": '{"theme": "Dark"}'}),
    ],
)  # fmt: skip
async def test_binances_spelling_means_what_ours_means(
    client: Client, tool: str, ours: dict[str, Any], binances: dict[str, Any]
) -> None:
    expected = await client.call_tool(tool, ours)
    answered = await client.call_tool(tool, binances)

    assert answered.is_error == expected.is_error
    assert answered.structured_content == expected.structured_content
    assert "Invalid arguments" not in text_of(answered)


@requirement("ruling/46")
def test_the_list_shows_our_spelling_alone() -> None:
    listed = json.dumps([spec.input_schema for spec in CATALOGUE.tools])

    for name in ("quoteOrderQty", "stopPrice", "timeInForce", "time_in_force", "startTime", "orderId", "ClientOrderId"):
        assert f'"{name}"' not in listed


@requirement("ruling/46")
async def test_two_spellings_of_one_argument_must_agree(client: Client) -> None:
    agreeing = await client.call_tool("preview_order", {**ORDER, "price": "1", "stop_price": "2", "stopPrice": 2})
    differing = await client.call_tool("preview_order", {**ORDER, "price": "1", "stop_price": "2", "stopPrice": 3})

    assert "Invalid arguments" not in text_of(agreeing)
    same = "stop_price and stopPrice are the same argument with different values: give one of them"
    assert same in text_of(differing)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"timeInForce": "IOC"}, "only GTC"),
        ({"timeInForce": "fok"}, "only GTC"),
        ({"timeInForce": "GTC", "type": "MARKET", "price": None}, "no time in force"),
        ({"newClientOrderId": "not an id"}, "client_order_id"),
    ],
)
async def test_what_a_preview_cannot_honour_is_refused_with_the_reason(
    client: Client, changes: dict[str, Any], reason: str
) -> None:
    result = await client.call_tool("preview_order", {**LIMIT, **changes})

    assert result.is_error is True
    assert reason in text_of(result)


@pytest.mark.parametrize(
    "amount", [math.nan, math.inf, -1, -0.5, True, 1e300, 10**60, 0.1234567890123456789, "1e3", "1,00", "0,500", [1]]
)
def test_what_is_no_amount_is_refused(amount: Any) -> None:  # noqa: ANN401 - what a client may send
    with pytest.raises(ValidationError):
        Sample.model_validate({"amount": amount})


async def test_a_number_with_too_many_digits_is_asked_for_as_text(client: Client) -> None:
    result = await client.call_tool("preview_order", {**LIMIT, "price": 40000.123456789012})

    assert "price: has more than 15 digits: send it as text" in text_of(result)


@given(st.decimals(min_value=0, max_value=10**15, allow_nan=False, allow_infinity=False, places=8))
def test_a_number_becomes_the_text_that_was_written(value: Decimal) -> None:
    written = f"{value:f}"
    assume(len(value.normalize().as_tuple().digits) <= 15)

    read = Sample.model_validate({"amount": json.loads(written)}).amount

    assert Decimal(read) == value
    assert "e" not in read.lower()


@given(st.integers(min_value=0, max_value=10**20 - 1))
def test_a_whole_number_becomes_its_own_text(value: int) -> None:
    assert Sample.model_validate({"amount": value}).amount == str(value)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_float_is_read_exactly_or_refused(value: float) -> None:
    try:
        read = Sample.model_validate({"amount": value}).amount
    except ValidationError:
        return

    assert Decimal(read) == Decimal(repr(value))


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_a_whole_number_given_as_text_is_that_number(value: int) -> None:
    assert Sample.model_validate({"orderId": f" {value} "}).order_id == value


@given(st.sampled_from(["BUY", "SELL"]), st.data())
def test_an_option_is_known_in_any_case(option: str, data: st.DataObject) -> None:
    written = "".join(data.draw(st.sampled_from([each.lower(), each.upper()])) for each in option)

    assert Sample.model_validate({"side": f"{written} "}).side == option


@given(st.sampled_from(get_args(Interval)))
def test_a_minute_never_becomes_a_month(interval: str) -> None:
    assert Sample.model_validate({"interval": interval}).interval == interval
    for written in {interval.upper(), interval.lower()} - {*get_args(Interval)}:
        if "m" in interval:
            with pytest.raises(ValidationError):
                Sample.model_validate({"interval": written})
        else:
            assert Sample.model_validate({"interval": written}).interval == interval


@pytest.mark.parametrize(
    ("given_as", "read"),
    [
        ({"levels": "100"}, {"levels": 100}),
        ({"levels": 100.0}, {"levels": 100}),
        ({"names": "rsi"}, {"names": ["rsi"]}),
        ({"names": '["ema(50)", "rsi"]'}, {"names": ["ema(50)", "rsi"]}),
        ({"extra": '{"a": 1}'}, {"extra": {"a": 1}}),
        ({"order_id": None, "side": "", "amount": " "}, {"order_id": 0, "side": "BUY", "amount": "0"}),
        ({"ORDER_ID": 7, "clientOrderId": "x"}, {"order_id": 7, "client_order_id": "x"}),
        ({"startTime": 1_700_000_000_000}, {"start": 1_700_000_000_000}),
    ],
)
def test_what_clients_write_is_read_as_it_was_meant(given_as: dict[str, Any], read: dict[str, Any]) -> None:
    sample = Sample.model_validate(given_as).model_dump()

    assert {name: sample[name] for name in read} == read


@pytest.mark.parametrize(
    "arguments", [{"levels": "50"}, {"levels": 20.5}, {"extra": "{broken"}, {"extra": "[1]"}, {"side": "BUYS"}]
)
def test_what_fits_nothing_is_still_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Sample.model_validate(arguments)
