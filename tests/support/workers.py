"""Several HTTP processes behind one port, on one Redis and one simulated exchange, as an operator starts them."""

import json
import os
import re
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep  # noqa: TID251 - processes start in real time

from support.process import Process
from support.state_server import StateServer, state_server

PATIENCE_SECS = 90.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the processes share."""

    state: StateServer
    environment: dict[str, str]
    key: dict[str, str]
    """A key that the exchange knows, for a server that shall have one of its own."""


@contextmanager
def surroundings() -> Generator[Surroundings]:
    """Run a state server and an exchange."""
    with state_server() as state, Process("simulator", warm=True) as simulator:
        exchange = json.loads(simulator.line())
        try:
            yield Surroundings(
                state,
                {
                    "BINANCE_REST_URL": exchange["rest"],
                    "BINANCE_STREAM_URL": exchange["streams"],
                    "MCP_BINANCE_STATE_URL": state.url,
                    "MCP_BINANCE_SESSION_IDLE_SECS": "600",
                    "MCP_BINANCE_LOG_LEVEL": "WARNING",
                },
                {"BINANCE_API_KEY": exchange["api_key"], "BINANCE_SECRET_KEY": exchange["secret_key"]},
            )
        finally:
            simulator.terminate()


@contextmanager
def http_server(around: Surroundings, *arguments: str, **settings: str) -> Generator[tuple[Process, int]]:
    """Start the command and return it with its port once it listens; afterwards it is ended."""
    with Process(
        "--http", "--port", "0", *arguments, environment={**around.environment, **settings}, warm=True
    ) as process:
        try:
            yield process, port_of(process)
        finally:
            if process.is_running:
                process.terminate()


def port_of(process: Process) -> int:
    """Wait until a server says where it is."""
    until = perf_counter() + PATIENCE_SECS
    while perf_counter() < until:
        if found := re.search(r"MCP at http://127\.0\.0\.1:(\d+)/mcp", process.errors.read_text()):
            return int(found[1])
        if not process.is_running:
            break
        sleep(0.05)
    raise AssertionError(f"no address: {process.errors.read_text()}")


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    """Look again and again until something is so."""
    until = perf_counter() + PATIENCE_SECS
    while perf_counter() < until:
        if is_so():
            return
        sleep(0.05)
    raise AssertionError(f"not within {PATIENCE_SECS} s: {what}")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet collected does not."""
    return _state_of(pid) not in {None, "Z"}


def is_asleep(pid: int) -> bool:
    """Whether a process waits, as for what is typed."""
    return _state_of(pid) == "S"


def _state_of(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
