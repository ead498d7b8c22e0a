"""Four workers, one state and one exchange: killed at every label, the state emptied or paused, a stop in a race."""

import gc
import json
import os
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, Literal, get_args

# Whatever a process imports at its start is imported before it is forked.
import anyio._backends._asyncio  # noqa: F401 # pyright: ignore[reportUnusedImport]

import mcp_binance_server.state.redis.engine  # noqa: F401 # pyright: ignore[reportUnusedImport]
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.journal.store import FILE
from support.repeating import print_run_command
from support.state_server import StateServer, state_server
from trading.fleet.members import (
    COUNTED,
    FITTING,
    NARROW,
    WIDE,
    Member,
    Unshared,
    answering,
    order,
    placing,
    read_claim,
    start_of,
)
from trading.judging import sent_twice
from trading.labels import Label
from trading.wire.exchange_process import SEED, ExchangeProcess, running_exchange
from trading.wire.wire_world import ACCOUNT, FINAL_SECS, SYMBOL, Start

Rounds = Callable[[int], list[NewIntent]]
Race = Literal["undisturbed", "flushed", "paused", "killed", "stopped"]
LEDGERS: dict[str, type[FleetLedger]] = {"shared": FleetLedger, "unshared": Unshared}
WORKERS, TRIES, PAUSED_SECS, STOP_MS = 4, 6, 1.0, 1_000
# The one that dies mostly claims first, and comes to its end alone; in every fourth run all come at once.
HEAD_START_MS, EVENLY = 1_500, 4
# What a worker comes to depends on who was faster: so many tell, the first ones alone.
TELLERS = 3
PROGRESS_SECS = 60.0
VALUE = "{mcp-binance}:value:"
CLAIMS = "{mcp-binance}:claims:" + ACCOUNT
UNRESOLVED = {"PREPARED", "SENT", "UNKNOWN"}
STANDING = {"ACKED", "ADOPTED"}


