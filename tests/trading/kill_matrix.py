"""Every way of an order, killed at every label, then recovered and asked for once more: what was found wrong."""

import gc
import json
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

# Whatever a process imports at its start is imported before it is forked.
import anyio._backends._asyncio  # noqa: F401 # pyright: ignore[reportUnusedImport]

from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.journal.at_risk import at_risk
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.store import FILE
from trading.judging import doubles, judge
from trading.killing import DESKS, PAIR, SENDS, START, SYMBOL, Act, Life, Wish, World
from trading.labels import Label


async def recover(world: World) -> None:
    await world.desk.ready()


def placing(wish: Wish) -> Act:
    async def act(world: World) -> None:
        await recover(world)
        await world.place(wish)

    return act


def cancelling(wish: Wish) -> Act:
    async def act(world: World) -> None:
        await recover(world)
        await world.cancel(wish)

    return act


# What a process leaves that dies on the way, by the label at which it does.
SINGLES: tuple[Wish, ...] = ("taken", "rests", "refused", "would_take", "trails")
LISTS: tuple[Wish, ...] = ("OTOCO", "OPOCO", "OCO", "OTO", "OPO", "refused list")
CHANGES: tuple[Wish, ...] = ("instead", "more instead", "smaller")
SALES: tuple[Wish, ...] = ("part", "whole", "too dear", "nearer")
CANCEL, CANCEL_LIST = cancelling("rests"), cancelling("resting list")
LEFT: dict[str, tuple[Act, str]] = {
    "prepared": (placing("taken"), "call journal/ledger.py:HostLedger.mark_sent"),
    "sent": (placing("taken"), "call paper/exchange.py:PaperExchange.accept"),
    "accepted": (placing("rests"), "call paper/broker.py:PaperBroker._arrived"),
    "stop accepted": (placing("trails"), "call paper/broker.py:PaperBroker._arrived"),
    "matched": (placing("taken"), "call paper/broker.py:_outcome"),
    "cancel asked": (CANCEL, "call paper/exchange.py:PaperExchange.cancel"),
    "cancelled": (CANCEL, "call journal/watching.py:OrderWatch.end_cancel"),
    "list accepted": (placing("OPOCO"), "call paper/broker.py:PaperBroker._arrived"),
    "list matched": (placing("OTOCO"), "call paper/broker.py:_outcome"),
    "replaced": (placing("instead"), "call paper/broker.py:PaperBroker._arrived"),
    "gone": (placing("more instead"), "return paper/broker.py:PaperBroker._replace"),
    "smaller": (placing("smaller"), "return paper/broker.py:PaperBroker._amend"),
    "list cancelled": (CANCEL_LIST, "call journal/watching.py:OrderWatch.end_cancel"),
    "pair gone": (placing("part"), "call journal/watching.py:OrderWatch.end_cancel"),
    "pair gone, none sold": (placing("part"), "call desk.py:Desk._sent"),
    "part sold": (placing("part"), "call releasing.py:ReleasingSales._protect"),
    "rest claimed": (placing("part"), "return releasing.py:ReleasingSales._is_placed"),
}
# What must stand before it.
STANDS: dict[str, Wish] = dict.fromkeys(("cancel asked", "cancelled", "replaced", "gone", "smaller"), "rests")
STANDS["list cancelled"] = "resting list"
STANDS.update(dict.fromkeys(("pair gone", "pair gone, none sold", "part sold", "rest claimed"), "OCO"))
# Free coins of a folder that begins with the pair.
FREE = START["AB"] - 3


@dataclass(frozen=True)
class Scene:
    """What a process does when it dies, from what it found, and what the client asks for once more afterwards."""

    group: str
    name: str
    found: Path
    act: Act
    again: Act


@dataclass(frozen=True)
class Case:
    """One scene, killed at one label."""

    scene: Scene
    label: Label


