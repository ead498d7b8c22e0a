"""What the futures streams tell of liquidations, and what is none of ours."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from mcp_binance_server.exchange.futures.stream_wire import read_liquidation

ORDER = {
    "s": "SOLUSDT", "S": "SELL", "o": "LIMIT", "f": "IOC", "q": "10", "p": "150.1", "ap": "150.4", "X": "FILLED",
    "l": "2", "z": "10", "T": 1794231000000,
}  # fmt: skip


def event(order: dict[str, Any] | None = None, **fields: Any) -> bytes:  # noqa: ANN401 - whatever a stream may send
    return msgspec.json.encode(
        {"e": "forceOrder", "E": 1794231000001, "st": 1, "ps": "SOLUSDT", "o": ORDER | (order or {})} | fields
    )


def test_a_long_is_sold_and_a_short_is_bought_back() -> None:
    sold, bought = read_liquidation(event()), read_liquidation(event({"S": "BUY", "ap": "0.1", "z": "3"}))

    assert sold is not None
    assert bought is not None
    assert (sold.symbol, sold.side, sold.value, sold.time_ms) == ("SOLUSDT", "long", Decimal(1504), 1794231000000)
    assert (bought.side, bought.value) == ("short", Decimal("0.3"))


def test_an_event_that_does_not_name_its_product_is_ours() -> None:
    named = msgspec.json.decode(event())
    del named["st"]

    assert read_liquidation(msgspec.json.encode(named)) is not None


@pytest.mark.parametrize(
    "told",
    [
        event(st=2),
        event(e="markPriceUpdate"),
        event({"ap": "0"}),
        event({"z": "many"}),
        event({"S": "HOLD"}),
        event({"T": -1}),
        event({"s": "SOL\nUSDT"}),
        b"{",
        b"[]",
        b"\xff",
        b"null",
    ],
)
def test_what_is_of_another_product_or_makes_no_sense_is_nothing(told: bytes) -> None:
    assert read_liquidation(told) is None
