"""The rules of the request weight as the vectors call them."""

from collections.abc import Callable, Mapping
from typing import Any

from mcp_binance_server.state.engine import CallKind, Reserves
from mcp_binance_server.state.weight import MINUTE_MS, Ledger, Weight, ceiling, charged_minutes

IP = "ip"
# The vectors give what may be spent; of a limit we allow ourselves nine tenths.
LIMIT_OF = {6000: 6667}


def acquire(used: int, cost: int, limit: int, banned_ms: int, left_ms: int) -> dict[str, Any]:
    ledger, now_ms = Ledger(Reserves.none(), edge_ms=0), MINUTE_MS - left_ms
    ledger.report(IP, used, minute=0, at=0)
    if banned_ms:
        ledger.stop(IP, ms=banned_ms, reason="HTTP 418", at=0)
    grant = ledger.acquire(IP, "public", cost, limit=LIMIT_OF[limit], now_ms=now_ms, at=0)
    reason = "banned" if grant.reason == "stopped" else grant.reason
    return {"ok": grant.granted, "reason": reason, "retry_ms": grant.retry_ms, "used": grant.used}


def classed(  # noqa: PLR0917 - as the vectors call it
    limit: int,
    used: int,
    spent: Mapping[str, int],
    kind: CallKind,
    cost: int,
    reserves: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    minute = Weight(used, spent.get("order", 0), spent.get("private", 0))
    room = minute.room(kind, ceiling(limit), Reserves() if reserves is None else Reserves.none())
    if cost <= room:
        minute = minute.after(kind, cost)
    return {"ok": cost <= room, "ceiling": ceiling(limit), "room": room, "used": minute.total}


def synced(own: int, header: int, is_same_minute: bool) -> int:  # noqa: FBT001 - as the vectors call it
    ledger = Ledger(Reserves.none())
    ledger.report(IP, own, minute=1, at=0)
    ledger.report(IP, header, minute=1 if is_same_minute else 0, at=0)
    return ledger.used(IP, MINUTE_MS, 0)


def stopped(until_ms: int, now_ms: int, retry_after_secs: int) -> int:
    ledger = Ledger(Reserves.none())
    ledger.stop(IP, ms=until_ms - now_ms, reason="HTTP 418", at=now_ms)
    return now_ms + ledger.stop(IP, ms=retry_after_secs * 1000, reason="HTTP 429", at=now_ms)


def windows(now_ms: int, edge_ms: int) -> dict[str, Any]:
    return {"minutes": sorted(charged_minutes(now_ms, edge_ms)), "reset_ms": MINUTE_MS - now_ms % MINUTE_MS}


WEIGHT: dict[str, Callable[..., object]] = {
    "weight_acquire": acquire,
    "weight_class": classed,
    "weight_sync": synced,
    "weight_stop": stopped,
    "weight_windows": windows,
}
