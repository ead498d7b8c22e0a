"""A list or a replacement that is denied sends nothing, whether the operator or the symbol does not allow it."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.exchange_socket import ServedExchange, served_exchange
from support.orders.sockets import SocketTrader, socket_trader

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

PLAIN = '[limits]\ntypes = ["LIMIT", "LIMIT_MAKER"]\n'
BUY = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.001"}


@pytest.fixture(scope="module")
def served() -> Iterator[ServedExchange]:
    with served_exchange() as found:
        yield found


@contextmanager
def not_allowed(served: ServedExchange, *flags: str) -> Generator[None]:
    """Have a symbol say that it does not allow these, until afterwards."""
    record = next(each for each in served.exchange.orders.listing.records if each["symbol"] == "BTCUSDT")
    before = {flag: record[flag] for flag in flags}
    record |= dict.fromkeys(flags, False)
    try:
        yield
    finally:
        record |= before


async def bracket(trader: SocketTrader) -> dict[str, str]:
    entry, profit, stop = [await trader.price(each) for each in ("98", "110", "90")]
    return {**BUY, "price": entry, "take_profit": profit, "stop_loss": stop}


async def pair(trader: SocketTrader) -> dict[str, str]:
    profit, stop = [await trader.price(each) for each in ("110", "90")]
    return {**BUY, "side": "SELL", "type": "OCO", "price": profit, "stop_price": stop}


async def be_ready(trader: SocketTrader) -> None:
    await trader.previewed(side="BUY", quantity="0.001", price=await trader.price("90"))


async def denied(trader: SocketTrader, order: dict[str, str]) -> dict[str, Any]:
    told = await trader.call("preview_order", **order)
    assert told.get("preview_id") is None, told
    return told


async def test_a_list_of_a_type_that_is_not_allowed_sends_nothing(served: ServedExchange, tmp_path: Path) -> None:
    async with socket_trader(served, tmp_path, PLAIN) as trader:
        await be_ready(trader)
        met = [await denied(trader, order) for order in (await bracket(trader), await pair(trader))]

        allowed = "allowed: LIMIT, LIMIT_MAKER"
        assert [each["refused_by"] for each in met] == [
            [f"type: STOP_LOSS_LIMIT; {allowed}"],
            [f"type: OCO; {allowed}"],
        ]
        assert trader.line.writes() == []


async def test_a_list_that_the_symbol_does_not_allow_sends_nothing(served: ServedExchange, tmp_path: Path) -> None:
    with not_allowed(served, "ocoAllowed"):
        async with socket_trader(served, tmp_path) as trader:
            await be_ready(trader)
            met = [await denied(trader, order) for order in (await bracket(trader), await pair(trader))]

            assert [each["rule"] for each in met] == ["ocoAllowed", "ocoAllowed"]
            assert trader.line.writes() == []


async def test_neither_exits_nor_a_replacement_are_sent_where_the_symbol_does_not_allow_them(
    served: ServedExchange, tmp_path: Path
) -> None:
    with not_allowed(served, "otoAllowed", "opoAllowed", "amendAllowed", "cancelReplaceAllowed"):
        async with socket_trader(served, tmp_path) as trader:
            price = await trader.price("91")
            placed = await trader.placed(side="BUY", quantity="0.001", price=price)
            smaller = {**BUY, "quantity": "0.0005", "price": price, "replaces": placed["client_order_id"]}
            met = [await denied(trader, order) for order in (await bracket(trader), smaller)]

            assert [each["rule"] for each in met] == ["otoAllowed", "cancelReplaceAllowed"]
            assert [each.partition("?")[0] for each in trader.line.writes()] == ["POST /api/v3/order"]
