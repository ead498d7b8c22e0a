"""One process that trades over the wire: the real desk, broker, order client and sockets, on a folder."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2

from binance_simulator.account import DemoAccount
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import ListShape, Target
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.endpoints import NETWORKS, host_of
from mcp_binance_server.exchange.spot.account import AccountClient
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.settings import read_settings
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.fleet.agreements import FleetAgreements
from mcp_binance_server.trading.fleet.keeper import AGREED, FleetKeeper, KeeperPace
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.owner import owner
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.reconciling import OrderWorth, Reconciliation, StartStep, TradedAccount
from mcp_binance_server.trading.spot import SpotBroker
from mcp_binance_server.upstream import opened_upstream
from support.terms import intent
from trading.wire.exchange_process import SEED

SYMBOL = Symbol("BTCUSDT")
KEYS = DemoAccount(SEED)
ACCOUNT = key_id(KEYS.api_key)
HORIZON_MS, LONGEST_SECS, LATE_MS = 17_000, 15.0, 8_000
# What the exchange and the journal must agree within, of a start.
FINAL_SECS = 20.0
LOOK_MS = 20
# How long an emptied state waits: on this machine nothing is longer on its way.
SETTLE_MS = 300

# Made before the fork: each process would spend more on one of its own than on everything else.
TLS = httpx2.create_ssl_context()

Wish = Literal[
    "taken", "rests", "refused", "taken list", "resting list", "refused list", "instead", "refused instead", "smaller",
    "trails", "refused trail",
]  # fmt: skip
WHOLE, PART = Quantity(Decimal("0.001")), Quantity(Decimal("0.0006"))


@dataclass(frozen=True)
class Pace:
    """How much faster than in truth everything waits."""

    times: int

    @property
    def horizon_ms(self) -> int:
        return HORIZON_MS // self.times

    @property
    def longest_secs(self) -> float:
        return LONGEST_SECS / self.times

    @property
    def late_ms(self) -> int:
        return LATE_MS // self.times


class Hasty(SystemClock):
    """The machine's clock, for one who waits shorter."""

    def __init__(self, pace: Pace) -> None:
        self._times = pace.times

    async def sleep_ms(self, duration_ms: float) -> None:
        await super().sleep_ms(duration_ms / self._times)


def wishes(number: int, middle: Decimal, shape: ListShape = "OTOCO") -> dict[Wish, NewIntent]:
    """Return one order or list of each fate: filled at once, open for long, and a maker that would take.

    Those that take the place of another do so of the one that is open for long. A pair has no entry that could be
    filled: it is open for long, or refused for lying below the market.
    """
    above, below, lower = (_price(middle * Decimal(part)) for part in ("1.03", "0.8", "0.79"))
    first = 10 * number
    rests = _order(first, below)
    place = {"replaces": rests.client_order_id}
    exits, refused = _exits(shape, middle, "1.2"), _exits(shape, middle, "0.9")
    pair = {"side": "SELL", "kind": "OCO", "stop_price": exits.stop} if shape == "OCO" else {}
    profit, wrong = exits.take_profit or above, refused.take_profit or above
    maker = pair or {"kind": "LIMIT_MAKER"}
    stop = {"side": "SELL", "kind": "STOP_LOSS_LIMIT", "stop_price": _price(middle * Decimal("0.85"))}
    return {
        "rests": rests,
        "taken": _order(first + 1, above),
        "refused": _order(first + 2, above, kind="LIMIT_MAKER"),
        "taken list": _order(first + 3, profit if pair else above, exits=exits, **pair),
        "resting list": _order(first + 4, profit if pair else below, exits=exits, **pair),
        "refused list": _order(first + 5, wrong if pair else above, exits=refused if pair else exits, **maker),
        "instead": _order(first + 6, lower, **place),
        "refused instead": _order(first + 7, above, kind="LIMIT_MAKER", **place),
        "smaller": _order(first + 8, below, quantity=PART, amends=True, **place),
        # A distance beyond what the filter of the exchange allows is refused.
        "trails": _order(first + 9, lower, trailing_bps=1_500, **stop),
        "refused trail": _order(first + 9, lower, trailing_bps=5_000, **stop),
    }


def _exits(shape: ListShape, middle: Decimal, profit: str) -> Exits:
    """Return the exits of a shape: with one alone OTO has the stop, and OPO the profit; of OTO and OPOCO it trails."""
    above, stop, least = (_price(middle * Decimal(part)) for part in (profit, "0.79", "0.78"))
    if shape == "OPO":
        return Exits(shape, WHOLE, above)
    trailing = 1_500 if shape in ("OTO", "OPOCO") else None
    return Exits(shape, WHOLE, None if shape == "OTO" else above, stop, least, trailing)


def _price(price: Decimal) -> Price:
    return Price(price.quantize(Decimal("0.01")))


