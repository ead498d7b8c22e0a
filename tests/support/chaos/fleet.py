"""The fleet under test: workers behind one port, a real Redis, and the exchange, each a process that can be harmed."""

import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx2

from mcp_binance_server.clock import SystemClock
from support.chaos.exchange import PROGRAM
from support.chaos.past import Past
from support.chaos.tally import Tally
from support.process import Process
from support.state_server import StateServer
from support.workers import PATIENCE_SECS, children, port_of

CLOCK = SystemClock()
LOOK_MS = 200
TESTS = Path(__file__).parents[2]


@dataclass
class HarmedFleet:
    """What is running, where, and which of its processes have died."""

    process: Process
    port: int
    workers: int
    exchange: Process
    control: httpx2.AsyncClient
    state: StateServer
    folder: Path
    past: Past
    tally: Tally
    replicas: int = 0
    skew_ms: int = 0
    ended: set[int] = field(default_factory=set[int])
    _pids: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def pids(self) -> dict[int, int]:
        """Return the process of each worker."""
        found: dict[int, int] = {}
        for pid in children(self.process.pid):
            try:
                told = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
            except FileNotFoundError:
                continue
            if number := re.search(r'"number":(\d+)', told):
                found[int(number[1])] = pid
        return found

    async def watch(self) -> None:
        """Note whenever a worker's place is taken by another process."""
        self._pids = self.pids()
        while True:
            await CLOCK.sleep_ms(LOOK_MS)
            now = self.pids()
            for number, pid in self._pids.items():
                if now.get(number) != pid:
                    why = "harmed" if pid in self.ended else ""
                    self.tally.deaths.append((number, CLOCK.monotonic_ms(), why))
            # One that has gone and has no successor yet must not be noted again.
            self._pids = now

    def end(self, number: int, signal: int) -> None:
        """Send a worker a signal that it will not survive."""
        pid = self.pids()[number]
        self.ended.add(pid)
        self.tally.deaths.append((number, CLOCK.monotonic_ms(), "harmed"))
        os.kill(pid, signal)

    async def whole(self) -> None:
        """Wait until every worker serves."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=PATIENCE_SECS) as http:
            with anyio.fail_after(PATIENCE_SECS):
                while True:
                    try:
                        figures = (await http.get("/metrics", headers={"connection": "close"})).text
                    except httpx2.TransportError:
                        figures = ""
                    if len(set(re.findall(r'worker="(\d+)"', figures))) == self.workers:
                        return
                    await CLOCK.sleep_ms(LOOK_MS)

    async def order(self, method: str, path: str, **body: object) -> None:
        """Tell the exchange what to do."""
        answer = await self.control.request(method, f"/control/{path}", json=body or None)
        answer.raise_for_status()


@asynccontextmanager
async def harmed_fleet(workers: int, clients: int) -> AsyncGenerator[HarmedFleet]:
    """Start everything; at the end everything is ended, and the server must have ended well."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        state = StateServer(folder)
        stack.callback(state.stop)
        exchange = stack.enter_context(Process(code=PROGRAM, environment={"PYTHONPATH": str(TESTS)}))
        stack.callback(exchange.kill)
        told = json.loads(exchange.line())
        host, futures = told["host"], told["futures"]
        environment = {
            "BINANCE_REST_URL": f"http://{host}",
            "BINANCE_STREAM_URL": f"ws://{host}",
            "BINANCE_FUTURES_REST_URL": f"http://{futures}",
            "BINANCE_FUTURES_STREAM_URL": f"ws://{futures}",
            "MCP_BINANCE_STATE_URL": state.tcp_url,
            "MCP_BINANCE_SESSION_CAP": str(4 * clients + 50),
            "MCP_BINANCE_SESSION_IDLE_SECS": "60",
            "MCP_BINANCE_LOG_LEVEL": "WARNING",
        }
        arguments = ("--http", "--port", "0", "--workers", str(workers))
        process = stack.enter_context(Process(*arguments, environment=environment))
        stack.callback(lambda: process.is_running and process.terminate())
        port = port_of(process)
        # An exchange that wakes closes what was idle while it slept: each order has a connection of its own.
        limits = httpx2.Limits(max_keepalive_connections=0)
        control = httpx2.AsyncClient(base_url=f"http://{host}", timeout=PATIENCE_SECS, limits=limits)
        fleet = HarmedFleet(process, port, workers, exchange, control, state, folder, Past(), Tally())
        async with control:
            yield fleet
        fleet.state.stop()
        assert process.terminate() == 0
        said = process.errors.read_text()
        assert "Traceback" not in said, said[-3_000:]
