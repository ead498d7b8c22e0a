"""Orders in a journal whose power is cut at any moment; then it is opened as a start would, and compared."""

import json
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio

from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.journal.chain import all_events
from mcp_binance_server.trading.journal.integrity import examine
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.journal.store import FILE, Rows, Store, opened_store
from mcp_binance_server.trading.journal.watching import OrderWatch
from mcp_binance_server.trading.judgement.charges import Charge, charges
from mcp_binance_server.trading.judgement.policy import Policy
from support.terms import NOW_MS, intent, reported
from trading.journal.recorded_disk import Recording, Tree, mark, recorded

WHERE = Path("state/trading")
JOURNAL = f"{WHERE}/{FILE}-journal"
# How a file begins that holds what must be undone: https://www.sqlite.org/fileformat2.html#rollbackjournal
UNDO = bytes.fromhex("d9d505f920a163d7")
ORDERS = 12
CUTS_EACH = 25
ENDS = ("filled", "in part", "cancelled", "rejected", "unknown", "left")


@dataclass(frozen=True)
class Moment:
    """What a journal holds at one moment: its events, all that stands in it, and why trading is stopped."""

    events: list[str]
    tables: dict[str, Any]
    stopped: str | None

    @property
    def sent(self) -> set[str]:
        states = {name: state for name, state, *_ in self.tables["intent"]}
        return {name for name, state in states.items() if state not in ("PREPARED", "NOT_SENT")}


def taken_by(new: NewIntent) -> tuple[Charge, ...]:
    """Return what an order takes of the limits that are counted on the disk."""
    return tuple(each for each in charges(new.terms, Policy(), new.way) if each.span == "day")


async def looked_at(store: Store) -> Moment:
    def work(rows: Rows) -> tuple[list[str], dict[str, Any]]:
        tables = {
            "intent": "SELECT client_order_id, state, status, executed, final_ms FROM intent ORDER BY 1",
            "used": "SELECT account, name, day, amount FROM used ORDER BY 1, 2, 3",
            "stop": "SELECT account, why FROM account_stop ORDER BY account",
        }
        return [each.hash for each in all_events(rows)], {name: [*rows.execute(q)] for name, q in tables.items()}

    events, tables = await store.read(work)
    stopped = await HostLedger(store, "").stopped()
    return Moment(events, tables, None if stopped is None else stopped.why)


@dataclass
class Trading:
    """Two servers on one journal; after each step a mark says that whoever asked was told it is done."""

    stores: tuple[Store, ...]
    moments: list[Moment]
    chance: Random

    async def step(self, work: Callable[[HostLedger], Awaitable[object]]) -> None:
        store = self.chance.choice(self.stores)
        await work(HostLedger(store, "me"))
        self.moments.append(await looked_at(store))
        mark(str(len(self.moments) - 1))

    async def order(self, number: int) -> None:
        new, end = intent(number), self.chance.choice(ENDS)
        await self.step(lambda ledger: ledger.claim(new, taken_by(new), NOW_MS + number))
        await self.step(lambda ledger: ledger.mark_sent(new.preview_id, NOW_MS + number))
        match end:
            case "rejected":
                await self.step(lambda ledger: ledger.move(new.preview_id, "REJECTED", {"code": -2010}, NOW_MS))
            case "unknown":
                await self.step(lambda ledger: ledger.move(new.preview_id, "UNKNOWN", {"reason": "cut"}, NOW_MS))
            case "left":
                pass
            case _:
                await self.step(lambda ledger: ledger.move(new.preview_id, "ACKED", {}, NOW_MS))
                executed = {"filled": "0.001", "in part": "0.0004"}.get(end, "0")
                status = {"filled": "FILLED", "in part": "PARTIALLY_FILLED"}.get(end, "NEW")
                await self.step(lambda ledger: ledger.follow(new.preview_id, reported(status, executed), NOW_MS))
        if end == "cancelled":
            order = reported("CANCELED", "0")
            await self.step(lambda ledger: OrderWatch(ledger.store).ask_to_cancel(new.preview_id, "me", "me", NOW_MS))
            await self.step(
                lambda ledger: OrderWatch(ledger.store).end_cancel(new.preview_id, "CANCELLED", {}, NOW_MS, order)
            )

    async def stop(self) -> None:
        await self.step(lambda ledger: ledger.stop("a person said so", "a person", NOW_MS))
        await self.step(lambda ledger: ledger.resume("a person", NOW_MS))


@asynccontextmanager
async def opened(folder: Path, pragma: str) -> AsyncGenerator[tuple[Store, ...]]:
    async with opened_store(folder) as one, opened_store(folder) as other:
        for each in (one, other):
            each.db.execute(f"PRAGMA {pragma}")
        yield one, other


