"""Lists, replacements and amendments at the simulated exchange, through the real client, from request to end."""

from dataclasses import replace
from decimal import Decimal

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    ListShape,
    Outcome,
    Replacement,
    Target,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.trading.spot import SpotBroker
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.orders.lists import LIST_ID, LISTS, NEW_ID, OLD_ID, QUANTITY, SYMBOL, limit
from trading.spot_broker import spot_broker

LIST = Target(SYMBOL, LIST_ID, is_list=True)
CENT = Decimal("0.01")


async def open_gate() -> None:
    return None


def around(exchange: SimulatedExchange, share: str) -> Price:
    """Return a price so many times that of the moment."""
    symbol = exchange.listing.symbols[SYMBOL]
    top = exchange.stage.market.top(symbol, exchange.now_ms())
    assert top is not None
    return Price((Decimal(symbol.price(top.bid[0])) * Decimal(share)).quantize(CENT))


def listed(exchange: SimulatedExchange, shape: ListShape, entry_at: str = "0.99") -> WrittenList:
    """Return a list around the market: in at 1 % below it, out at 2 % above or 2 % below."""
    prices: dict[str, tuple[Price, Price | None]] = {
        "-w": (around(exchange, entry_at), None),
        "-a": (around(exchange, "1.02"), None),
        "-b": (around(exchange, "0.97"), around(exchange, "0.98")),
    }
    orders = tuple(
        replace(order, price=prices[order.client_order_id[-2:]][0], stop_price=prices[order.client_order_id[-2:]][1])
        for order in LISTS[shape].orders
    )
    return replace(LISTS[shape], orders=orders)


async def trade(exchange: SimulatedExchange, price: Price) -> None:
    """Let the crowd buy at a price, as much as stands there and more."""
    order = {"symbol": SYMBOL, "price": str(price), "quantity": "5", "sold": False}
    async with httpx2.AsyncClient(transport=Loop(exchange), base_url=NETWORK.rest_url) as http:
        answer = await http.post("/control/orders/trade", json=order)
    assert answer.status_code == httpx2.codes.OK, answer.text


async def statuses(own: SpotBroker, orders: tuple[WrittenOrder, ...]) -> list[str]:
    found = [await own.ask(SYMBOL, each.client_order_id) for each in orders]
    return ["" if each is None else each.status for each in found]


