"""Orders whose end nobody knows: when they are asked for, from when on "there is none" counts, and what it means."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target, Written
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.judgement.guards import Denied, unresolved
from support.terms import NOW_MS, intent
from trading.bench import Bench, Scripted, opened_bench
from trading.test_guards import situation

pytestmark = pytest.mark.anyio

TARGET = Target(intent().terms.symbol, intent().client_order_id)
HORIZON_MS = 17_000


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        yield made


async def stands(bench: Bench) -> Intent:
    found = await bench.desk.ledger.find(intent().preview_id)
    assert found is not None
    return found


async def known(bench: Bench) -> Intent:
    while (found := await stands(bench)).is_unresolved:
        await anyio.lowlevel.checkpoint()
    return found


def asked_at(bench: Bench, *, takes_ms: int = 0) -> list[int]:
    """Have the time of every question written down; each takes so long."""
    moments: list[int] = []
    usual = bench.exchange.ask

    async def ask(symbol: Symbol, client_order_id: str) -> Order | None:
        moments.append(bench.clock.now_ms() - NOW_MS)
        answer = await usual(symbol, client_order_id)
        bench.clock.advance(takes_ms)
        return answer

    bench.exchange.ask = ask
    return moments


async def test_it_is_asked_for_at_once_often_and_then_twice_a_minute(bench: Bench) -> None:
    bench.exchange.fate, bench.exchange.horizon_ms = Fate.UNKNOWN, 70_000
    moments = asked_at(bench)

    await bench.place(intent())

    assert (await known(bench)).state == "NOT_PLACED"
    assert moments == [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 17_000, 47_000, 70_000]


async def test_that_there_is_none_counts_from_the_sending_on_and_not_from_the_doubt(bench: Bench) -> None:
    async def silent(request: Written, gate: Gate) -> Outcome:
        await gate()
        bench.exchange.reached.append(request)
        bench.clock.advance(15_000)
        return Outcome(Fate.UNKNOWN, reason="no answer")

    bench.exchange.place = silent
    moments = asked_at(bench)

    await bench.place(intent())

    assert (await known(bench)).state == "NOT_PLACED"
    assert moments == [15_000, 15_250, 15_500, 16_000, HORIZON_MS]


async def test_a_question_asked_too_early_proves_nothing_however_late_its_answer(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    moments = asked_at(bench, takes_ms=9_999)

    await bench.place(intent())

    assert (await known(bench)).state == "NOT_PLACED"
    assert moments[-1] >= HORIZON_MS
    assert moments[:2] == [0, 10_249]


async def test_what_is_visible_late_is_found(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    usual = bench.exchange.ask

    async def ask(symbol: Symbol, client_order_id: str) -> Order | None:
        if bench.clock.now_ms() - NOW_MS < HORIZON_MS - 1_000:
            return None
        await Scripted.place(
            Scripted(stands=bench.exchange.stands), bench.exchange.reached[0], anyio.lowlevel.checkpoint
        )
        return await usual(symbol, client_order_id)

    bench.exchange.ask = ask

    await bench.place(intent())

    assert ((await known(bench)).state, len(bench.exchange.reached)) == ("ACKED", 1)


async def test_a_new_start_knows_within_the_same_time(tmp_path: Path) -> None:
    exchange = Scripted()
    async with opened_bench(tmp_path, exchange) as made:
        dead = HostLedger(made.desk.ledger.store, "dead")
        await dead.claim(intent(), (), NOW_MS)
        await dead.mark_sent(intent().preview_id, NOW_MS - 10_000)

    async with opened_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        assert (await stands(made)).state == "NOT_PLACED"
        assert made.clock.now_ms() - NOW_MS == HORIZON_MS - 10_000


async def test_while_one_is_unknown_no_other_of_its_symbol_and_side_is_shown_as_placeable(bench: Bench) -> None:
    bench.exchange.fate, bench.exchange.is_mute = Fate.UNKNOWN, True
    await bench.place(intent())

    async def met_by(new: NewIntent) -> Denied | None:
        past = await bench.desk.reader.past(new.terms, (), bench.clock.now_ms() + 3_600_000, None)
        return unresolved(situation(recent=past.recent, terms=new.terms))

    denied = await met_by(intent(1))
    assert denied is not None
    assert (denied.guard, denied.client_order_id) == ("unresolved", intent().client_order_id)
    assert await met_by(intent(1, side="SELL")) is None


async def test_an_answer_to_what_was_never_marked_as_sent_is_doubted_and_stops_trading(bench: Bench) -> None:
    async def without_gate(request: Written, gate: Gate) -> Outcome:  # noqa: ARG001 - the port
        bench.exchange.reached.append(request)
        return Outcome(Fate.REFUSED, reason="as told")

    bench.exchange.place, bench.exchange.is_mute = without_gate, True

    outcome = await bench.place(intent())

    assert outcome.intent.state == "UNKNOWN"
    stopped = await bench.desk.ledger.stopped("paper")
    assert stopped is not None
    assert "was sent without being marked as sent" in stopped.why
    assert (await bench.used(intent()))["per_day"] == 60_00


@pytest.mark.parametrize(
    ("status", "cancel", "final"),
    [("FILLED", "CANCEL_REFUSED", True), ("CANCELED", "CANCELLED", True), ("NEW", "CANCEL_REFUSED", False)],
)
async def test_a_cancel_that_finds_no_order_tells_what_the_order_is(
    bench: Bench, status: str, cancel: str, *, final: bool
) -> None:
    await bench.place(intent())
    stood = bench.exchange.stands.pop(intent().client_order_id)
    bench.exchange.cancel_fate, bench.exchange.asked = Fate.REFUSED, [replace(stood, status=status)]

    outcome = await bench.desk.cancel("paper", TARGET, "me")

    assert (outcome.cancel, outcome.intent.status) == (cancel, status)
    assert (outcome.intent.final_ms is not None) is final
    assert (outcome.reason, len(bench.exchange.cancels)) == ("as told", 1)


async def test_a_refused_cancel_of_an_order_that_nobody_knows_proves_nothing(bench: Bench) -> None:
    await bench.place(intent())
    bench.exchange.stands.clear()
    bench.exchange.cancel_fate, bench.exchange.is_away = Fate.REFUSED, True

    outcome = await bench.desk.cancel("paper", TARGET, "me")

    assert (outcome.cancel, outcome.intent.final_ms) == ("CANCEL_UNKNOWN", None)
