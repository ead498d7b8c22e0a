"""A hosted server as an operator runs it: an exchange with its customers, tokens, limits, and some worker processes."""

import json
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from mcp_binance_server.domain.access import SCOPES
from support.holders import Holders
from support.process import Process
from support.workers import port_of
from trading.hosted.guests import PROGRAM

ROUND_KEY = b"round key of a test, 32 bytes at least"
PATIENCE_SECS = 60.0
# Prices of callers lie so far below the market that they never trade.
FAR_BELOW = Decimal("0.95")


@dataclass(frozen=True)
class Customers:
    """The exchange: where it is, what is told of its accounts, and what it has taken."""

    process: Process
    told: dict[str, str] = field(repr=False)

    @property
    def address(self) -> str:
        return f"http://{self.told['host']}"

    def ask(self, path: str) -> Any:  # noqa: ANN401 - JSON
        with urllib.request.urlopen(self.address + path, timeout=PATIENCE_SECS) as answer:  # noqa: S310 - loopback
            return json.loads(answer.read())

    def floor(self, symbol: str) -> int:
        """Return a price far below the market, in whole thousands."""
        best = Decimal(self.ask(f"/api/v3/ticker/bookTicker?symbol={symbol}")["bidPrice"])
        return int(best * FAR_BELOW) // 1_000 * 1_000

    def accepted(self) -> dict[int, list[str]]:
        """Return what was ever accepted, by account; 0 is the server's own."""
        return {int(number): names for number, names in self.ask("/control/orders")["accepted_for"].items()}

    def open_orders(self) -> dict[int, set[str]]:
        """Return what stands now, by account."""
        found: dict[int, set[str]] = {}
        for each in self.ask("/control/orders")["orders"]:
            if each["status"] == "NEW":
                found.setdefault(each["account"], set()).add(each["clientOrderId"])
        return found


@dataclass(frozen=True)
class House:
    """Worker processes on one exchange, and the folders of their journals."""

    customers: Customers
    holders: Holders = field(repr=False)
    workers: list[Process]
    folders: list[Path]

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port_of(each)}" for each in self.workers]

    def written(self) -> str:
        """Return everything that the workers have logged or written."""
        files = [file for folder in {*self.folders} for file in folder.iterdir() if file.is_file()]
        return "".join(each.read_bytes().decode("latin-1") for each in (*files, *(one.errors for one in self.workers)))


@contextmanager
def customers() -> Generator[Customers]:
    """Run an exchange for as long as the block lasts."""
    with Process(code=PROGRAM, warm=True) as process:
        try:
            yield Customers(process, json.loads(process.line()))
        finally:
            process.terminate()


@contextmanager
def house(
    folder: Path, exchange: Customers, names: list[str], folders: list[str], policy: str, **settings: str
) -> Generator[House]:
    """Run one worker for each folder; workers of one folder are of one machine."""
    holders = Holders(folder / "tokens", *names, scopes=SCOPES)
    rules, key = folder / "trading.toml", folder / "round.key"
    rules.write_text(policy, encoding="utf-8")
    key.write_bytes(ROUND_KEY)
    for each in (holders.path, rules, key):
        each.chmod(0o600)
    host = exchange.told["host"]
    common = {
        "BINANCE_REST_URL": f"http://{host}",
        "BINANCE_STREAM_URL": f"ws://{host}",
        "BINANCE_WS_API_URL": f"ws://{host}/ws-api/v3",
        "MCP_BINANCE_TOKEN_FILE": str(holders.path),
        "MCP_BINANCE_TRADING_POLICY": str(rules),
        "MCP_BINANCE_ROUND_KEY_FILE": str(key),
        "MCP_BINANCE_SESSION_IDLE_SECS": "600",
        "MCP_BINANCE_SESSION_CAP": "500",
        **settings,
    }
    with ExitStack() as stack:
        workers: list[Process] = []
        for name in folders:
            own = {**common, "MCP_BINANCE_TRADING_DIR": str(folder / name)}
            workers.append(stack.enter_context(Process("--http", "--port", "0", environment=own, warm=True)))
            stack.callback(_end, workers[-1])
        yield House(exchange, holders, workers, [folder / name for name in folders])


def _end(process: Process) -> None:
    if process.is_running:
        process.kill()
