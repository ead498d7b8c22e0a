"""Start steps before the first order. They reconcile the journal with the account at the exchange."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import get_args

from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.order_requests import Kind, Side, TimeInForce
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import NEVER_EXECUTED, Intent, NewIntent
from mcp_binance_server.trading.judgement.charges import DAY_MS, charges
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms, TradingMode, preview_of
from mcp_binance_server.trading.ledger import OrderLedger

LOG = logging.getLogger(__name__)

# Most orders that the exchange returns in one page.
PAGE = 1000
# Visitor of an order found at the exchange: unknown, because the journal with that order is elsewhere.
NOBODY = ""
NEVER_PLACED = "order {name} is at the exchange, but the journal has it as never placed ({state})"


@dataclass(frozen=True, slots=True)
class StartStep:
    """One step before the first order. `awaited` completes the sentence "no orders until …"."""

    awaited: str
    do: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class OrderWorth:
    """Asset of an order, and its charge in hundredths of the counting asset (the unit of all limits)."""

    asset: str
    counted: int


@dataclass(frozen=True, slots=True)
class TradedAccount:
    """Account that a server trades on. Its fields identify this server's orders there."""

    name: str
    mode: TradingMode
    network: str


@dataclass(eq=False)
class Reconciliation:
    """Start of a server that trades at the exchange. Failed steps are retried. No order is sent before all succeed.

    An order is left alone if its ID was not made here for this mode and network: another program placed it.
    """

    ledger: OrderLedger
    broker: Broker
    past_orders: Callable[[Symbol, int, int], Awaitable[Sourced[tuple[Order, ...]]]]
    """Query for a symbol's orders since a time, of any status, oldest first.

    Arguments: symbol, most orders, start in ms.
    """
    account: TradedAccount
    policy: Policy
    worth_of: Callable[[Order], Awaitable[OrderWorth]]
    now_ms: Callable[[], int]
    first: tuple[StartStep, ...] = ()
    """Steps before any query, such as the check of the key's rights."""
    last: tuple[StartStep, ...] = ()
    """Steps after the journal agrees with the exchange, such as agreement with the other servers of the account."""
    _open: tuple[Order, ...] = ()
    _counted: set[Symbol] = field(default_factory=set[Symbol])
    _reader: JournalReader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = JournalReader(self.ledger.store)

    def steps(self, settle: StartStep) -> tuple[StartStep, ...]:
        """Return all steps in order. `settle` closes the orders left by the last run."""
        return (
            *self.first,
            StartStep("the open orders at Binance are read", self._read_open),
            settle,
            StartStep("orders missing from the journal are recorded", self._adopt_open),
            StartStep("today's orders at Binance are counted", self._count_today),
            *self.last,
        )

    async def again(self) -> None:
        """Repeat the reconciliation of today's orders.

        Raises:
            AppError: the exchange could not be queried.
        """
        await self._read_open()
        await self._adopt_open()
        self._counted.clear()
        await self._count_today()

    async def _read_open(self) -> None:
        self._open = await self.broker.open_orders()

    async def _adopt_open(self) -> None:
        for order in await self._unknown(self._open):
            # The order may have changed since the query for all orders.
            await self._adopt(await self.broker.ask(order.symbol, order.client_order_id) or order)

    async def _count_today(self) -> None:
        """Adopt today's finished orders too, so that limits include orders that only the exchange has."""
        since_ms = self.now_ms() // DAY_MS * DAY_MS
        for symbol in await self._symbols(since_ms):
            if symbol not in self._counted:  # A retry continues after the last counted symbol.
                for order in await self._unknown(await self._orders_since(symbol, since_ms)):
                    await self._adopt(order)
                self._counted.add(symbol)

    async def _symbols(self, since_ms: int) -> list[Symbol]:
        ordered = await self._reader.symbols_since(self.account.name, since_ms)
        allowed = self.policy.limits.symbols or ()
        own = (each.symbol for each in self._open if self._preview_of(each) is not None)
        return sorted({*ordered, *map(Symbol, allowed), *own})

    async def _orders_since(self, symbol: Symbol, since_ms: int) -> list[Order]:
        found: dict[int, Order] = {}
        while True:
            page = (await self.past_orders(symbol, PAGE, since_ms)).value
            is_last = len(page) < PAGE or all(each.order_id in found for each in page)
            found |= {each.order_id: each for each in page}
            if is_last:
                return [*found.values()]
            since_ms = max(each.created_ms for each in page)

    async def _unknown(self, orders: Iterable[Order]) -> list[Order]:
        """Return this server's orders that the journal lacks.

        Stop the account if the journal says that such an order was never placed.
        """
        own = {each.client_order_id: each for each in orders if self._preview_of(each) is not None}
        known = await self._reader.states_of(own)
        for name, state in known.items():
            if state in NEVER_EXECUTED and own[name].status != "REJECTED":
                why = NEVER_PLACED.format(name=name, state=state)
                await self.ledger.stop(why, "the start", self.now_ms(), self.account.name, allows_exits=False)
        return [each for name, each in own.items() if name not in known]

    def _preview_of(self, order: Order) -> PreviewId | None:
        return preview_of(order.client_order_id, self.account.mode, self.account.network)

    async def _adopt(self, order: Order) -> None:
        preview_id, worth = self._preview_of(order), await self.worth_of(order)
        terms = terms_of(order, self.account, worth.counted, self.policy.digest)
        if preview_id is None or terms is None:
            LOG.error("order %s has an ID of this server but was not placed by it: ignored", order.client_order_id)
            return
        # Charge the order like one without confirmation, so that the strictest limits include it.
        new = NewIntent(preview_id, order.client_order_id, NOBODY, worth.asset, "policy", terms)
        taken = charges(terms, self.policy, new.way)
        if await self.ledger.adopt(new, taken, order, self.now_ms()) is not None:
            LOG.error(
                "ALARM: order %s (%s %s, %s) is at the exchange but was missing from this journal; it is followed "
                "and counted from now on. Does another server use this key, or was a journal lost?",
                order.client_order_id,
                order.side,
                order.symbol,
                order.status,
            )


