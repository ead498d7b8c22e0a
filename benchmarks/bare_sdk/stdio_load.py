"""Load over stdio: raw JSON lines, one request in flight at a time."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

from measuring import INITIALIZE, INITIALIZED, SLICES, Calls, Row, Window, checked, cpu_seconds, rss_mib


class StdioSide:
    def __init__(self, name: str, command: list[str], calls: Calls) -> None:
        self.name, self.command, self.calls = name, command, calls
        self.process: subprocess.Popen[bytes] | None = None
        self.buffer = b""

    def start(self) -> None:
        self.buffer = b""
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )

    def stop(self) -> None:
        assert self.process and self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process and self.process.stdin
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(line)

    def receive(self) -> dict[str, Any]:
        """The next response; notifications are skipped."""
        assert self.process and self.process.stdout
        while True:
            while b"\n" not in self.buffer:
                chunk = os.read(self.process.stdout.fileno(), 65536)
                if not chunk:
                    raise SystemExit(f"{self.name}: the server closed its output (exit {self.process.wait()})")
                self.buffer += chunk
            line, self.buffer = self.buffer.split(b"\n", 1)
            reply = json.loads(line)
            if "method" not in reply:
                return reply

    def hello(self) -> None:
        self.send(INITIALIZE)
        checked(self.receive(), f"{self.name} initialize")

    def list_tools(self) -> None:
        self.send(INITIALIZED)
        self.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        checked(self.receive(), f"{self.name} tools/list")

    def window(self, kind: str, requests: int, *, modern: bool) -> Window:
        assert self.process
        line = json.dumps(self.calls.request(kind, 1, modern=modern)).encode() + b"\n"
        latencies: list[float] = []
        cpu, started = cpu_seconds(self.process.pid), time.perf_counter()
        for _ in range(requests):
            before = time.perf_counter()
            self.send(line)
            self.receive()
            latencies.append(time.perf_counter() - before)
        wall, cpu = time.perf_counter() - started, cpu_seconds(self.process.pid) - cpu
        return Window(latencies, wall, [cpu / requests])


def cold_start(bare: StdioSide, ours: StdioSide, times: int) -> dict[str, Any]:
    """Spawn to the reply of initialize, and to that of a tools/list sent at once after it; the sides take turns."""
    taken: dict[str, list[float]] = {}
    for _ in range(times):
        for side in (bare, ours):
            before = time.perf_counter()
            side.start()
            assert side.process
            for step, ask in (("", side.hello), ("_list", side.list_tools)):
                ask()
                taken.setdefault(f"{side.name}{step}_wall_ms", []).append(time.perf_counter() - before)
                taken.setdefault(f"{side.name}{step}_cpu_ms", []).append(cpu_seconds(side.process.pid))
            side.stop()
    return {name: min(values) * 1e3 for name, values in taken.items()}


def first_answers(bare: StdioSide, ours: StdioSide, pairs: int) -> list[dict[str, float]]:
    """CPU time from the start to the reply of initialize, in pairs; the sides take turns in going first."""
    found: list[dict[str, float]] = []
    for number in range(pairs):
        pair: dict[str, float] = {}
        for side in (bare, ours) if number % 2 == 0 else (ours, bare):
            side.start()
            side.hello()
            assert side.process
            pair[f"{side.name}_cpu_ms"] = cpu_seconds(side.process.pid) * 1e3
            side.stop()
        found.append({**pair, "ratio": pair["ours_cpu_ms"] / pair["bare_cpu_ms"]})
    return found


def run(bare: StdioSide, ours: StdioSide, eras: list[str], kinds: list[str], rounds: int, requests: int) -> list[Row]:
    rows: list[Row] = []
    for era in eras:
        modern = era == "modern"
        for side in (bare, ours):
            side.start()
            if not modern:
                side.hello()
                side.send(INITIALIZED)
        try:
            for kind in kinds:
                row = Row(f"stdio {era} {kind}")
                for side in (bare, ours):
                    side.send(side.calls.request(kind, 0, modern=modern))
                    checked(side.receive(), f"{side.name} {era} {kind}")
                    side.window(kind, min(requests, 300), modern=modern)  # warm-up
                for _ in range(rounds):
                    taken: dict[str, list[Window]] = {"bare": [], "ours": []}
                    for number in range(SLICES):
                        for side in (bare, ours) if number % 2 == 0 else (ours, bare):
                            taken[side.name].append(side.window(kind, max(1, requests // SLICES), modern=modern))
                    row.bare.append(Window.joined(taken["bare"]))
                    row.ours.append(Window.joined(taken["ours"]))
                rows.append(row)
            assert bare.process and ours.process
            print(
                f"{era}: resident memory bare {rss_mib(bare.process.pid):.0f} MiB, "
                f"ours {rss_mib(ours.process.pid):.0f} MiB"
            )
        finally:
            for side in (bare, ours):
                side.stop()
    return rows
