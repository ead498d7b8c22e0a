"""Several processes of one host and one journal: limits are exact, an intent is claimed once, a stop holds for all."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.trading.journal.chain import Event, broken_link
from mcp_binance_server.trading.journal.store import FILE

pytestmark = pytest.mark.flood

PROCESSES, ROUNDS, TRIES, ALLOWED = 4, 100, 8, 10
# Each line is a round: where, which intents to claim and under which limit; the answer is how each claim ended.
MEMBER = """
import json, sys
from pathlib import Path
import anyio
from mcp_binance_server.trading.charges import charges
from mcp_binance_server.trading.journal.ledger import HostLedger, LimitPassed, TradingIsStopped
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.policy import read_policy
from support.terms import NOW_MS, intent

async def claim(ledger, number, policy):
    new = intent(number)
    try:
        _, is_new = await ledger.claim(new, charges(new.terms, policy, "policy"), NOW_MS)
    except LimitPassed:
        return "limited"
    except TradingIsStopped:
        return "stopped"
    return "claimed" if is_new else "found"

async def play(told):
    policy = read_policy(told["policy"].encode())
    async with opened_store(Path(told["folder"])) as store:
        ledger = HostLedger(store, told["name"])
        found = []
        for number in told["numbers"]:
            if number == "stop":
                await ledger.stop("a test", told["name"], NOW_MS)
            else:
                found.append(await claim(ledger, number, policy))
        return found

for line in sys.stdin:
    print(json.dumps(anyio.run(play, json.loads(line))), flush=True)
"""


class Members:
    """Processes that claim at the same time."""

    def __init__(self, stack: ExitStack) -> None:
        command = [sys.executable, "-c", MEMBER]
        pipe = subprocess.PIPE
        self.processes = [
            stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=_environment()))
            for _ in range(PROCESSES)
        ]
        for process in self.processes:
            stack.callback(process.kill)

    def play(self, folder: Path, policy: str, *numbers: list[Any]) -> list[list[str]]:
        """Let each process claim its intents, all at once; return how each claim ended, by process."""
        for index, (process, own) in enumerate(zip(self.processes, numbers, strict=True)):
            told = {"folder": str(folder), "policy": policy, "numbers": own, "name": str(index)}
            assert process.stdin is not None
            process.stdin.write(json.dumps(told) + "\n")
            process.stdin.flush()
        return [json.loads(self._line(process)) for process in self.processes]

    def _line(self, process: "subprocess.Popen[str]") -> str:
        assert process.stdout is not None
        return process.stdout.readline()


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path)}


@pytest.fixture(scope="module")
def members() -> Generator[Members]:
    with ExitStack() as stack:
        yield Members(stack)


def events_of(folder: Path) -> list[Event]:
    import sqlite3

    db = sqlite3.connect(folder / FILE)
    found = [Event(*row) for row in db.execute("SELECT * FROM event ORDER BY seq")]
    db.close()
    return found


@pytest.mark.parametrize(
    "limit",
    [f"orders_per_day = {ALLOWED}", f"orders_per_minute = {ALLOWED}", f"open_orders = {ALLOWED}", "per_day = '600.00'"],
)
def test_of_four_processes_exactly_as_many_claims_pass_as_may(members: Members, tmp_path: Path, limit: str) -> None:
    others = "".join(
        f"{name} = 100000\n"
        for name in ("orders_per_day", "orders_per_minute", "open_orders")
        if not limit.startswith(name)
    )
    for number in range(ROUNDS // 4):
        folder = tmp_path / str(number)
        tried = [[*range(TRIES * each, TRIES * (each + 1))] for each in range(PROCESSES)]

        ended = Counter(each for found in members.play(folder, f"[limits]\n{others}{limit}", *tried) for each in found)

        assert ended == {"claimed": ALLOWED, "limited": PROCESSES * TRIES - ALLOWED}
        events = events_of(folder)
        assert (len(events), broken_link(events)) == (ALLOWED, None)


def test_an_intent_that_four_want_is_claimed_once(members: Members, tmp_path: Path) -> None:
    numbers = [*range(100)]

    found = members.play(
        tmp_path / "x",
        "[limits]\norders_per_day = 100000\norders_per_minute = 100000\nopen_orders = 100000",
        *([numbers] * PROCESSES),
    )

    for ended in zip(*found, strict=True):
        assert Counter(ended) == {"claimed": 1, "found": PROCESSES - 1}


def test_a_stop_of_one_holds_for_all(members: Members, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    wide = "[limits]\norders_per_day = 100000\norders_per_minute = 100000\nopen_orders = 100000"
    members.play(folder, wide, [], [], [], [])  # so that the stop does not win by a head start
    tried: list[list[Any]] = [[*range(100 * each, 100 * (each + 1))] for each in range(PROCESSES)]
    tried[0][20] = "stop"

    members.play(folder, wide, *tried)

    states = [each.state for each in events_of(folder)]
    assert "STOPPED" in states
    assert "PREPARED" not in states[states.index("STOPPED") :]
    assert states.count("PREPARED") >= 20
