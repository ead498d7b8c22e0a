"""Every way of an order over the wire, killed at every label, whatever the exchange answers; then the next start."""

import gc
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import anyio

# Whatever a process imports at its start is imported before it is forked.
import anyio._backends._asyncio  # pyright: ignore[reportUnusedImport]

import mcp_binance_server.state.memory  # noqa: F401 # pyright: ignore[reportUnusedImport]
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.journal.store import FILE
from trading.forking import Tell, forked
from trading.judging import judge_against, sent_twice, state_in
from trading.killing import DESKS
from trading.labels import Label
from trading.wire.exchange_process import ExchangeProcess, Reply, running_exchange
from trading.wire.wire_labels import WireLabels
from trading.wire.wire_world import FINAL_SECS, SYMBOL, Pace, Start, WireWorld, Wish, wishes

Act = Callable[[WireWorld], Awaitable[None]]
Watch = Callable[[], None]
# How long what a killed process had sent takes to arrive.
SETTLED_SECS = 0.01
NEIGHBOURS = 4
# So many runs meet most labels of most scenes.
MOST_LABELS = 1_000
CLOCK = SystemClock()


@dataclass(frozen=True)
class WireScene:
    """What is sent when a process dies, how it is answered, and at which label it left the start that dies."""

    act: str
    reply: Reply
    left_at: str = ""

    @property
    def name(self) -> str:
        return f"{self.act}, {self.reply}" + (f", left at {self.left_at}" if self.left_at else "")

    @property
    def way(self) -> str:
        """What most of the code does that is run: after an answer, without one, or at a start."""
        if self.left_at:
            return f"{self.act} left"
        ending = self.reply if self.reply in ("accepted", "rejected") else self.reply.partition(" ")[2]
        return f"{self.act} {ending}"

    @property
    def method(self) -> str:
        return "DELETE" if self.act == "cancel" else "POST"

    @property
    def wish(self) -> Wish:
        return "rests" if self.act == "cancel" else "refused" if self.reply == "rejected" else "taken"


LEFT: tuple[tuple[str, Reply, str], ...] = (
    ("order", "accepted", "call channel.py:Channel.write"),
    ("order", "accepted", "c_call send POST"),
    ("order", "accepted", "answered send POST"),
    ("order", "rejected", "answered send POST"),
    ("order", "visible late", "answered send POST"),
    ("order", "503 not executed", "call settling.py:Settling.resolve"),
    ("order", "hanging executed", "answered send POST"),
    ("cancel", "accepted", "c_call send DELETE"),
    ("cancel", "accepted", "answered send DELETE"),
    ("cancel", "rejected", "answered send DELETE"),
    ("cancel", "503 not executed", "call settling.py:Settling.follow_cancel"),
    ("cancel", "hanging not executed", "answered send DELETE"),
)


def scenes() -> list[WireScene]:
    """Return an order and a cancel with every answer, and starts after each kind of death."""
    sent = [
        WireScene(act, reply)
        for act in ("order", "cancel")
        for reply in get_args(Reply)
        if (act, reply) != ("cancel", "visible late")
    ]
    return sent + [WireScene(*each) for each in LEFT]


@dataclass(frozen=True)
class WireCase:
    """One scene, killed at one label."""

    scene: WireScene
    label: Label


