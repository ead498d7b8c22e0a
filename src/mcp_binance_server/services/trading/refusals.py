"""Errors for refused orders: the guard, its limit, and the remaining amounts of the limits."""

from mcp_binance_server.domain.money import percent_of
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import AppError
from mcp_binance_server.trading.errors import (
    OrderDenied,
    OrderNotFound,
    OrderUnresolved,
    PreviewStale,
    TradingNotReady,
    TradingStopped,
)
from mcp_binance_server.trading.journal.records import Intent, Stopped
from mcp_binance_server.trading.journal.store import Store
from mcp_binance_server.trading.journal.watching import OrderWatch
from mcp_binance_server.trading.judgement.guards import Denied, Situation
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.trading.judgement.terms import command

MARKET_MOVED = frozenset({"book", "collar", "slippage"})
# Most open orders that an error lists, newest first.
MOST_LISTED = 10


def refusal(denied: Denied, waits_for: str = "", stopped: Stopped | None = None, network: str = "") -> AppError:
    """Return the error for a denial. A stop and a moved market have errors of their own."""
    match denied.guard:
        case "ready":
            return TradingNotReady(step=waits_for or "the server is ready")
        case "unresolved":
            return OrderUnresolved(client_order_id=denied.client_order_id or "")
        case "stop" if stopped is not None:
            return stopped_error(stopped, network)
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


def stopped_error(stopped: Stopped, network: str) -> TradingStopped:
    """Return the error for a stop, with its reason and start."""
    since = f"{moment_of(stopped.since_ms):%Y-%m-%d %H:%M:%S} UTC"
    return TradingStopped(why=stopped.why, since=since, how_to_resume=command("resume", network))


async def unknown_order(store: Store, account: str, *, placed_here: bool = True) -> OrderNotFound:
    """Return the error for an unknown order ID, with the open orders of the account."""
    found = [each for each in await OrderWatch(store).open_intents((account,)) if not each.terms.amends]
    return OrderNotFound(open_orders=tuple(map(_brief, found[-MOST_LISTED:])), placed_here=placed_here)


def _brief(intent: Intent) -> str:
    terms = intent.current_terms
    stop = "" if terms.stop_price is None else f", stop {written(terms.stop_price)}"
    if terms.trailing_bps is not None:
        stop = f", trailing {written(percent_of(terms.trailing_bps))}%"
    order = f"{terms.side} {written(terms.quantity)} {terms.symbol} at {written(terms.price)}{stop}"
    return f"{intent.client_order_id} ({order})"


def left_of(found: Situation) -> dict[str, str]:
    """Return the remaining amount of each limit that an order is charged to."""
    return {
        each.name: each.told(max(0, each.most - found.used.get(each.name, 0)))
        for each in found.charges
        if each.most is not None
    }
