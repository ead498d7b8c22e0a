"""What the exchange tells unasked: it may come before the answer, after the question, or against what is written."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Fate
from mcp_binance_server.domain.orders import Order, Report
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.watching import WATCHED_MS
from mcp_binance_server.trading.requests import written_order
from support.terms import NOW_MS, intent
from trading.bench import Bench, Scripted, opened_bench, placed

pytestmark = pytest.mark.anyio

WHOLE = intent().terms.quantity


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        yield made
        assert (await examine(made.desk.ledger.store)).problems == ()


def report(status: str, executed: str = "0", of: NewIntent | None = None) -> Report:
    of = of or intent()
    amount = Decimal(executed)
    order: Order = replace(
        placed(written_order(of.terms, of.client_order_id), status),
        executed=Quantity(amount),
        quote_spent=Quantity(amount * of.terms.price),
    )
    return Report(order, "TRADE" if amount else status, 1, None, "", NOW_MS)


async def stands(bench: Bench, of: NewIntent | None = None) -> Intent:
    found = await bench.desk.ledger.find((of or intent()).preview_id)
    assert found is not None
    return found


@pytest.mark.parametrize("fate", [Fate.ACCEPTED, Fate.UNKNOWN, Fate.REFUSED])
async def test_a_report_before_the_answer_is_written_and_the_answer_takes_nothing_back(
    bench: Bench, fate: Fate
) -> None:
    bench.exchange.held, bench.exchange.fate = anyio.Event(), fate
    async with anyio.create_task_group() as group:
        group.start_soon(bench.place, intent())
        while not bench.exchange.reached:
            await anyio.lowlevel.checkpoint()

        await bench.desk.reported(report("PARTIALLY_FILLED", "0.0004"))
        assert (await stands(bench)).state == "ACKED"
        bench.exchange.held.set()

    found = await stands(bench)
    assert (found.state, found.status, found.executed) == ("ACKED", "PARTIALLY_FILLED", Decimal("0.0004"))
    assert (bench.exchange.questions, await bench.desk.reader.stops()) == (0, [])


async def test_a_report_ends_the_asking(bench: Bench) -> None:
    bench.exchange.fate, bench.exchange.is_mute = Fate.UNKNOWN, True
    await bench.place(intent())
    while not bench.exchange.questions:
        await anyio.lowlevel.checkpoint()
    assert (await stands(bench)).state == "UNKNOWN"

    await bench.desk.reported(report("NEW"))

    assert ((await stands(bench)).state, (await stands(bench)).status) == ("ACKED", "NEW")


async def test_what_the_exchange_told_unasked_is_not_asked_for(bench: Bench) -> None:
    questions = 0

    async def told_meanwhile(symbol: Symbol, client_order_id: str) -> Order | None:  # noqa: ARG001 - the port
        nonlocal questions
        questions += 1
        await bench.desk.reported(report("FILLED", str(WHOLE)))
        raise ExchangeUnavailable(reason="away")

    bench.exchange.fate, bench.exchange.ask = Fate.UNKNOWN, told_meanwhile

    await bench.place(intent())
    while (await stands(bench)).is_unresolved:
        await anyio.lowlevel.checkpoint()
    for _ in range(20):  # time enough for more questions: the clock does not wait
        assert (await stands(bench)).status == "FILLED"

    assert questions == 1


async def test_an_order_that_was_declared_not_placed_and_is_reported_stops_trading(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    await bench.place(intent())
    while (await stands(bench)).state == "UNKNOWN":
        await anyio.lowlevel.checkpoint()
    assert (await stands(bench)).state == "NOT_PLACED"

    await bench.desk.reported(report("NEW"))

    assert (await stands(bench)).state == "ACKED"
    stopped = await bench.desk.ledger.stopped("paper")
    assert stopped is not None
    assert stopped.why.endswith("was declared not placed but was found")


async def test_an_order_that_comes_to_light_after_its_day_is_open_again(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    await bench.place(intent())
    while (await stands(bench)).state == "UNKNOWN":
        await anyio.lowlevel.checkpoint()
    bench.clock.advance(WATCHED_MS)
    await bench.desk.catch_up()
    assert (await bench.used(intent()))["open_orders"] == 0

    await bench.desk.reported(report("PARTIALLY_FILLED", "0.0004"))

    found = await stands(bench)
    assert (found.state, found.executed, found.final_ms) == ("ACKED", Decimal("0.0004"), None)
    assert (await bench.used(intent()))["open_orders"] == 1
    assert await bench.desk.ledger.stopped("paper") is not None


async def test_knowledge_only_grows(bench: Bench) -> None:
    await bench.place(intent())

    for status, executed in (
        ("PARTIALLY_FILLED", "0.0004"),
        ("NEW", "0"),
        ("FILLED", str(WHOLE)),
        ("CANCELED", "0.0004"),
    ):
        await bench.desk.reported(report(status, executed))

    found = await stands(bench)
    assert (found.status, found.executed) == ("FILLED", WHOLE)
    told = [
        each.told["status"] for each in await bench.desk.reader.history(intent().preview_id) if each.state == "STATUS"
    ]
    assert told == ["NEW", "PARTIALLY_FILLED", "FILLED"]


async def test_a_report_of_what_never_left_stops_trading(bench: Bench) -> None:
    bench.exchange.fate = Fate.REFUSED
    await bench.place(intent())
    await bench.desk.reported(report("REJECTED"))
    assert await bench.desk.reader.stops() == []

    await bench.desk.reported(report("NEW"))

    stopped = await bench.desk.ledger.stopped("paper")
    assert stopped is not None
    assert "at the exchange, but the journal has it as never placed (REJECTED)" in stopped.why
    assert (await stands(bench)).state == "REJECTED"


async def test_a_reported_refusal_is_one(bench: Bench) -> None:
    bench.exchange.fate, bench.exchange.is_mute = Fate.UNKNOWN, True
    await bench.place(intent())

    await bench.desk.reported(report("REJECTED"))

    assert (await stands(bench)).state == "REJECTED"
    assert (await bench.used(intent()))["per_day"] == 0


async def test_orders_of_others_are_nothing_to_this_desk(tmp_path: Path) -> None:
    by_hand = report("NEW")
    others = [intent(1, mode="practice", network="testnet"), intent(2, account="k-other")]
    exchange = Scripted(fate=Fate.UNKNOWN, is_mute=True)
    async with opened_bench(tmp_path, exchange, "live", "k-own") as made:
        for each in others:
            await made.desk.ledger.claim(each, (), NOW_MS)
            await made.desk.ledger.mark_sent(each.preview_id, NOW_MS)

        await made.desk.reported(replace(by_hand, order=replace(by_hand.order, client_order_id="web_1")))
        for each in others:
            await made.desk.reported(report("NEW", of=each))

        assert [(await stands(made, each)).state for each in others] == ["SENT", "SENT"]
        assert len(await made.desk.reader.newest(10)) == len(others)
