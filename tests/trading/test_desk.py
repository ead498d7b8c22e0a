"""The way of one order: once, whoever asks how often, whoever leaves, and whatever the exchange does."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Written
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.trading.desk import Placed
from mcp_binance_server.trading.journal.ledger import HostLedger, LimitPassed, TradingIsStopped
from mcp_binance_server.trading.journal.owner import is_dead, owner
from mcp_binance_server.trading.judgement.policy import read_policy
from mcp_binance_server.trading.requests import written_order
from support.terms import NOW_MS, intent, terms
from trading.bench import Bench, Scripted, opened_bench, placed

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        yield made


async def test_an_order_is_sent_and_written_down(bench: Bench) -> None:
    outcome = await bench.place(intent())

    assert (outcome.intent.state, outcome.intent.status) == ("ACKED", "NEW")
    assert bench.exchange.reached == [written_order(intent().terms, intent().client_order_id)]


async def test_the_same_preview_asked_for_many_times_at_once_is_one_order(bench: Bench) -> None:
    found = list[Placed]()

    async def ask() -> None:
        found.append(await bench.place(intent()))

    async with anyio.create_task_group() as group:
        for _ in range(200):
            group.start_soon(ask)

    assert len(bench.exchange.reached) == 1
    assert {each.intent.state for each in found} == {"ACKED"}
    assert len(found) == 200


async def test_who_leaves_does_not_take_the_order_along(bench: Bench) -> None:
    bench.exchange.held = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(bench.place, intent())
        while not bench.exchange.reached:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert await bench.state(intent()) == "SENT"
    bench.exchange.held.set()

    assert (await bench.place(intent())).intent.state == "ACKED"
    assert len(bench.exchange.reached) == 1


async def test_a_limit_sends_nothing(bench: Bench) -> None:
    with pytest.raises(LimitPassed):
        await bench.place(intent(), read_policy(b"[limits]\nper_day = '59.99'"))

    assert bench.exchange.reached == []


async def test_a_stop_sends_nothing(bench: Bench) -> None:
    await bench.desk.ledger.stop("a fire", "a test", NOW_MS, "paper")

    with pytest.raises(TradingIsStopped):
        await bench.place(intent())

    assert bench.exchange.reached == []


async def test_a_stop_between_claim_and_first_byte_sends_nothing_and_gives_the_money_back(bench: Bench) -> None:
    async def stopped_at_the_gate(request: Written, gate: Gate) -> Outcome:
        await bench.desk.ledger.stop("a fire", "a test", NOW_MS, "paper")
        return await Scripted.place(bench.exchange, request, gate)

    bench.exchange.place = stopped_at_the_gate

    outcome = await bench.place(intent())

    assert (outcome.intent.state, outcome.reason) == ("NOT_SENT", "trading was stopped: a fire")
    assert bench.exchange.reached == []
    assert (await bench.used(intent()))["per_day"] == 0


@pytest.mark.parametrize(
    ("fate", "state", "counted"),
    [(Fate.NOT_SENT, "NOT_SENT", 0), (Fate.REFUSED, "REJECTED", 0), (Fate.UNKNOWN, "UNKNOWN", 60_00)],
)
async def test_every_fate_has_its_state(bench: Bench, fate: Fate, state: str, counted: int) -> None:
    bench.exchange.fate, bench.exchange.is_mute = fate, True

    outcome = await bench.place(intent())

    assert (outcome.intent.state, outcome.reason) == (state, "as told")
    assert (await bench.used(intent()))["per_day"] == counted


async def test_an_answer_that_denies_what_has_left_is_not_believed(bench: Bench) -> None:
    bench.exchange.fate, bench.exchange.lies, bench.exchange.is_mute = Fate.NOT_SENT, True, True

    assert (await bench.place(intent())).intent.state == "UNKNOWN"


@pytest.mark.parametrize(("leaves", "state"), [(False, "NOT_SENT"), (True, "UNKNOWN")])
async def test_a_defect_on_the_way_costs_this_order_alone(bench: Bench, *, leaves: bool, state: str) -> None:
    async def broken(request: Written, gate: Gate) -> Outcome:  # noqa: ARG001 - the port
        if leaves:
            await gate()
        raise ZeroDivisionError

    bench.exchange.is_mute = True
    usual, bench.exchange.place = bench.exchange.place, broken
    assert (await bench.place(intent(1))).intent.state == state

    bench.exchange.place = usual
    assert (await bench.place(intent(2, side="SELL"))).intent.state == "ACKED"


async def test_what_nobody_knows_is_asked_for_and_never_sent_again(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    away = ExchangeUnavailable(reason="away")
    bench.exchange.asked = [away, None, away, placed(written_order(intent().terms, intent().client_order_id))]

    await bench.place(intent())
    while await bench.state(intent()) == "UNKNOWN":
        await anyio.lowlevel.checkpoint()

    assert await bench.state(intent()) == "ACKED"
    assert (len(bench.exchange.reached), bench.exchange.questions) == (1, 4)


async def test_that_there_is_no_such_order_counts_after_the_horizon_alone(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN

    await bench.place(intent())
    while await bench.state(intent()) == "UNKNOWN":
        await anyio.lowlevel.checkpoint()

    assert await bench.state(intent()) == "NOT_PLACED"
    assert bench.clock.now_ms() - NOW_MS >= 17_000
    assert (await bench.used(intent()))["per_day"] == 60_00


async def test_a_failure_to_ask_proves_nothing(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    bench.exchange.is_away = True

    await bench.place(intent())
    while bench.exchange.questions < 50:
        await anyio.lowlevel.checkpoint()

    assert bench.clock.now_ms() - NOW_MS > 600_000
    assert await bench.state(intent()) == "UNKNOWN"


async def test_the_dead_are_settled_and_the_living_left_alone(bench: Bench) -> None:
    ledger, folder = bench.desk.ledger, bench.desk.ledger.store.folder
    with owner(folder) as living:
        for number, name in enumerate(("dead", "dead", living)):
            new = intent(number)
            await HostLedger(ledger.store, name).claim(new, (), NOW_MS)
        await ledger.mark_sent(intent(1).preview_id, NOW_MS)

        to_ask = await bench.desk.settling.left_by(lambda each: is_dead(folder, each.owner))

        assert [each.preview_id for each in to_ask] == [intent(1).preview_id]
        states = [await bench.state(intent(number)) for number in range(3)]
    assert states == ["NOT_SENT", "SENT", "PREPARED"]


async def test_one_that_was_settled_by_another_does_not_leave(bench: Bench) -> None:
    async def settled_at_the_gate(request: Written, gate: Gate) -> Outcome:
        await bench.desk.ledger.move(intent().preview_id, "NOT_SENT", {}, NOW_MS)
        return await Scripted.place(bench.exchange, request, gate)

    bench.exchange.place = settled_at_the_gate

    outcome = await bench.place(intent())

    assert outcome.intent.state == "NOT_SENT"
    assert bench.exchange.reached == []


def test_no_order_leaves_with_an_open_price() -> None:
    market = terms(kind="MARKET", time_in_force="IOC", price=Price(Decimal(60500)))

    sent = written_order(market, "mbp-x")

    assert (sent.kind, sent.time_in_force, sent.price) == ("LIMIT", "IOC", Decimal(60500))
