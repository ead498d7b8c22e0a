"""Charges of an order against the operator's limits. Pure. The ledgers store the counts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from mcp_binance_server.trading.judgement.exposure import Purpose
from mcp_binance_server.trading.judgement.policy import Policy, Way, cents_text
from mcp_binance_server.trading.judgement.terms import Terms, TradingMode

DAY_MS = 86_400_000
MINUTE_MS = 60_000

PER_DAY, AUTO = "per_day", "auto_per_day"
# Most exits in a minute and in a day. Exits have limits of their own, so that the limits of entries never block an
# exit.
EXITS_PER_MINUTE, EXITS_PER_DAY = 20, 200

Unit = Literal["money", "count"]
Span = Literal["day", "minute", "open"]


@dataclass(frozen=True, slots=True)
class Charge:
    """Charge of an order to one limit: per day of exchange time, in the last minute, or while the order is open.

    Money is in whole hundredths. With `most` None the charge is counted but not limited. Unspent money is refunded, but
    the order stays counted, because a refused order was also a request. Entries and exits are counted apart.
    """

    name: str
    span: Span
    unit: Unit
    amount: int
    most: int | None
    of_exits: bool = False

    def told(self, amount: int) -> str:
        """Format an amount in the unit of this charge."""
        return cents_text(amount) if self.unit == "money" else str(amount)

    def breaks(self, used: int) -> bool:
        return self.most is not None and used + self.amount > self.most


def charges(terms: Terms, policy: Policy, way: Way, purpose: Purpose = "entry") -> tuple[Charge, ...]:
    """Return the charges for placing these terms, the narrowest limit first.

    An exit is charged to the limits of exits and to the limit of automatic orders. A smaller entry is charged to the
    limits of entries and of exits. The limits of entries, except that of automatic orders, do not refuse it. A step of
    a plan is charged to nothing.
    """
    if purpose == "step":
        return ()
    limits = policy.limits
    most = {AUTO: policy.confirm.auto_per_day, PER_DAY: limits.per_day}
    of_exit = (
        Charge("exits_per_minute", "minute", "count", 1, EXITS_PER_MINUTE, of_exits=True),
        Charge("exits_per_day", "day", "count", 1, EXITS_PER_DAY, of_exits=True),
    )
    money = tuple(
        Charge(name, "day", "money", terms.taken, most.get(name, limits.per_symbol_day))
        for name in daily_money(terms, way, purpose)
    )
    if purpose == "exit":
        return (*of_exit, *money)
    of_entry = (
        Charge("orders_per_minute", "minute", "count", 1, limits.orders_per_minute),
        Charge("orders_per_day", "day", "count", 1, limits.orders_per_day),
        # A replacement does not change the number of open orders.
        Charge("open_orders", "open", "count", 0 if terms.replaces else 1, limits.open_orders),
        *money,
    )
    if purpose == "entry":
        return of_entry
    return (*of_exit, *(each if each.name == AUTO else replace(each, most=None) for each in of_entry))


def standing(policy: Policy, mode: TradingMode) -> tuple[Charge, ...]:
    """Return the limits of the whole account, as the trading status shows them."""
    limits = policy.limits
    auto = (Charge(AUTO, "day", "money", 0, policy.confirm.auto_per_day),) if mode == "live" else ()
    return (
        Charge("orders_per_minute", "minute", "count", 0, limits.orders_per_minute),
        Charge("orders_per_day", "day", "count", 0, limits.orders_per_day),
        Charge("open_orders", "open", "count", 0, limits.open_orders),
        Charge(PER_DAY, "day", "money", 0, limits.per_day),
        *auto,
    )


def daily_money(terms: Terms, way: Way, purpose: Purpose) -> tuple[str, ...]:
    """Return the names of the daily money limits that an order is charged to.

    An exit is charged only to the limit of automatic orders.
    """
    if purpose == "step":
        return ()
    auto = (AUTO,) if way == "policy" and terms.mode == "live" else ()
    return auto if purpose == "exit" else (f"per_symbol_day:{terms.symbol}", PER_DAY, *auto)


def window_of(span: Span, now_ms: int) -> int:
    """Return the day number that a daily amount is stored under.

    Other limits are counted from the orders and return 0.
    """
    return now_ms // DAY_MS if span == "day" else 0


def not_counted(charge: Charge) -> tuple[Purpose, Purpose]:
    """Return the purposes of orders that this charge does not count."""
    return ("entry", "step") if charge.of_exits else ("exit", "step")


def given_back(counted: int, quantity: Decimal, executed: Decimal) -> int:
    """Return the refund: the unspent part of a charge, rounded down so that limits never count too little."""
    unused = (quantity - executed) / quantity * counted if quantity else Decimal(0)
    return int(unused.to_integral_value(ROUND_FLOOR))


def first_broken(found: Iterable[Charge], used: dict[str, int]) -> Charge | None:
    """Return the first charge that would exceed its limit."""
    return next((each for each in found if each.breaks(used.get(each.name, 0))), None)