@pytest.mark.parametrize("shape", LISTS)
async def test_a_list_is_placed_asked_for_and_cancelled(
    shape: ListShape, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    orders = listed(exchange, shape)
    async with spot_broker(exchange, clock) as own:
        placed = await own.place(orders, open_gate)
        stood = await statuses(own, orders.orders)
        shown = await own.open_orders(SYMBOL)
        cancelled = await own.cancel(LIST, open_gate)
        left = await statuses(own, orders.orders)
        again = await own.cancel(LIST, open_gate)

    assert placed.fate is Fate.ACCEPTED
    names = [each.client_order_id for each in orders.orders]
    assert [each.client_order_id for each in placed.legs] == names
    assert [each.status for each in placed.legs] == stood
    assert stood == (["NEW"] * 2 if shape == "OCO" else ["NEW"] + ["PENDING_NEW"] * (len(names) - 1))
    assert {*names} <= {each.client_order_id for each in shown}
    assert cancelled.fate is Fate.ACCEPTED
    assert {each.client_order_id for each in cancelled.legs} == {*names}
    assert {*left} == {"CANCELED"}
    assert (again.fate, again.legs) == (Fate.REFUSED, ())


async def test_one_order_of_a_pair_ends_the_other(exchange: SimulatedExchange, clock: FakeClock) -> None:
    orders = listed(exchange, "OCO")
    async with spot_broker(exchange, clock) as own:
        assert (await own.place(orders, open_gate)).fate is Fate.ACCEPTED

        await trade(exchange, Price(orders.orders[0].price + CENT))

        assert await statuses(own, orders.orders) == ["FILLED", "EXPIRED"]
        assert (await own.cancel(LIST, open_gate)).fate is Fate.REFUSED


async def test_exits_start_once_their_entry_is_filled_and_sell_what_it_received(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    orders = listed(exchange, "OPOCO", entry_at="1.01")
    async with spot_broker(exchange, clock) as own:
        placed = await own.place(orders, open_gate)
        stands = [await own.ask(SYMBOL, each.client_order_id) for each in orders.orders]

    assert [each.status for each in placed.legs] == ["FILLED", "PENDING_NEW", "PENDING_NEW"]
    assert [each and each.status for each in stands] == ["FILLED", "NEW", "NEW"]
    assert all(each is not None and 0 < each.quantity <= QUANTITY for each in stands)


def far_below(exchange: SimulatedExchange, client_order_id: str) -> WrittenOrder:
    return replace(limit(client_order_id), price=around(exchange, "0.9"))


async def standing(own: SpotBroker, exchange: SimulatedExchange) -> Target:
    """Place an order far below the market and return it as what is to be changed."""
    placed = await own.place(far_below(exchange, OLD_ID), open_gate)
    assert placed.order is not None
    return Target(SYMBOL, OLD_ID, placed.order.order_id)


async def test_an_order_takes_the_place_of_another(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with spot_broker(exchange, clock) as own:
        target, new = await standing(own, exchange), far_below(exchange, NEW_ID)

        outcome = await own.place(Replacement(target, new), open_gate)

        assert await statuses(own, (limit(OLD_ID), new)) == ["CANCELED", "NEW"]
    assert outcome.fate is Fate.ACCEPTED
    assert outcome.order is not None
    assert outcome.target is not None
    assert (outcome.order.client_order_id, outcome.target.client_order_id) == (NEW_ID, OLD_ID)


async def test_the_old_order_is_gone_and_the_new_one_refused(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with spot_broker(exchange, clock) as own:
        target = await standing(own, exchange)
        taking = replace(limit(NEW_ID), kind="LIMIT_MAKER", price=around(exchange, "1.01"))

        outcome = await own.place(Replacement(target, taking), open_gate)

        assert await statuses(own, (limit(OLD_ID), taking)) == ["CANCELED", ""]
    assert (outcome.fate, outcome.order, outcome.code) == (Fate.REFUSED, None, -2010)
    assert "the order would immediately match and take" in outcome.reason
    assert outcome.target is not None
    assert (outcome.target.client_order_id, outcome.target.status) == (OLD_ID, "CANCELED")


async def test_nothing_takes_the_place_of_what_is_no_longer_there(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_broker(exchange, clock) as own:
        target, new = await standing(own, exchange), far_below(exchange, NEW_ID)
        await own.cancel(target, open_gate)

        outcome = await own.place(Replacement(target, new), open_gate)

        assert await statuses(own, (new,)) == [""]
    assert (outcome.fate, outcome.order, outcome.target) == (Fate.REFUSED, None, None)
    assert outcome.reason.startswith("nothing was replaced: no open order with that ID")


async def test_a_new_order_that_breaks_a_rule_leaves_the_old_one_alone(
    exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_broker(exchange, clock) as own:
        target = await standing(own, exchange)
        fine = replace(limit(NEW_ID), quantity=Quantity(Decimal("0.000000001")))

        outcome = await own.place(Replacement(target, fine), open_gate)

        assert await statuses(own, (limit(OLD_ID), fine)) == ["NEW", ""]
    assert outcome.fate is Fate.NOT_SENT
    assert "the old one stays open" in outcome.reason


async def test_an_order_becomes_smaller_and_keeps_its_id(exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with spot_broker(exchange, clock) as own:
        target = await standing(own, exchange)

        smaller = await own.place(Amendment(target, Quantity(Decimal("0.008"))), open_gate)
        larger = await own.place(Amendment(target, Quantity(Decimal("0.009"))), open_gate)
        found = await own.ask(SYMBOL, OLD_ID)

    assert smaller.fate is Fate.ACCEPTED
    assert smaller.order is not None
    assert found is not None
    assert (smaller.order.order_id, found.order_id) == (target.order_id, target.order_id)
    assert smaller.order.quantity == found.quantity == Decimal("0.008")
    assert (larger.fate, larger.code) == (Fate.REFUSED, -2038)
    assert larger.reason.startswith("an order can only be made smaller")


@pytest.mark.parametrize("again", ["list", "leg"])
async def test_a_list_whose_name_is_open_is_this_very_list(
    again: str, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    orders = listed(exchange, "OCO")
    renamed = replace(orders, client_list_id="another") if again == "leg" else orders
    async with spot_broker(exchange, clock) as own:
        outcomes: list[Outcome] = [await own.place(each, open_gate) for each in (orders, renamed)]

    assert [each.fate for each in outcomes] == [Fate.ACCEPTED, Fate.UNKNOWN]
