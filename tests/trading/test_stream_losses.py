"""W12: events lost, doubled, overtaken, broken and cut, over days: after one question the journal is as the exchange.

With `--scale 500` it is 100,000 events.
"""

import logging
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from binance_simulator.faults import StreamFault, StreamKind
from binance_simulator.orders.execution import ExecutionKind
from trading.streamed import StreamedDesk, streamed_desk

LOG = logging.getLogger(__name__)

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

EVENTS = 200
IDLE_EVERY, IDLE_SELDOM = 3, 60
OPEN_AT_ONCE = 6
DAY_MS, FIVE_MINUTES_MS, MOST_CONNECTS = 86_400_000, 300_000, 300
SPOILED: tuple[StreamKind, ...] = ("drop", "duplicate", "swap", "malformed")
ENDED: tuple[StreamKind, ...] = ("cut", "terminated", "shutdown")
ENDS: tuple[tuple[ExecutionKind, str], ...] = (
    ("CANCELED", "CANCELED"),
    ("EXPIRED", "EXPIRED"),
    ("TRADE_PREVENTION", "EXPIRED_IN_MATCH"),
)


@dataclass
class Seen:
    """What happened on the way."""

    rounds: int = 0
    behind: int = 0
    """Rounds after which the journal had not heard of all, until it asked."""
    left: int = 0
    """Rounds after which it had not even then."""
    days: float = 0


async def step(floor: StreamedDesk, standing: list[str], random: Random) -> None:
    """Let one thing happen to one order."""
    standing = [name for name in standing if floor.orders.stands[name].open]
    if len(standing) < OPEN_AT_ONCE and random.random() < 0.3:
        await floor.place("0.040")
    elif standing and random.random() < 0.95:
        floor.orders.trade(random.choice(standing), Decimal(random.randint(1, 4)) / 1000)
    elif standing:
        kind, status = random.choice(ENDS)
        floor.orders.end(random.choice(standing), kind, status)


def spoil(floor: StreamedDesk, random: Random) -> None:
    hub = floor.exchange.hub
    if random.random() < 0.3:
        hub.faults.add(StreamFault(kind=random.choice(SPOILED), stream="user@executionReport"))
    if random.random() < 0.02:
        hub.faults.add(StreamFault(kind=random.choice(ENDED), stream="user@executionReport"))
    hub.user_delay_ms = random.choice((0, 0, 0, 50, 400))


async def storm(
    floor: StreamedDesk, events: int, random: Random, *, idle_every: int = IDLE_EVERY, asks: bool = True
) -> Seen:
    """Live through so many events, and compare the journal with the exchange in every pause."""
    seen, checked = Seen(), 0
    while floor.exchange.executions.newest < events:
        for _ in range(random.randint(10, 60)):
            spoil(floor, random)
            await step(floor, floor.names[checked:], random)
            if random.random() < 0.15:
                await floor.run(random.choice((100, 100, 300)))
        floor.exchange.hub.faults.clear()
        await floor.run(1_000)
        seen.rounds += 1
        names = floor.names[checked:]
        if await floor.disagreements(names):
            seen.behind += 1
            if asks:
                await floor.desk.catch_up()
            seen.left += bool(await floor.disagreements(names))
        while checked < len(floor.names) and not floor.orders.stands[floor.names[checked]].open:
            checked += 1
        if seen.rounds % idle_every == 1:
            floor.exchange.hub.life_ms = random.choice((DAY_MS, DAY_MS // 2))  # who is not relieved before is cut off
            await floor.run(DAY_MS, step_ms=1_800_000)
    seen.days = floor.clock.monotonic_ms() / DAY_MS
    return seen


async def test_after_one_question_the_journal_is_as_the_exchange(tmp_path: Path, scale: int) -> None:
    random = Random(f"losses-{scale}")
    async with streamed_desk(tmp_path) as floor:
        seen = await storm(floor, EVENTS * scale, random, idle_every=IDLE_EVERY if scale == 1 else IDLE_SELDOM)
        most = floor.dialer.most_in(FIVE_MINUTES_MS)
        LOG.info("%s %s, %d orders, at most %d connects in 5 min", seen, floor.stream.counts, len(floor.names), most)

        assert seen.left == 0
        assert seen.behind >= seen.rounds // 10  # else nothing was lost that mattered
        assert seen.days > 1
        assert floor.stream.counts.lost >= 1
        assert floor.stream.counts.renewed >= 1
        assert most <= MOST_CONNECTS


async def test_without_a_question_what_was_lost_stays_lost(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        seen = await storm(floor, EVENTS // 2, Random("never asked"), asks=False)

    assert seen.left >= 1


async def test_a_stream_that_always_ends_is_not_opened_too_often(tmp_path: Path) -> None:
    async with streamed_desk(tmp_path) as floor:
        await floor.place()
        for _ in range(6 * 60):
            await floor.run(1_000, step_ms=500)
            floor.exchange.hub.faults.add(StreamFault(kind="terminated"))

        assert 30 <= floor.dialer.most_in(FIVE_MINUTES_MS) <= MOST_CONNECTS