def found_intent(order: Order, terms: Terms) -> Intent:
    """Convert an order that is in no journal to an intent. Its preview ID is its client order ID."""
    return Intent(
        preview_id=PreviewId(order.client_order_id),
        client_order_id=order.client_order_id,
        visitor=NOBODY,
        owner=NOBODY,
        state="ADOPTED",
        status=order.status,
        order_id=order.order_id,
        executed=order.executed,
        spent=order.quote_spent,
        counted=terms.counted,
        way="policy",
        terms=terms,
        prepared_ms=order.created_ms,
        updated_ms=order.updated_ms,
        final_ms=None,
    )


def terms_of(order: Order, account: TradedAccount, counted: int, policy: str) -> Terms | None:
    """Return the terms of an order at the exchange, or None for a kind of order that this program never sends."""
    is_ours = (
        order.side in get_args(Side)
        and order.kind in get_args(Kind)
        and order.time_in_force in get_args(TimeInForce)
        and order.quantity > 0
        and order.price > 0
    )
    if not is_ours:
        return None
    return Terms(
        account=account.name,
        mode=account.mode,
        network=account.network,
        symbol=order.symbol,
        side=order.side,  # type: ignore[arg-type] # checked above
        kind=order.kind,  # type: ignore[arg-type] # checked above
        time_in_force=order.time_in_force,  # type: ignore[arg-type] # checked above
        quantity=order.quantity,
        price=order.price,
        stop_price=order.stop_price or None,
        counted=counted,
        policy=policy,
        expires_ms=order.created_ms,
        nonce="adopted",
        trailing_bps=order.trailing_bps,
    )