@dataclass
class WireMatrix:
    """Runs cases with one exchange, one after the other."""

    folder: Path
    exchange: ExchangeProcess
    pace: Pace
    desk: type[Desk]
    runs: int = 0
    kills: int = 0
    missed: int = 0
    """Cases whose process came to its end before it came to the label; they are no runs."""
    killed_at: Counter[str] = field(default_factory=Counter[str])
    ended: Counter[str] = field(default_factory=Counter[str])
    slowest_secs: float = 0
    wrong: list[str] = field(default_factory=list[str])
    _number: int = 0

    def __post_init__(self) -> None:
        self._middle = self.exchange.middle(SYMBOL)

    def found(self) -> dict[str, Any]:
        names = ("runs", "kills", "missed", "killed_at", "ended", "slowest_secs", "wrong")
        return {name: getattr(self, name) for name in names}

    def labels(self, scene: WireScene) -> Iterator[Label]:
        """Live a scene to its end, and return every label on the way; the how manyeth time is part of a label."""
        start = self._begin(scene)
        times = Counter[str]()
        if scene.left_at:
            self._live(start, self._sending(scene), Label(scene.left_at))
            told = self._live(start, None, tells=True)
        else:
            told = self._live(start, self._sending(scene), tells=True)
        for name in told:
            yield Label(name, times[name])
            times[name] += 1

    def run(self, case: WireCase) -> bool:
        """Kill a process at the label, start another, have the client ask once more; judge before and after that.

        False if no process came to the label.
        """
        scene = case.scene
        start = self._begin(scene)
        if scene.left_at:
            self._live(start, self._sending(scene), Label(scene.left_at))
            died = self._live(start, None, case.label)
        else:
            died = self._live(start, self._sending(scene), case.label)
        if not died:
            self.missed += 1
            return False
        self.runs += 1
        self.killed_at[f"{scene.act}: {case.label.name}"] += 1
        time.sleep(SETTLED_SECS)  # noqa: TID251 - there is no loop here
        self.exchange.behave()
        found = [*self._come_back(start, scene), *self._judged(start)]
        self.ended[f"{scene.act}, {scene.reply}: {state_in(start.folder / FILE)}"] += 1
        self.wrong += [f"{scene.name} {case.label}: {each}" for each in found]
        return True

    def _begin(self, scene: WireScene) -> Start:
        self._number += 1
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        self.exchange.anew()
        if scene.act == "order":  # the answer to a cancel is set once the order stands
            self.exchange.answer(scene.method, scene.reply, self.pace.late_ms)
        return Start(folder, self.exchange.address, self.pace, wishes(self._number, self._middle), self.desk)

    def _sending(self, scene: WireScene) -> "Sending":
        return Sending(scene, self.exchange)

    def _live(
        self, start: Start, act: "Sending | None", dies_at: Label | None = None, *, tells: bool = False
    ) -> list[str]:
        """Live in a fork: act, or only start; return what it told, nothing if it should have died and did not."""

        def work(tell: Tell) -> None:
            labels = WireLabels(tell, dies_at)

            async def live() -> None:
                async with start.opened() as world:
                    await world.desk.ready()
                    if act is not None:
                        await act.do(world, labels.watch)

            if act is None:
                labels.watch()
            anyio.run(live)

        ended = forked(work)
        self.kills += ended.is_killed
        return ended.told if tells or ended.is_killed else []

    def _come_back(self, start: Start, scene: WireScene) -> list[str]:
        def work(tell: Tell) -> None:
            async def live() -> None:
                began_ms = CLOCK.monotonic_ms()
                with anyio.move_on_after(FINAL_SECS) as patience:
                    async with start.opened() as world:
                        await world.desk.ready()
                        tell(f"{(CLOCK.monotonic_ms() - began_ms) / 1000}")
                        for each in self._judged(start):
                            tell(f"after the start, {each}")
                        await Sending(scene, self.exchange).do_again(world)
                if patience.cancelled_caught:
                    tell(f"not final {FINAL_SECS:g} s after the start")

            anyio.run(live)

        took, *wrong = forked(work).told or ["0"]
        self.slowest_secs = max(self.slowest_secs, float(took))
        return wrong

    def _judged(self, start: Start) -> list[str]:
        told = self.exchange.orders()
        by_hand = set(told["by_hand"])
        orders = [
            {
                "account": start.wishes["taken"].terms.account,
                "client_order_id": each["clientOrderId"],
                "status": each["status"],
                "executed": each["executedQty"],
                "spent": each["cummulativeQuoteQty"],
            }
            for each in told["orders"]
            if each["clientOrderId"] not in by_hand
        ]
        twice = [f"double: {name} was accepted {times} times" for name, times in told["accepted"].items() if times > 1]
        return [*judge_against(start.folder / FILE, orders), *sent_twice(self.exchange.sends()), *twice]


