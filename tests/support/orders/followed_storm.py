"""A followed account in a storm of mutants: of reports, of balances, and of the answers to its subscription."""

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec

from binance_simulator.faults import StreamFault
from binance_simulator.orders.execution import Holding
from mcp_binance_server.charts.config import is_object
from mcp_binance_server.exchange.dialing import StreamConnection
from support.breaking import MARK, Breaker, Shape
from support.mutating import mutant
from support.storm import Outcome
from trading.streamed import StreamedDesk, streamed_desk

A_FRAME = 40
OPEN_AT_ONCE = 4
# What must be right in a report; the rest are words, which the exchange adds to without notice.
REPORT: Shape = {
    "E": "t", "q": "q", "p": "q", "i": "i", "l": "q", "z": "q", "T": "t", "I": "i", "O": "t", "Z": "q",
}  # fmt: skip
HELD = (Holding("BTC", "1.00000000", "0.00000000"), Holding("USDT", "5.00000000", "0.00000000"))


class ReportBreaker(Breaker):
    """Makes mutants of what the WebSocket API says to an account."""

    def marked_report(self, report: dict[str, object]) -> dict[str, object]:
        """Return a report with the mark in it and nothing wrong: that would be seen."""
        return self._marked(report, REPORT)

    def user_frame(self, frame: bytes) -> tuple[bytes, bool]:
        """Return a mutant, and whether it is one of a report, which must be refused; of all else nothing is taken."""
        told = msgspec.json.decode(frame, type=dict[str, object])
        body = told.get("event")
        if not is_object(body) or body.get("e") != "executionReport":
            return mutant(self._random, frame), False
        written = self._bytes(lambda: {**told, "event": self._broken({**body}, REPORT)})
        return self._torn(written, b'"event":{'), True


@dataclass
class StormyLine:
    """One connection on which every frame comes after dozens of mutants of it."""

    inner: StreamConnection
    storm: "FollowedStorm"
    waiting: list[bytes] = field(default_factory=list[bytes])

    async def recv(self) -> bytes:
        if not self.waiting:
            frame = await self.inner.recv()
            self.waiting = [frame, *self.storm.mutants(frame)]
        return self.waiting.pop()

    async def send(self, text: str) -> None:
        await self.inner.send(text)

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class FollowedStorm:
    """How many mutants are still to come, and how many of them must be refused."""

    left: int
    breaker: ReportBreaker
    reports: int = 0
    others: int = 0
    is_on: bool = False

    def mutants(self, frame: bytes) -> list[bytes]:
        count = min(self.left, A_FRAME) if self.is_on else 0
        made = [self.breaker.user_frame(frame) for _ in range(count)]
        self.left -= count
        self.reports += sum(is_report for _, is_report in made)
        self.others += sum(not is_report for _, is_report in made)
        return [written for written, _ in made]


async def storm_of_followed_orders(count: int, outcome: Outcome, seed: int = 4) -> None:
    """Send mutants to who follows an account; the journal must say what the exchange does, and nothing of them."""
    with TemporaryDirectory() as folder:
        async with streamed_desk(Path(folder), seed) as floor:
            storm, random = FollowedStorm(count, ReportBreaker(seed)), Random(seed)
            floor.dialer.wrapped = lambda inner: StormyLine(inner, storm)
            await floor.place("0.008")
            await floor.run(3_000)
            storm.is_on = True
            while storm.left > 0:
                await _busy(floor, random)
                if random.random() < 0.1:
                    floor.exchange.hub.faults.add(StreamFault(kind="terminated"))
                    await floor.run(2_000)
                if storm.left % 1_000 < A_FRAME:
                    outcome.weigh()
            storm.is_on = False
            await floor.run(6_000)
            await floor.desk.catch_up()
            outcome.events, outcome.refused = storm.reports, floor.stream.counts.unreadable
            outcome.answers = storm.others
            outcome.defects += await floor.disagreements(floor.names)
        outcome.seen += marked_files(Path(folder))


def marked_files(folder: Path) -> list[str]:
    """Return the files that hold anything of a mutant."""
    return [each.name for each in folder.iterdir() if each.is_file() and MARK.encode() in each.read_bytes()]


async def _busy(floor: StreamedDesk, random: Random) -> None:
    standing = [name for name in floor.names if floor.orders.stands[name].open]
    if len(standing) < OPEN_AT_ONCE:
        await floor.place("0.008")
    else:
        name = random.choice(standing)
        if random.random() < 0.3:
            floor.orders.end(name, "CANCELED", "CANCELED")
        else:
            floor.orders.trade(name, Decimal(random.randint(1, 2)) / 1000)
        floor.orders.step(floor.orders.stands[name], "NEW", holdings=HELD)  # said again, with what is held
    await floor.run(100)
