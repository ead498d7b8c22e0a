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
    stop = terms.stop_price if terms.trailing_bps is None else None
    amounts = terms.quantity, terms.price, stop, terms.trailing_bps
    return WrittenOrder(client_order_id, terms.symbol, terms.side, kind, time_in_force, *amounts)


def _list(terms: Terms, exits: Exits, client_order_id: str) -> WrittenList:
    def exit_order(suffix: str) -> WrittenOrder:
        is_above = suffix == ABOVE
        kind: Kind = "LIMIT_MAKER" if is_above else "STOP_LOSS_LIMIT"
        price = exits.take_profit if is_above else exits.stop_limit
        if price is None:
            raise ValueError("an exit without a price")
        trailing = None if is_above else exits.trailing_bps
        amounts = exits.quantity, price, None if is_above or trailing is not None else exits.stop, trailing
        return WrittenOrder(client_order_id + suffix, terms.symbol, "SELL", kind, "GTC", *amounts)

    entry = (written_order(terms, client_order_id + ENTRY),) if exits.has_entry else ()
    ends = (exit_order(each) for each in exits.suffixes if each in (ABOVE, BELOW))
    return WrittenList(client_order_id, exits.shape, (*entry, *ends))
