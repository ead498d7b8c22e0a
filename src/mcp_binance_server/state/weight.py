"""Who may spend how much of the request weight in which minute.

Binance counts weight per IP in windows of the clock minute:
https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits
"""

from dataclasses import dataclass
from math import ceil

from mcp_binance_server.state.engine import CallKind, Grant, Reserves
from mcp_binance_server.state.expiry import Expiring

MINUTE_MS = 60_000
EDGE_MS = 1_000
# A minute is charged from a second before its start to a second after its end; the rest is for late reports.
KEEP_MS = 130_000


def ceiling(limit: int) -> int:
    """Return what we allow ourselves of the exchange's limit."""
    return limit * 9 // 10


def charged_minutes(now_ms: int, edge_ms: int) -> tuple[int, ...]:
    """Return the minutes in which the exchange may count a call sent now, the latest first."""
    minute, into_ms = divmod(now_ms, MINUTE_MS)
    if into_ms < edge_ms:
        return minute, minute - 1
    if into_ms >= MINUTE_MS - edge_ms:
        return minute + 1, minute
    return (minute,)


@dataclass(slots=True)
class Spent:
    """What was charged to one minute; `total` also holds what the exchange reported."""

    total: int = 0
    order: int = 0
    private: int = 0

    def room(self, kind: CallKind, top: int, reserves: Reserves) -> int:
        """Return what a kind of call may still spend: all but the unused reserves of the kinds above it."""
        kept = 0
        if kind != "order":
            kept += max(0, top * reserves.order_percent // 100 - self.order)
        if kind == "public":
            kept += max(0, top * reserves.private_percent // 100 - self.private)
        return top - kept - self.total

    def charge(self, kind: CallKind, cost: int) -> None:
        self.total += cost
        if kind == "order":
            self.order += cost
        elif kind == "private":
            self.private += cost


class Ledger:
    """The weight of one process's minutes: `now_ms` is exchange time and picks the minute, `at` is monotonic."""

    def __init__(self, reserves: Reserves, *, edge_ms: int = EDGE_MS) -> None:
        self._reserves = reserves
        self._edge_ms = edge_ms
        self._minutes: Expiring[tuple[str, int], Spent] = Expiring()
        self._stops: Expiring[str, str] = Expiring()

    def acquire(self, ip: str, kind: CallKind, cost: int, *, limit: int, now_ms: int, at: float) -> Grant:
        if cost < 0:
            raise ValueError(f"weight is never given back: cost {cost}")
        stopped_ms = self._stops.left(ip, at)
        if stopped_ms > 0:
            return Grant(granted=False, reason="stopped", used=self.used(ip, now_ms, at), retry_ms=ceil(stopped_ms))
        minutes = {minute: self._spent(ip, minute, at) for minute in charged_minutes(now_ms, self._edge_ms)}
        for minute, spent in minutes.items():
            if cost > spent.room(kind, ceiling(limit), self._reserves):
                # Right at the edge the full minute would be charged once more, so wait the guard out too.
                retry_ms = (minute + 1) * MINUTE_MS + self._edge_ms - now_ms
                return Grant(granted=False, reason="budget", used=spent.total, retry_ms=retry_ms)
        for minute, spent in minutes.items():
            spent.charge(kind, cost)
            self._minutes.put((ip, minute), spent, deadline=at + KEEP_MS, now=at)
        return Grant(granted=True, reason="", used=minutes[now_ms // MINUTE_MS].total, retry_ms=0)

    def used(self, ip: str, now_ms: int, at: float) -> int:
        return self._spent(ip, now_ms // MINUTE_MS, at).total

    def report(self, ip: str, used: int, *, minute: int, at: float) -> None:
        spent = self._spent(ip, minute, at)
        spent.total = max(spent.total, used)
        self._minutes.put((ip, minute), spent, deadline=at + KEEP_MS, now=at)

    def stop(self, ip: str, *, ms: int, reason: str, at: float) -> int:
        left_ms = self._stops.left(ip, at)
        if ms > left_ms:
            self._stops.put(ip, reason, deadline=at + ms, now=at)
        return ceil(max(ms, left_ms))

    def _spent(self, ip: str, minute: int, at: float) -> Spent:
        return self._minutes.get((ip, minute), at) or Spent()
