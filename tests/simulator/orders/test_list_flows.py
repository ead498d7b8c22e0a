"""Lists, amendments and replacements at the desk against a reference that works everything out anew."""

import logging
from collections import Counter

import pytest

from binance_simulator.orders.crowd_view import Print
from support.orders.desk_flow import Flow, Parameters, order, quiet_exchange, rich_flow, statuses, written
from support.orders.reference_desk import UNIT, Leg

FLOWS = 50  # in one run of all tests; --scale 204 --timeout 0 makes it 10,200


@pytest.mark.slow
def test_lists_amendments_and_replacements_end_as_the_reference_says(scale: int) -> None:
    exchange, said, ends = quiet_exchange(), Counter[str](), Counter[str]()

    for seed in range(FLOWS * scale):
        flow = Flow(exchange, seed)
        flow.run()
        said += flow.said
        ends += Counter(f"{leg.status} {leg.reason or ''}".strip() for leg in flow.reference.legs if leg.bunch)

    logging.getLogger(__name__).info("%d flows: %s; ends of listed orders: %s", FLOWS * scale, said, ends)
    kinds = ("oco", "oto", "otoco", "opo", "opoco", "amend", "replace", "cancel", "list cancel")
    assert min(min(said[kind], said[f"{kind} refused"]) for kind in kinds) > 0
    reasons = ("OCO_TRIGGER", "OTO_PHASE_ONE_EXPIRED", "REJECTED")
    assert min(ends[f"EXPIRED {reason}"] for reason in reasons) > 0
    assert ends["FILLED"] > FLOWS


def test_a_trade_with_oneself_that_is_prevented_ends_the_other_of_a_pair() -> None:
    flow = rich_flow()
    above, below = (
        order("above", buys=False, price=102, kind="LIMIT_MAKER"),
        order("below", buys=False, price=97, stop=98, kind="STOP_LOSS_LIMIT"),
    )
    pair: Parameters = {"side": "SELL", "quantity": "1"}
    assert flow.send("a", "POST", "orderList/oco", pair | written(above, "above") | written(below, "below")) == 0

    taker = order("own", buys=True, price=103)
    assert flow.send("a", "POST", "order", written(taker, quantity=True, side=True)) == 0

    assert statuses(flow) == {"below": "EXPIRED", "above": "EXPIRED_IN_MATCH", "own": "NEW"}


def test_exits_of_entries_that_one_trade_fills_come_in_the_order_of_the_fills() -> None:
    flow = rich_flow()
    for name in ("first", "second"):
        entry = order(name, buys=True, price=99)
        way_out = order(f"{name}-exit", buys=False, price=105, kind="LIMIT_MAKER")
        params: Parameters = {"pendingSide": "SELL", "pendingQuantity": "1"}
        params |= written(entry, "working", quantity=True, side=True) | written(way_out, "pending")
        assert flow.send("a", "POST", "orderList/oto", params) == 0

    symbol = flow.exchange.listing.symbols["BTCUSDT"]
    flow.exchange.orders.engine.strike(symbol, Print(flow.exchange.now_ms(), 98 * UNIT, UNIT, sold=True))

    queue = flow.exchange.orders.engine.book(symbol).side(buys=False)
    orders = flow.exchange.orders.records.orders
    assert [orders[one.number].wanted.client_order_id for one in queue] == ["first-exit", "second-exit"]


@pytest.mark.parametrize("wrong", ["lock", "queue", "status"])
def test_a_reference_that_is_a_little_wrong_is_noticed(wrong: str) -> None:
    flow = Flow(quiet_exchange(), 3)
    flow.run()
    if wrong == "lock":
        flow.reference.totals["a", "BTC"] += 1
    elif wrong == "queue":
        flow.reference.legs.append(Leg(name="x", owner="a", buys=True, kind="LIMIT", price=1, quantity=1, came=0))
    else:
        flow.reference.legs[0].status = "REPLACED"

    with pytest.raises(AssertionError):
        flow.compare()
