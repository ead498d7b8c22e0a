"""Every fault of a simulated exchange under every step of a sale of reserved coins, executed or not.

Each request is sent once. In the end every coin is sold, has an exit, or is in a warning.
"""

from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import structs

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.trading.journal.at_risk import at_risk
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.judgement.steps import STEPS, step_id
from support.clock import FakeClock
from trading.spot_floor import SpotFloor, spot_floor
from trading.test_faults_of_writes import ACCEPTED, ORDERS_REFUSED, REFUSED, UNKNOWN, Case

pytestmark = pytest.mark.anyio

HELD, SOLD, NOTHING = (Quantity(Decimal(each)) for each in ("0.02", "0.005", "0"))
PROFIT, STOP, LEAST = (Price(Decimal(each)) for each in ("130000", "110000", "108000"))
PAIR: dict[str, Any] = {
    "side": "SELL", "kind": "OCO", "quantity": HELD, "price": PROFIT, "stop_price": STOP,
    "exits": Exits("OCO", HELD, PROFIT, STOP, LEAST),
}  # fmt: skip
WRITES = {
    "cancel": ("DELETE", "/api/v3/orderList"),
    "sale": ("POST", "/api/v3/order"),
    "again": ("POST", "/api/v3/orderList/oco"),
}
PATIENCE_SECS = 60


def sale_of(floor: SpotFloor, pair: NewIntent) -> NewIntent:
    rest = Quantity(HELD - SOLD)
    old = Released(pair.client_order_id, "OCO", "GTC", HELD, NOTHING, rest, PROFIT, STOP, LEAST, 100)
    return floor.order(
        1,
        side="SELL",
        kind="MARKET",
        time_in_force="IOC",
        quantity=SOLD,
        price=Price(Decimal(117_000)),
        releases=(old,),
    )


async def settled(floor: SpotFloor) -> None:
    """Wait until the outcome of every step is known."""
    with anyio.fail_after(PATIENCE_SECS):
        while await floor.desk.ledger.unresolved() or floor.desk._asking:  # pyright: ignore[reportPrivateUsage]
            await floor.clock.sleep_ms(0)
    await floor.desk.catch_up()


def reserved(exchange: SimulatedExchange, names: set[str]) -> Decimal:
    """Return the coins that exits of these lists reserve at the exchange."""
    orders = [each.told() for each in exchange.orders.records.orders.values()]
    stands = {each.client_order_id[:-2]: each for each in orders if each.status == "NEW"}
    return sum((Decimal(each.quantity) for name, each in stands.items() if name in names), Decimal(0))


@pytest.mark.slow
@pytest.mark.parametrize("step", WRITES)
async def test_after_any_fault_of_a_step_each_coin_is_sold_or_has_an_exit_or_a_warning(
    step: str, tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock, scale: int
) -> None:
    method, path = WRITES[step]
    cases: list[Case] = [*UNKNOWN, *REFUSED, *(() if step == "cancel" else ORDERS_REFUSED), *ACCEPTED]
    # Together the steps meet each fault in the short size.
    first, stride = ([*WRITES].index(step), 3) if scale == 1 else (0, 1)
    for number, case in enumerate(cases[first::stride]):
        clock.advance(120_000)
        exchange.orders.wipe()
        before = len(exchange.orders.accepted)
        async with spot_floor(tmp_path / str(number), exchange, clock) as floor:
            await floor.desk.ready()
            pair = floor.order(0, **PAIR)
            await floor.place(pair)
            exchange.faults.add(structs.replace(case.fault, path=path, method=method))
            exchange.requests.clear()

            placed = await floor.place(sale_of(floor, pair))
            await settled(floor)

            ids = {step_id(placed.intent.preview_id, each, 0) for each in STEPS}
            steps = [await floor.desk.ledger.find(each) for each in ids]
            names = {pair.client_order_id, *(each.client_order_id for each in steps if each is not None)}
            sale = await floor.desk.ledger.find(placed.intent.preview_id)
            found = await JournalReader(floor.desk.ledger.store).failed_exits(floor.account)

        warned = sum((at_risk(each)[0] for each in found.values()), Decimal(0))
        executed = Decimal(0) if sale is None else sale.executed
        assert executed + reserved(exchange, names) + warned == HELD, (case.name, executed, warned)
        sent = [(each.method, each.path) for each in exchange.requests if each.method in ("POST", "DELETE")]
        assert sent.count(WRITES["cancel"]) == 1, case.name
        assert sent.count(WRITES["sale"]) <= 1, case.name
        assert sent.count(WRITES["again"]) <= len(STEPS), case.name
        accepted = [each.client_order_id for each in exchange.orders.accepted[before:]]
        assert len(accepted) == len({*accepted}), case.name
