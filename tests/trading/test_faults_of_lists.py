"""Every fault of a simulated exchange under every write of a list, a replacement and an amendment, executed or not.

What is claimed of each is what is certain; one request arrived; and what the exchange has is what is found by asking.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from msgspec import structs

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Amendment, Fate, ListShape, Outcome, Replacement
from mcp_binance_server.trading.spot import SpotBroker
from support.clock import FakeClock
from support.orders.lists import LISTS, NEW_ID, OLD_ID, trailing_list
from trading.spot_broker import spot_broker
from trading.test_faults_of_writes import ACCEPTED, ORDERS_REFUSED, REFUSED, UNKNOWN, Case
from trading.test_spot_lists import LIST, far_below, listed, open_gate, standing

Prepare = Callable[[SpotBroker, SimulatedExchange], Awaitable[Callable[[], Awaitable[Outcome]]]]


@dataclass(frozen=True)
class Change:
    """A write: what it needs, where it goes, and what its orders are before and after it."""

    prepare: Prepare
    method: str
    path: str
    names: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_new: bool = True
    shape: ListShape | None = None


def placing(shape: ListShape, *, trails: bool = False) -> Change:
    async def prepare(own: SpotBroker, exchange: SimulatedExchange) -> Callable[[], Awaitable[Outcome]]:
        orders = trailing_list(listed(exchange, shape)) if trails else listed(exchange, shape)
        return lambda: own.place(orders, open_gate)

    names = tuple(each.client_order_id for each in LISTS[shape].orders)
    later = "NEW" if shape == "OCO" else "PENDING_NEW"
    after = ("NEW", *[later] * (len(names) - 1))
    return Change(prepare, "POST", f"/api/v3/orderList/{shape.lower()}", names, ("",) * len(names), after, shape=shape)


async def cancelling(own: SpotBroker, exchange: SimulatedExchange) -> Callable[[], Awaitable[Outcome]]:
    assert (await own.place(listed(exchange, "OTOCO"), open_gate)).fate is Fate.ACCEPTED
    return lambda: own.cancel(LIST, open_gate)


async def replacing(own: SpotBroker, exchange: SimulatedExchange) -> Callable[[], Awaitable[Outcome]]:
    request = Replacement(await standing(own, exchange), far_below(exchange, NEW_ID))
    return lambda: own.place(request, open_gate)


async def amending(own: SpotBroker, exchange: SimulatedExchange) -> Callable[[], Awaitable[Outcome]]:
    request = Amendment(await standing(own, exchange), Quantity(Decimal("0.008")))
    return lambda: own.place(request, open_gate)


ENTERED = placing("OTOCO")
TRAILING: tuple[ListShape, ...] = ("OCO", "OPOCO")
MINUTE_MS = 60_000
CHANGES: dict[str, Change] = {
    **{shape: placing(shape) for shape in LISTS},
    **{f"trailing {shape}": placing(shape, trails=True) for shape in TRAILING},
    "cancel": Change(
        cancelling, "DELETE", "/api/v3/orderList", ENTERED.names, ENTERED.after, ("CANCELED",) * 3, is_new=False
    ),
    "replace": Change(
        replacing, "POST", "/api/v3/order/cancelReplace", (OLD_ID, NEW_ID), ("NEW", ""), ("CANCELED", "NEW")
    ),
    "amend": Change(
        amending, "PUT", "/api/v3/order/amend/keepPriority", (OLD_ID,), ("0.010",), ("0.008",), is_new=False
    ),
}


def found(exchange: SimulatedExchange, change: Change) -> tuple[str, ...]:
    """Look how the orders of a change stand; of one that becomes smaller how large it is."""
    orders = [each.told() for each in exchange.orders.records.orders.values()]
    if change.path.endswith("keepPriority"):
        return tuple(f"{Decimal(each.quantity):.3f}" for each in orders)
    status = {each.client_order_id: each.status for each in orders}
    return tuple(status.get(name, "") for name in change.names)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
async def test_what_is_claimed_of_a_change_is_what_is_certain(
    name: str, exchange: SimulatedExchange, clock: FakeClock, scale: int
) -> None:
    change = CHANGES[name]
    cases = [*UNKNOWN, *REFUSED, *(ORDERS_REFUSED if change.is_new else ()), *ACCEPTED]
    # Lists go one way and differ in their parameters: together they meet each fault; each does in the long size.
    first, step = ([*LISTS].index(change.shape) % 3, 3) if change.shape is not None and scale == 1 else (0, 1)
    for case in cases[first::step]:
        clock.advance(MINUTE_MS)
        exchange.orders.wipe()
        async with spot_broker(exchange, clock) as own:
            write = await change.prepare(own, exchange)
            exchange.faults.add(structs.replace(case.fault, path=change.path, method=change.method))
            exchange.requests.clear()

            outcome = await write()

        assert outcome.fate is fate_of(case), (case.name, outcome)
        assert case.words in outcome.reason, case.name
        assert (outcome.order, outcome.legs, outcome.target) == (None, (), None) or case in ACCEPTED, case.name
        arrived = [each for each in exchange.requests if (each.method, each.path) == (change.method, change.path)]
        assert len(arrived) == 1, case.name
        assert found(exchange, change) == (change.after if case.happens else change.before), case.name


def fate_of(case: Case) -> Fate:
    if not case.certain:
        return Fate.UNKNOWN
    return Fate.ACCEPTED if case.happens else Fate.REFUSED
