"""Several workers on one account: each order once, limits of all together, one stop; the dead's are asked for."""

from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.trading.errors import TradingNotReady
from mcp_binance_server.trading.journal.agreements import Agreements, PreviewIsDeclined
from mcp_binance_server.trading.journal.at_risk import at_risk
from mcp_binance_server.trading.journal.ledger import Admitted, GuardDenied
from mcp_binance_server.trading.journal.limits import LimitPassed
from mcp_binance_server.trading.journal.reading import JournalReader, OrderPast
from mcp_binance_server.trading.journal.stops import TradingIsStopped
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.guards import Denied
from mcp_binance_server.trading.judgement.released import Released
from trading.fleet.floor import Fleet, Worker, fleet_in
from trading.spot_floor import SYMBOL, breaks, by_hand, writes

pytestmark = pytest.mark.anyio

BRACKET = Exits(
    "OTOCO", Quantity(Decimal("0.001")), Price(Decimal(70_000)), Price(Decimal(50_000)), Price(Decimal(49_000))
)

WHOLE, NOTHING = Quantity(Decimal("0.001")), Quantity(Decimal(0))
LEVELS = Price(Decimal(140_000)), Price(Decimal(50_000)), Price(Decimal(49_000))
PAIR: dict[str, Any] = {
    "side": "SELL", "kind": "OCO", "quantity": WHOLE, "price": LEVELS[0], "stop_price": LEVELS[1],
    "exits": Exits("OCO", WHOLE, *LEVELS),
}  # fmt: skip


async def started(stack: AsyncExitStack, fleet: Fleet, *names: str) -> list[Worker]:
    return [await stack.enter_async_context(fleet.worker(name)) for name in names]


async def used(worker: Worker) -> int:
    now_ms = worker.floor.clock.now_ms()
    return (await worker.ledger.book(now_ms, now_ms)).used["per_day"]


