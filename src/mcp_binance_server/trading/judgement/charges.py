"""What an order takes of each of the operator's limits. Pure; who keeps the counts asks here what to count."""

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
    """So much of one limit: within a day of exchange time, within the last minute, or for as long as an order is open.

    Money is whole hundredths; `most` of None is counted and not limited. What turns out not to have been executed is
    given back in money and stays counted as an order: a refusal was a request too.
    """

    name: str
    span: Span
    unit: Unit
    amount: int
    most: int | None

    def told(self, amount: int) -> str:
        """Write an amount of it."""
        return cents_text(amount) if self.unit == "money" else str(amount)

    def breaks(self, used: int) -> bool:
        return self.most is not None and used + self.amount > self.most


def charges(terms: Terms, policy: Policy, way: Way) -> tuple[Charge, ...]:
    """Return what placing these terms takes, the narrowest first."""
    limits = policy.limits
    most = {AUTO: policy.confirm.auto_per_day, PER_DAY: limits.per_day}
    return (
        Charge("orders_per_minute", "minute", "count", 1, limits.orders_per_minute),
        Charge("orders_per_day", "day", "count", 1, limits.orders_per_day),
        # What takes the place of another is open instead of it.
        Charge("open_orders", "open", "count", 0 if terms.replaces else 1, limits.open_orders),
        *(
            Charge(name, "day", "money", terms.taken, most.get(name, limits.per_symbol_day))
            for name in daily_money(terms, way)
        ),
    )


def standing(policy: Policy, mode: TradingMode) -> tuple[Charge, ...]:
    """Return the limits that hold for the account as a whole, as they are told before any order."""
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
    """Name the limits of money and day that an order counts for, and is given back to."""
    auto = (AUTO,) if way == "policy" and terms.mode == "live" else ()
    return f"per_symbol_day:{terms.symbol}", PER_DAY, *auto


def window_of(span: Span, now_ms: int) -> int:
    """Name the day that an amount of money or a count is kept under; other spans are counted from the orders."""
    return now_ms // DAY_MS if span == "day" else 0


def given_back(counted: int, quantity: Decimal, executed: Decimal) -> int:
    """Return how much of what was counted was not used, rounded so that limits never count too little."""
    unused = (quantity - executed) / quantity * counted if quantity else Decimal(0)
    return int(unused.to_integral_value(ROUND_FLOOR))


def first_broken(found: Iterable[Charge], used: dict[str, int]) -> Charge | None:
    """Return the first limit that would be passed."""
    return next((each for each in found if each.breaks(used.get(each.name, 0))), None)
