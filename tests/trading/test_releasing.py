"""A sale of reserved coins, step by step: each request is sent once, and no refusal leaves coins bare unseen."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Gate, Outcome, Target, Written, WrittenList, WrittenOrder
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.trading.journal.at_risk import at_risk
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.judgement.released import Released, shares_of
from mcp_binance_server.trading.judgement.steps import STEPS, step_id
from mcp_binance_server.trading.placed import Placed
from support.terms import NOW_MS, intent
from trading.bench import Bench, Scripted, opened_bench

pytestmark = pytest.mark.anyio

PROFIT, STOP, LEAST = Price(Decimal(70000)), Price(Decimal(50000)), Price(Decimal(49000))


def amount(text: str) -> Quantity:
    return Quantity(Decimal(text))


PAIR = intent(
    0, side="SELL", kind="OCO", quantity=amount("5"), price=PROFIT, stop_price=STOP,
    exits=Exits("OCO", amount("5"), PROFIT, STOP, LEAST),
)  # fmt: skip


def released(rest: str = "3", **changes: object) -> Released:
    made = Released(
        PAIR.client_order_id, "OCO", "GTC", amount("5"), amount("0"), amount(rest), PROFIT, STOP, LEAST, 5_00
    )
    return replace(made, **changes)


SALE = intent(
    1, side="SELL", kind="MARKET", time_in_force="IOC", quantity=amount("2"), releases=(released(),), counted=2_00
)


@dataclass
class Steps(Scripted):
    """An exchange with a fate for each order in turn, that fills orders sent to be filled at once."""

    fates: list[Fate] = field(default_factory=list[Fate])
    filled: str = "2"

    async def place(self, request: Written, gate: Gate) -> Outcome:
        self.fate = self.fates.pop(0) if self.fates else Fate.ACCEPTED
        is_unknown = self.fate is Fate.UNKNOWN
        outcome = await super().place(request, gate)
        if isinstance(request, WrittenOrder) and request.time_in_force == "IOC" and outcome.fate is Fate.ACCEPTED:
            name = request.client_order_id
            done = self.trade(name, self.filled, "FILLED" if Decimal(self.filled) == request.quantity else "EXPIRED")
            return replace(outcome, order=done)
        assert not is_unknown or outcome.fate is Fate.UNKNOWN
        return outcome


@asynccontextmanager
async def opened(folder: Path, exchange: Steps) -> AsyncGenerator[Bench]:
    async with opened_bench(folder / "trading", exchange) as bench:
        await bench.desk.ready()
        await bench.place(PAIR)
        exchange.reached.clear()
        yield bench
        assert (await examine(bench.desk.ledger.store)).problems == ()


async def sold(bench: Bench) -> Placed:
    with anyio.fail_after(10):
        return await bench.place(SALE)


async def step(bench: Bench, number: int) -> Intent | None:
    return await bench.desk.ledger.find(step_id(SALE.preview_id, STEPS[number], 0))


async def bare(bench: Bench) -> Decimal:
    """Return the coins that later answers warn about."""
    found = await JournalReader(bench.desk.ledger.store).failed_exits("paper")
    return at_risk(found.get("BTC", []))[0]


def quantities(exchange: Steps) -> list[str]:
    return [
        f"list {each.orders[0].quantity}" if isinstance(each, WrittenList) else f"order {each.quantity}"
        for each in exchange.reached
        if isinstance(each, WrittenList | WrittenOrder)
    ]


async def test_a_sale_cancels_the_pair_sells_and_protects_the_rest_with_one_request_each(tmp_path: Path) -> None:
    exchange = Steps()
    async with opened(tmp_path, exchange) as bench:
        placed = await sold(bench)
        again = await sold(bench)
        rest = await step(bench, 0)
        at_stake = await bare(bench)

    assert placed.intent.status == again.intent.status == "FILLED"
    assert [each.client_order_id for each in exchange.cancels] == [PAIR.client_order_id]
    assert quantities(exchange) == ["order 2", "list 3"]
    assert rest is not None
    assert (rest.state, rest.purpose, rest.terms.quantity) == ("ACKED", "step", 3)
    assert at_stake == 0


@pytest.mark.parametrize(
    ("fates", "filled", "requests", "at_stake"),
    [
        ([Fate.ACCEPTED], "0.5", ["order 2", "list 4.5"], "0"),
        ([Fate.ACCEPTED], "0", ["order 2", "list 5"], "0"),
        ([Fate.REFUSED], "2", ["order 2", "list 5"], "0"),
        ([Fate.NOT_SENT], "2", ["list 5"], "0"),
        ([Fate.ACCEPTED, Fate.REFUSED], "2", ["order 2", "list 3", "list 3"], "0"),
        ([Fate.ACCEPTED, Fate.REFUSED, Fate.REFUSED], "2", ["order 2", "list 3", "list 3"], "3"),
        ([Fate.REFUSED, Fate.REFUSED, Fate.REFUSED], "2", ["order 2", "list 5", "list 5"], "5"),
        ([Fate.NOT_SENT, Fate.NOT_SENT, Fate.NOT_SENT], "2", [], "5"),
    ],
)
async def test_after_a_refusal_the_old_exits_protect_what_is_held_or_answers_warn(
    tmp_path: Path, fates: list[Fate], filled: str, requests: list[str], at_stake: str
) -> None:
    exchange = Steps()
    async with opened(tmp_path, exchange) as bench:
        exchange.fates, exchange.filled = fates, filled
        await sold(bench)
        found = await bare(bench)

    assert quantities(exchange) == requests
    assert found == Decimal(at_stake)
    assert len(exchange.cancels) == 1


async def test_exits_whose_answer_is_lost_are_not_sent_once_more(tmp_path: Path) -> None:
    exchange = Steps(executes=True)
    async with opened(tmp_path, exchange) as bench:
        exchange.fates = [Fate.ACCEPTED, Fate.UNKNOWN]
        await sold(bench)
        rest = await step(bench, 0)
        while rest is not None and rest.state == "UNKNOWN":
            await anyio.lowlevel.checkpoint()
            rest = await step(bench, 0)
        found = await bare(bench)

    assert quantities(exchange) == ["order 2", "list 3"]
    assert rest is not None
    assert rest.state == "ACKED"
    assert found == 0


@pytest.mark.parametrize("fate", [Fate.REFUSED, Fate.UNKNOWN])
async def test_nothing_is_sold_while_the_pair_is_open_or_its_cancel_is_in_doubt(tmp_path: Path, fate: Fate) -> None:
    exchange = Steps(cancel_fate=fate)
    async with opened(tmp_path, exchange) as bench:
        placed = await sold(bench)
        pair = await bench.desk.ledger.find(PAIR.preview_id)
        found = await bare(bench)

    assert placed.intent.state == "NOT_SENT"
    assert PAIR.client_order_id in placed.reason
    assert exchange.reached == []
    assert pair is not None
    assert pair.final_ms is None
    assert found == 0


async def test_a_pair_whose_cancel_turns_out_to_be_executed_is_placed_again(tmp_path: Path) -> None:
    exchange = Steps(cancel_fate=Fate.UNKNOWN, executes=True)
    async with opened(tmp_path, exchange) as bench:
        exchange.asked = [ExchangeUnavailable(reason="away")]
        placed = await sold(bench)
        with anyio.fail_after(10):
            while await step(bench, 0) is None or not quantities(exchange):
                await anyio.lowlevel.checkpoint()
        while (found := await step(bench, 0)) is not None and found.state != "ACKED":
            await anyio.lowlevel.checkpoint()
        at_stake = await bare(bench)

    assert placed.intent.state == "NOT_SENT"
    assert quantities(exchange) == ["list 5"]
    assert at_stake == 0


async def test_a_pair_that_has_sold_before_its_cancel_stops_the_sale_and_protects_what_is_left(tmp_path: Path) -> None:
    exchange = Steps()
    async with opened(tmp_path, exchange) as bench:
        exchange.trade(f"{PAIR.client_order_id}-a", "1", "PARTIALLY_FILLED")
        placed = await sold(bench)
        found = await bare(bench)

    assert placed.intent.state == "NOT_SENT"
    assert "sold 1 before it could be cancelled" in placed.reason
    assert quantities(exchange) == ["list 4"]
    assert found == 0


@pytest.mark.parametrize("cause", ["a fire", "a broken journal"])
async def test_a_stop_between_the_cancel_and_the_sale_ends_the_sale_and_not_the_protection(
    tmp_path: Path, cause: str
) -> None:
    is_for_integrity = cause == "a broken journal"

    class Stops(Steps):
        async def cancel(self, target: Target, gate: Gate) -> Outcome:
            outcome = await super().cancel(target, gate)
            await ledger.stop(cause, "a test", NOW_MS, "paper", allows_exits=not is_for_integrity)
            return outcome

    exchange = Stops()
    async with opened(tmp_path, exchange) as bench:
        ledger = bench.desk.ledger
        placed = await sold(bench)
        found = await bare(bench)

    assert placed.intent.state == "NOT_SENT"
    assert quantities(exchange) == ([] if is_for_integrity else ["list 5"])
    assert found == (5 if is_for_integrity else 0)


async def test_while_trading_is_stopped_the_pair_is_not_even_cancelled(tmp_path: Path) -> None:
    exchange = Steps()
    async with opened(tmp_path, exchange) as bench:
        intent_, _ = await bench.desk.ledger.claim(SALE, charges(SALE.terms, Policy(), "policy"), NOW_MS)
        await bench.desk.ledger.stop("a fire", "a test", NOW_MS, "paper")
        placed = await bench.desk.releasing.carry_out(intent_)

    assert placed.intent.state == "NOT_SENT"
    assert exchange.cancels == exchange.reached == []


async def test_the_plan_is_counted_once_and_claims_all_its_coins(tmp_path: Path) -> None:
    exchange = Steps()
    async with opened(tmp_path, exchange) as bench:
        before = await bench.used(SALE)
        claimed, _ = await bench.desk.ledger.claim(SALE, charges(SALE.terms, Policy(), "policy"), NOW_MS)
        counted = await bench.used(SALE)
        await bench.desk.releasing.carry_out(claimed)
        after = await bench.used(SALE)

    assert claimed.exposure(NOW_MS).claimed == 5
    assert claimed.exposure(NOW_MS).releases == (PAIR.client_order_id,)
    assert counted["orders_per_day"] == after["orders_per_day"] == before["orders_per_day"] + 1
    assert counted["orders_per_minute"] == after["orders_per_minute"] == before["orders_per_minute"] + 1
    assert after["per_day"] == SALE.terms.counted


async def test_a_user_who_cancels_the_exits_placed_again_is_not_warned(tmp_path: Path) -> None:
    exchange = Steps()
    async with opened(tmp_path, exchange) as bench:
        await sold(bench)
        rest = await step(bench, 0)
        assert rest is not None
        await bench.desk.cancel("paper", Target(rest.terms.symbol, rest.client_order_id), "me")
        found = await bare(bench)

    assert found == 0


def stop_order(number: int, quantity: str, price: int, **others: Any) -> NewIntent:  # noqa: ANN401 - any member
    return intent(
        number, side="SELL", kind="STOP_LOSS_LIMIT", quantity=amount(quantity), price=Price(Decimal(price)),
        stop_price=Price(Decimal(price + 1_000)), **others,
    )  # fmt: skip


@pytest.mark.parametrize("quantity", ["5", "4"])
async def test_a_replaced_stop_is_no_warning_whatever_its_user_has_left_without_one(
    tmp_path: Path, quantity: str
) -> None:
    exchange = Steps()
    old = stop_order(5, "5", 49_000)
    async with opened(tmp_path, exchange) as bench:
        await bench.place(old)
        await bench.place(stop_order(6, quantity, 48_000, replaces=old.client_order_id))
        found = await bare(bench)

    assert found == 0


async def test_a_refused_replacement_of_a_stop_that_is_gone_is_a_warning_until_there_is_another(tmp_path: Path) -> None:
    exchange = Steps()
    old = stop_order(5, "5", 49_000)
    async with opened(tmp_path, exchange) as bench:
        await bench.place(old)
        bench.clock.advance(1_000)
        exchange.fates = [Fate.REFUSED]
        exchange.end(old.client_order_id)
        refused = await bench.place(stop_order(6, "5", 48_000, replaces=old.client_order_id))
        found = await bare(bench)
        await bench.place(stop_order(7, "5", 48_500))
        after = await bare(bench)

    assert refused.intent.state == "REJECTED"
    assert (found, after) == (5, 0)


async def test_a_refused_replacement_of_a_stop_that_stands_is_no_warning(tmp_path: Path) -> None:
    exchange = Steps()
    old = stop_order(5, "5", 49_000)
    async with opened(tmp_path, exchange) as bench:
        await bench.place(old)
        exchange.fates = [Fate.REFUSED]
        await bench.place(stop_order(6, "5", 48_000, replaces=old.client_order_id))
        await bench.desk.cancel("paper", Target(old.terms.symbol, old.client_order_id), "me")
        found = await bare(bench)

    assert found == 0


def test_what_remains_is_shared_first_by_plan_and_then_up_to_what_was_reserved() -> None:
    two = (released("3"), released("0"))

    assert shares_of(two, (amount("5"), amount("5")), amount("3")) == (3, 0)
    assert shares_of(two, (amount("5"), amount("5")), amount("6")) == (5, 1)
    assert shares_of(two, (amount("5"), amount("5")), amount("10")) == (5, 5)
    assert shares_of(two, (amount("1"), amount("5")), amount("2")) == (1, 1)
    assert shares_of(two, (amount("5"), amount("5")), amount("-1")) == (0, 0)


def test_each_step_has_an_id_of_its_own_that_only_depends_on_the_plan() -> None:
    found = {step_id(each.preview_id, name, number) for each in (PAIR, SALE) for name in STEPS for number in range(2)}

    assert len(found) == 8
    assert step_id(SALE.preview_id, "again", 0) == step_id(SALE.preview_id, "again", 0)
