"""Every fault of a simulated exchange under an order and a cancel, executed or not, through the whole desk.

What the journal says in the end is what the exchange has; one request arrived; the limits hold what may be spent.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from msgspec import structs

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Target
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.spot import SpotBroker, horizon_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.desk import Desk as Parts
from support.terms import intent

ACCOUNT, VISITOR, BTC = "k-aaaaaaaaaaaaaaaa", "me", Symbol("BTCUSDT")
COUNTED = 500_00
LONGEST_SECS = 30


@dataclass(frozen=True)
class Case:
    """A fault, whether it lets the request be executed, what is certain when it has struck, and the words."""

    name: str
    fault: Fault
    certain: bool
    words: str
    happens: bool = False


def unknown(name: str, fault: Fault) -> list[Case]:
    """Return a fault that proves nothing, with the request executed and without."""
    return [
        Case(
            f"{name}, {'' if executed else 'not '}executed",
            structs.replace(fault, executed=executed),
            certain=False,
            words="may have been executed",
            happens=executed,
        )
        for executed in (True, False)
    ]


def refused(status: int, code: int, msg: str, words: str) -> Case:
    return Case(f"{status} {code}", Fault(kind="status", status=status, code=code, msg=msg), certain=True, words=words)


def status(number: int, code: int = -1000, body: str | None = None) -> Fault:
    return Fault(kind="status", status=number, code=code, body=body)


UNKNOWN = [
    *unknown("503 in HTML", status(503, body="<html>")),
    *unknown("502 in HTML", status(502, body="<html>")),
    *unknown("500 -1000", status(500)),
    *unknown("503 -1008", status(503, -1008)),
    *unknown("408 -1007", status(408, -1007)),
    *unknown("400 -1006", status(400, -1006)),
    *unknown("400 in HTML", status(400, body="<html>")),
    *unknown("409", status(409, -2021)),
    *unknown("cut before the answer", Fault(kind="cut_before")),
    *unknown("cut within the answer", Fault(kind="cut_within")),
    *unknown("silence", Fault(kind="silence")),
    *unknown("a page", Fault(kind="html")),
    *unknown("half of the JSON", Fault(kind="truncated")),
    *unknown("nothing", Fault(kind="empty")),
    *unknown("compressed", Fault(kind="gzip")),
    *unknown("falsely compressed", Fault(kind="false_gzip")),
    *unknown("huge", Fault(kind="huge", size=3_000_000)),
    unknown("late", Fault(kind="delay", delay_ms=9_000))[1],
    Case("cut before it was read", Fault(kind="cut_before"), certain=False, words="may have been executed"),
]
REFUSED = [
    refused(400, -1013, "Filter failure: LOT_SIZE", "rule of this symbol"),
    refused(400, -1021, "Timestamp for this request is outside of the recvWindow.", "clocks disagree"),
    refused(400, -1022, "Signature for this request is not valid.", "signature"),
    refused(400, -1102, "Mandatory parameter 'side' was not sent.", "the form of the order"),
    refused(401, -2015, "Invalid API-key, IP, or permissions for action.", "may not trade"),
    refused(403, 0, "", "firewall"),
    refused(429, -1003, "Too many requests.", "sent Binance too many requests"),
    refused(418, -1003, "Way too many requests.", "temporarily banned"),
    refused(451, 0, "Service unavailable from a restricted location.", "does not serve this location"),
]
ORDERS_REFUSED = [
    refused(400, -2010, "Account has insufficient balance for requested action.", "too small for the order"),
    refused(400, -2010, "Market is closed.", "market is closed"),
    refused(429, -1015, "Too many new orders.", "too many orders"),
]
ACCEPTED = [
    Case("late and executed", Fault(kind="delay", delay_ms=9_000, executed=True), certain=True, words="", happens=True),
    Case("another content type", Fault(kind="content_type", executed=True), certain=True, words="", happens=True),
]


@dataclass
class Bench:
    """A desk at a simulated exchange."""

    desk: Desk
    exchange: SimulatedExchange
    clock: FakeClock
    new: NewIntent

    async def place(self) -> Placed:
        return await self.desk.place(self.new, charges(self.new.terms, Policy(), self.new.way), None)

    async def cancel(self) -> Placed:
        return await self.desk.cancel(ACCOUNT, Target(BTC, self.new.client_order_id), VISITOR)

    async def intent(self) -> Intent:
        found = await self.desk.ledger.find(self.new.preview_id)
        assert found is not None
        return found

    async def resolved(self) -> Intent:
        """Wait until the desk has asked for it: time runs as fast as it sleeps."""
        with anyio.fail_after(LONGEST_SECS):
            while (found := await self.intent()).is_unresolved:
                await self.clock.sleep_ms(0)
        return found

    async def used(self) -> dict[str, int]:
        taken = charges(self.new.terms, Policy(), self.new.way)
        return await self.desk.ledger.used(ACCOUNT, taken, self.clock.now_ms())

    def strike(self, method: str, fault: Fault) -> None:
        self.exchange.faults.add(structs.replace(fault, path="/api/v3/order", method=method))

    def count(self, method: str) -> int:
        return sum(request.method == method for request in self.exchange.requests)

    def accepted(self) -> int:
        return sum(each.client_order_id == self.new.client_order_id for each in self.exchange.orders.accepted)


@asynccontextmanager
async def opened(folder: Path, exchange: SimulatedExchange, clock: FakeClock) -> AsyncGenerator[Bench]:
    exchange.rights = KeyRights(trading=True)
    engine = MemoryEngine(clock, reserves=Reserves())
    await engine.start()
    channel = Channel(deadline_secs=3, transport=Loop(exchange))
    parts = Parts(engine, channel, clock, NETWORK)
    principal = Principal.of(Credentials(exchange.account.api_key, exchange.account.secret_key))
    client = OrderClient(parts.caller, principal, OrderCounts(parts.time, lambda: parts.directory.order_limits))
    reads = parts.account(exchange.account.api_key, exchange.account.secret_key)
    venue = Venue(NETWORK.name, "exchange.test")
    broker = SpotBroker(client, reads, parts.directory, venue, horizon_of(client.recv_window_ms))
    price, quantity = Price(Decimal("50000.00")), Quantity(Decimal("0.01"))
    own = {"account": ACCOUNT, "mode": "practice", "network": "testnet"}
    new = intent(0, **own, price=price, quantity=quantity, counted=COUNTED)
    async with opened_store(folder) as store:
        with owner(store.folder) as name:
            desk = Desk(HostLedger(store, name), lambda _: broker, clock, parts.time.likely_ms, "practice", ACCOUNT)
            async with desk.running():
                await desk.ready()
                yield Bench(desk, exchange, clock, new)
    await channel.close()
    await engine.close()


def named(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", [*UNKNOWN, *REFUSED, *ORDERS_REFUSED, *ACCEPTED], ids=named)
async def test_an_order_is_in_the_end_what_the_exchange_has(
    case: Case, tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with opened(tmp_path, exchange, clock) as bench:
        bench.strike("POST", case.fault)

        placed = await bench.place()
        in_the_end = await bench.resolved()
        again = await bench.place()
        used = await bench.used()

    first = ("ACKED" if case.happens else "REJECTED") if case.certain else "UNKNOWN"
    last = "ACKED" if case.happens else "REJECTED" if case.certain else "NOT_PLACED"
    assert (placed.intent.state, in_the_end.state, again.intent.state) == (first, last, last)
    assert case.words in placed.reason
    assert (bench.count("POST"), bench.accepted()) == (1, case.happens)
    is_given_back = last == "REJECTED"
    assert used["per_day"] == used["per_symbol_day:BTCUSDT"] == (0 if is_given_back else COUNTED)
    assert used["orders_per_day"] == 1


@pytest.mark.parametrize("case", [*UNKNOWN, *REFUSED, *ACCEPTED], ids=named)
async def test_a_cancel_is_in_the_end_what_the_exchange_has(
    case: Case, tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with opened(tmp_path, exchange, clock) as bench:
        assert (await bench.place()).intent.state == "ACKED"
        bench.strike("DELETE", case.fault)

        found = await bench.cancel()
        in_the_end = await bench.intent()
        used = await bench.used()

    assert case.words in found.reason
    assert (bench.count("POST"), bench.count("DELETE"), bench.accepted()) == (1, 1, 1)
    assert in_the_end.status == ("CANCELED" if case.happens else "NEW")
    # Whoever was told to wait cannot ask how the order stands.
    is_known = case.certain and case.fault.status not in {418, 429}
    assert found.cancel == ("CANCELLED" if case.happens else "CANCEL_REFUSED" if is_known else "CANCEL_UNKNOWN")
    assert used["per_day"] == (0 if case.happens else COUNTED)


async def test_an_order_that_the_exchange_refuses_of_itself_gives_its_limit_back(
    tmp_path: Path, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with opened(tmp_path, exchange, clock) as bench:
        bench.new = intent(
            1,
            account=ACCOUNT,
            mode="practice",
            network="testnet",
            price=Price(Decimal("50000.00")),
            quantity=Quantity(Decimal(100)),
            counted=COUNTED,
        )

        placed = await bench.place()
        used = await bench.used()

    assert placed.intent.state == "REJECTED"
    assert "too small for the order" in placed.reason
    assert (bench.count("POST"), bench.accepted(), used["per_day"]) == (1, 0, 0)
