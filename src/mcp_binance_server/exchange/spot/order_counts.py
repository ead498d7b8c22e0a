"""Order counts of an account in each period that the exchange limits; this server uses at most half of each limit.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits#unfilled-order-count
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mcp_binance_server.channel import LONGEST_RETRY_AFTER_SECS, count_in
from mcp_binance_server.domain.symbols import OrderLimit
from mcp_binance_server.errors import RateLimited
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.wire import SPAN_MS, ExchangeRefusal

OUR_PERCENT = 50
# The smallest limits that the exchange has ever published, used until exchangeInfo is loaded.
LEAST_LIMITS = (OrderLimit(10_000, 50), OrderLimit(86_400_000, 160_000))
_COUNT = re.compile(r"x-mbx-order-count-([0-9]{1,4})([smhd])\Z")
_BY_LETTER = {name[0].lower(): span_ms for name, span_ms in SPAN_MS.items()}


@dataclass(kw_only=True, eq=False)
class TooManyOrders(RateLimited):
    """Nothing was sent: this server's half of the order limit is used up, or the exchange reported its own limit."""

    error_type: ClassVar[str] = "too_many_orders"
    recovery_suggestion: ClassVar[str] = "Wait retry_after_secs; orders of other programs on this account count too"

    current_weight: int | None = None
    weight_limit: int = 0
    orders_counted: int | None = None
    orders_allowed: int | None = None

    @property
    def message(self) -> str:
        limit = "Binance's order limit"
        if self.orders_allowed is not None:
            limit = f"this server's order limit ({self.orders_counted} of {self.orders_allowed})"
        return f"This account has reached {limit}. Nothing was sent; please wait {self.retry_after_secs} seconds."

    def data(self) -> dict[str, Any]:
        told = super().data()
        return {name: value for name, value in told.items() if name not in ("current_weight", "weight_limit")}


@dataclass
class OrderCounts:
    """Order counts of one account: the last counts in the exchange's headers, plus the orders sent since."""

    time: ServerTime
    limits: Callable[[], tuple[OrderLimit, ...]] = field(default=lambda: (), repr=False)
    _counted: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]], init=False)
    """By span: the number of the current span, and the orders placed in it."""
    _closed_until_ms: int = field(default=0, init=False)

    def check(self, orders: int = 1) -> None:
        """Check that one or several more orders may be sent.

        Raises:
            TooManyOrders: the limit is reached.
        """
        now_ms = self.time.likely_ms()
        if self._closed_until_ms > now_ms:
            raise TooManyOrders(retry_after_secs=_secs(self._closed_until_ms - now_ms))
        for limit in self.limits() or LEAST_LIMITS:
            counted, most = self._now(limit.span_ms), limit.most * OUR_PERCENT // 100
            if counted + orders > most:
                left_ms = limit.span_ms - now_ms % limit.span_ms
                raise TooManyOrders(retry_after_secs=_secs(left_ms), orders_counted=counted, orders_allowed=most)

    def sent(self, orders: int = 1) -> None:
        """Count orders just before they are sent, because the answer with the exchange's count may be lost."""
        for limit in self.limits() or LEAST_LIMITS:
            self._note(limit.span_ms, self._now(limit.span_ms) + orders)

    def settle(self, headers: Mapping[str, str]) -> None:
        """Raise our counts to those in an answer's headers; a count never falls within its period."""
        for name in headers:
            if found := _COUNT.match(name.lower()):
                span_ms = int(found[1]) * _BY_LETTER[found[2]]
                if span_ms and (told := count_in(headers, name)) is not None:
                    self._note(span_ms, max(told, self._now(span_ms)))

    def close(self, refusal: ExchangeRefusal) -> None:
        """Block all orders for the time that the exchange demands, otherwise until the end of its shortest period."""
        now_ms, retry_after_secs = self.time.likely_ms(), refusal.retry_after_secs
        shortest_ms = min(limit.span_ms for limit in self.limits() or LEAST_LIMITS)
        asked_ms = None if retry_after_secs is None else min(retry_after_secs, LONGEST_RETRY_AFTER_SECS) * 1000
        pause_ms = shortest_ms - now_ms % shortest_ms if asked_ms is None else asked_ms
        self._closed_until_ms = max(self._closed_until_ms, now_ms + pause_ms)

    def _now(self, span_ms: int) -> int:
        span, counted = self._counted.get(span_ms, (-1, 0))
        return counted if span == self.time.likely_ms() // span_ms else 0

    def _note(self, span_ms: int, counted: int) -> None:
        self._counted[span_ms] = self.time.likely_ms() // span_ms, counted


def _secs(ms: int) -> int:
    return max(1, math.ceil(ms / 1000))