def _order(number: int, price: Price, **changes: Any) -> NewIntent:  # noqa: ANN401 - any member of the terms
    usual = {"account": ACCOUNT, "mode": "practice", "network": "testnet", "symbol": SYMBOL, "quantity": WHOLE}
    return intent(number, price=price, counted=int(price * WHOLE * 100) + 1, **usual | changes)


@dataclass(frozen=True)
class WireWorld:
    """A desk, and what it stands on."""

    desk: Desk
    pace: Pace
    wishes: dict[Wish, NewIntent]

    async def place(self, wish: Wish) -> Placed:
        new = self.wishes[wish]
        await self.desk.place(new, charges(new.terms, Policy(), new.way), None)
        return Placed(await self._once(wish, lambda found: not found.is_unresolved))

    async def cancel(self, wish: Wish) -> None:
        placed = await self.desk.cancel(ACCOUNT, Target(SYMBOL, self.wishes[wish].client_order_id), "me")
        if placed.cancel == "CANCEL_UNKNOWN":
            with anyio.move_on_after(self.pace.horizon_ms / 1000 + 0.2):
                await self._once(wish, lambda found: found.final_ms is not None)

    async def _once(self, wish: Wish, is_so: Callable[[Intent], bool]) -> Intent:
        while True:
            found = await self.desk.ledger.find(self.wishes[wish].preview_id)
            assert found is not None
            if is_so(found):
                return found
            await SystemClock().sleep_ms(LOOK_MS)


@dataclass(frozen=True)
class Start:
    """Where a process starts, at which desk, and how it waits."""

    folder: Path
    address: str
    pace: Pace
    wishes: dict[Wish, NewIntent]
    desk: type[Desk] = Desk
    shared: str = ""
    """Where the state is that it shares with other workers of the account; with none it is alone."""
    policy: Policy = field(default_factory=Policy)
    worth: int | None = None
    ledger: type[FleetLedger] = FleetLedger

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[WireWorld]:
        """Start as a server does: journal and exchange are brought to agree before the first order."""
        network = replace(NETWORKS["testnet"], rest_url=self.address, stream_url=None, ws_api_url=None)
        keys = {"BINANCE_API_KEY": KEYS.api_key, "BINANCE_SECRET_KEY": KEYS.secret_key}
        named = {"BINANCE_NETWORK": "testnet", "MCP_BINANCE_TRADING": "practice"}
        state = {"MCP_BINANCE_STATE_URL": self.shared} if self.shared else {}
        settings = read_settings({**keys, **named, **state})
        async with (
            opened_upstream(settings, network=network) as upstream,
            opened_store(self.folder) as store,
        ):
            with owner(self.folder) as name:
                caller, principal = upstream.caller, upstream.principal
                assert principal is not None
                caller.attempts.channel._tls = TLS  # pyright: ignore[reportPrivateUsage]
                client = OrderClient(caller, principal, OrderCounts(caller.time), longest_secs=self.pace.longest_secs)
                reads = AccountClient(caller, principal)
                venue = Venue("testnet", host_of(self.address))
                broker = SpotBroker(client, reads, upstream.directory, venue, self.pace.horizon_ms)
                host, now_ms = HostLedger(store, name), caller.time.now_ms
                fleet = self.ledger(host, upstream.engine, ACCOUNT, self.policy) if self.shared else None
                ledger = fleet or host
                account = TradedAccount(ACCOUNT, "practice", "testnet")
                start = Reconciliation(ledger, broker, reads.order_history, account, self.policy, self._worth, now_ms)
                desk = self.desk(ledger, lambda _: broker, Hasty(self.pace), now_ms, "practice", ACCOUNT)
                desk.background_tasks.last_ms = 0
                keeper = None if fleet is None else _keeper(fleet, start, now_ms)
                async with desk.running(start):
                    if keeper is not None:
                        desk.background_tasks.beside(keeper.run)
                    yield WireWorld(desk, self.pace, self.wishes)

    async def _worth(self, order: Order) -> OrderWorth:
        counted = int(order.price * order.quantity * 100) + 1 if self.worth is None else self.worth
        return OrderWorth("BTC", counted)


def _keeper(fleet: FleetLedger, start: Reconciliation, now_ms: Callable[[], int]) -> FleetKeeper:
    agreements = FleetAgreements(fleet.store, fleet.engine, ACCOUNT)
    clock, pace = SystemClock(), KeeperPace(tick_ms=50, alive_ms=600, silent_ms=200, unwritten_ms=1_000, ask_ms=100)
    keeper = FleetKeeper(
        fleet, agreements, start.broker, clock, now_ms, start.again, SETTLE_MS, pace, shares_global_stop=True
    )
    start.last = (StartStep(AGREED, keeper.joined),)
    return keeper
