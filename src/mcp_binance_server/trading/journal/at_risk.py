"""Coins whose exit ended without a sale, and that no later order sells. Pure."""

from collections.abc import Iterable
from decimal import Decimal

from mcp_binance_server.trading.journal.records import STANDING, Intent

NOTHING = Decimal(0)


def at_risk(intents: Iterable[Intent]) -> tuple[Decimal, Intent | None]:
    """Return what failed exits left and no later sale sold or is open to sell, with the last failed exit."""
    left, last = NOTHING, None
    for each in sorted(_without_replaced([*intents]), key=_counts_from):
        if each.terms.side == "SELL":
            left = max(NOTHING, left - (each.quantity if each.failed_exit else _covers(each)))
        if each.failed_exit:
            left, last = left + each.failed_exit, each
    return left, last


def _without_replaced(known: list[Intent]) -> list[Intent]:
    """Return the orders without those that another order has replaced as their user wanted."""
    standing = {each.preview_id for each in known if each.terms.replaces is not None and each.state in STANDING}
    return [each for each in known if each.released_for not in standing]


def _counts_from(intent: Intent) -> int:
    if intent.failed_exit:
        return intent.final_ms or intent.updated_ms
    # A sale that cancels other orders first is older than the end of their exits.
    return intent.updated_ms if intent.terms.releases or intent.terms.replaces else intent.prepared_ms


def _covers(sale: Intent) -> Decimal:
    """Return the coins that a sale has sold, may still sell, or that its user has left without an exit."""
    if sale.state == "NOT_PLACED":  # most likely not executed
        return sale.executed
    is_taken_back = sale.status == "CANCELED" and (sale.purpose == "step" or sale.terms.releases != ())
    return sale.quantity if sale.final_ms is None or is_taken_back else sale.executed