@pytest.mark.slow
async def test_a_limit_is_that_of_all_workers_together(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        for number in range(4):
            new = one.floor.order(number, counted=7_000, price=Price(Decimal(59_000 + number)))
            await (one, two)[number % 2].place(new)
        for worker in (one, two):
            with pytest.raises(LimitPassed, match="per_day: 28000 of 30000 used"):
                await worker.place(one.floor.order(9, counted=7_000))

        assert (await used(one), writes(fleet.exchange)) == (28_000, ["POST"] * 4)


async def test_the_same_preview_at_two_workers_is_one_order_and_both_hear_of_it(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new = one.floor.order()

        first, second = await one.place(new), await two.place(new)

        assert writes(fleet.exchange) == ["POST"]
        assert (first.intent.order_id, first.intent.state) == (second.intent.order_id, second.intent.state)
        assert second.intent.owner == one.ledger.owner


async def test_a_refusal_at_one_worker_is_told_with_its_reason_at_another(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        code = {"status": 400, "code": -2010, "msg": "Account has insufficient balance for requested action."}
        breaks(fleet.exchange, "POST", executed=False, kind="status", **code)

        first = await one.place(one.floor.order())
        second = await two.place(one.floor.order())

        assert first.intent.state == second.intent.state == "REJECTED"
        assert first.reason == second.reason != ""
        assert await used(two) == 0


@pytest.mark.slow
async def test_an_order_of_one_worker_is_cancelled_at_another_and_its_money_given_back_once(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new = one.floor.order(counted=7_000)
        await one.place(new)

        ended = await two.floor.desk.cancel(one.floor.account, Target(SYMBOL, new.client_order_id), "me")
        await one.floor.desk.catch_up()
        for worker in (one, two, one):
            await worker.ticks(0.5)

        assert ended.intent.status == "CANCELED"
        assert (await one.ledger.host.find(new.preview_id) or ended.intent).status == "CANCELED"
        assert await used(one) == 0


async def test_a_worker_warns_of_coins_whose_exit_a_dead_worker_has_cancelled_for_a_sale(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        pair = one.floor.order(0, **PAIR)
        await one.place(pair)
        await two.ticks(0.5)
        old = Released(pair.client_order_id, "OCO", "GTC", WHOLE, NOTHING, NOTHING, *LEVELS, 7_000)
        sale = one.floor.order(1, side="SELL", kind="MARKET", time_in_force="IOC", quantity=WHOLE, releases=(old,))
        claimed, _ = await one.ledger.claim(sale, (), fleet.clock.now_ms())
        known = await one.ledger.find(pair.preview_id)
        assert known is not None
        await one.floor.desk.cancels.cancel(known, "me", claimed.preview_id)

        await two.floor.desk.catch_up()
        await two.ticks(0.5)
        found = await JournalReader(two.ledger.store).failed_exits(two.floor.account)

        assert [at_risk(each)[0] for each in found.values()] == [WHOLE]
        assert (
            await two.floor.desk.cancel(one.floor.account, Target(SYMBOL, pair.client_order_id), "me")
        ).intent.final_ms


async def test_a_stop_of_one_worker_holds_what_another_was_about_to_send(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        now_ms = fleet.clock.now_ms()
        new, later = one.floor.order(0), one.floor.order(1, price=Price(Decimal(59_000)))
        await two.ledger.claim(new, charges(new.terms, fleet.policy, new.way), now_ms)

        await one.ledger.stop("by hand", "a person", now_ms + 1, one.floor.account)
        with pytest.raises(TradingIsStopped):
            await two.ledger.mark_sent(new.preview_id, now_ms + 2)
        with pytest.raises(TradingIsStopped):
            await two.place(later)

        assert writes(fleet.exchange) == []
        assert (await two.ledger.host.stopped(two.floor.account)) is None  # by the shared state alone, at once
        await two.ticks(0.5)
        stopped = await two.ledger.host.stopped(two.floor.account)
        assert stopped is not None
        assert stopped.why == "by hand"


@pytest.mark.slow
async def test_who_resumes_at_one_worker_resumes_all(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        await one.ledger.stop("by hand", "a person", fleet.clock.now_ms(), one.floor.account)
        for worker in (one, two):
            await worker.ticks(0.5)

        await two.ledger.host.resume("a person", fleet.clock.now_ms())
        for worker in (two, one, two):
            await worker.ticks(0.5)

        assert await one.ledger.stopped(one.floor.account) is None
        assert (await one.place(one.floor.order())).intent.state == "ACKED"


@pytest.mark.slow
async def test_a_stop_outlives_the_emptying_of_the_state(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        await one.ledger.stop("by hand", "a person", fleet.clock.now_ms(), one.floor.account)
        await two.ticks(0.5)

        fleet.engine.empty()
        await two.ticks(5)

        book = await two.ledger.book(0, 0)
        assert book.is_open
        assert book.stop is not None
        assert book.stop.why == "by hand"


@pytest.mark.slow
async def test_an_emptied_state_refuses_until_it_was_told_what_the_day_has_used(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        await one.place(one.floor.order(0, counted=6_000))
        await two.place(one.floor.order(1, counted=5_900, price=Price(Decimal(59_000))))
        fleet.engine.empty()

        with pytest.raises(TradingNotReady, match="usage of the limits again"):
            await two.place(one.floor.order(2, counted=100, price=Price(Decimal(58_000))))
        await two.ticks(5)  # the first worker says nothing: its order is found at the exchange
        before = await used(two)
        await one.ticks(0.5)

        assert before == await used(one) == 11_900
        with pytest.raises(LimitPassed):
            await one.place(one.floor.order(3, counted=18_101, price=Price(Decimal(57_000))))
        assert writes(fleet.exchange) == ["POST"] * 2


async def test_what_was_claimed_in_a_lost_memory_does_not_leave(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with fleet.worker("one") as one:
        new, now_ms = one.floor.order(), fleet.clock.now_ms()
        await one.ledger.claim(new, charges(new.terms, fleet.policy, new.way), now_ms)
        fleet.engine.empty()

        with pytest.raises(TradingNotReady):
            await one.ledger.mark_sent(new.preview_id, now_ms)


async def test_without_the_state_no_order_leaves_and_cancels_go_on(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with fleet.worker("one") as one:
        stands = one.floor.order(0)
        await one.place(stands)

        fleet.engine.is_away = True
        with pytest.raises(EngineUnavailable):
            await one.place(one.floor.order(1, price=Price(Decimal(59_000))))
        ended = await one.floor.desk.cancel(one.floor.account, Target(SYMBOL, stands.client_order_id), "me")
        fleet.engine.is_away = False
        await one.ticks(1)

        assert ended.intent.status == "CANCELED"
        assert writes(fleet.exchange) == ["POST", "DELETE"]
        assert await used(one) == 0


async def test_what_a_dead_worker_had_not_sent_never_leaves_and_is_given_back(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new, now_ms = one.floor.order(counted=7_000), fleet.clock.now_ms()
        await one.ledger.claim(new, charges(new.terms, fleet.policy, new.way), now_ms)

        await two.ticks(5)

        assert await used(two) == 0
        told = await two.place(new)
        assert (told.intent.state, told.reason) == ("NOT_SENT", "the server stopped before it sent this order")
        with pytest.raises(TradingNotReady):  # should it wake
            await one.ledger.mark_sent(new.preview_id, fleet.clock.now_ms())
        assert writes(fleet.exchange) == []


@pytest.mark.slow
@pytest.mark.parametrize("executed", [True, False])
async def test_what_a_dead_worker_had_sent_is_asked_for_and_not_sent_again(tmp_path: Path, executed: bool) -> None:  # noqa: FBT001
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new, now_ms = one.floor.order(counted=7_000), fleet.clock.now_ms()
        await one.ledger.claim(new, charges(new.terms, fleet.policy, new.way), now_ms)
        await one.ledger.mark_sent(new.preview_id, now_ms)
        if executed:
            await by_hand(fleet.exchange, new.client_order_id)

        await two.ticks(25)

        told = await two.place(new)
        assert told.intent.state == ("ADOPTED" if executed else "NOT_PLACED")
        assert await used(two) == 7_000
        assert writes(fleet.exchange) == []


@pytest.mark.slow
async def test_a_list_that_a_dead_worker_had_sent_is_known_by_its_first_order(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new, now_ms = one.floor.order(exits=BRACKET), fleet.clock.now_ms()
        await one.ledger.claim(new, charges(new.terms, fleet.policy, new.way), now_ms)
        await one.ledger.mark_sent(new.preview_id, now_ms)
        await by_hand(fleet.exchange, f"{new.client_order_id}-w")

        await two.ticks(25)

        told = await two.place(new)
        assert (told.intent.state, told.intent.status) == ("ADOPTED", "NEW")
        assert writes(fleet.exchange) == []


@pytest.mark.slow
async def test_a_living_worker_is_left_alone(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new, now_ms = one.floor.order(), fleet.clock.now_ms()
        await one.ledger.claim(new, charges(new.terms, fleet.policy, new.way), now_ms)

        for _ in range(20):
            await one.beats()
            await two.ticks(0.5)
        await one.ledger.mark_sent(new.preview_id, fleet.clock.now_ms())

        assert (await two.ledger.find(new.preview_id) or await two.floor.known(new)).state == "SENT"


@pytest.mark.slow
async def test_a_no_at_one_worker_is_a_no_at_all_and_a_signature_a_signature(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        declined, waits, now_ms = one.floor.order(0), one.floor.order(1), fleet.clock.now_ms()
        await one.keeper.agreements.decline(declined.preview_id, "me", now_ms)
        await one.keeper.agreements.wait(waits.preview_id, "me", waits.terms, now_ms)
        await two.ticks(0.5)

        assert await two.keeper.agreements.is_declined(declined.preview_id)
        assert await two.keeper.agreements.declined_since("me", now_ms - 1) == [now_ms]
        with pytest.raises(PreviewIsDeclined):
            await two.place(declined)
        # Approved on the second machine, by the command that knows its journal alone.
        assert await Agreements(two.ledger.store).approve(waits.preview_id, "signed", now_ms)
        await two.ticks(0.5)
        assert await one.keeper.agreements.signature(waits.preview_id) == "signed"


async def test_what_was_declined_on_one_machine_waits_on_none(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        new, now_ms = one.floor.order(), fleet.clock.now_ms()
        await one.keeper.agreements.wait(new.preview_id, "me", new.terms, now_ms)
        await two.ticks(0.5)
        assert [each.preview_id for each in await two.keeper.agreements.waiting(0)] == [new.preview_id]

        await Agreements(two.ledger.store).decline(new.preview_id, "me", now_ms)  # by who knows its journal alone
        for worker in (two, one, two):
            await worker.ticks(0.5)

        assert [await each.keeper.agreements.waiting(0) for each in (one, two)] == [[], []]
        assert await one.keeper.agreements.is_declined(new.preview_id)


async def test_of_two_equal_orders_in_the_same_moment_one_is_a_duplicate(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    async with AsyncExitStack() as stack:
        one, two = await started(stack, fleet, "one", "two")
        first, second, now_ms = one.floor.order(0), one.floor.order(1), fleet.clock.now_ms()
        charged = charges(first.terms, fleet.policy, first.way)
        looks = 0

        async def claims_beside() -> None:
            await one.ledger.claim(first, charged, now_ms)

        past = two.ledger.past

        async def seen(*given: object) -> object:  # what a guard saw is a moment old
            nonlocal looks
            looks += 1
            found = await past(*given)  # type: ignore[arg-type]
            if looks == 1:
                await claims_beside()
            return found

        def ruled(found: OrderPast) -> Denied | Admitted:
            return Denied("duplicate", "", "") if found.recent else Admitted("entry", charged)

        object.__setattr__(two.ledger, "past", seen)
        with pytest.raises(GuardDenied):
            await two.ledger.claim(second, charged, now_ms, None, ruled)

        assert looks == 2
