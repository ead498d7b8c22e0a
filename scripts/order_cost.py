"""Measure the time that trading adds to the requests of an order.

    python scripts/order_cost.py [--runs 7] [--orders 40]

Starts a simulated exchange in another process and two servers in this one. The first trades (practice, confirmed by
policy), and the second has trading off. They preview, place and cancel resting orders in turn. A plain HTTP client
sends the same requests, each on a new connection, so that all figures come from the same minute. A commit is one event
in the same journal. Prints every run.

Limits for the median of a run: place <= plain + 3 commits + 10 ms, cancel <= plain + 2 commits + 10 ms, preview <= 1.5
x that of the server without trading.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import anyio
import httpx2

from mcp_binance_server.app import App, running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import LOCAL
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.exchange.signing import Principal, signed_query
from mcp_binance_server.services.trading.answers import Agreement, Cancellation, PlacedOrder
from mcp_binance_server.services.trading.cancelling import CancelService
from mcp_binance_server.services.trading.service import TradingService
from mcp_binance_server.settings import read_settings
from mcp_binance_server.surface.context import Context
from mcp_binance_server.trading.judgement.intent import OrderIntent

WorkT = TypeVar("WorkT")

CLOCK = SystemClock()
SYMBOL = "BTCUSDT"
QUANTITY = "0.00100"
POLICY = """[limits]
per_order = "1000000"
per_day = "100000000"
per_symbol_day = "100000000"
orders_per_minute = 100000
orders_per_day = 100000
open_orders = 1000
"""
PLACE_COMMITS, CANCEL_COMMITS, ALLOWED_MS, PREVIEW_TIMES = 3, 2, 10.0, 1.5


@contextmanager
def simulator() -> Generator[dict[str, str]]:
    command = (sys.executable, "-m", "mcp_binance_server", "simulator", "--port", "0")
    running = subprocess.Popen(command, text=True, stdout=subprocess.PIPE)  # noqa: S603 - our own command
    try:
        yield json.loads(needed(running.stdout).readline())
    finally:
        running.terminate()
        running.wait()


def needed(found: WorkT | None) -> WorkT:
    if found is None:
        raise LookupError("nothing to measure")
    return found


def require_status(placed: PlacedOrder, status: str) -> str:
    if placed.intent.status != status:
        raise ValueError(placed)
    return placed.intent.client_order_id


@dataclass
class Stopwatch:
    """Durations of each operation, in ms."""

    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict[str, list[float]](list))

    async def of(self, name: str, work: Callable[[], Awaitable[WorkT]]) -> WorkT:
        began = CLOCK.monotonic_ms()
        done = await work()
        self.took[name].append(CLOCK.monotonic_ms() - began)
        return done

    def median(self, name: str) -> float:
        return statistics.median(self.took[name])


@dataclass
class Bare:
    """HTTP client that only signs and sends. Each request has its own connection."""

    http: httpx2.AsyncClient
    rest: str
    principal: Principal

    async def send(self, method: str, **params: str) -> None:
        stamped = {**params, "recvWindow": 2_000, "timestamp": CLOCK.now_ms()}
        url = f"{self.rest}/api/v3/order?{signed_query(stamped, self.principal.signer)}"
        headers = {"X-MBX-APIKEY": self.principal.credentials.api_key, "Connection": "close"}
        answer = await self.http.request(method, url, headers=headers)
        answer.raise_for_status()


@dataclass
class Comparison:
    """A trading server, a server without trading, and a plain HTTP client on one exchange."""

    trading: TradingService
    off: Context
    bare: Bare
    price: Decimal

    async def run(self, number: int, orders: int) -> Stopwatch:
        watch, cancels = Stopwatch(), CancelService(self.trading)
        for place in range(orders):
            # Use a new price each time, because an equal order within ten seconds is refused.
            price = self.price - Decimal(number * orders + place)
            intent = OrderIntent("BUY", "LIMIT", quantity=Quantity(Decimal(QUANTITY)), price=Price(price))
            await watch.of("preview off", lambda intent=intent: self.off.preview.preview(SYMBOL, intent))
            shown = await watch.of("preview", lambda intent=intent: self.trading.preview(SYMBOL, intent))
            name = f"bare{number}-{place}"
            order = {"symbol": SYMBOL, "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": QUANTITY}
            order |= {"price": str(price), "newClientOrderId": name, "newOrderRespType": "FULL"}
            await watch.of("bare POST", lambda order=order: self.bare.send("POST", **order))
            preview_id = needed(shown.kept).preview_id
            placed = await watch.of("place", lambda preview_id=preview_id: self._place(preview_id))
            await watch.of(
                "bare DELETE", lambda name=name: self.bare.send("DELETE", symbol=SYMBOL, origClientOrderId=name)
            )
            await watch.of("cancel", lambda placed=placed: self._cancel(cancels, placed))
            await watch.of("commit", self._commit)
        return watch

    async def _place(self, preview_id: str) -> str:
        found = await self.trading.agreement(preview_id)  # type: ignore[arg-type] # not yet validated
        if not isinstance(found, Agreement):
            raise TypeError(found)
        placed = await self.trading.place(found.kept, found.way)
        return require_status(placed, "NEW")

    async def _cancel(self, cancels: CancelService, client_order_id: str) -> None:
        wanted = await cancels.wanted(SYMBOL, client_order_id)
        if not isinstance(wanted, Cancellation):
            raise TypeError(wanted)
        require_status(await cancels.cancel(wanted), "CANCELED")

    async def _commit(self) -> None:
        await self.trading.desk.ledger.note("MEASURED", {"of": "order_cost"}, CLOCK.now_ms())


@asynccontextmanager
async def server(told: dict[str, str], folder: Path, trading: str) -> AsyncGenerator[tuple[App, Context, Principal]]:
    (folder / "trading.toml").write_text(POLICY)
    (folder / "trading.toml").chmod(0o600)
    environment = {
        "BINANCE_NETWORK": "testnet",
        "BINANCE_REST_URL": told["rest"],
        "BINANCE_STREAM_URL": told["streams"],
        "BINANCE_WS_API_URL": told["ws_api"],
        "BINANCE_API_KEY": told["api_key"],
        "BINANCE_SECRET_KEY": told["secret_key"],
        "MCP_BINANCE_TRADING": trading,
        "MCP_BINANCE_TRADING_DIR": str(folder / "journal"),
        "MCP_BINANCE_TRADING_POLICY": str(folder / "trading.toml"),
        "MCP_BINANCE_STATE_DIR": "off",
    }
    async with running_app(read_settings(environment)) as app:
        principal = needed(app.account.principal)
        yield app, app.context.acting_for(principal, visitor=LOCAL, is_lent=True), principal


async def measured(given: argparse.Namespace, told: dict[str, str], folder: Path) -> int:
    async with httpx2.AsyncClient(base_url=told["control"]) as control:
        (await control.post("/key", json={"trading": True})).raise_for_status()
        (await control.post("/limit", json={"weight_limit": 10**9})).raise_for_status()
        (await control.post("/orders", json={"orders_10s": 10**6, "orders_1d": 10**6})).raise_for_status()
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with (
        server(told, folder, "practice") as (_, lent, principal),
        server(told, folder, "off") as (_, off, _),
        httpx2.AsyncClient(limits=limits, timeout=30) as http,
    ):
        trading = needed(lent.trading)
        await trading.desk.ready()
        best = (await http.get(f"{told['rest']}/api/v3/ticker/price?symbol={SYMBOL}")).json()
        price = (Decimal(best["price"]) * Decimal("0.8")).quantize(Decimal(1))
        comparison = Comparison(trading, off, Bare(http, told["rest"], principal), price)
        await comparison.run(0, 5)  # warm up: imports and one-time requests do not count
        failed = 0
        for number in range(1, given.runs + 1):
            failed += not _shown(number, await comparison.run(number, given.orders))
    return failed


def _shown(number: int, watch: Stopwatch) -> bool:
    commit = watch.median("commit")
    place, cancel = watch.median("place"), watch.median("cancel")
    most_place = watch.median("bare POST") + PLACE_COMMITS * commit + ALLOWED_MS
    most_cancel = watch.median("bare DELETE") + CANCEL_COMMITS * commit + ALLOWED_MS
    times = watch.median("preview") / watch.median("preview off")
    is_kept = place <= most_place and cancel <= most_cancel and times <= PREVIEW_TIMES
    bare, bare_cancel = watch.median("bare POST"), watch.median("bare DELETE")
    told = (
        f"run {number}, load {os.getloadavg()[0]:.1f}: commit {commit:.1f} ms",
        f"place {place:.1f}, bare {bare:.1f}, bar {most_place:.1f}",
        f"cancel {cancel:.1f}, bare {bare_cancel:.1f}, bar {most_cancel:.1f}",
        f"preview {watch.median('preview'):.1f}, off {watch.median('preview off'):.1f}, {times:.2f} times",
        "kept" if is_kept else "NOT KEPT",
    )
    sys.stdout.write("; ".join(told) + "\n")
    sys.stdout.flush()
    return is_kept


def main() -> int:
    """Measure all operations and print each run."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--runs", type=int, default=7)
    asked.add_argument("--orders", type=int, default=40, help="orders in each run")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder, simulator() as told:
        Path(folder).chmod(0o700)
        return int(anyio.run(measured, given, told, Path(folder).absolute()) > 0)


if __name__ == "__main__":
    sys.exit(main())
