"""Lists of orders and orders in another's place: one claim, one request, and the journal knows how each part stands."""

import random
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import anyio.lowlevel
import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Amendment, Fate, Replacement, Target, WrittenList
from mcp_binance_server.domain.orders import Order, Report
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.exits import Exits, standing_of, with_leg
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.requests import request_of
from support.terms import NOW_MS, intent
from trading.bench import Bench, opened_bench, placed

pytestmark = pytest.mark.anyio

WHOLE, PROFIT, STOP, LEAST = "0.001", Price(Decimal(70000)), Price(Decimal(50000)), Price(Decimal(49000))
BRACKET = Exits("OTOCO", Quantity(Decimal(WHOLE)), PROFIT, STOP, LEAST)
PAIR = Exits("OCO", Quantity(Decimal(WHOLE)), PROFIT, STOP, LEAST)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        yield made
        assert (await examine(made.desk.ledger.store)).problems == ()


def bracket(number: int = 0) -> NewIntent:
    return intent(number, exits=BRACKET)


def pair(number: int = 0) -> NewIntent:
    return intent(number, side="SELL", kind="OCO", price=PROFIT, stop_price=STOP, exits=PAIR, counted=70_00)


async def stands(bench: Bench, new: NewIntent) -> Intent:
    found = await bench.desk.ledger.find(new.preview_id)
    assert found is not None
    return found


async def resolved(bench: Bench, new: NewIntent) -> None:
    while await bench.state(new) == "UNKNOWN":
        await anyio.lowlevel.checkpoint()


async def settled(bench: Bench, new: NewIntent) -> None:
    """Wait until nobody asks for it any more."""
    while new.preview_id in bench.desk._asking:  # pyright: ignore[reportPrivateUsage]
        await anyio.lowlevel.checkpoint()


async def told(bench: Bench, order: Order) -> None:
    await bench.desk.reported(Report(order, "TRADE", 1, None, "", NOW_MS))


async def money(bench: Bench, new: NewIntent) -> int:
    return (await bench.used(new))["per_day"]


async def test_a_list_is_one_request_and_its_orders_bear_its_name(bench: Bench) -> None:
    placed = await bench.place(bracket())

    (request,) = bench.exchange.reached
    assert isinstance(request, WrittenList)
    name = placed.intent.client_order_id
    assert [each.client_order_id for each in request.orders] == [f"{name}-w", f"{name}-a", f"{name}-b"]
    assert [(each.side, each.kind, each.price, each.stop_price) for each in request.orders] == [
        ("BUY", "LIMIT", Decimal("60000.00"), None),
        ("SELL", "LIMIT_MAKER", PROFIT, None),
        ("SELL", "STOP_LOSS_LIMIT", LEAST, STOP),
    ]
    assert [each.status for each in placed.intent.legs] == ["NEW", "PENDING_NEW", "PENDING_NEW"]
    assert (placed.intent.status, placed.intent.final_ms) == ("NEW", None)


async def test_a_part_filled_entry_is_unprotected_until_its_exits_start(bench: Bench) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    await told(bench, bench.exchange.trade(f"{name}-w", "0.0004", "PARTIALLY_FILLED"))
    part = await stands(bench, new)
    await told(bench, bench.exchange.trade(f"{name}-w", WHOLE, "FILLED"))
    filled = await stands(bench, new)
    for leg in ("-a", "-b"):
        bench.exchange.end(name + leg, "NEW")
        await told(bench, bench.exchange.stands[name + leg])
    protected = await stands(bench, new)

    assert (part.executed, part.unprotected) == (Decimal("0.0004"), Decimal("0.0004"))
    assert filled.unprotected == Decimal(WHOLE)
    assert (protected.unprotected, protected.final_ms) == (0, None)


