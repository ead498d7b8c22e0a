"""Orders that the gate keeps back: the connection stands, the other side counts the bytes, and there are none."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket

import pytest

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.order_requests import Gate, Outcome, Target, Written, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeUnavailable
from mcp_binance_server.exchange.signing import HmacSigner, Principal
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy
from support.clock import FakeClock
from support.order_socket import CANCEL_ID, SECRET, OrderSocket, ok, ordering, scripted, serving
from support.terms import NOW_MS, intent

ACCOUNT = "k-aaaaaaaaaaaaaaaa"
NEW = intent(0, account=ACCOUNT, mode="practice", network="testnet")
CHARGES = charges(NEW.terms, Policy(), NEW.way)


class Interrupted(HmacSigner):
    """Signs, and lets something happen meanwhile: the order is claimed, and no connection is open yet."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__(SECRET)
        self.meanwhile = meanwhile

    def sign(self, payload: bytes) -> str:
        self.meanwhile()
        return super().sign(payload)


@dataclass(frozen=True)
class Wire:
    """A broker that only sends."""

    client: OrderClient
    venue: Venue
    horizon_ms: int = 17_000

    async def place(self, order: Written, gate: Gate, /) -> Outcome:
        assert isinstance(order, WrittenOrder)
        return await self.client.place(order, gate)

    async def cancel(self, target: Target, gate: Gate) -> Outcome:
        return await self.client.cancel(target, gate, cancel_id=CANCEL_ID)

    async def ask(self, symbol: Symbol, client_order_id: str) -> Order | None:
        raise ExchangeUnavailable(reason=f"nobody is asked for {client_order_id} of {symbol}")

    async def open_orders(self, symbol: Symbol | None = None) -> tuple[Order, ...]:
        raise ExchangeUnavailable(reason=f"nobody is asked for orders of {symbol}")


@asynccontextmanager
async def opened(folder: Path, url: str, meanwhile: Callable[[], object] = int) -> AsyncGenerator[Desk]:
    clock = FakeClock(NOW_MS)
    async with ordering(url, clock=clock) as made, opened_store(folder) as store:
        client = replace(made, principal=Principal(made.principal.credentials, Interrupted(meanwhile)))
        broker = Wire(client, Venue("testnet", "here"))
        with owner(store.folder) as name:
            desk = Desk(HostLedger(store, name), lambda _: broker, clock, clock.now_ms, "practice", ACCOUNT)
            async with desk.running():
                await desk.ready()
                yield desk


async def used(desk: Desk) -> int:
    return (await desk.ledger.used(ACCOUNT, CHARGES, NOW_MS))["per_day"]


async def test_an_order_that_is_stopped_behind_its_claim_sends_no_byte(tmp_path: Path) -> None:
    async with serving(scripted(ok)) as seen, opened(tmp_path, seen.url, (tmp_path / "STOP").touch) as desk:
        placed = await desk.place(NEW, CHARGES, None)
        left = await used(desk)

    assert placed.intent.state == "NOT_SENT"
    assert "stopped" in placed.reason
    assert (seen.connections, seen.bytes_in, seen.requests) == (1, 0, [])
    assert left == 0


async def test_an_order_whose_journal_is_gone_behind_its_claim_sends_no_byte(tmp_path: Path) -> None:
    def lost() -> None:
        for file in tmp_path.glob("trading.db*"):
            file.rename(file.with_suffix(".lost"))
            file.mkdir()

    async with serving(scripted(ok)) as seen, opened(tmp_path, seen.url, lost) as desk:
        with pytest.raises(JournalUnavailable):
            await desk.place(NEW, CHARGES, None)

    assert (seen.connections, seen.bytes_in, seen.requests) == (1, 0, [])


async def test_an_order_to_a_host_that_is_not_there_gives_its_limit_back(tmp_path: Path) -> None:
    with socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

    async with opened(tmp_path, url) as desk:
        placed = await desk.place(NEW, CHARGES, None)
        left = await used(desk)

    assert placed.intent.state == "NOT_SENT"
    assert "nothing was sent" in placed.reason
    assert left == 0


async def test_an_order_that_passes_the_gate_is_marked_before_its_first_byte(tmp_path: Path) -> None:
    marks: list[str] = []

    def script(received: object) -> bytes:
        marks.append("received")
        raise ConnectionError(received)

    seen: OrderSocket
    async with serving(scripted(script)) as seen, opened(tmp_path, seen.url) as desk:
        placed = await desk.place(NEW, CHARGES, None)
        history = [each.state for each in await desk.reader.history(NEW.preview_id)]
        left = await used(desk)

    assert placed.intent.state == "UNKNOWN"
    assert history[:3] == ["PREPARED", "SENT", "UNKNOWN"]
    assert (len(seen.requests), marks, left) == (1, ["received"], NEW.terms.counted)
