"""Several processes of one host and one journal: limits are exact, an intent is claimed once, a stop holds for all."""

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.journal.chain import Event, broken_link
from mcp_binance_server.trading.journal.last_written import read_last
from mcp_binance_server.trading.journal.ledger import STOP_FILE, HostLedger
from mcp_binance_server.trading.journal.owner import is_dead
from mcp_binance_server.trading.journal.store import FILE, opened_store
from mcp_binance_server.trading.journal.watching import OrderWatch
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import read_policy
from mcp_binance_server.trading.settling import Settling
from support.clock import FakeClock
from support.terms import NOW_MS, intent

pytestmark = pytest.mark.flood

PROCESSES, ROUNDS, TRIES, ALLOWED = 4, 100, 6, 10
WIDE = "[limits]\norders_per_day = 100000\norders_per_minute = 100000\nopen_orders = 100000\n"
PATIENCE_SECS = 60

Step = tuple[Literal["claim", "send", "stop", "stop by file"], int]


class Members:
    """Processes that use one journal at the same time."""

    def __init__(self, stack: ExitStack) -> None:
        # The path as a word, not as a variable: Windows starts nothing in an environment of one variable.
        program = f"import sys; sys.path[:] = {sys.path!r}; import anyio; from support.journal_member import main; "
        command = [sys.executable, "-c", f"{program}anyio.run(main)"]
        pipe = subprocess.PIPE
        self.processes = [
            stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)) for _ in range(PROCESSES)
        ]
        for process in self.processes:
            stack.callback(process.kill)

    def start(self, place: int, folder: Path, policy: str, steps: list[Step]) -> None:
        """Tell a process what to do, and do not wait for it."""
        stdin = self.processes[place].stdin
        assert stdin is not None
        stdin.write(json.dumps({"folder": str(folder), "policy": policy, "steps": steps}) + "\n")
        stdin.flush()

    def play(self, folder: Path, policy: str, *parts: list[Step]) -> list[list[str]]:
        """Let each process do its part, all at once; return how each step ended, by process."""
        for place, steps in enumerate(parts):
            self.start(place, folder, policy, steps)
        return [self.ended(place) for place in range(PROCESSES)]

    def ended(self, place: int) -> list[str]:
        stdout = self.processes[place].stdout
        assert stdout is not None
        return json.loads(stdout.readline())


@pytest.fixture(scope="module")
def members() -> Generator[Members]:
    with ExitStack() as stack:
        yield Members(stack)


def rows_of(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(folder / FILE, timeout=PATIENCE_SECS)) as db:
        return db.execute(query).fetchall()


def events_of(folder: Path) -> list[Event]:
    return [Event(*row) for row in rows_of(folder, "SELECT * FROM event ORDER BY seq")]


def claims(*numbers: int) -> list[Step]:
    return [("claim", number) for number in numbers]


def apart(count: int, first: int = 0) -> list[list[Step]]:
    """Return as many claims for each process, none of them another's."""
    return [claims(*range(first + count * each, first + count * (each + 1))) for each in range(PROCESSES)]


@pytest.mark.parametrize(
    "limit",
    [f"orders_per_day = {ALLOWED}", f"orders_per_minute = {ALLOWED}", f"open_orders = {ALLOWED}", "per_day = '600.00'"],
)
def test_of_four_processes_exactly_as_many_claims_pass_as_may(
    members: Members, tmp_path: Path, limit: str, scale: int
) -> None:
    name = limit.split(maxsplit=1)[0]
    policy = "".join(f"{line}\n" for line in WIDE.splitlines() if not line.startswith(name)) + limit
    for number in range(scale * ROUNDS // 4):
        folder = tmp_path / str(number)

        ended = Counter(each for found in members.play(folder, policy, *apart(TRIES)) for each in found)

        assert ended == {"claimed": ALLOWED, "limited": PROCESSES * TRIES - ALLOWED}
        events = events_of(folder)
        assert (len(events), broken_link(events)) == (ALLOWED, None)
        last = read_last(folder)
        assert last is not None
        assert last.hash == events[last.seq - 1].hash


def test_an_intent_that_four_want_is_claimed_once(members: Members, tmp_path: Path) -> None:
    found = members.play(tmp_path / "x", WIDE, *([claims(*range(100))] * PROCESSES))

    for ended in zip(*found, strict=True):
        assert Counter(ended) == {"claimed": 1, "found": PROCESSES - 1}


@pytest.mark.parametrize("how", ["stop", "stop by file"])
def test_after_a_stop_nothing_that_is_queued_leaves(
    members: Members, tmp_path: Path, how: Literal["stop", "stop by file"]
) -> None:
    folder = tmp_path / "x"
    queued = apart(25)
    members.play(folder, WIDE, *queued)
    sends: list[list[Step]] = [[("send", number) for _, number in own] for own in queued]
    sends[0].insert(5, (how, 0))

    found = members.play(folder, WIDE, *sends)

    assert Counter(found[0]) == {"sent": 5, "done": 1, "stopped": 20}
    events = events_of(folder)
    sent = [each for each in events if each.state == "SENT"]
    assert 5 <= len(sent) <= 80
    if how == "stop":
        states = [each.state for each in events]
        assert "SENT" not in states[states.index("STOPPED") :]
    else:
        stopped_ms = (folder / STOP_FILE).stat().st_mtime_ns // 1_000_000
        assert max(each.at_ms for each in sent) <= stopped_ms + 1_000


def test_one_that_is_killed_takes_nothing_with_it(tmp_path: Path, scale: int) -> None:
    policy = WIDE.replace("orders_per_day = 100000", "orders_per_day = 60")
    for number in range(scale):
        folder = tmp_path / str(number)
        with ExitStack() as stack:
            members = Members(stack)
            members.play(folder, policy, *apart(0))
            first, *others = apart(60)
            members.start(0, folder, policy, first)
            victim = owner_of_first_claim(folder)
            for place, steps in enumerate(others, 1):
                members.start(place, folder, policy, steps)

            members.processes[0].kill()
            ended = Counter(each for place in range(1, PROCESSES) for each in members.ended(place))

        by = Counter(owner for (owner,) in rows_of(folder, "SELECT owner FROM intent"))
        assert by[victim] + ended["claimed"] == by.total() == 60
        assert broken_link(events_of(folder)) is None
        assert anyio.run(settled, folder, policy, victim) == (by[victim], (60 - by[victim]) * 60_00)


def owner_of_first_claim(folder: Path) -> str:
    while not (found := rows_of(folder, "SELECT owner FROM intent LIMIT 1")):
        pass
    return found[0][0]


def nobody(account: str) -> Broker:
    raise AssertionError(f"{account}: what was not sent is not asked for")


async def settled(folder: Path, policy: str, dead: str) -> tuple[int, int]:
    """Close what the dead one left; return how many that were, and what is used of the day."""
    assert is_dead(folder, dead)
    async with opened_store(folder) as store:
        ledger = HostLedger(store, "me")
        settling = Settling(ledger, OrderWatch(store), nobody, FakeClock(), lambda: NOW_MS)
        await settling.left_by(lambda each: each.owner == dead)
        closed = [each for each in events_of(folder) if each.state == "NOT_SENT"]
        taken = charges(intent(0).terms, read_policy(policy.encode()), "policy")
        return len(closed), (await ledger.used("paper", taken, NOW_MS))["per_day"]