async def test_a_list_is_over_once_all_its_orders_are_and_what_exits_sold_counts_as_sold(bench: Bench) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    await told(bench, bench.exchange.trade(f"{name}-w", WHOLE, "FILLED"))
    await told(bench, bench.exchange.trade(f"{name}-a", WHOLE, "FILLED"))
    before = await stands(bench, new)
    bench.exchange.end(f"{name}-b", "EXPIRED")
    await bench.desk.catch_up()

    over = await stands(bench, new)
    (traded,) = await bench.desk.reader.traded(new.terms.account, NOW_MS)
    assert (before.final_ms, over.final_ms) == (None, NOW_MS)
    assert (traded.bought, traded.paid) == (Decimal(WHOLE), Decimal("60.000"))
    assert (traded.sold, traded.received) == (Decimal(WHOLE), Decimal("70.000"))
    assert await money(bench, new) == new.terms.counted


async def test_what_an_entry_did_not_fill_is_given_back_once(bench: Bench) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    await told(bench, bench.exchange.trade(f"{name}-w", "0.0004", "CANCELED"))
    given = await money(bench, new)
    for leg in ("-a", "-b"):
        bench.exchange.end(name + leg, "EXPIRED")
    await bench.desk.catch_up()

    over = await stands(bench, new)
    assert given == await money(bench, new) == 24_00
    assert (over.final_ms, over.unprotected) == (NOW_MS, Decimal("0.0004"))


async def test_a_refused_list_whose_orders_are_told_gives_its_money_back_once(bench: Bench) -> None:
    other, new = bracket(), bracket(1)
    await bench.place(other)
    ledger, request = bench.desk.ledger, request_of(new.terms, new.client_order_id)
    assert isinstance(request, WrittenList)
    await ledger.claim(new, charges(new.terms, Policy(), new.way), NOW_MS)
    await ledger.mark_sent(new.preview_id, NOW_MS)
    told = [placed(each, "REJECTED", number) for number, each in enumerate(request.orders, 7)]

    refused = await ledger.move(new.preview_id, "REJECTED", {}, NOW_MS, *told)

    assert (refused.state, refused.final_ms) == ("REJECTED", NOW_MS)
    assert await money(bench, new) == other.terms.counted


async def test_what_an_exit_sold_in_part_before_it_ended_leaves_the_rest_unprotected(bench: Bench) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    await told(bench, bench.exchange.trade(f"{name}-w", WHOLE, "FILLED"))
    await told(bench, bench.exchange.trade(f"{name}-a", "0.0003", "PARTIALLY_FILLED"))
    selling = await stands(bench, new)
    bench.exchange.end(f"{name}-b", "EXPIRED")
    await told(bench, bench.exchange.trade(f"{name}-a", "0.0003", "CANCELED"))
    await bench.desk.catch_up()

    over = await stands(bench, new)
    assert (selling.unprotected, over.unprotected) == (0, Decimal("0.0007"))
    assert over.final_ms == NOW_MS


async def test_a_pair_is_over_when_one_has_sold_and_the_other_is_gone(bench: Bench) -> None:
    new = pair()
    name = (await bench.place(new)).intent.client_order_id
    await told(bench, bench.exchange.trade(f"{name}-b", "0.0006", "PARTIALLY_FILLED"))
    part = await stands(bench, new)
    bench.exchange.end(f"{name}-a", "EXPIRED")
    bench.exchange.trade(f"{name}-b", "0.0006", "CANCELED")
    await bench.desk.catch_up()

    over = await stands(bench, new)
    assert (part.status, part.executed, part.spent) == ("PARTIALLY_FILLED", Decimal("0.0006"), Decimal("29.4"))
    assert (over.status, over.final_ms) == ("CANCELED", NOW_MS)
    assert await money(bench, new) == 42_00


@pytest.mark.parametrize("executes", [True, False])
async def test_a_list_without_an_answer_is_asked_for_by_all_its_orders(bench: Bench, *, executes: bool) -> None:
    bench.exchange.fate, bench.exchange.executes = Fate.UNKNOWN, executes
    new = bracket()
    await bench.place(new)
    await settled(bench, new)

    found = await stands(bench, new)
    assert len(bench.exchange.reached) == 1
    assert found.state == ("ACKED" if executes else "NOT_PLACED")
    assert len(found.legs) == (3 if executes else 0)


