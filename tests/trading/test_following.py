"""Open orders are followed by the account's stream, and asked for while it is away."""

from decimal import Decimal
from pathlib import Path

import pytest

from binance_simulator.faults import StreamFault
from mcp_binance_server.domain.orders import Report
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.following import AWAY_MS, LINGER_MS, LOOK_MS, MOST_WAITING, POLL_MS
from trading.streamed import StreamedDesk, streamed_desk

pytestmark = pytest.mark.anyio

HALF = Decimal("0.0005")


class FullDisk(Desk):
    """A desk that cannot write down the first thing that it is told."""

    failures = 0

    async def reported(self, report: Report) -> None:
        if not self.failures:
            self.failures += 1
            raise JournalUnavailable(reason="the disk is full", fix="Make room")
        await super().reported(report)


async def begun(floor: StreamedDesk) -> str:
    """Place an order, and wait until it is followed."""
    name = await floor.place()
    await floor.run(LOOK_MS + 500)
    assert floor.following.following == "streamed"
    return name


async def test_nothing_is_connected_while_there_is_no_order(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        await floor.run(30_000)

        assert (floor.dialer.dialled_ms, floor.following.following) == ([], "")
        assert floor.orders.questions == 0


async def test_an_order_is_followed_to_its_end_without_a_question(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await begun(floor)
        asked = floor.orders.questions
        floor.orders.trade(name, HALF)
        await floor.run(200)
        part = await floor.written(name)
        floor.orders.trade(name, HALF)
        await floor.run(200)
        whole = await floor.written(name)

        assert (part.status, part.executed) == ("PARTIALLY_FILLED", HALF)
        assert (whole.status, whole.executed, whole.spent) == ("FILLED", 2 * HALF, 60)
        assert floor.orders.questions == asked


async def test_who_is_woken_subscribes_at_once(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        await floor.place()
        floor.following.wake()
        await floor.run(100)

        assert floor.following.following == "streamed"


async def test_what_happened_before_the_subscription_is_read_after_it(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await floor.place()
        floor.orders.trade(name, HALF)
        await floor.run(LOOK_MS + 500)

        assert (await floor.written(name)).executed == HALF
        floor.exchange.hub.faults.add(StreamFault(kind="terminated"))
        await floor.run(100)
        floor.orders.trade(name, HALF)
        await floor.run(2_000)

        assert (await floor.written(name)).status == "FILLED"
        assert floor.stream.counts.opened == 2


@pytest.mark.slow
async def test_the_stream_stays_a_minute_longer_than_the_last_order(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await begun(floor)
        floor.orders.trade(name, 2 * HALF)
        await floor.run(LINGER_MS - 5_000, step_ms=500)
        assert floor.exchange.hub.open_connections == 1
        await floor.run(10_000, step_ms=500)
        assert (floor.exchange.hub.open_connections, floor.following.following) == (0, "")
        await floor.run(60_000, step_ms=500)
        assert len(floor.dialer.dialled_ms) == 1

        await begun(floor)
        assert len(floor.dialer.dialled_ms) == 2


@pytest.mark.slow
async def test_orders_are_asked_for_while_the_stream_is_away(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await begun(floor)
        floor.dialer.is_closed = True
        floor.exchange.hub.faults.add(StreamFault(kind="terminated"))
        await floor.run(AWAY_MS - 1_000)
        asked = floor.orders.questions
        assert floor.following.following == "streamed"
        await floor.run(POLL_MS)
        assert (floor.following.following, floor.orders.questions) == ("polled", asked + 1)
        floor.orders.trade(name, HALF)
        await floor.run(4 * POLL_MS)
        assert (await floor.written(name)).executed == HALF
        assert asked + 4 <= floor.orders.questions <= asked + 6

        floor.dialer.is_closed = False
        await floor.run(5_000)
        asked = floor.orders.questions
        await floor.run(4 * POLL_MS)
        assert (floor.following.following, floor.orders.questions) == ("streamed", asked)


async def test_what_could_not_be_read_is_asked_for_but_not_more_often_than_polled(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await begun(floor)
        await floor.run(POLL_MS)
        asked = floor.orders.questions
        floor.exchange.hub.faults.add(StreamFault(kind="malformed", stream="user@*", times=None))
        for _ in range(40):
            floor.orders.trade(name, Decimal("0.00001"))
            await floor.run(100)
        await floor.run(POLL_MS)

        assert (await floor.written(name)).executed == Decimal("0.0004")
        assert asked + 1 <= floor.orders.questions <= asked + 2


async def test_with_a_key_that_is_refused_nothing_is_tried_again(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        await begun(floor)
        asked = floor.orders.questions
        floor.exchange.hub.faults.add(StreamFault(kind="revoked"))
        await floor.run(30_000, step_ms=500)

        assert floor.following.following == "polled"
        assert (len(floor.dialer.dialled_ms), floor.orders.questions) == (1, asked)


async def test_events_told_twice_or_overtaken_are_written_down_once(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await begun(floor)
        floor.exchange.hub.faults.add(StreamFault(kind="swap", stream="user@executionReport"))
        floor.exchange.hub.faults.add(StreamFault(kind="duplicate", stream="user@executionReport"))
        floor.orders.trade(name, HALF)
        floor.orders.trade(name, HALF / 2)
        await floor.run(200)
        intent = await floor.written(name)
        told = [each for each in await floor.desk.reader.history(intent.preview_id) if each.state == "STATUS"]

        assert intent.executed == HALF + HALF / 2
        assert len(told) == 2  # NEW, and the newer of the two trades


async def test_what_could_not_be_written_down_is_asked_for(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path, desk_of=FullDisk) as floor:
        name = await begun(floor)
        floor.orders.trade(name, HALF)
        await floor.run(POLL_MS + 2_000)

        assert (await floor.written(name)).executed == HALF
        floor.orders.trade(name, HALF)
        await floor.run(200)
        assert (await floor.written(name)).status == "FILLED"


async def test_reports_that_come_too_fast_are_dropped_and_asked_for(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        name = await begun(floor)
        await floor.run(POLL_MS)
        asked, order = floor.orders.questions, floor.orders.order(name)
        report = Report(order, "NEW", 1, None, "", order.updated_ms)
        for _ in range(MOST_WAITING + 3):
            floor.following.on_report(report)
        await floor.run(2_000)

        assert floor.following.dropped == 3
        assert floor.orders.questions > asked
