"""Executions: each step of an order. User events are created from them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from binance_simulator.market.portfolio import ZERO, Order

ExecutionKind = Literal["NEW", "TRADE", "CANCELED", "REPLACED", "EXPIRED", "REJECTED", "TRADE_PREVENTION"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevention:
    """A prevented self-trade (fields v A B u U Cs pl pL pY)."""

    match_id: int
    prevented: str
    """Prevented quantity of this order, in total."""
    last_prevented: str
    """Prevented quantity of this order, in this step."""
    trade_group_id: int
    other_order_id: int
    other_symbol: str
    other_prevented: str
    other_price: str
    other_value: str
    taker: bool
    """Whether this order was the incoming one."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Balance of an asset after a step."""

    asset: str
    free: str
    locked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStatus:
    """Status of an order list, with all fields of listStatus."""

    list_id: int
    contingency: str
    status_type: str
    order_status: str
    client_list_id: str
    symbol: str
    orders: tuple[tuple[int, str], ...]
    """The order IDs with their client order IDs."""
    reject_reason: str = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One step of an order, with all fields of executionReport and outboundAccountPosition."""

    number: int
    """`I`: increases with every execution of the whole exchange."""
    holder: str = field(repr=False)
    """The first key of its account: `exchange.holder(key).api_key`."""
    at_ms: int
    kind: ExecutionKind
    order: Order
    """The order after this step."""
    client_order_id: str
    """`c`: for a cancel the ID of the cancel, else that of the order."""
    original_client_order_id: str = ""
    """`C`: for a cancel the ID of the order, for an amendment its earlier ID, else empty."""
    last_quantity: str = ZERO
    last_price: str = ZERO
    last_value: str = ZERO
    trade_id: int = -1
    maker: bool = False
    commission: str = "0"
    commission_asset: str | None = None
    reject_reason: str = "NONE"
    prevention: Prevention | None = None
    holdings: tuple[Holding, ...] = ()
    """Balances of the assets that changed in this step; empty if none did."""
    list_status: ListStatus | None = None
    """Status of the order's list, if the step reports it."""

    @property
    def expiry_reason(self) -> str | None:
        """The field `eR` (expiry reason), for kinds that have one."""
        return self.order.expiry_reason if self.kind in {"EXPIRED", "TRADE_PREVENTION"} else None


Listener = Callable[[Execution], None]


class Executions:
    """All executions in order. Listeners are called immediately, before the request is answered."""

    def __init__(self) -> None:
        self.all: list[Execution] = []
        self.listeners: list[Listener] = []

    @property
    def newest(self) -> int:
        """Sequence number of the newest execution, or 0 before the first."""
        return self.all[-1].number if self.all else 0

    def add(self, execution: Execution) -> None:
        """Record an execution and call the listeners."""
        self.all.append(execution)
        for listener in tuple(self.listeners):
            listener(execution)

    def since(self, number: int, holder: str | None = None) -> list[Execution]:
        """Return the executions after a sequence number. Without a holder, return those of all accounts."""
        return [one for one in self._behind(number) if holder in {None, one.holder}]

    def _behind(self, number: int) -> list[Execution]:
        place = len(self.all)
        while place and self.all[place - 1].number > number:
            place -= 1
        return self.all[place:]