@pytest.mark.parametrize("suffix", ["", "-w", "-b"])
async def test_the_cancel_of_any_order_of_a_list_is_the_cancel_of_the_list(bench: Bench, suffix: str) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    target = Target(new.terms.symbol, name + suffix)

    done = await bench.desk.cancel(new.terms.account, target, "me")

    assert bench.exchange.cancels == [Target(new.terms.symbol, name, None, is_list=True)]
    assert (done.cancel, done.intent.is_cancelled, done.intent.final_ms) == ("CANCELLED", True, NOW_MS)
    assert await money(bench, new) == 0


async def test_the_cancel_of_a_list_without_an_answer_is_told_by_its_orders(bench: Bench) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    bench.exchange.cancel_fate, bench.exchange.executes = Fate.UNKNOWN, True

    done = await bench.desk.cancel(new.terms.account, Target(new.terms.symbol, name), "me")

    assert (done.cancel, done.intent.final_ms) == ("CANCELLED", NOW_MS)


async def test_an_exit_that_the_exchange_refuses_later_is_over_and_nothing_contradicts_that(bench: Bench) -> None:
    new = bracket()
    name = (await bench.place(new)).intent.client_order_id
    await told(bench, bench.exchange.trade(f"{name}-w", WHOLE, "FILLED"))
    for leg in ("-a", "-b"):
        bench.exchange.end(name + leg, "REJECTED")
        await told(bench, bench.exchange.stands[name + leg])

    over = await stands(bench, new)
    assert (over.state, over.status, over.unprotected) == ("ACKED", "FILLED", Decimal(WHOLE))
    assert await bench.desk.reader.stops() == []


async def test_an_order_takes_the_place_of_another(bench: Bench) -> None:
    old, new = intent(0), intent(1)
    first = (await bench.place(old)).intent
    new = intent(1, replaces=first.client_order_id, price=Price(Decimal(61000)))
    placed = await bench.place(new)

    assert isinstance(bench.exchange.reached[1], Replacement)
    assert bench.exchange.reached[1].target == Target(old.terms.symbol, first.client_order_id)
    assert (placed.intent.state, placed.intent.status) == ("ACKED", "NEW")
    before = await stands(bench, old)
    assert (before.status, before.final_ms) == ("CANCELED", NOW_MS)
    assert await money(bench, new) == new.terms.counted


async def test_an_order_that_is_gone_while_the_one_in_its_place_is_refused_is_known_to_be_gone(bench: Bench) -> None:
    old = intent(0)
    first = (await bench.place(old)).intent
    bench.exchange.fate = Fate.REFUSED
    bench.exchange.end(first.client_order_id)
    new = intent(1, replaces=first.client_order_id, price=Price(Decimal(61000)))
    placed = await bench.place(new)

    assert placed.intent.state == "REJECTED"
    assert (await stands(bench, old)).status == "CANCELED"
    assert await money(bench, new) == 0


@pytest.mark.parametrize("executes", [True, False])
async def test_a_replacement_without_an_answer_is_asked_for_by_both_names(bench: Bench, *, executes: bool) -> None:
    old = intent(0)
    first = (await bench.place(old)).intent
    bench.exchange.fate, bench.exchange.executes = Fate.UNKNOWN, executes
    new = intent(1, replaces=first.client_order_id, price=Price(Decimal(61000)))
    await bench.place(new)
    await settled(bench, new)

    assert len(bench.exchange.reached) == 2
    assert await bench.state(new) == ("ACKED" if executes else "NOT_PLACED")
    assert (await stands(bench, old)).status == ("CANCELED" if executes else "NEW")


async def amended(bench: Bench, quantity: str = "0.0004") -> tuple[NewIntent, NewIntent]:
    old = intent(0)
    first = (await bench.place(old)).intent
    smaller = Quantity(Decimal(quantity))
    return old, intent(1, replaces=first.client_order_id, amends=True, quantity=smaller, counted=0)


async def test_the_id_of_a_change_that_was_not_made_leads_to_its_order(bench: Bench) -> None:
    old, new = await amended(bench)
    bench.exchange.fate = Fate.UNKNOWN
    await bench.place(new)
    await settled(bench, new)

    told = await bench.desk.cancel("paper", Target(new.terms.symbol, new.client_order_id), "me")

    assert (told.intent.client_order_id, told.cancel) == (old.client_order_id, "CANCELLED")
    assert (await stands(bench, old)).quantity == Decimal(WHOLE)
    assert len(bench.exchange.cancels) == 1


