"""Processes that match orders on paper, killed at any moment; and what their file must still add up to.

Run as a program it forks one process after the other on one file and prints what it found wrong, as JSON. Controls
break one rule each.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import WrittenOrder
from mcp_binance_server.trading.journal.store import FILE, opened_store
from mcp_binance_server.trading.paper import exchange as exchanging
from mcp_binance_server.trading.paper import matcher as matching
from mcp_binance_server.trading.paper.order import ListPart, PaperOrder
from mcp_binance_server.trading.paper.tables import PaperRow, insert_order, write_order
from trading.paper.auditing import audit
from trading.paper.generated import ARRIVAL, ShownBook
from trading.paper.member import Member


def write_order_apart(rows: sqlite3.Connection, order: PaperOrder, spent: Quantity, now_ms: int) -> None:
    """Stand in as a control: balances and fills in one transaction, the order and the tape in the next."""
    rows.execute("COMMIT")
    rows.execute("BEGIN IMMEDIATE")
    write_order(rows, order, spent, now_ms)


def insert_order_apart(
    rows: sqlite3.Connection,
    account: str,
    order: WrittenOrder,
    now_ms: int,
    arrives_ms: int,
    *,
    part: ListPart | None = None,
) -> PaperRow:
    """Stand in as a control: each order of a list in a transaction of its own."""
    made = insert_order(rows, account, order, now_ms, arrives_ms, part=part)
    rows.execute("COMMIT")
    rows.execute("BEGIN IMMEDIATE")
    return made


def _anybody(_rows: sqlite3.Connection, _token: int) -> bool:
    return True


@dataclass(frozen=True)
class Halt:
    """What befalls a process by itself: a signal, as it comes to so many statements, or to so many arrivals."""

    sign: signal.Signals
    count: int
    what: str = ""


def member(folder: Path, name: str, seed: int, halt: Halt | None) -> None:
    """Be one process until somebody kills it, or until it has come as far as it may."""

    async def run() -> None:
        async with opened_store(folder) as store:
            left = halt.count if halt else 0

            def begin(what: str) -> None:
                nonlocal left
                left -= halt is not None and what.startswith(halt.what)
                if halt is not None and left == 0:
                    left = -1
                    os.kill(os.getpid(), halt.sign)

            store.db.set_trace_callback(begin)
            await Member(store, folder, random.Random(seed), name, ShownBook(told=begin)).run()

    anyio.run(run)


def forked(folder: Path, name: str, seed: int, halt: Halt | None = None) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            member(folder, name, seed, halt)
        finally:
            os._exit(0)
    return pid


@dataclass
class Killing:
    """Processes on one file, one after the other, and how many of them were killed."""

    folder: Path
    chance: random.Random
    kills: int = 0

    def begin(self, halt: Halt | None = None) -> int:
        seed = self.chance.randrange(2**32)
        return forked(self.folder, f"m{seed:08x}", seed, halt)

    def end(self, pid: int) -> None:
        self.kills += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    def at_any_moment(self) -> None:
        pid = self.begin()
        time.sleep(self.chance.uniform(0.03, 0.3))  # noqa: TID251 - that is what any moment means
        os.kill(pid, signal.SIGKILL)
        self.end(pid)

    def at_a_statement(self) -> None:
        self.end(self.begin(Halt(signal.SIGKILL, self.chance.randint(20, 600))))

    def within_a_list(self) -> None:
        """Kill one as it writes one of several orders that are placed, or ended, together."""
        what = self.chance.choice(("INSERT INTO paper_order", "UPDATE paper_order"))
        self.end(self.begin(Halt(signal.SIGKILL, self.chance.randint(2, 12), what)))

    def after_a_sleep(self) -> None:
        """Have one sleep between a match and its writing, another take over and die, and the first go on."""
        sleeper = self.begin(Halt(signal.SIGSTOP, self.chance.randint(3, 12), ARRIVAL))
        os.waitpid(sleeper, os.WUNTRACED)
        self.end(self.begin(Halt(signal.SIGKILL, self.chance.randint(200, 400))))
        os.kill(sleeper, signal.SIGCONT)
        time.sleep(0.05)  # noqa: TID251 - it wakes in its own time
        with suppress(ProcessLookupError):
            os.kill(sleeper, signal.SIGKILL)
        self.end(sleeper)


def main(folder: Path, runs: int, seed: int, control: str) -> None:
    """Kill one process after the other until something does not add up; tell what was found."""
    if control == "split":
        matching.write_order = write_order_apart
    if control == "halves":
        exchanging.insert_order = insert_order_apart
    if control == "unfenced":
        matching.is_matcher = _anybody
    killing = Killing(folder, random.Random(seed))
    killing.end(killing.begin(Halt(signal.SIGKILL, 100)))
    ways = [killing.after_a_sleep, killing.at_any_moment, killing.at_a_statement, killing.within_a_list]
    ways = {"unfenced": ways[:1], "halves": ways[3:]}.get(control, ways)
    wrong: list[str] = []
    for run in range(runs):
        ways[run % len(ways)]()
        if wrong := audit(folder):
            break
    counts = {
        "orders": "SELECT COUNT(*) FROM paper_order",
        "lists": "SELECT COUNT(DISTINCT list_id) FROM paper_order",
        "makers": "SELECT COUNT(*) FROM paper_fill WHERE is_maker",
        "takers": "SELECT COUNT(*) FROM paper_fill WHERE NOT is_maker",
        "tokens": "SELECT token FROM paper_matcher",
    }
    with closing(sqlite3.connect(folder / FILE)) as db:
        told = {name: db.execute(query).fetchone()[0] for name, query in counts.items()}
    sys.stdout.write(json.dumps({"kills": killing.kills, "wrong": wrong[:5], **told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
