"""Workers of one account as processes: forked, told by the state what to place, and killed by those who test them."""

import json
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from select import select

import anyio

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.errors import AppError, EngineUnavailable
from mcp_binance_server.trading.errors import TradingNotReady
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.journal.ledger import Judge
from mcp_binance_server.trading.journal.limits import LimitPassed, PositionRoom
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.stops import TradingIsStopped
from mcp_binance_server.trading.judgement.charges import Charge, charges
from mcp_binance_server.trading.judgement.exposure import Holding
from mcp_binance_server.trading.judgement.policy import Policy, read_policy
from mcp_binance_server.trading.judgement.terms import PreviewId
from support.terms import intent
from trading.forking import Tell
from trading.labels import Label
from trading.wire.wire_labels import WireLabels
from trading.wire.wire_world import ACCOUNT, SYMBOL, Pace, Start, WireWorld

PATIENCE_SECS = 60.0
CLOCK = SystemClock()
COUNTED, FITTING = 20_000, 10
# Room for everything but money, and for money in a race.
ROOM = "[limits]\norders_per_minute = 100000\norders_per_day = 100000\nopen_orders = 100000\n"
WIDE = read_policy(ROOM.encode())
NARROW = read_policy(f'{ROOM}per_day = "{COUNTED * FITTING // 100}"\n'.encode())
PACE = Pace(20)


def order(number: int, middle: Decimal, side: Side = "BUY") -> NewIntent:
    """Return an order that is filled at once; each number has a price, and so an order, of its own."""
    far = Decimal("1.03") if side == "BUY" else Decimal("0.97")
    price = (middle * far).quantize(Decimal("0.01")) + Decimal(number % 5_000) / 100
    return intent(
        number,
        account=ACCOUNT,
        mode="practice",
        network="testnet",
        symbol=SYMBOL,
        side=side,
        price=Price(price),
        quantity=Quantity(Decimal("0.001")),
        counted=COUNTED,
    )


class Unshared(FleetLedger):
    """A control that must fail: a worker that keeps its claims and limits to itself."""

    async def claim(  # noqa: PLR0917 - as the ledger that it replaces
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None = None,
        judge: Judge | None = None,
        holding: Holding | None = None,
    ) -> tuple[Intent, bool]:
        return await self.host.claim(new, charges, now_ms, room, judge, holding)

    async def mark_sent(self, preview_id: PreviewId, now_ms: int) -> None:
        await self.host.mark_sent(preview_id, now_ms)


Work = Callable[[WireWorld, Tell], Awaitable[None]]


@dataclass(frozen=True)
class Member:
    """A process that was forked, and what it tells."""

    pid: int
    pipe: int
    heard: list[str]

    @classmethod
    def forked(cls, start: Start, work: Work, dies_at: Label | None = None, *, tells: bool = False) -> "Member":
        """Start a worker; one that shall die is watched from its first order on, and so is one that tells labels."""
        reading, writing = os.pipe()
        child = os.fork()
        if child:
            os.close(writing)
            return cls(child, reading, [])
        os.close(reading)

        def tell(told: str) -> None:
            os.write(writing, f"{told}\n".encode())

        def hear(name: str) -> None:
            if tells:
                tell(f"label {name}")

        async def live() -> None:
            async with start.opened() as world:
                await world.desk.ready()
                tell("ready")
                if dies_at is not None or tells:
                    WireLabels(hear, dies_at).watch()
                await work(world, tell)
            tell("ended")

        try:
            anyio.run(live)
        except BaseException as error:  # noqa: BLE001 - a fork must not go on as its parent
            tell(f"failed {error!r}")
            os._exit(1)
        os._exit(0)

    def line(self) -> str:
        """Return the next thing it tells; "" when it is gone."""
        while not self.heard:
            ready, _, _ = select([self.pipe], [], [], PATIENCE_SECS)
            told = os.read(self.pipe, 65_536).decode() if ready else ""
            if not told:
                return ""
            while not told.endswith("\n"):
                told += os.read(self.pipe, 65_536).decode()
            self.heard.extend(told.splitlines())
        return self.heard.pop(0)

    def until(self, said: str) -> list[str]:
        """Return what it tells up to a word of its own, or to its end."""
        told: list[str] = []
        while (line := self.line()) and line != said:
            told.append(line)
        return told if line else [*told, "gone"]

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def placing(orders: list[NewIntent], policy: Policy, *, stops_after: int | None = None) -> Work:
    """Place orders one after the other as soon as the state says so, each until it was judged, and tell of each."""

    async def work(world: WireWorld, tell: Tell) -> None:
        await said(world, "go")
        for number, new in enumerate(orders):
            if number == stops_after:
                stopped = await world.desk.ledger.stop("enough", "a person", world.desk.now_ms(), ACCOUNT)
                tell(f"stopped {stopped.since_ms}")
            tell(f"placed {await judged(world, new, policy)}")
        tell("done")
        await said(world, "end")

    return work


def answering(rounds: Callable[[int], list[NewIntent]], *, is_first: bool = False) -> Work:
    """Place the orders of each round that the state names, and tell when it is over; the first waits for nobody."""

    async def work(world: WireWorld, tell: Tell) -> None:
        number = -1
        while True:
            told = await _value(world, "round")
            if told == "end":
                return
            named, _, wait_ms = told.partition(" ")
            if named and int(named) > number:
                number = int(named)
                await CLOCK.sleep_ms(0 if is_first else int(wait_ms))
                for new in rounds(number):
                    await judged(world, new, WIDE)
                tell(f"done {number}")
            await CLOCK.sleep_ms(10)

    return work


async def judged(world: WireWorld, new: NewIntent, policy: Policy) -> str:
    """Place an order until it was placed or refused for good; while nobody can say, ask again."""
    while True:
        try:
            placed = await world.desk.place(new, charges(new.terms, policy, new.way), None)
        except LimitPassed:
            return "full"
        except TradingIsStopped:
            return "stopped"
        except (TradingNotReady, EngineUnavailable):
            await CLOCK.sleep_ms(20)
        except AppError as error:
            return f"failed {error.message}"
        else:
            if not placed.intent.is_unresolved:
                return placed.intent.state
            await CLOCK.sleep_ms(20)


async def said(world: WireWorld, word: str) -> None:
    while not await _value(world, word):
        await CLOCK.sleep_ms(10)


async def _value(world: WireWorld, word: str) -> str:
    ledger = world.desk.ledger
    assert isinstance(ledger, FleetLedger)
    try:
        return (await ledger.engine.get(word) or b"").decode()
    except EngineUnavailable:
        return ""


def start_of(folder: Path, address: str, state: str, policy: Policy, ledger: type[FleetLedger]) -> Start:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Start(folder, address, PACE, {}, shared=state, policy=policy, worth=COUNTED, ledger=ledger)


def read_claim(reply: str) -> dict[str, str]:
    """Read a claim from what the state's server answers."""
    _, _, body = reply.partition("\r\n")
    return json.loads(body.strip()) if body.strip() else {}
