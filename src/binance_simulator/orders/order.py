"""Orders inside the order desk: requested, live and amended."""

from dataclasses import dataclass, field

from binance_simulator.market.listing import UNIT, Symbol, decimal_string
from binance_simulator.market.portfolio import ZERO, Order

STOPS = frozenset({"STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"})
AT_MARKET = frozenset({"MARKET", "STOP_LOSS", "TAKE_PROFIT"})
Label = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peg:
    """Instruction to take the price from the book; `limit` is the price that was sent, 0 for none."""

    kind: str
    level: int | None
    limit: int

    @property
    def same_side(self) -> bool:
        """Return whether the price is one of the order's own side of the book."""
        return self.kind == "PRIMARY_PEG"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A requested order, in units of 0.00000001. A price of 0 means no price."""

    symbol: Symbol
    buys: bool
    kind: str
    time_in_force: str
    quantity: int
    price: int
    stop: int
    client_order_id: str
    self_trade: str
    quote: int = 0
    """Amount of the quote asset to spend or to receive; 0 if the order has a quantity."""
    iceberg: int = 0
    """Largest quantity to show in the book; 0 shows all."""
    peg: Peg | None = None
    strategy_id: int | None = None
    strategy_type: int | None = None
    trailing: int = 0
    """`trailingDelta` in basis points; 0 for an order that does not trail."""

    @property
    def at_market(self) -> bool:
        """Return whether the order takes at any price once it trades."""
        return self.kind in AT_MARKET

    @property
    def conditional(self) -> bool:
        return self.kind in STOPS

    @property
    def rises(self) -> bool:
        """Return whether a rising price triggers the order."""
        return self.buys == self.kind.startswith("STOP_LOSS")

    @property
    def locked_asset(self) -> str:
        return self.symbol.quote if self.buys else self.symbol.base

    def needs(self, left: int) -> int:
        """Return the amount to lock for a quantity of the order; a buy without any price locks nothing."""
        if not self.buys:
            return left
        return -(-(self.price or self.stop) * left // UNIT)

    def label(self) -> Label:
        """Return the fields that an order shows only if they were sent."""
        told: Label = {}
        if self.strategy_id is not None:
            told["strategyId"] = self.strategy_id
        if self.strategy_type is not None:
            told["strategyType"] = self.strategy_type
        if self.peg is not None:
            told["pegPriceType"] = self.peg.kind
            if self.peg.level is not None:
                told |= {"pegOffsetType": "PRICE_LEVEL", "pegOffsetValue": self.peg.level}
            if self.price:
                told["peggedPrice"] = decimal_string(self.price)
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """One amendment of an order."""

    execution: int
    earlier_id: str
    client_order_id: str
    earlier_quantity: int
    quantity: int
    at_ms: int


@dataclass(slots=True, kw_only=True)
class LiveOrder:
    """An order with its current state."""

    wanted: Wanted
    number: int
    holder: str
    placed_ms: int
    updated_ms: int
    status: str = "NEW"
    executed: int = 0
    value: int = 0
    locked: int = 0
    prevented: int = 0
    prevented_match_id: int | None = None
    triggered_ms: int | None = None
    expiry_reason: str | None = None
    list_id: int = -1
    released_ms: int | None = None
    amendments: list[Amendment] = field(default_factory=list[Amendment])
    tracked_ms: int | None = None
    """Time of the first trade that a trailing order follows; None before it."""
    extreme: int = 0
    """Best price since then: the lowest for a purchase, the highest for a sale."""

    @property
    def open(self) -> bool:
        return self.status in {"NEW", "PENDING_NEW", "PARTIALLY_FILLED"}

    @property
    def pending(self) -> bool:
        """Return whether the order still waits for its list's working order."""
        return self.status == "PENDING_NEW"

    @property
    def waiting(self) -> bool:
        return self.open and not self.pending and self.wanted.conditional and self.triggered_ms is None

    @property
    def left(self) -> int:
        return self.wanted.quantity - self.executed - self.prevented

    @property
    def needed(self) -> int:
        """Amount to lock for the remaining quantity."""
        return self.wanted.needs(self.left)

    def told(self) -> Order:
        """Return the order in wire format."""
        wanted = self.wanted
        return Order(
            symbol=wanted.symbol.name,
            order_id=self.number,
            client_order_id=wanted.client_order_id,
            side="BUY" if wanted.buys else "SELL",
            price=decimal_string(wanted.price if wanted.peg is None else wanted.peg.limit),
            quantity=decimal_string(wanted.quantity),
            executed=decimal_string(self.executed),
            executed_value=decimal_string(self.value),
            status=self.status,
            placed_ms=self.placed_ms,
            updated_ms=self.updated_ms,
            kind=wanted.kind,
            time_in_force=wanted.time_in_force,
            stop_price=decimal_string(wanted.stop) if wanted.stop else ZERO,
            expiry_reason=self.expiry_reason,
            self_trade=wanted.self_trade,
            triggered_ms=self.triggered_ms,
            prevented=decimal_string(self.prevented),
            prevented_match_id=self.prevented_match_id,
            list_id=self.list_id,
            released_ms=self.released_ms,
            quote_quantity=decimal_string(wanted.quote),
            iceberg=decimal_string(wanted.iceberg),
            label=wanted.label() | self._trail(),
        )

    def _trail(self) -> Label:
        if not self.wanted.trailing:
            return {}
        return {"trailingDelta": self.wanted.trailing, "trailingTime": self.tracked_ms or -1}
