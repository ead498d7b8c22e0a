"""A paper order, its fills, and its role in a list of orders. Pure."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, ListShape, Side, TimeInForce

NONE = Quantity(Decimal(0))
PENDING = "PENDING_NEW"
WHOLE_BPS = 10_000
OPEN = frozenset({PENDING, "NEW", "PARTIALLY_FILLED"})


@dataclass(frozen=True, slots=True)
class PaperFill:
    """Fill of an order, in part or in full. For a maker, `tape_id` is the trade that filled it."""

    order_id: int
    price: Price
    quantity: Quantity
    is_maker: bool
    at_ms: int
    tape_id: int | None = None


@dataclass(frozen=True, slots=True)
class ListPart:
    """Role of an order in a list: the entry that starts the others, or one of the exits that end each other."""

    list_id: str
    shape: ListShape
    is_entry: bool = False


@dataclass(slots=True)
class PaperOrder:
    """A paper order. A stop waits for its trigger, which follows the best price since the start if it trails."""

    order_id: int
    side: Side
    kind: Kind
    time_in_force: TimeInForce
    price: Price
    quantity: Quantity
    arrives_ms: int
    stop_price: Price | None = None
    trailing_bps: int | None = None
    best: Price | None = None
    """Best price for a trailing stop since its start: the highest for a sale; None before the first trade."""
    triggers_above: bool = False
    is_triggered: bool = False
    filled: Quantity = NONE
    ahead: Quantity | None = None
    """Quantity ahead of the order at its price. None means unknown: only a trade beyond its price fills the order."""
    status: str = PENDING
    part: ListPart | None = None
    reason: str = ""
    """Reason for the order's end, if the status does not state it."""

    @property
    def left(self) -> Quantity:
        return Quantity(self.quantity - self.filled)

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def is_stop(self) -> bool:
        return self.stop_price is not None or self.trailing_bps is not None

    @property
    def awaits_entry(self) -> bool:
        """Whether the order waits for a fill of its list's entry. The exchange calls this status PENDING_NEW."""
        part = self.part
        return self.status == PENDING and part is not None and part.shape != "OCO" and not part.is_entry

    @property
    def is_on_its_way(self) -> bool:
        """Whether the order has not reached the market yet. In paper trading this status is PENDING_NEW too."""
        return self.status == PENDING and not self.awaits_entry

    @property
    def is_in_market(self) -> bool:
        return self.is_open and self.status != PENDING

    @property
    def level(self) -> Price:
        """Price that the market must reach. For a stop this is the trigger price, otherwise the limit price."""
        return self.stop_price or self.price

    @property
    def waits_above(self) -> bool:
        """Whether the market must rise to reach the order's level."""
        return self.triggers_above if self.stop_price is not None else self.side == "SELL"

    def sees(self, price: Price) -> bool:
        """Return True if a trade at this price triggers the stop. A trailing stop first follows the price."""
        if self.trailing_bps is None:
            stop = self.stop_price
            return stop is not None and (price >= stop if self.triggers_above else price <= stop)
        rises = self.side == "BUY"
        self.best = price if self.best is None else min(self.best, price) if rises else max(self.best, price)
        away = WHOLE_BPS + self.trailing_bps if rises else WHOLE_BPS - self.trailing_bps
        return price * WHOLE_BPS >= self.best * away if rises else price * WHOLE_BPS <= self.best * away