@dataclass
class FleetMatrix:
    """Runs with one exchange and one state, and what was found wrong."""

    folder: Path
    exchange: ExchangeProcess
    state: StateServer
    ledger: type[FleetLedger] = FleetLedger
    runs: int = 0
    labels: int = 0
    """How many there are, by their names."""
    missed: int = 0
    killed_at: Counter[str] = field(default_factory=Counter[str])
    ended: Counter[str] = field(default_factory=Counter[str])
    latest_ms: int = 0
    """How long after a stop the last order was accepted."""
    exact: int = 0
    """Races in which a limit was used up to the last order, and not beyond."""
    wrong: list[str] = field(default_factory=list[str])
    _told: float = 0

    def race(self, kind: Race) -> None:
        """Let four workers use a limit up while something happens; in the end it is used up exactly, or less."""
        self._progress(f"a race, {kind}")
        self._empty()
        middle, own = self.exchange.middle(SYMBOL), self._folder()
        members: list[Member] = []
        for number in range(WORKERS):
            orders = [order(number * TRIES + each, middle) for each in range(TRIES)]
            stops_after = 1 if kind == "stopped" and number == 0 else None
            start = start_of(own / str(number), self.exchange.address, self.state.url, NARROW, self.ledger)
            members.append(Member.forked(start, placing(orders, NARROW, stops_after=stops_after)))
        for each in members:
            each.until("ready")
        self._say("go")
        told = [members[0].line()]
        self._disturb(kind, members)
        told += [line for each in members for line in each.until("done")]
        self.runs += 1
        self.ended.update(f"{kind}: {line.split()[1] if ' ' in line else line}" for line in told)
        self._settled([order(each, middle).preview_id for each in range(WORKERS * TRIES)], kind)
        self._judge_race(kind, told)
        for each in members:
            each.end()

    def kills(self, most: int) -> None:
        """Kill one worker at label after label while all four are asked for the same orders."""
        self._empty()
        own, middle = self._folder(), self.exchange.middle(SYMBOL)

        def rounds(number: int) -> list[NewIntent]:
            return [order(2 * number, middle), order(2 * number + 1, middle, "SELL")]

        starts = [
            start_of(own / str(each), self.exchange.address, self.state.url, WIDE, self.ledger)
            for each in range(WORKERS)
        ]
        others = [Member.forked(each, answering(rounds)) for each in starts[1:]]
        for each in others:
            each.until("ready")
        labels = self._labels(starts[0], rounds, others)
        self.labels = len({each.name for each in labels})
        numbers = count(TELLERS)
        for run, label in enumerate(chosen(labels, most), 1):
            self._progress(f"kill {run} of {most}")
            # A label that it does not come to in one way it may come to in the other.
            ways = (HEAD_START_MS, 0) if run % EVENLY else (0, HEAD_START_MS)
            is_dead = any(self._kill(label, starts[0], others, rounds, next(numbers), way_ms) for way_ms in ways)
            self.runs, self.missed = self.runs + is_dead, self.missed + (not is_dead)
            self.killed_at.update([label.name] if is_dead else [])
        self._last(starts[0], rounds, others)
        for each in range(WORKERS):
            self._judge_journal(own / str(each) / FILE)

    def _kill(  # noqa: PLR0917 - one run
        self, label: Label, start: Start, others: list[Member], rounds: Rounds, number: int, head_start_ms: int
    ) -> bool:
        """Ask all workers for the orders of a round, of whom one dies at a label; tell whether it came to that."""
        victim = Member.forked(start, answering(rounds, is_first=True), label)
        victim.until("ready")
        self._say("round", f"{number} {head_start_ms}")
        gone = [each for each in others if "gone" in each.until(f"done {number}")]
        self.wrong += [f"{label}: a worker that lived on is gone" for _ in gone]
        is_dead = self._is_dead(victim)
        self._settled([each.preview_id for each in rounds(number)], str(label))
        self._judge_orders(str(label), rounds(number))
        return is_dead

    def found(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "missed": self.missed,
            "kills": sum(self.killed_at.values()),
            "labels": self.labels,
            "labels_met": len(self.killed_at),
            "exact_limits": self.exact,
            "killed_at": self.killed_at,
            "ended": self.ended,
            "latest_ms": self.latest_ms,
            "wrong": self.wrong,
        }

    def _labels(self, start: Start, rounds: Rounds, others: list[Member]) -> list[Label]:
        """Return every label that a worker comes to with a round, each name at its first time, then at later ones."""
        found = set[Label]()
        for number in range(TELLERS):
            teller = Member.forked(start, answering(rounds, is_first=True), tells=True)
            teller.until("ready")
            self._say("round", f"{number} {0 if number == TELLERS - 1 else HEAD_START_MS}")
            for each in others:
                each.until(f"done {number}")
            told = [line.removeprefix("label ") for line in teller.until(f"done {number}") if line.startswith("label ")]
            teller.end()
            times = Counter[str]()
            for name in told:
                found.add(Label(name, times[name]))
                times[name] += 1
        return sorted(found, key=lambda each: (each.time, each.name))

    def _last(self, start: Start, rounds: Rounds, others: list[Member]) -> None:
        """Start the killed one once more: its journal must come to agree as well."""
        last = Member.forked(start, answering(rounds))
        if "gone" in last.until("ready"):
            self.wrong.append("the last start did not come about")
        time.sleep(1)  # noqa: TID251 - workers tell each other in real time
        for each in (last, *others):
            each.end()

    def _disturb(self, kind: Race, members: list[Member]) -> None:
        match kind:
            case "flushed":
                self.state.command("FLUSHALL")
                self._say("go")
            case "paused":
                self.state.freeze()
                time.sleep(PAUSED_SECS)  # noqa: TID251 - a server that stands still does so in real time
                self.state.thaw()
            case "killed":
                os.kill(members[-1].pid, signal.SIGKILL)
            case _:
                pass

    def _is_dead(self, victim: Member) -> bool:
        pid, status = os.waitpid(victim.pid, os.WNOHANG)
        if pid == 0:
            victim.end()
            return False
        os.close(victim.pipe)
        return os.WIFSIGNALED(status)

    def _progress(self, doing: str) -> None:
        """Say once a minute, to whoever waits, how it stands."""
        now = time.monotonic()  # noqa: TID251 - who waits does so in real time
        if now - self._told >= PROGRESS_SECS:
            self._told = now
            met = f"{len(self.killed_at)} of {self.labels} labels met, {self.missed} tries came to none"
            sys.stderr.write(f"{doing}; {self.runs} runs, {met}, {len(self.wrong)} wrong\n")
            sys.stderr.flush()

    def _settled(self, previews: list[str], at: str) -> None:
        """Wait until all claims of these orders have an end, whoever finds it."""
        until = time.monotonic() + FINAL_SECS  # noqa: TID251 - processes settle in real time
        left = previews
        while left and time.monotonic() < until:  # noqa: TID251 - likewise
            left = [each for each in left if self._claim(each).get("state", "") in UNRESOLVED]
            time.sleep(0.02)  # noqa: TID251 - likewise
        self.wrong += [f"{at}: {each} has no end: {self._claim(each)}" for each in left]

    def _judge_race(self, kind: Race, told: list[str]) -> None:
        orders = self.exchange.orders()
        accepted = sum(orders["accepted"].values())
        used = int(self.state.command("HGET", f"{CLAIMS}:used", f"{self._day()}:per_day").partition("\r\n")[2] or 0)
        is_exact = kind in ("undisturbed", "flushed", "paused")
        # What was not found keeps its part of a limit: nobody can say for sure that it never was.
        unfound = told.count("placed NOT_PLACED")
        self.exact += is_exact and accepted + unfound == FITTING
        if accepted > FITTING or (is_exact and accepted + unfound != FITTING):
            self.wrong.append(f"{kind}: {accepted} orders and {unfound} not found, {FITTING} fit")
        if not accepted * COUNTED <= used <= FITTING * COUNTED:
            self.wrong.append(f"{kind}: {used} counted for {accepted} orders")
        stops = [int(line.split()[1]) for line in told if line.startswith("stopped ")]
        for stop_ms in stops:
            late = [each["time"] - stop_ms for each in orders["orders"] if each["time"] > stop_ms]
            self.latest_ms = max(self.latest_ms, *late, 0)
            self.wrong += [f"an order {each} ms after a stop" for each in late if each > STOP_MS]
        if kind == "stopped" and not (stops and "placed stopped" in told):
            self.wrong.append(f"nothing was stopped: {told}")
        self._judge_doubles(kind)

    def _judge_orders(self, at: str, orders: list[NewIntent]) -> None:
        accepted = self.exchange.orders()["accepted"]
        for each in orders:
            state, times = self._claim(each.preview_id).get("state", "none"), accepted.get(each.client_order_id, 0)
            self.ended[f"at a label: {state}"] += 1
            if times != (state in STANDING):
                self.wrong.append(f"{at}: {each.client_order_id} is {state}, and was accepted {times} times")
        self._judge_doubles(at)

    def _judge_doubles(self, at: str) -> None:
        accepted = self.exchange.orders()["accepted"]
        self.wrong += [f"{at}: double: {name} accepted {times} times" for name, times in accepted.items() if times > 1]
        self.wrong += [f"{at}: {each}" for each in sent_twice(self.exchange.sends())]

    def _judge_journal(self, file: Path) -> None:
        orders = {each["clientOrderId"]: each for each in self.exchange.orders()["orders"]}
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT client_order_id, state, executed FROM intent").fetchall()
        db.close()
        for name, state, executed in rows:
            there = Decimal(orders[name]["executedQty"]) if name in orders else None
            here = Decimal(executed) if state in STANDING else None
            if there != here:
                self.wrong.append(f"disagree: {name} is {state} {executed} in {file.parent.name}, {there} there")

    def _claim(self, preview_id: str) -> dict[str, str]:
        return read_claim(self.state.command("HGET", f"{CLAIMS}:value", preview_id))

    def _say(self, word: str, value: str = "1") -> None:
        self.state.command("SET", f"{VALUE}{word}", value)

    def _empty(self) -> None:
        self.exchange.anew()
        self.state.command("FLUSHALL")

    def _folder(self) -> Path:
        return self.folder / f"run{len(list(self.folder.iterdir()))}"

    def _day(self) -> int:
        return int(time.time() * 1000) // 86_400_000  # noqa: TID251 - the day of the exchange, which has this clock


