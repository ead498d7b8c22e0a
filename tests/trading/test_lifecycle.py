"""What is known of an order: reports in any order, twice or lost, and questions between them, end in the truth."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from random import Random

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import FINAL_STATUS, Order, Report
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.lifecycle import Known

HISTORIES = 3_000
START_MS = 1_794_240_000_000


@dataclass(frozen=True)
class Life:
    """An order as it lived: what was reported at each step; a question at that step would have told the same order."""

    reports: tuple[Report, ...]

    @property
    def end(self) -> Order:
        return self.reports[-1].order

    @property
    def told(self) -> list[Order | Report]:
        return [*self.reports, *(each.order for each in self.reports)]


def report(order: Order, event: str, number: int, traded: int = 0) -> Report:
    trade_id = 9_000 + number if traded else None
    return Report(order, event, number, trade_id, "", order.updated_ms, Quantity(Decimal(traded)))


def lived(random: Random) -> Life:
    """Live one life: perhaps pending first, perhaps amended, filled in parts, perhaps ended before it is filled."""
    whole, number = random.randint(1, 8), 100
    order = new_order(whole)
    if random.random() < 0.2:
        order = replace(order, status="PENDING_NEW")
    reports = [report(order, "NEW", number)]

    def step(event: str, status: str, traded: int = 0, quantity: Decimal | None = None) -> None:
        nonlocal order, number
        number += random.randint(1, 3)
        order = replace(
            order,
            status=status,
            executed=Quantity(order.executed + traded),
            quote_spent=Quantity(order.quote_spent + 10 * traded),
            quantity=Quantity(order.quantity if quantity is None else quantity),
            updated_ms=order.updated_ms + random.randint(1, 50),
        )
        reports.append(report(order, event, number, traded))

    if order.status == "PENDING_NEW":
        step("NEW", "NEW")
    while order.status not in FINAL_STATUS and random.random() < 0.8:
        left = int(order.remaining)
        if left > 1 and random.random() < 0.15:
            step("REPLACED", order.status, quantity=order.quantity - 1)
        else:
            part = random.randint(1, left)
            step("TRADE", "FILLED" if part == left else "PARTIALLY_FILLED", part)
    if order.status not in FINAL_STATUS and random.random() < 0.7:
        event, status = random.choice(
            (("CANCELED", "CANCELED"), ("EXPIRED", "EXPIRED"), ("TRADE_PREVENTION", "EXPIRED_IN_MATCH"))
        )
        step(event, status)
    return Life(tuple(reports))


def new_order(whole: int) -> Order:
    nothing = Quantity(Decimal(0))
    return Order(
        7, "mbt-a", Symbol("BTCUSDT"), "BUY", "LIMIT", "NEW", "GTC", Price(Decimal(10)), Price(Decimal(0)),
        Quantity(Decimal(whole)), nothing, nothing, START_MS, START_MS,
    )  # fmt: skip


def heard(told: list[Order | Report]) -> Iterator[Known]:
    known = Known()
    for each in told:
        known = known.apply(each)
        yield known


@pytest.mark.slow
def test_every_order_of_arrival_with_doubles_ends_in_the_truth() -> None:
    for seed in range(HISTORIES):
        random = Random(seed)
        life = lived(random)
        mixed = [*life.reports, *random.choices(life.told, k=random.randint(0, 8))]
        random.shuffle(mixed)

        path = list(heard(mixed))

        assert path[-1].order == life.end, seed


def test_knowledge_never_shrinks_on_the_way() -> None:
    for seed in range(HISTORIES // 3):
        random = Random(seed)
        mixed = random.choices(lived(random).told, k=12)

        path = list(heard(mixed))

        for earlier, later in pairwise(path):
            assert later.executed >= earlier.executed, seed
            assert later.execution_id >= earlier.execution_id, seed
            assert not earlier.is_final or later.order == earlier.order, seed


def test_after_losses_one_question_tells_the_rest() -> None:
    for seed in range(HISTORIES // 3):
        random = Random(seed)
        life = lived(random)
        kept = [each for each in life.reports if random.random() < 0.5]
        random.shuffle(kept)

        *_, known = heard([*kept, life.end])

        assert known.order == life.end, seed


def test_what_says_nothing_new_changes_nothing() -> None:
    life = lived(Random(3))
    *_, known = heard([*life.reports])

    assert all(known.apply(each) is known for each in life.told)


@pytest.mark.parametrize("status", sorted(FINAL_STATUS))
def test_a_final_status_stays_whatever_comes_later(status: str) -> None:
    over = replace(new_order(2), status=status, executed=Quantity(Decimal(1)))
    known = Known().apply(report(over, "EXPIRED", 5))
    later = replace(over, status="PARTIALLY_FILLED", executed=Quantity(Decimal(2)), updated_ms=START_MS + 9)

    after = known.apply(later).apply(report(later, "TRADE", 9, traded=1))

    assert after.order == over
    assert after.is_final


def test_a_status_that_nobody_knows_stands_between_the_book_and_a_fill() -> None:
    standing, parked = new_order(2), replace(new_order(2), status="PARKED", updated_ms=START_MS + 1)
    part = replace(standing, status="PARTIALLY_FILLED", executed=Quantity(Decimal(1)), updated_ms=START_MS + 2)

    assert Known().apply(standing).apply(parked).order == parked
    assert Known().apply(part).apply(parked).order == part