@dataclass
class Matrix:
    """Runs cases of one kind of desk, one after the other."""

    folder: Path
    desk: type[Desk]
    group: str = ""
    """The only group of scenes that is run; "" for all."""
    killed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    runs: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def scenes(self) -> Iterator[Scene]:
        """Make the folders that scenes begin with, and return what is done in each."""
        begun: dict[Wish | None, Path] = {None: self._folder("empty")}
        Life(begun[None], Desk, recover, 0).live()
        for wish in ("rests", "resting list", "OCO"):
            begun[wish] = self._folder(f"begun with {wish}")
            Life(begun[wish], Desk, placing(wish), 0).live()
        for wish in SINGLES:
            yield Scene("place", wish, begun[None], placing(wish), placing(wish))
        for wish in LISTS:
            yield Scene("list", wish, begun[None], placing(wish), placing(wish))
        for wish in CHANGES:
            yield Scene("change", wish, begun["rests"], placing(wish), placing(wish))
        for wish in SALES:
            yield Scene("sale", wish, begun["OCO"], placing(wish), placing(wish))
        yield Scene("cancel", "rests", begun["rests"], CANCEL, CANCEL)
        yield Scene("cancel list", "resting list", begun["resting list"], CANCEL_LIST, CANCEL_LIST)
        for name, (act, last) in LEFT.items():
            left = self.folder / name
            shutil.copytree(begun[STANDS.get(name)], left)
            Life(left, Desk, act, 1, Label(last)).live()
            yield Scene("recover", name, left, recover, act)

    def cases(self) -> list[Case]:
        """Return each label of each group once, scene by scene in turn; then all others, elsewhere and later."""
        scenes = [each for each in self.scenes() if self.group in ("", each.group)]
        found = [case for scene in scenes for case in self._labels(scene)]
        found.sort(key=lambda case: case.label.time)
        same: dict[tuple[str, str], list[Case]] = {}
        for case in found:
            same.setdefault(_key(case), []).append(case)
        firsts = [[each for each in cases if each.label.time == cases[0].label.time] for cases in same.values()]
        first = [cases[turn % len(cases)] for turn, cases in enumerate(firsts)]
        chosen = {id(case) for case in first}
        return first + [case for case in found if id(case) not in chosen]

    def run(self, case: Case) -> None:
        """Kill a process at the label, start another, have the client ask once more; judge before and after that."""
        scene, folder = case.scene, self._copy(case.scene.found)

        async def come_back(world: World) -> None:
            await recover(world)
            for each in self._judged(folder):
                world.tell(f"recovered, {each}")
            if scene.group == "sale" or STANDS.get(scene.name) == "OCO":
                await warned(world)
            await scene.again(world)

        self.runs += 1
        Life(folder, self.desk, scene.act, 2, case.label).live()
        self.killed.add(_key(case))
        found = Life(folder, self.desk, come_back, 4).live() + self._judged(folder)
        self.wrong += [f"{scene.group} {scene.name} {case.label}: {each}" for each in found]

    def _labels(self, scene: Scene) -> Iterator[Case]:
        times = Counter[str]()
        for name in Life(self._copy(scene.found), self.desk, scene.act, 2, tells=True).live():
            yield Case(scene, Label(name, times[name]))
            times[name] += 1

    def _judged(self, folder: Path) -> list[str]:
        return judge(folder / FILE, START, {SYMBOL: (PAIR.base, PAIR.quote)}) + doubles(folder / SENDS)

    def _folder(self, name: str) -> Path:
        made = self.folder / name
        made.mkdir(mode=0o700)
        return made

    def _copy(self, found: Path) -> Path:
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(found, folder)
        return folder


def _key(case: Case) -> tuple[str, str]:
    return case.scene.group, case.label.name


async def warned(world: World) -> None:
    """Tell if other coins are without an exit than those that later answers warn about."""
    with closing(sqlite3.connect(f"file:{world.folder / FILE}?mode=ro", uri=True)) as db:
        ((free,),) = db.execute("SELECT free FROM paper_account WHERE asset='AB'").fetchall()
    found = await JournalReader(world.desk.ledger.store).failed_exits("paper")
    told = sum((at_risk(each)[0] for each in found.values()), Decimal(0))
    if told != Decimal(free) - FREE:
        world.tell(f"recovered, {Decimal(free) - FREE} have no exit, the warning is about {told}")


def main() -> None:
    """Run so many cases, or until something is wrong; the arguments are a folder, the kind of desk, and a number.

    A fourth argument is the only group of scenes that is run.
    """
    folder, kind, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    gc.disable()  # a fork that collects copies the pages of its parent
    matrix = Matrix(folder, DESKS[kind], "".join(sys.argv[4:5]))
    cases = matrix.cases()
    labels = {_key(case) for case in cases}
    # Fewer than there are labels are taken evenly from the first round; more are all of it, and what follows.
    stride = max(1, len(labels) // most)
    for case in cases[::stride][:most]:
        matrix.run(case)
        if matrix.wrong and kind != "desk":
            break
    told = {"runs": matrix.runs, "labels": len(labels), "killed": len(matrix.killed), "wrong": matrix.wrong}
    sys.stdout.write(json.dumps(told))
