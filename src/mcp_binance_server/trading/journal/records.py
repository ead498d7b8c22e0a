"""Records of the journal: intents, their states and transitions, and parsing of row values. Pure."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal

from mcp_binance_server.domain.money import Quantity, written
from mcp_binance_server.domain.orders import NOTHING, Order
from mcp_binance_server.trading.judgement.exits import Leg
from mcp_binance_server.trading.judgement.exposure import OpenOrder, Purpose, floor_of
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.released import rest_of
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

IntentState = Literal["PREPARED", "SENT", "ACKED", "REJECTED", "NOT_SENT", "UNKNOWN", "NOT_PLACED", "ADOPTED"]

# Allowed transitions between states. Any other is a defect and is refused.
NEXT: dict[IntentState, frozenset[IntentState]] = {
    "PREPARED": frozenset({"SENT", "NOT_SENT"}),
    "SENT": frozenset({"ACKED", "REJECTED", "UNKNOWN", "NOT_PLACED"}),
    "UNKNOWN": frozenset({"ACKED", "REJECTED", "NOT_PLACED"}),
    "NOT_PLACED": frozenset({"ACKED"}),  # the order may still appear, so it is watched for a day
    "ACKED": frozenset(),
    "REJECTED": frozenset(),
    "NOT_SENT": frozenset(),
    "ADOPTED": frozenset(),
}
UNRESOLVED: frozenset[IntentState] = frozenset({"PREPARED", "SENT", "UNKNOWN"})
NEVER_EXECUTED: frozenset[IntentState] = frozenset({"REJECTED", "NOT_SENT"})
# Final states in which an exit neither sold nor was cancelled.
ENDED_ALONE = frozenset({"REJECTED", "EXPIRED", "EXPIRED_IN_MATCH"})
# Account name of the global stop, which stops all accounts of this machine.
ALL_ACCOUNTS: Final = ""
MOST_DIGITS = 40
LAST_MOMENT_MS = 253_402_300_799_999
# States of orders that probably exist at the exchange.
STANDING: frozenset[IntentState] = frozenset({"ACKED", "ADOPTED"})


class IllegalMove(Exception):
    """Transition to a state that cannot follow the current one."""


@dataclass(frozen=True, slots=True)
class NewIntent:
    """A claim: the agreed terms, the visitor, and how the user confirmed them."""

    preview_id: PreviewId
    client_order_id: str
    visitor: str
    asset: str
    way: Way
    terms: Terms


@dataclass(frozen=True, slots=True)
class Intent:
    """Current state of an intent. `status` is the exchange's status of its order, "" before the first answer.

    For a list, `status` is the status of the entry, or of the pair as a whole. `legs` are the known orders of the list.
    """

    preview_id: PreviewId
    client_order_id: str
    visitor: str
    owner: str
    state: IntentState
    status: str
    order_id: int | None
    executed: Quantity
    spent: Quantity
    counted: int
    way: Way
    terms: Terms
    prepared_ms: int
    updated_ms: int
    final_ms: int | None
    legs: tuple[Leg, ...] = ()
    amended: Quantity | None = None
    """Quantity after a reduction; None if it was never reduced."""
    purpose: Purpose = "entry"
    released_for: str = ""
    """ID of the intent for which this order was cancelled; "" if it was not."""

    @property
    def sold(self) -> Quantity:
        """Quantity that its orders have sold: its own, or the exits of an entry."""
        if self.terms.side == "SELL":
            return self.executed
        return Quantity(sum((each.executed for each in self.legs if not each.is_entry), NOTHING))

    @property
    def quantity(self) -> Quantity:
        return self.terms.quantity if self.amended is None else self.amended

    @property
    def exchange_id(self) -> str:
        """ID at the exchange: of the order, of its list, or of the order that a change applies to."""
        return self.client_order_id if self.terms.replaces is None or not self.terms.amends else self.terms.replaces

    @property
    def current_terms(self) -> Terms:
        """Terms with the quantity after a reduction."""
        return self.terms if self.amended is None else replace(self.terms, quantity=self.amended)

    @property
    def order_ids(self) -> tuple[str, ...]:
        """IDs of the intent's orders at the exchange."""
        return self.terms.order_ids(self.client_order_id)

    @property
    def asked_ids(self) -> tuple[str, ...]:
        """IDs of the intent's orders that are not known to be final."""
        over = {each.client_order_id for each in self.legs if each.is_final}
        return tuple(each for each in self.order_ids if each not in over)

    @property
    def is_cancelled(self) -> bool:
        return self.status == "CANCELED" or any(each.status == "CANCELED" for each in self.legs)

    @property
    def unprotected(self) -> Quantity:
        """Quantity that the entry of a list bought and that no exit sells.

        Exits start only when the entry is filled.
        """
        exits = self.terms.exits
        if exits is None or not exits.has_entry or not self.executed:
            return NOTHING
        ends = [each for each in self.legs if not each.is_entry]
        # A filled exit has sold the whole position. This can be less than was bought, because the fee may be taken from
        # the bought asset.
        if any(each.status == "FILLED" or not (each.is_final or each.status == "PENDING_NEW") for each in ends):
            return NOTHING
        return Quantity(self.executed - sum(each.executed for each in ends))

    @property
    def failed_exit(self) -> Quantity:
        """Quantity that an exit did not sell: it ended without a fill, or was cancelled for another order."""
        exits, is_released = self.terms.exits, self.is_cancelled and self.released_for != ""
        if self.final_ms is None or self.state not in STANDING:
            return NOTHING
        if exits is None or not exits.has_entry:
            is_lost = is_released or (self.terms.is_stop and self.status in ENDED_ALONE)
            return Quantity(self.quantity - self.executed) if is_lost and self.terms.side == "SELL" else NOTHING
        ends = [each for each in self.legs if not each.is_entry]
        is_lost = is_released or any(each.status in ENDED_ALONE for each in ends)
        is_sold = any(each.status == "FILLED" for each in ends)
        return Quantity(max(NOTHING, self.executed - self.sold)) if is_lost and not is_sold else NOTHING

    def exposure(self, read_ms: int) -> OpenOrder:
        """Return the quantities that the intent may still sell and buy, in addition to a balance read at a given time.

        A sale after that time counts with its whole quantity, because the balance may not include it.
        """
        # A change of an order claims nothing. The order itself does.
        terms, is_open = self.terms, self.final_ms is None and not self.terms.amends
        left = Quantity(self.quantity - self.executed) if is_open else NOTHING
        sold, is_live = self.executed, self.state in STANDING
        claims = NOTHING
        if terms.side == "BUY":
            exits = [each for each in self.legs if not each.is_entry]
            is_on = any(not (each.is_final or each.status == "PENDING_NEW") for each in exits)
            sold = self.sold
            bought = NOTHING if terms.exits is None else min(terms.exits.quantity, self.executed)
            for_sale = Quantity(max(NOTHING, bought - sold)) if is_on else NOTHING
        else:
            for_sale = left
            # Until the sale is known, the coins that will be protected again belong to its plan.
            claims = rest_of(terms.releases) if self.is_unresolved else NOTHING
        is_new = self.updated_ms >= read_ms
        return OpenOrder(
            client_order_id=self.client_order_id,
            symbol=terms.symbol,
            side=terms.side,
            price=terms.price,
            left=left,
            claimed=Quantity(for_sale + claims + (sold if is_new else NOTHING)),
            locked=for_sale if is_live else NOTHING,
            floor=floor_of(terms) if is_open else None,
            trailing_bps=terms.starts_trailing_bps,
            slots=len(terms.order_ids(self.client_order_id)) if is_open else 0,
            stops=int(terms.is_stop and is_open),
            releases=tuple(each.client_order_id for each in terms.releases) if self.is_unresolved else (),
        )

    @property
    def average_price(self) -> Decimal | None:
        return self.spent / self.executed if self.executed else None

    @property
    def is_unresolved(self) -> bool:
        return self.state in UNRESOLVED

    def knows(self, order: Order) -> bool:
        """Return True if the intent already has this state of the order. The order may be part of its list."""
        if self.terms.exits is not None:
            found = (each for each in self.legs if each.client_order_id == order.client_order_id)
            return self.state in STANDING and any(each.knows(order) for each in found)
        return self.state in STANDING and (self.status, self.executed) == (order.status, order.executed)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Reason, start and account of a stop; `ALL_ACCOUNTS` means all accounts of this machine.

    A stop that allows exits accepts an exit that a person confirms. A stop for integrity never allows exits.
    """

    why: str
    since_ms: int
    account: str = ALL_ACCOUNTS
    allows_exits: bool = True


@dataclass(frozen=True, slots=True)
class Waiting:
    """A preview that waits for the signature of a person."""

    preview_id: PreviewId
    visitor: str
    terms: Terms
    since_ms: int
    signature: str | None


def amount_in(value: object) -> Decimal:
    """Read an amount of zero or more.

    Raises:
        ValueError: the value is not such an amount.
        ArithmeticError: the text is not a number.
    """
    amount = Decimal(value) if isinstance(value, str) and len(value) <= 2 * MOST_DIGITS else None
    if amount is None or not amount.is_finite() or amount.is_signed() or abs(amount.adjusted()) > MOST_DIGITS:
        raise ValueError("no amount")
    return amount


def count_in(value: object) -> int:
    """Read a whole number of zero or more.

    Raises:
        ValueError: the value is not such a number.
    """
    if not isinstance(value, int) or value < 0:
        raise ValueError("no whole number")
    return value


def moment_in(value: object) -> int:
    """Read a time in milliseconds, at the latest in the year 9999.

    Raises:
        ValueError: the value is not such a time.
    """
    if (moment := count_in(value)) > LAST_MOMENT_MS:
        raise ValueError("no moment")
    return moment


def one_of(value: str, known: Collection[str]) -> str:
    """Read one of the known words.

    Raises:
        ValueError: the value is not one of them.
    """
    if value not in known:
        raise ValueError("no word of ours")
    return value


def text_in(value: object) -> str:
    """Read a text.

    Raises:
        ValueError: the value is not a text.
    """
    if not isinstance(value, str):
        raise ValueError("no text")  # noqa: TRY004 - a row holds values, not types
    return value


def legs_json(legs: tuple[Leg, ...]) -> str:
    """Encode the orders of a list. Equal lists give equal texts."""
    told = [[name, number, status, written(executed), written(spent)] for name, number, status, executed, spent in legs]
    return json.dumps(told, separators=(",", ":"))


def legs_in(value: object) -> tuple[Leg, ...]:
    """Parse the output of `legs_json`.

    Raises:
        ValueError: the value is not such an output.
    """
    if value == "[]":
        return ()
    found = json.loads(text_in(value))
    return tuple(
        Leg(text_in(name), count_in(number), text_in(status), Quantity(amount_in(executed)), Quantity(amount_in(spent)))
        for name, number, status, executed, spent in found
    )
