"""Order counts of an account and their limits."""

from dataclasses import dataclass

from binance_simulator.refusals import Refusal

LENGTHS_MS = {"SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}


@dataclass(frozen=True, slots=True)
class OrderLimit:
    """One row of rateLimits with the type ORDERS."""

    interval: str
    number: int
    limit: int

    @property
    def length_ms(self) -> int:
        return self.number * LENGTHS_MS[self.interval]

    @property
    def header(self) -> str:
        return f"X-MBX-ORDER-COUNT-{self.number}{self.interval[0]}"


class OrderLedger:
    """Counts of unfilled orders for each account and time window. Windows start at multiples of their length."""

    def __init__(self, rate_limits: list[dict[str, str | int]]) -> None:
        self._rows = rate_limits
        self._counts: dict[tuple[str, int], tuple[int, int]] = {}  # by account and window length

    @property
    def limits(self) -> list[OrderLimit]:
        """The order limits of exchangeInfo."""
        rows = [row for row in self._rows if row["rateLimitType"] == "ORDERS"]
        return [OrderLimit(str(row["interval"]), int(row["intervalNum"]), int(row["limit"])) for row in rows]

    def wipe(self) -> None:
        """Reset all counts."""
        self._counts.clear()

    def count(self, holder: str, limit: OrderLimit, now_ms: int) -> int:
        """Return the count in the window that contains `now_ms`."""
        window, count = self._counts.get((holder, limit.length_ms), (0, 0))
        return count if window == now_ms // limit.length_ms else 0

    def spend(self, holder: str, now_ms: int, orders: int = 1) -> None:
        """Count an order, or all orders of a list.

        Raises:
            Refusal: the limit of a window is reached.
        """
        for limit in self.limits:
            if self.count(holder, limit, now_ms) + orders > limit.limit:
                raise _too_many(limit, now_ms)
        self._add(holder, orders, now_ms)

    def give_back(self, holder: str, now_ms: int, orders: int = 1) -> None:
        """Lower the count, because an order has its first fill or was not accepted."""
        self._add(holder, -orders, now_ms)

    def headers(self, holder: str, now_ms: int) -> dict[str, str]:
        """Return the counts as headers for a successful answer."""
        return {limit.header: str(self.count(holder, limit, now_ms)) for limit in self.limits}

    def _add(self, holder: str, orders: int, now_ms: int) -> None:
        for limit in self.limits:
            count = max(0, self.count(holder, limit, now_ms) + orders)
            self._counts[holder, limit.length_ms] = (now_ms // limit.length_ms, count)


def _too_many(limit: OrderLimit, now_ms: int) -> Refusal:
    left_ms = limit.length_ms - now_ms % limit.length_ms
    told = f"Too many new orders; current limit is {limit.limit} orders per {limit.number} {limit.interval}."
    return Refusal(-1015, told, status=429, retry_after_secs=-(-left_ms // 1000), retry_at_ms=now_ms + left_ms)
