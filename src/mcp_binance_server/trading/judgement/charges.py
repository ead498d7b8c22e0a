"""Charges of an order against the operator's limits. Pure. The ledgers store the counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from mcp_binance_server.trading.judgement.policy import Policy, Way, cents_text
from mcp_binance_server.trading.judgement.terms import Terms, TradingMode

DAY_MS = 86_400_000
MINUTE_MS = 60_000

PER_DAY, AUTO = "per_day", "auto_per_day"

Unit = Literal["money", "count"]
Span = Literal["day", "minute", "open"]


@dataclass(frozen=True, slots=True)
class Charge:
    """Amount that an order takes of one limit: per day of exchange time, in the last minute, or while it is open.

    Money is in whole hundredths. With `most` None the amount is counted but not limited. If an order is not fully
    executed, the rest of its money is refunded. The order itself stays counted, because a refused request counts too.
    """

    name: str
    span: Span
    unit: Unit
    amount: int
    most: int | None

    def told(self, amount: int) -> str:
        """Format an amount in the unit of this charge."""
        return cents_text(amount) if self.unit == "money" else str(amount)

    def breaks(self, used: int) -> bool:
        return self.most is not None and used + self.amount > self.most


def charges(terms: Terms, policy: Policy, way: Way) -> tuple[Charge, ...]:
    """Return the charges of an order with these terms, narrowest limit first."""
    limits = policy.limits
    most = {AUTO: policy.confirm.auto_per_day, PER_DAY: limits.per_day}
    return (
        Charge("orders_per_minute", "minute", "count", 1, limits.orders_per_minute),
        Charge("orders_per_day", "day", "count", 1, limits.orders_per_day),
        # A replacement does not change the number of open orders.
        Charge("open_orders", "open", "count", 0 if terms.replaces else 1, limits.open_orders),
        *(
            Charge(name, "day", "money", terms.taken, most.get(name, limits.per_symbol_day))
            for name in daily_money(terms, way)
        ),
    )


def standing(policy: Policy, mode: TradingMode) -> tuple[Charge, ...]:
    """Return the limits of the whole account. They are shown before any order."""
    limits = policy.limits
    auto = (Charge(AUTO, "day", "money", 0, policy.confirm.auto_per_day),) if mode == "live" else ()
    return (
        Charge("orders_per_minute", "minute", "count", 0, limits.orders_per_minute),
        Charge("orders_per_day", "day", "count", 0, limits.orders_per_day),
        Charge("open_orders", "open", "count", 0, limits.open_orders),
        Charge(PER_DAY, "day", "money", 0, limits.per_day),
        *auto,
    )


def daily_money(terms: Terms, way: Way) -> tuple[str, ...]:
    """Return the names of the daily money limits that an order is charged to and refunded to."""
    auto = (AUTO,) if way == "policy" and terms.mode == "live" else ()
    return f"per_symbol_day:{terms.symbol}", PER_DAY, *auto


def window_of(span: Span, now_ms: int) -> int:
    """Return the day number that a daily amount is stored under.

    Return 0 for other spans, which are counted from the orders.
    """
    return now_ms // DAY_MS if span == "day" else 0


def given_back(counted: int, quantity: Decimal, executed: Decimal) -> int:
    """Return the unused part of a charge. It is rounded down, so that limits never count too little."""
    unused = (quantity - executed) / quantity * counted if quantity else Decimal(0)
    return int(unused.to_integral_value(ROUND_FLOOR))


def first_broken(found: Iterable[Charge], used: dict[str, int]) -> Charge | None:
    """Return the first charge that would exceed its limit."""
    return next((each for each in found if each.breaks(used.get(each.name, 0))), None)
