"""Conversion of terms to a request: one order, a list of orders, or a change of an open order."""

from mcp_binance_server.domain.order_requests import (
    Amendment,
    Kind,
    Replacement,
    Target,
    Written,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.trading.judgement.exits import ABOVE, BELOW, ENTRY, Exits
from mcp_binance_server.trading.judgement.terms import Terms


def request_of(terms: Terms, client_order_id: str) -> Written:
    """Return the request that is sent for these terms."""
    if terms.exits is not None:
        return _list(terms, terms.exits, client_order_id)
    if terms.replaces is None:
        return written_order(terms, client_order_id)
    target = Target(terms.symbol, terms.replaces)
    if terms.amends:
        return Amendment(target, terms.quantity)
    return Replacement(target, written_order(terms, client_order_id))


def written_order(terms: Terms, client_order_id: str) -> WrittenOrder:
    """Return the order as it is sent. A market order becomes an IOC limit order at its worst price."""
    if terms.kind == "OCO":
        raise ValueError("a pair is sent as a list")
    kind, time_in_force = ("LIMIT", "IOC") if terms.is_market else (terms.kind, terms.time_in_force)
    return WrittenOrder(
        client_order_id, terms.symbol, terms.side, kind, time_in_force, terms.quantity, terms.price, terms.stop_price
    )


def _list(terms: Terms, exits: Exits, client_order_id: str) -> WrittenList:
    def exit_order(suffix: str) -> WrittenOrder:
        kind: Kind = "LIMIT_MAKER" if suffix == ABOVE else "STOP_LOSS_LIMIT"
        price, stop = (exits.take_profit, None) if suffix == ABOVE else (exits.stop_limit, exits.stop)
        if price is None:
            raise ValueError("an exit without a price")
        return WrittenOrder(client_order_id + suffix, terms.symbol, "SELL", kind, "GTC", exits.quantity, price, stop)

    entry = (written_order(terms, client_order_id + ENTRY),) if exits.has_entry else ()
    ends = (exit_order(each) for each in exits.suffixes if each in (ABOVE, BELOW))
    return WrittenList(client_order_id, exits.shape, (*entry, *ends))
