"""Requests, process CPU and the A/B arithmetic shared by both load clients. Linux only (/proc)."""

from __future__ import annotations

import json
import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SLICES = 25  # each window is cut into this many slices, and the sides take turns slice by slice
MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@dataclass(frozen=True)
class Calls:
    """What one side is asked to do: the tool with its arguments, and the resource."""

    tool: str = "echo"
    arguments: dict[str, Any] = field(default_factory=lambda: {"text": "hello"})
    resource: str = "bench://static"

    def request(self, kind: str, request_id: int, *, modern: bool) -> dict[str, Any]:
        method, params, _ = self.parts(kind)
        if modern:
            params = {**params, "_meta": META}
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}

    def parts(self, kind: str) -> tuple[str, dict[str, Any], str]:
        if kind == "tool":
            return "tools/call", {"name": self.tool, "arguments": self.arguments}, self.tool
        return "resources/read", {"uri": self.resource}, self.resource


def checked(reply: dict[str, Any], what: str) -> dict[str, Any]:
    """Stop at once if a side does not really answer: a fast error is not a benchmark."""
    if "result" not in reply or reply["result"].get("isError"):
        raise SystemExit(f"{what}: not a good answer: {json.dumps(reply)[:400]}")
    return reply


def cpu_seconds(pid: int) -> float:
    """CPU time of the process and of all its living descendants (wrappers, workers), to the nanosecond.

    A process's CPU clock id is (~pid << 3) | 2 on Linux; unlike /proc/PID/stat it is not rounded to ticks,
    which is what allows short, finely interleaved slices.
    """
    total = 0.0
    for process in [pid, *descendants(pid)]:
        try:
            total += time.clock_gettime((~process << 3) | 2)
        except OSError:
            continue
    return total


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def rss_mib(pid: int) -> float:
    pages = 0
    for process in [pid, *descendants(pid)]:
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def listener_pid(port: int) -> int | None:
    """The process that listens on a local TCP port, when we may see it."""
    inodes = set[str]()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in (line.split() for line in rows):
            if row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) == port:
                inodes.add(f"socket:[{row[9]}]")
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(entry.readlink()) in inodes:
                return int(entry.parts[2])
        except OSError:
            continue
    return None


def trimmed_mean(values: list[float]) -> float:
    """Mean without the lowest and the highest fifth: bursts of other load land there, steady costs do not."""
    cut = len(values) // 5
    kept = sorted(values)[cut : len(values) - cut]
    return sum(kept) / len(kept)


@dataclass
class Window:
    """A measured stretch of one side, made of slices. ``cpu`` is seconds per request, one figure per slice."""

    latencies: list[float]
    wall: float
    cpu: list[float]  # empty when the server's process is out of sight

    @classmethod
    def joined(cls, slices: list[Window]) -> Window:
        latencies = [x for piece in slices for x in piece.latencies]
        return cls(latencies, sum(piece.wall for piece in slices), [x for piece in slices for x in piece.cpu])

    @property
    def p50(self) -> float:
        return statistics.median(self.latencies) * 1e6

    @property
    def p99(self) -> float:
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(len(self.latencies) * 0.99))] * 1e6

    @property
    def cpu_per_request(self) -> float | None:
        return trimmed_mean(self.cpu) * 1e6 if self.cpu else None

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.wall


@dataclass
class Row:
    """One case. A pair of windows is made of slices taken in turns, so each pair gives its own ratio."""

    case: str
    bare: list[Window] = field(default_factory=list[Window])
    ours: list[Window] = field(default_factory=list[Window])

    def summary(self) -> dict[str, Any]:
        whole = {"bare": Window.joined(self.bare), "ours": Window.joined(self.ours)}
        out: dict[str, Any] = {"case": self.case, "rounds": len(self.bare)}
        for name in ("cpu_per_request", "p50", "p99", "rate"):
            for side, joined in whole.items():
                out[f"{side}_{name}"] = getattr(joined, name)
        for name, label in (("cpu_per_request", "cpu_ratio"), ("p50", "p50_ratio")):
            pairs = [(getattr(b, name), getattr(o, name)) for b, o in zip(self.bare, self.ours, strict=True)]
            found = [o / b for b, o in pairs if b and o]
            out[label] = out[f"ours_{name}"] / out[f"bare_{name}"] if found else None
            out[f"{label}_range"] = [min(found), max(found)] if found else None
        return out


def show(rows: list[dict[str, Any]]) -> None:
    def cell(value: float | None, width: int, digits: int = 0) -> str:
        return f"{'n/a':>{width}}" if value is None else f"{value:>{width}.{digits}f}"

    def span(value: list[float] | None) -> str:
        return f"{'':>13}" if value is None else f" ({value[0]:.2f}-{value[1]:.2f})"

    print(f"{'case':<24}{'bare cpu':>9}{'ours cpu':>9}  {'CPU RATIO':<19}{'bare p50':>9}{'ours p50':>9}  P50 RATIO")
    for r in rows:
        print(
            f"{r['case']:<24}{cell(r['bare_cpu_per_request'], 9)}{cell(r['ours_cpu_per_request'], 9)}"
            f"  {cell(r['cpu_ratio'], 5, 2)}{span(r['cpu_ratio_range']):<14}"
            f"{cell(r['bare_p50'], 9)}{cell(r['ours_p50'], 9)}"
            f"  {cell(r['p50_ratio'], 5, 2)}{span(r['p50_ratio_range'])}"
        )
    print("us per request; ratio = ours / bare over all rounds (smallest-largest round)")
