"""What comes before the first order: the journal and the account at the exchange are made to agree."""

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

# As many orders as the exchange tells in one answer.
PAGE = 1000
# Whom an order was for that was found at the exchange: its journal is not here.
NOBODY = ""
NEVER_PLACED = "order {name} is at the exchange, and the journal says that it never was ({state})"


@dataclass(frozen=True, slots=True)
class StartStep:
    """One thing that is done before the first order; `awaited` ends the sentence "no order before …"."""

    awaited: str
    do: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class OrderWorth:
    """The asset that an order buys or sells, and what limits take for it, in hundredths of the counting asset."""

    asset: str
    counted: int


@dataclass(frozen=True, slots=True)
class TradedAccount:
    """The account that one server trades on: everything by which an order there is known to be ours."""

    name: str
    mode: TradingMode
    network: str


@dataclass(eq=False)
class Reconciliation:
    """The start of a server that trades at the exchange. What is unreachable is tried again; until then nothing trades.

    An order that does not bear our name for this mode and network was placed by somebody else: it is left alone.
    """

    ledger: OrderLedger
    broker: Broker
    past_orders: Callable[[Symbol, int, int], Awaitable[Sourced[tuple[Order, ...]]]]
    """Tells so many orders of a symbol since a moment, whatever became of them, the oldest first."""
    account: TradedAccount
    policy: Policy
    worth_of: Callable[[Order], Awaitable[OrderWorth]]
    now_ms: Callable[[], int]
    first: tuple[StartStep, ...] = ()
    """What must be so before anything is asked: the rights of the key, the exchange's clock, the stream of events."""
    last: tuple[StartStep, ...] = ()
    """What comes when journal and exchange agree: other servers of the account do too."""
    _open: tuple[Order, ...] = ()
    _counted: set[Symbol] = field(default_factory=set[Symbol])
    _reader: JournalReader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = JournalReader(self.ledger.store)

    def steps(self, settle: StartStep) -> tuple[StartStep, ...]:
        """Return everything that is done, in this order; `settle` closes what the last run left."""
        return (
            *self.first,
            StartStep("the open orders at Binance are read", self._read_open),
            settle,
            StartStep("orders of ours that only Binance knows are written down", self._adopt_open),
            StartStep("today's orders at Binance are counted", self._count_today),
            *self.last,
        )

    async def again(self) -> None:
        """Look anew at the orders of this day that the exchange has.

        Raises:
            AppError: it could not be asked.
        """
        await self._read_open()
        await self._adopt_open()
        self._counted.clear()
        await self._count_today()

    async def _read_open(self) -> None:
        self._open = await self.broker.open_orders()

    async def _adopt_open(self) -> None:
        for order in await self._unknown(self._open):
            # Time has passed since all were read.
            await self._adopt(await self.broker.ask(order.symbol, order.client_order_id) or order)

    async def _count_today(self) -> None:
        """Adopt also those orders of today that are over, so that limits count what journal and exchange know."""
        since_ms = self.now_ms() // DAY_MS * DAY_MS
        for symbol in await self._symbols(since_ms):
            if symbol not in self._counted:  # a second try goes on where the first one ended
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
        """Return those orders of ours that the journal does not know; stop if it says of one that it never was."""
        own = {each.client_order_id: each for each in orders if self._preview_of(each) is not None}
        known = await self._reader.states_of(own)
        for name, state in known.items():
            if state in NEVER_EXECUTED and own[name].status != "REJECTED":
                why = NEVER_PLACED.format(name=name, state=state)
                await self.ledger.stop(why, "the start", self.now_ms(), self.account.name)
        return [each for name, each in own.items() if name not in known]

    def _preview_of(self, order: Order) -> PreviewId | None:
        return preview_of(order.client_order_id, self.account.mode, self.account.network)

    async def _adopt(self, order: Order) -> None:
        preview_id, worth = self._preview_of(order), await self.worth_of(order)
        terms = terms_of(order, self.account, worth.counted, self.policy.digest)
        if preview_id is None or terms is None:
            LOG.error("order %s bears a name of ours and is none of ours: left alone", order.client_order_id)
            return
        # Counted as if nobody had been asked: the narrowest limits take it in too.
        new = NewIntent(preview_id, order.client_order_id, NOBODY, worth.asset, "policy", terms)
        taken = charges(terms, self.policy, new.way)
        if await self.ledger.adopt(new, taken, order, self.now_ms()) is not None:
            LOG.error(
                "ALARM: order %s (%s %s, %s) is at the exchange and was not in this journal; it is followed and "
                "counted from now on. Another server with this key, or a lost journal?",
                order.client_order_id,
                order.side,
                order.symbol,
                order.status,
            )


def found_intent(order: Order, terms: Terms) -> Intent:
    """Return an order of somebody else as if it were one of the journal's; it is in none, and its id is its own."""
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
    """Return the terms that an order at the exchange amounts to; None where it is none that this program sends."""
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
        side=order.side,  # type: ignore[arg-type] # one of them
        kind=order.kind,  # type: ignore[arg-type] # likewise
        time_in_force=order.time_in_force,  # type: ignore[arg-type] # likewise
        quantity=order.quantity,
        price=order.price,
        stop_price=order.stop_price or None,
        counted=counted,
        policy=policy,
        expires_ms=order.created_ms,
        nonce="adopted",
    )