async def traded(folder: Path, pragma: str, chance: Random, *, restored: bool) -> tuple[Recording, list[Moment]]:
    """Record a first start and its orders; or those after an older copy was put back and a person took it as it is."""
    where = folder / WHERE
    if restored:
        async with opened_store(where) as store:
            await HostLedger(store, "me").claim(intent(900), (), NOW_MS)
            shutil.copy(where / FILE, folder / "copy")
            await HostLedger(store, "me").claim(intent(901), (), NOW_MS)
        (folder / "copy").replace(where / FILE)
    with recorded(folder) as played:
        async with opened(where, pragma) as stores:
            trading = Trading(stores, [await looked_at(stores[0])], chance)
            mark("0")
            if restored:
                await trading.step(lambda ledger: ledger.resume("a person", NOW_MS))
            for number in range(ORDERS):
                await trading.order(number)
                if number == ORDERS // 2:
                    await trading.stop()
        recording = played()
    whole = recording.cut(len(recording.changes), Kind())
    assert whole.shown() == Tree.of(folder).shown(), "the recorder has missed something"
    return recording, trading.moments


class Kind(Random):
    """The chance that everything is there."""

    def random(self) -> float:
        return 0.0

    def choice(self, seq: Any) -> Any:  # noqa: ANN401 - as it is declared there
        return seq[-1]


@dataclass
class Cuts:
    """What was found after so many cuts."""

    folder: Path
    runs: int = 0
    half_written: int = 0
    """How many were found in the middle of a transaction: the next start undid what there was of it."""
    cut_twice: int = 0
    wrong: list[str] = field(default_factory=list[str])

    async def cut(self, recording: Recording, moments: list[Moment], part: int, chance: Random, name: str) -> None:
        """Cut the power in a part of the time, and perhaps once more while a start puts things right; judge it."""
        moment = 1 + int((part + chance.random()) / CUTS_EACH * len(recording.changes))
        marks = [int(each.name) for each in recording.changes[:moment] if each.what == "!"]
        # Where nothing was told yet, a start may find anything from nothing on.
        told = moments[marks[-1]] if marks else Moment([], {"intent": [], "used": [], "stop": []}, None)
        after = moments[min(marks[-1] + 1, len(moments) - 1)] if marks else moments[0]
        tree, found = recording.cut(moment, chance), self.folder / "found"
        again = self._fresh("again")
        tree.put(again)
        with recorded(again) as played:
            with suppress(AppError):  # that is for the judge to say
                await self._start(again)
            second = played()
        if chance.random() < 0.75 and any(each.what == "w" for each in second.changes):
            self.cut_twice += 1
            tree = second.cut(chance.randrange(len(second.changes) + 1), chance)
        tree.put(self._fresh("found"))
        self.runs += 1
        self.half_written += tree.shown().get(JOURNAL, b"").startswith(UNDO)
        self.wrong += [f"{name}, before change {moment}: {each}" for each in await self._judged(found, told, after)]

    async def _start(self, folder: Path) -> None:
        async with opened_store(folder / WHERE) as store:
            await HostLedger(store, "me").stopped()

    async def _judged(self, folder: Path, told: Moment, after: Moment) -> list[str]:
        try:
            async with opened_store(folder / WHERE) as store:
                whole, found = await examine(store), await looked_at(store)
                wrong = [] if found.stopped else await self._taken_again(store)
        except AppError as error:
            return [f"it does not open: {error.message}"]
        lost = sorted(told.sent - found.sent)
        wrong += [f"SENT is missing: {each}" for each in lost]
        if found.tables not in (told.tables, after.tables) or found.events not in (told.events, after.events):
            wrong.append(f"{len(found.events)} events, {len(told.events)} were told and {len(after.events)} begun")
        if found.stopped not in (told.stopped, after.stopped):
            wrong.append(f"stopped: {found.stopped}")
        return [*wrong, *(each for each in whole.problems if told.stopped is None)]

    async def _taken_again(self, store: Store) -> list[str]:
        new = intent(999)
        await HostLedger(store, "me").claim(new, taken_by(new), NOW_MS)
        return [f"afterwards: {each}" for each in (await examine(store)).problems]

    def _fresh(self, name: str) -> Path:
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return self.folder / name


async def cut_often(folder: Path, pragma: str, runs: int) -> Cuts:
    cuts = Cuts(folder)
    for seed in range(-(-runs // CUTS_EACH)):
        made = folder / f"made {seed}"
        made.mkdir(mode=0o700)
        recording, moments = await traded(made, pragma, Random(seed), restored=seed % 4 == 1)
        for number in range(min(CUTS_EACH, runs - cuts.runs)):
            chance = Random(seed * 1_000 + number)
            await cuts.cut(recording, moments, number, chance, f"disk {seed}.{number}")
        shutil.rmtree(made)
    return cuts


def main() -> None:
    """The arguments are a folder, how the journal is kept, and how often the power is cut."""
    cuts = anyio.run(cut_often, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    told = {name: getattr(cuts, name) for name in ("runs", "half_written", "cut_twice", "wrong")}
    sys.stdout.write(json.dumps(told))