async def test_a_change_that_was_not_made_is_not_found_in_one_that_was(bench: Bench) -> None:
    old, lost = await amended(bench)
    bench.exchange.fate = Fate.UNKNOWN
    await bench.place(lost)
    await settled(bench, lost)
    bench.exchange.fate = Fate.ACCEPTED
    made = intent(2, replaces=old.client_order_id, amends=True, quantity=lost.terms.quantity, counted=0)
    await bench.place(made)
    await bench.desk.catch_up()

    assert (await bench.state(lost), await bench.state(made)) == ("NOT_PLACED", "ACKED")
    assert await bench.desk.ledger.stopped(old.terms.account) is None


async def test_a_smaller_order_keeps_its_name_and_the_journal_its_new_quantity(bench: Bench) -> None:
    old, new = await amended(bench)
    placed = await bench.place(new)

    assert bench.exchange.reached[1] == Amendment(
        Target(old.terms.symbol, old.client_order_id), Quantity(Decimal("0.0004"))
    )
    assert (placed.intent.status, placed.intent.final_ms, placed.intent.executed) == ("AMENDED", NOW_MS, 0)
    assert ((await stands(bench, old)).quantity, (await stands(bench, old)).final_ms) == (Decimal("0.0004"), None)


async def test_what_an_order_was_made_smaller_by_is_given_back_at_its_end(bench: Bench) -> None:
    old, new = await amended(bench)
    await bench.place(new)
    await told(bench, bench.exchange.trade(old.client_order_id, "0.0004", "FILLED"))

    assert await money(bench, old) == 24_00


@pytest.mark.parametrize("executes", [True, False])
async def test_a_change_without_an_answer_is_told_by_the_quantity_of_the_order(bench: Bench, *, executes: bool) -> None:
    old, new = await amended(bench)
    bench.exchange.fate, bench.exchange.executes = Fate.UNKNOWN, executes
    await bench.place(new)
    await resolved(bench, new)

    assert await bench.state(new) == ("ACKED" if executes else "NOT_PLACED")
    assert (await stands(bench, old)).quantity == (Decimal("0.0004") if executes else Decimal(WHOLE))


def reports(name: str, seed: int) -> list[Order]:
    """Return what may be told of one list, in its own order."""
    exchange = random.Random(seed)
    whole = Decimal(WHOLE)

    def order(leg: str, status: str, executed: Decimal) -> Order:
        amounts = Quantity(executed), Quantity(executed * 60000)
        made = intent().terms
        return Order(
            "-w-a-b".index(leg), name + leg, made.symbol, "", "", status, "", made.price, STOP, Quantity(whole),
            *amounts, NOW_MS, NOW_MS,
        )  # fmt: skip

    def fills(leg: str, last: str) -> list[Order]:
        steps = sorted(exchange.sample(range(1, 10), exchange.randrange(4)))
        part = [order(leg, "PARTIALLY_FILLED", whole * step / 10) for step in steps]
        end = whole if last == "FILLED" else part[-1].executed if part else Decimal(0)
        return [order(leg, "NEW", Decimal(0)), *part, order(leg, last, end)]

    winner, loser = exchange.sample(["-a", "-b"], 2)
    is_filled = exchange.random() < 0.7
    told = fills("-w", "FILLED" if is_filled else "CANCELED")
    if is_filled:
        return told + fills(winner, exchange.choice(["FILLED", "CANCELED"])) + [order(loser, "EXPIRED", Decimal(0))]
    return told + [order(leg, "EXPIRED", Decimal(0)) for leg in ("-a", "-b")]


@pytest.mark.parametrize("seed", range(100))
def test_a_list_stands_the_same_in_whichever_order_its_news_come(seed: int) -> None:
    exact = reports("mbp-x", seed)
    shuffled = [*exact, *random.Random(seed).sample(exact, len(exact) // 2)]
    random.Random(seed + 1).shuffle(shuffled)

    def after(orders: list[Order]) -> object:
        legs = ()
        for each in orders:
            legs = with_leg(legs, each)
        return legs, standing_of(BRACKET, legs)

    assert after(shuffled) == after(exact)
