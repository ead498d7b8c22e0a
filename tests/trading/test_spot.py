"""Orders of an account at the simulated exchange, through the real client: every fault between accept and answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from support.clock import FakeClock
from trading.spot_floor import SYMBOL, SpotFloor, breaks, by_hand, spot_floor, writes

pytestmark = pytest.mark.anyio

DOUBTFUL: Mapping[str, dict[str, Any]] = {
    "503": {"kind": "status", "status": 503, "body": ""},
    "-1000": {"kind": "status", "status": 500},
    "-1006": {"kind": "status", "status": 500, "code": -1006, "msg": "An unexpected response was received."},
    "-1007": {"kind": "status", "status": 503, "code": -1007, "msg": "Timeout waiting for response."},
    "-1008 on 503": {"kind": "status", "status": 503, "code": -1008, "msg": "Server is busy."},
    "reset": {"kind": "cut_before"},
    "cut body": {"kind": "cut_within"},
    "short JSON": {"kind": "truncated"},
    "no body": {"kind": "empty"},
    "HTML": {"kind": "html"},
}


async def whole(floor: SpotFloor) -> None:
    assert (await examine(floor.desk.ledger.store)).problems == ()


async def test_an_order_is_placed_asked_for_and_cancelled(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new = floor.order()

        placed = await floor.place(new)
        cancelled = await floor.desk.cancel(floor.account, Target(SYMBOL, new.client_order_id), "me")
        again = await floor.desk.cancel(floor.account, Target(SYMBOL, new.client_order_id), "me")

        assert (placed.intent.state, placed.intent.status) == ("ACKED", "NEW")
        assert (cancelled.cancel, cancelled.intent.status) == ("CANCELLED", "CANCELED")
        assert (again.cancel, again.intent.status) == (None, "CANCELED")
        assert (await floor.used(new))["per_day"] == 0
        await whole(floor)
    assert writes(exchange) == ["POST", "DELETE"]
    sent = next(each for each in exchange.requests if each.method == "POST")
    assert sent.params["selfTradePreventionMode"] == "EXPIRE_TAKER"


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
@pytest.mark.parametrize("fault", DOUBTFUL)
async def test_what_nobody_answered_is_asked_for_until_it_is_known_and_never_sent_again(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock, fault: str, *, executed: bool
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new, begun_ms = floor.order(), clock.now_ms()
        breaks(exchange, "POST", executed=executed, **DOUBTFUL[fault])

        told = await floor.place(new)
        ended = await floor.known(new)

        assert told.intent.state == "UNKNOWN"
        assert ended.state == ("ACKED" if executed else "NOT_PLACED")
        assert executed or clock.now_ms() - begun_ms >= 17_000
        assert (await floor.used(new))["per_day"] == new.terms.counted
        await whole(floor)
    assert writes(exchange) == ["POST"]
    assert [each.client_order_id for each in exchange.orders.accepted] == [new.client_order_id] * executed


@pytest.mark.parametrize("visible_after_ms", [1_000, 9_000, 16_000])
async def test_an_order_that_is_visible_late_is_found(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock, visible_after_ms: int
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        exchange.orders.visible_after_ms = visible_after_ms
        breaks(exchange, "POST", executed=True, **DOUBTFUL["-1007"])

        await floor.place(floor.order())

        assert (await floor.known(floor.order())).state == "ACKED"


async def test_questions_that_fail_prove_nothing(tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new, begun_ms = floor.order(), clock.now_ms()
        breaks(exchange, "POST", executed=False, **DOUBTFUL["reset"])
        exchange.faults.add(Fault(path="/api/v3/order", method="GET", kind="status", status=503, times=None))

        await floor.place(new)
        while clock.now_ms() - begun_ms < 60_000:
            await anyio.lowlevel.checkpoint()
        found = await floor.desk.ledger.find(new.preview_id)
        assert found is not None
        assert found.state == "UNKNOWN"

        exchange.faults.clear()
        assert (await floor.known(new)).state == "NOT_PLACED"


async def test_a_refusal_is_definite_and_gives_the_money_back(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        dear = floor.order(quantity=floor.order().terms.quantity * 5000)

        told = await floor.place(dear)

        assert told.intent.state == "REJECTED"
        assert told.reason.startswith("the balance is too small for the order")
        assert (await floor.used(dear))["per_day"] == 0


async def test_a_name_that_is_open_already_is_this_very_order(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new = floor.order()
        # As if something on the way had sent the request a second time, and lost the first answer.
        await by_hand(exchange, new.client_order_id)

        told = await floor.place(new)

        assert told.intent.state == "UNKNOWN"
        assert ((await floor.known(new)).state, (await floor.known(new)).status) == ("ACKED", "NEW")
        assert await floor.desk.reader.stops() == []


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "not_executed"])
async def test_a_cancel_without_an_answer_asks_for_its_order(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock, *, executed: bool
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new = floor.order()
        await floor.place(new)
        breaks(exchange, "DELETE", executed=executed, **DOUBTFUL["reset"])

        told = await floor.desk.cancel(floor.account, Target(SYMBOL, new.client_order_id), "me")

        assert told.cancel == ("CANCELLED" if executed else "CANCEL_UNKNOWN")
        assert told.intent.status == ("CANCELED" if executed else "NEW")
    assert writes(exchange) == ["POST", "DELETE"]


async def test_a_cancel_of_what_was_cancelled_by_hand_says_so(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new = floor.order()
        await floor.place(new)
        await by_hand(exchange, new.client_order_id, "cancel")

        told = await floor.desk.cancel(floor.account, Target(SYMBOL, new.client_order_id), "me")

        assert (told.cancel, told.intent.status) == ("CANCELLED", "CANCELED")
        assert told.reason.startswith("no open order with that ID")


async def test_a_start_settles_what_was_left_and_adopts_what_only_the_exchange_knows(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        stands = floor.order(0)
        await floor.place(stands)
        dead = HostLedger(floor.desk.ledger.store, "dead")
        left = [floor.order(number, side="SELL") for number in (1, 2, 3)]
        for each in left:
            await dead.claim(each, (), clock.now_ms())
        for each in left[1:]:
            await dead.mark_sent(each.preview_id, clock.now_ms())
        await by_hand(exchange, left[2].client_order_id)
        only_there = floor.order(4)
        await by_hand(exchange, only_there.client_order_id)
        await by_hand(exchange, "web_1")
        begun_ms = clock.now_ms()

    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()

        assert clock.now_ms() - begun_ms <= 20_000
        states = [(await floor.known(each)).state for each in (stands, *left, only_there)]
        assert states == ["ACKED", "NOT_SENT", "NOT_PLACED", "ACKED", "ADOPTED"]
        assert len(await floor.desk.reader.newest(10)) == len(states)
        await whole(floor)
    assert writes(exchange) == ["POST"]


async def test_the_mark_is_no_earlier_than_the_time_a_request_is_signed_with(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with spot_floor(tmp_path, exchange, clock) as floor:
        await floor.desk.ready()
        new = floor.order()

        await floor.place(new)

        sent_ms = await floor.desk.watch.sent_ms(new.preview_id)
        signed_ms = next(int(each.params["timestamp"]) for each in exchange.requests if each.method == "POST")
        assert sent_ms is not None
        assert signed_ms <= sent_ms
