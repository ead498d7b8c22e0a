"""Errors for refused orders: the guard, its limit, and the remaining amount of each limit."""

from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.errors import (
    OrderDenied,
    OrderUnresolved,
    PreviewStale,
    TradingNotReady,
    TradingStopped,
)
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.judgement.guards import Denied, Situation

MARKET_MOVED = frozenset({"book", "collar", "slippage"})


def refusal(denied: Denied, waits_for: str = "", stopped: Stopped | None = None) -> AppError:
    """Return the error for a denial. A stop and a moved market have their own errors."""
    match denied.guard:
        case "ready":
            return TradingNotReady(step=waits_for or "the server is ready")
        case "unresolved":
            return OrderUnresolved(client_order_id=denied.client_order_id or "")
        case "stop" if stopped is not None:
            return stopped_error(stopped)
        case guard if guard in MARKET_MOVED:
            return PreviewStale(guard=guard, received=denied.received, limit=denied.limit, left=denied.left)
        case guard:
            return OrderDenied(
                guard=guard,
                received=denied.received,
                limit=denied.limit,
                left=denied.left,
                client_order_id=denied.client_order_id,
                retry_after_secs=denied.retry_after_secs,
            )


def stopped_error(stopped: Stopped) -> TradingStopped:
    """Return the error for a stop, with its reason and start."""
    return TradingStopped(why=stopped.why, since=f"{moment_of(stopped.since_ms):%Y-%m-%d %H:%M:%S} UTC")


def left_of(found: Situation) -> dict[str, str]:
    """Return the remaining amount of each limit that an order is charged to."""
    return {
        each.name: each.told(max(0, each.most - found.used.get(each.name, 0)))
        for each in found.charges
        if each.most is not None
    }