def chosen(labels: list[Label], most: int) -> list[Label]:
    """Return so many labels: each name at its first time, or evenly some of them, then evenly some of later ones."""
    first, later = [each for each in labels if not each.time], [each for each in labels if each.time]
    if most <= len(first):
        return first[:: len(first) // most][:most]
    left = most - len(first)
    return first + (later[:: max(1, len(later) // left)] * (left // max(1, len(later)) + 1))[:left]


def run(folder: Path, races: tuple[Race, ...], kills: int, ledger: type[FleetLedger] = FleetLedger) -> dict[str, Any]:
    """Run so many races of each kind and so many kills, and return what was found."""
    gc.disable()  # a fork that collects copies the pages of its parent
    with state_server() as state, running_exchange() as exchange:
        matrix = FleetMatrix(folder, exchange, state, ledger)
        for kind in races:
            matrix.race(kind)
        if kills:
            matrix.kills(kills)
    return matrix.found()


def main() -> None:
    """Run it; the arguments are a folder, so many races of each kind, so many kills, and the kind of ledger."""
    folder, races, kills, ledger = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kinds: tuple[Race, ...] = get_args(Race) if ledger == "shared" else ("undisturbed",)
    found = run(folder, kinds * races, kills, LEDGERS[ledger])
    sys.stdout.write(json.dumps(found))
    if found["wrong"] and ledger == "shared":
        print_run_command(SEED, "scripts/fleet_kills", races, kills)


if __name__ == "__main__":
    main()