@dataclass(frozen=True)
class Sending:
    """What a process does in a scene, and what the client does who heard nothing of it."""

    scene: WireScene
    exchange: ExchangeProcess

    async def do(self, world: WireWorld, watch: Watch) -> None:
        if self.scene.act == "cancel":
            placed = await world.place("rests")
            if placed.intent.status != "NEW":
                return  # the machine was too busy for the haste of this process: there is nothing to cancel
            self._answer_cancel(world)
            watch()
            await world.cancel("rests")
        else:
            watch()
            await world.place(self.scene.wish)

    async def do_again(self, world: WireWorld) -> None:
        if self.scene.act == "cancel":
            await world.cancel("rests")
        else:
            await world.place(self.scene.wish)

    def _answer_cancel(self, world: WireWorld) -> None:
        if self.scene.reply == "rejected":
            self.exchange.cancel_by_hand(SYMBOL, world.wishes["rests"].client_order_id)
        else:
            self.exchange.answer("DELETE", self.scene.reply, 0)


def cases(matrix: WireMatrix, *, thorough: bool) -> list[WireCase]:
    """Return every label of every scene; those that a process comes to for the first time before the others.

    If not thorough, scenes that go much the same way are looked through once: a label that is not met is no run.
    """
    labels: dict[str, list[Label]] = {}
    found: list[WireCase] = []
    for scene in scenes():
        way = scene.name if thorough else scene.way
        labels[way] = labels.get(way) or [*matrix.labels(scene)]
        found += [WireCase(scene, label) for label in labels[way]]
    return sorted(found, key=lambda case: case.label.time)


def evenly(found: list[WireCase], most: int) -> Iterator[list[WireCase]]:
    """Choose so many from all, each with its neighbours: not every process comes to a label as often as the first."""
    # What a process comes to again and again it does not always come to as often.
    firsts = [case for case in found if not case.label.time]
    found = firsts if most <= len(firsts) else found
    step = max(1.0, len(found) / most)
    for place in range(most):
        yield found[int(place * step) :][:NEIGHBOURS]


def patient_cases() -> list[list[WireCase]]:
    """Return deaths that are met for certain, and soon: some starts wait as long as in truth."""
    marks = {"POST": "HostLedger.mark_sent", "DELETE": "OrderWatch.ask_to_cancel"}
    files = {"POST": "journal/ledger.py", "DELETE": "journal/watching.py"}
    return [
        [WireCase(scene, Label(label))]
        for scene in scenes()
        if not scene.left_at
        for label in (
            f"return {files[scene.method]}:{marks[scene.method]}",
            f"half send {scene.method}",
            f"c_return send {scene.method}",
            f"answered send {scene.method}",
        )
    ]


def control_cases() -> list[list[WireCase]]:
    """Return cases of which a desk that sends again, or marks too late, gets at least one wrong."""
    labels = ("answered send POST", "call channel.py:Channel._exchange", "call settling.py:Settling.resolve")
    return [[WireCase(scene, Label(label))] for scene in scenes() if scene.act == "order" for label in labels]


def chosen_cases(folder: Path, kind: str, most: int, times: int) -> list[list[WireCase]]:
    """Return what is to be run, each case with others that take its place if no process comes to its label."""
    if kind != "desk":
        return control_cases()[:most]
    if times == 1:
        return patient_cases()[:most]
    with running_exchange() as exchange:
        matrix = WireMatrix(folder, exchange, Pace(times), DESKS[kind])
        certain = patient_cases()[:most]  # deaths with an order's bytes on their way: few of all, and the worst
        return [*certain, *evenly(cases(matrix, thorough=most >= MOST_LABELS), most - len(certain))]


def run_cases(folder: Path, kind: str, times: int, chosen: list[list[WireCase]]) -> Iterator[WireMatrix]:
    """Run them on one exchange, and show how it stands after each."""
    with running_exchange() as exchange:
        matrix = WireMatrix(folder, exchange, Pace(times), DESKS[kind])
        for neighbours in chosen:
            any(matrix.run(case) for case in neighbours)
            yield matrix


def main() -> None:
    """The arguments are a folder, the kind of desk, how many runs, and how much faster."""
    folder, kind, most, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    gc.disable()  # a fork that collects copies the pages of its parent
    # Where no process came to a label or its neighbours, one that is met for certain stands in.
    chosen = [*chosen_cases(folder, kind, most, times), *(patient_cases() if kind == "desk" else ())]
    found: dict[str, Any] = {}
    for matrix in run_cases(folder, kind, times, chosen):
        found = matrix.found()
        if matrix.runs >= most:
            break
    sys.stdout.write(json.dumps(found))
