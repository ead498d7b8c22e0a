"""Measure the cost of a call with 1, 2 and 4 workers on one port: a cached market page, with one Redis.

    python scripts/worker_load.py [--workers 1 2 4] [--seconds 3] [--rounds 5] [--sessions 2000]

Prints one JSON object a line, with medians of all rounds: calls a second, CPU of the workers per call, engine commands
per call, and memory. There are three kinds of callers. The first use revision 2026-07-28 and have no session. The
second have a session and use the connection that opened it. The third use another connection, possibly to another
worker.

Client, exchange and Redis run on the same machine and lower the rate. The CPU per call counts only the workers.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from statistics import median

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from support.webapp import ENVELOPE, MODERN, initialize, request  # noqa: E402 - as above
from support.workers import Surroundings, children, http_server, surroundings  # noqa: E402 - found by the line above

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
URI = "binance://market/BTCUSDT"
KINDS = ("stateless", "own session", "any session")
SETTLE_SECS = 0.7


def posted(message: dict[str, object], **headers: str) -> bytes:
    body = json.dumps(message).encode()
    given = {
        "host": "127.0.0.1",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "content-length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return b"POST /mcp HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in given.items()).encode() + b"\r\n" + body


class Line:
    """One persistent connection."""

    async def open(self, port: int) -> "Line":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def ask(self, sent: bytes) -> tuple[int, dict[str, str]]:
        self._writer.write(sent)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        if "content-length" in headers:
            await self._reader.readexactly(int(headers["content-length"]))
        else:
            while size := int(await self._reader.readline(), 16):
                await self._reader.readexactly(size + 2)
            await self._reader.readline()
        return int(status.split()[1]), headers

    def close(self) -> None:
        self._writer.close()


def cpu_secs(pids: list[int]) -> float:
    def of(pid: int) -> int:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    return sum(map(of, pids)) / TICKS


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE / 2**20


def engine_commands(around: Surroundings) -> int:
    said = around.state.command("INFO", "stats")
    return next(int(line.split(":")[1]) for line in said.splitlines() if line.startswith("total_commands_processed"))


async def questions(kind: str, lines: list[Line]) -> list[bytes]:
    if kind == "stateless":
        sent = request("resources/read", {"uri": URI, "_meta": ENVELOPE})
        named = {"mcp_protocol_version": MODERN, "mcp_method": "resources/read", "mcp_name": URI}
        return [posted(sent, **named)] * len(lines)
    opened = [(await line.ask(posted(initialize())))[1]["mcp-session-id"] for line in lines]
    places = range(len(lines)) if kind == "own session" else range(1, len(lines) + 1)
    return [
        posted(request("resources/read", {"uri": URI}), mcp_session_id=opened[place % len(lines)]) for place in places
    ]


async def load(
    around: Surroundings, port: int, pids: list[int], kind: str, given: argparse.Namespace
) -> dict[str, float]:
    lines = [await Line().open(port) for _ in range(given.connections)]
    asked = await questions(kind, lines)
    answered: Counter[int] = Counter()

    async def call(line: Line, sent: bytes, until: float) -> None:
        while time.perf_counter() < until:
            status, _ = await line.ask(sent)
            answered[status] += 1

    async def all_call(seconds: float) -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(call(line, sent, until) for line, sent in zip(lines, asked, strict=True)))

    await all_call(SETTLE_SECS)
    answered.clear()
    cpu, wall, commands = cpu_secs(pids), time.perf_counter(), engine_commands(around)
    await all_call(given.seconds)
    cpu, wall = cpu_secs(pids) - cpu, time.perf_counter() - wall
    commands = engine_commands(around) - commands
    for line in lines:
        line.close()
    calls = answered.total()
    return {
        "calls_a_second": round(calls / wall),
        "cpu_ms_a_call": round(1000 * cpu / calls, 3),
        "engine_commands_a_call": round(commands / calls, 2),
        "failed": calls - answered[200],
    }


async def session_kib(port: int, pid: int, sessions: int) -> float:
    """Open sessions on one worker. Return the memory of each session in KiB."""
    line = await Line().open(port)
    for _ in range(100):
        await line.ask(posted(initialize()))
    before = resident_mib(pid)
    for _ in range(sessions):
        status, _ = await line.ask(posted(initialize()))
        if status != 200:
            raise SystemExit(f"a session was refused with {status}")
    line.close()
    return 1024 * (resident_mib(pid) - before) / sessions


def measured(around: Surroundings, given: argparse.Namespace) -> None:
    """Load each number of workers in turn, in several rounds, because the machine's other load varies."""
    with ExitStack() as stack:
        crews: dict[int, tuple[int, list[int]]] = {}
        for workers in given.workers:
            started = http_server(around, "--workers", str(workers), MCP_BINANCE_SESSION_CAP="100000")
            process, port = stack.enter_context(started)
            crews[workers] = (port, children(process.pid) or [process.pid])
        for kind in KINDS:
            rounds: dict[int, list[dict[str, float]]] = {workers: [] for workers in crews}
            for _ in range(given.rounds):
                for workers, (port, pids) in crews.items():
                    rounds[workers].append(asyncio.run(load(around, port, pids, kind, given)))
            for workers, found in rounds.items():
                middle = {name: round(median(each[name] for each in found), 3) for name in found[0]}
                print(json.dumps({"callers": kind, "workers": workers, **middle}), flush=True)
        for workers, (port, pids) in crews.items():
            memory: dict[str, object] = {"workers": workers, "resident_mib": [round(resident_mib(pid)) for pid in pids]}
            if workers == 1:
                memory["session_kib"] = round(asyncio.run(session_kib(port, pids[0], given.sessions)), 1)
            print(json.dumps(memory), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options.add_argument("--seconds", type=float, default=3, help="seconds of each round")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--connections", type=int, default=16)
    options.add_argument("--sessions", type=int, default=2_000)
    given = options.parse_args()
    with surroundings() as around:
        measured(around, given)


if __name__ == "__main__":
    main()
