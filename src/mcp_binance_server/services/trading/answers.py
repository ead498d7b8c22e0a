"""Results of the trading service: previews, confirmations, outcomes, the state of trading."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from mcp_binance_server.domain.account import Balance, Venue
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.trading.journal.chain import Event
from mcp_binance_server.trading.journal.records import UNRESOLVED, Intent, IntentState, Stopped, Waiting
from mcp_binance_server.trading.judgement.charges import Charge
from mcp_binance_server.trading.judgement.exposure import Purpose
from mcp_binance_server.trading.judgement.guards import Denied
from mcp_binance_server.trading.judgement.policy import Policy, Way
from mcp_binance_server.trading.judgement.preview import PreviewedOrder
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.judgement.sizing import ExitResult
from mcp_binance_server.trading.judgement.terms import StoredPreview, Terms, TradingMode

OrderOutcomeName = Literal["placed", "rejected", "not_sent", "unknown", "waiting_for_approval"]


@dataclass(frozen=True, slots=True)
class LimitUse:
    """Usage of one limit. The used, allowed and remaining amounts are texts in the limit's unit."""

    name: str
    used: str
    most: str
    left: str

    @classmethod
    def of(cls, charge: Charge, used: int) -> "LimitUse":
        most = charge.most or 0
        return cls(charge.name, charge.told(used), charge.told(most), charge.told(max(0, most - used)))


@dataclass(frozen=True, slots=True)
class OrderTally:
    """Number of orders of this machine by state, and whether new orders are stopped."""

    by_state: Mapping[IntentState, int]
    is_stopped: bool

    @property
    def unresolved(self) -> int:
        return sum(count for state, count in self.by_state.items() if state in UNRESOLVED)


@dataclass(frozen=True, slots=True)
class TradablePreview:
    """A preview that can be placed under an ID, or that guards denied.

    `way` is the required confirmation. `terms` is the order that would be sent. For a market order, `terms.price` is
    the worst price.
    """

    tried: PreviewedOrder
    terms: Terms
    kept: StoredPreview | None
    way: Way
    limits_left: Mapping[str, str]
    denied: tuple[Denied, ...]
    counting_asset: str
    purpose: Purpose = "entry"
    result: ExitResult | None = None
    """Loss and gain of the exits; None if the order has none."""


@dataclass(frozen=True, slots=True)
class UnprotectedHolding:
    """Coins that no exit order sells, because the exit ended without selling. `value` is at the best bid."""

    rules: SymbolRules
    quantity: Quantity
    value: Decimal | None
    client_order_id: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """State of a preview's confirmation. `is_given` means that no more confirmation is needed."""

    kept: StoredPreview
    way: Way
    is_given: bool
    counting_asset: str


@dataclass(frozen=True, slots=True)
class ReleasedOrder:
    """An order that a sale cancels, as it was planned and as it is now, and the exits placed again for it."""

    planned: Released
    old: Intent | None
    again: Intent | None = None

    @property
    def is_cancelled(self) -> bool:
        return self.old is not None and self.old.is_cancelled and self.old.final_ms is not None


@dataclass(frozen=True, slots=True)
class PlacedOrder:
    """Result of an order: the current intent, the reason, the venue and the fees."""

    intent: Intent
    rules: SymbolRules
    mode: TradingMode
    venue: Venue
    as_of_ms: int
    reason: str = ""
    fees: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    is_cancel_unknown: bool = False
    gone: Intent | None = None
    """The order that this order was to replace. It was cancelled, and this order was refused, so no order is open."""
    as_before: StoredPreview | None = None
    """A preview of the rest of the cancelled order, to place it again."""
    steps: tuple[ReleasedOrder, ...] = ()
    """The orders that were to be cancelled for this one, and what was placed again for them."""

    @property
    def outcome(self) -> OrderOutcomeName:
        return outcome_of(self.intent.state)


def outcome_of(state: IntentState) -> OrderOutcomeName:
    """Return the outcome that callers see for this state of an order."""
    match state:
        case "ACKED" | "ADOPTED":
            return "placed"
        case "REJECTED":
            return "rejected"
        case "NOT_SENT":
            return "not_sent"
        case "PREPARED" | "SENT" | "UNKNOWN" | "NOT_PLACED":
            return "unknown"


@dataclass(frozen=True, slots=True)
class Cancellation:
    """An open order that a caller wants to cancel. `asks` means that the user must confirm, as for a stop order."""

    intent: Intent
    rules: SymbolRules
    asks: bool
    is_own: bool = True
    """Whether this server placed the order."""


@dataclass(frozen=True, slots=True)
class CancellationOfAll:
    """The open orders that a caller wants to cancel. With `asks`, the user must confirm the cancel."""

    symbol: str | None
    orders: tuple[Cancellation, ...]
    asks: bool


@dataclass(frozen=True, slots=True)
class KeptOpen:
    """An order that stayed open when all orders were cancelled, and the reason."""

    client_order_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class CancelledAll:
    """Result of cancelling all open orders: orders that were cancelled, that ended earlier, or that stay open."""

    symbol: str | None
    """The symbol whose orders were to be cancelled; None for every symbol."""
    cancelled: tuple[PlacedOrder, ...]
    ended: tuple[PlacedOrder, ...]
    left: tuple[KeptOpen, ...]
    mode: TradingMode
    venue: Venue
    as_of_ms: int


@dataclass(frozen=True, slots=True)
class PaperResult:
    """Value and profit in USDT, computed by FIFO. Coins of the opening balance have neither cost nor profit."""

    opening: Mapping[str, Decimal]
    value: Decimal
    realised: Decimal
    unrealised: Decimal
    fees: Decimal
    """Value of all fees, which cost and profit include."""
    unpriced: tuple[str, ...]
    """Held assets without a price, which the value omits."""


@dataclass(frozen=True, slots=True)
class TradingStatus:
    """State of trading, for callers before their first order."""

    mode: TradingMode
    venue: Venue
    policy: Policy
    stopped: Stopped | None
    waits_for: str
    limits: tuple[LimitUse, ...]
    lost_today: int | None
    open_intents: tuple[Intent, ...]
    unresolved: tuple[Intent, ...]
    waiting: tuple[Waiting, ...]
    balances: tuple[Balance, ...]
    as_of_ms: int
    unread: str = ""
    """Reason why the account could not be read; "" if it could."""
    key_notes: tuple[str, ...] = ()
    """Notes for the owner of the key."""
    following: str = ""
    result: PaperResult | None = None
    """Result of a paper account. None in other modes, and if prices cannot be read."""
    adopted: tuple[Intent, ...] = ()
    """Orders of the last day that were found at the exchange and not in the journal."""


@dataclass(frozen=True, slots=True)
class OrderJournal:
    """The newest intents of one account, newest first."""

    intents: tuple[Intent, ...]
    limit: int
    older_before_ms: int | None
    mode: TradingMode
    venue: Venue
    stopped: Stopped | None
    as_of_ms: int


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """The journal's record of one order: its current state and all its events."""

    intent: Intent
    events: tuple[Event, ...]
    change: Intent | None = None
    """The change of the order, if the given ID was that of a change."""

    @property
    def is_known_here_alone(self) -> bool:
        """Whether the exchange has no order with this ID. It has none for the ID of a list or of a change."""
        return self.intent.terms.exits is not None or self.intent.terms.amends
