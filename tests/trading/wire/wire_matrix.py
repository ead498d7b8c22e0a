"""Every way of an order over the wire, killed at every label, whatever the exchange answers; then the next start."""

import gc
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

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
from trading.wire.exchange_process import ExchangeProcess, running_exchange
from trading.wire.wire_labels import WireLabels
from trading.wire.wire_scenes import ACTS, Sending, WireCase, WireScene, certain_cases, control_cases, scenes
from trading.wire.wire_world import FINAL_SECS, SYMBOL, Pace, Start, wishes

# How long what a killed process had sent takes to arrive.
SETTLED_SECS = 0.01
NEIGHBOURS = 4
# So many runs meet most labels of most scenes.
MOST_LABELS = 1_000
CLOCK = SystemClock()


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
    _turns: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self._middle = self.exchange.middle(SYMBOL)

    def found(self) -> dict[str, Any]:
        names = ("runs", "kills", "missed", "killed_at", "ended", "slowest_secs", "wrong")
        return {name: getattr(self, name) for name in names}

    def labels(self, scene: WireScene) -> Iterator[Label]:
        """Live a scene to its end, and return every label on the way; the how manyeth time is part of a label."""
        scene = self._turned(scene)
        start = self._begin(scene)
        times = Counter[str]()
        if scene.left_at:
            self._live(start, self._sending(scene), scene.left)
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
        scene = self._turned(case.scene)
        start = self._begin(scene)
        if scene.left_at:
            self._live(start, self._sending(scene), scene.left)
            died = self._live(start, None, case.label)
        else:
            died = self._live(start, self._sending(scene), case.label)
        if not died:
            self.missed += 1
            return False
        self.runs += 1
        self.killed_at[f"{scene.kind}: {case.label.name}"] += 1
        time.sleep(SETTLED_SECS)  # noqa: TID251 - there is no loop here
        self.exchange.behave()
        found = [*self._come_back(start, scene), *self._judged(start)]
        self.ended[f"{scene.kind}, {scene.reply}: {state_in(start.folder / FILE)}"] += 1
        self.wrong += [f"{scene.name} {case.label}: {each}" for each in found]
        return True

    def _turned(self, scene: WireScene) -> WireScene:
        self._turns[scene.act] += 1
        return replace(scene, turn=self._turns[scene.act])

    def _begin(self, scene: WireScene) -> Start:
        self._number += 1
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        self.exchange.anew()
        wanted = wishes(self._number, self._middle, scene.shape)
        return Start(folder, self.exchange.address, self.pace, wanted, self.desk)

    def _sending(self, scene: WireScene) -> Sending:
        return Sending(scene, self.exchange)

    def _live(
        self, start: Start, act: Sending | None, dies_at: Label | None = None, *, tells: bool = False
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
                "quantity": each["origQty"],
                "executed": each["executedQty"],
                "spent": each["cummulativeQuoteQty"],
            }
            for each in told["orders"]
            if each["clientOrderId"] not in by_hand
        ]
        twice = [f"double: {name} was accepted {times} times" for name, times in told["accepted"].items() if times > 1]
        return [*judge_against(start.folder / FILE, orders), *sent_twice(self.exchange.sends()), *twice]


def cases(matrix: WireMatrix, acts: Collection[str], *, thorough: bool) -> list[WireCase]:
    """Return every label of every scene of these acts; what a process comes to for the first time before the rest.

    If not thorough, scenes that go much the same way are looked through once: a label that is not met is no run.
    """
    labels: dict[str, list[Label]] = {}
    found: list[WireCase] = []
    for scene in (each for each in scenes() if each.act in acts):
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


def chosen_cases(folder: Path, kind: str, most: int, times: int, acts: Collection[str] = ACTS) -> list[list[WireCase]]:
    """Return what is to be run, each case with others that take its place if no process comes to its label."""
    certain = [each for each in certain_cases() if each[0].scene.act in acts]
    if kind != "desk":
        return control_cases()[:most]
    if times == 1:
        return certain[:most]
    with running_exchange() as exchange:
        matrix = WireMatrix(folder, exchange, Pace(times), DESKS[kind])
        worst = certain[: most // 2]  # deaths with an order's bytes on their way are few of all
        return [*worst, *evenly(cases(matrix, acts, thorough=most >= MOST_LABELS), most - len(worst))]


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
    chosen = [*chosen_cases(folder, kind, most, times), *(certain_cases() if kind == "desk" else ())]
    found: dict[str, Any] = {}
    for matrix in run_cases(folder, kind, times, chosen):
        found = matrix.found()
        if matrix.runs >= most:
            break
    sys.stdout.write(json.dumps(found))
