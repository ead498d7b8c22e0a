"""What happened to an order, step by step: the record from which user events are written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from mcp_binance_server.simulator.market.portfolio import ZERO, Order

ExecutionKind = Literal["NEW", "TRADE", "CANCELED", "REPLACED", "EXPIRED", "REJECTED", "TRADE_PREVENTION"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prevention:
    """A trade of an account with itself that was kept from happening (fields v A B u U Cs pl pL pY)."""

    match_id: int
    prevented: str
    """Of this order in all."""
    last_prevented: str
    """Of this order, this time."""
    trade_group_id: int
    other_order_id: int
    other_symbol: str
    other_prevented: str
    other_price: str
    other_value: str


@dataclass(frozen=True, slots=True)
class Holding:
    """What an account has of an asset after an execution."""

    asset: str
    free: str
    locked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStatus:
    """How an order list stands; everything a listStatus says."""

    list_id: int
    contingency: str
    status_type: str
    order_status: str
    client_list_id: str
    symbol: str
    orders: tuple[tuple[int, str], ...]
    """The order ids and the client order ids."""
    reject_reason: str = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One step of one order: everything an executionReport and an outboundAccountPosition say."""

    number: int
    """`I`: grows with every execution of the whole exchange."""
    holder: str = field(repr=False)
    """The first key of the account that it belongs to: `exchange.holder(key).api_key`."""
    at_ms: int
    kind: ExecutionKind
    order: Order
    """As it stands after it."""
    client_order_id: str
    """`c`: of a cancel the id of the cancel, else that of the order."""
    original_client_order_id: str = ""
    """`C`: of a cancel the id of the order, of an amendment its earlier id, else nothing."""
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
    """The assets that changed with it; empty when none did."""
    list_status: ListStatus | None = None
    """How the list stands that the order belongs to, when that is told."""

    @property
    def expiry_reason(self) -> str | None:
        """`eR`, with the kinds that have one."""
        return self.order.expiry_reason if self.kind in {"EXPIRED", "TRADE_PREVENTION"} else None


Listener = Callable[[Execution], None]


class Executions:
    """Everything that was executed, in order; listeners are told at once, before the request is answered."""

    def __init__(self) -> None:
        self.all: list[Execution] = []
        self.listeners: list[Listener] = []

    @property
    def newest(self) -> int:
        """The number of the newest execution; 0 before the first."""
        return self.all[-1].number if self.all else 0

    def add(self, execution: Execution) -> None:
        """Write one down and tell it."""
        self.all.append(execution)
        for listener in tuple(self.listeners):
            listener(execution)

    def since(self, number: int, holder: str | None = None) -> list[Execution]:
        """Return those behind a number, of one account or of all."""
        return [one for one in self._behind(number) if holder in {None, one.holder}]

    def _behind(self, number: int) -> list[Execution]:
        place = len(self.all)
        while place and self.all[place - 1].number > number:
            place -= 1
        return self.all[place:]
