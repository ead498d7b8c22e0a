"""Terms of orders for tests of trading: a small buy, unless a test says otherwise."""

from decimal import Decimal
from typing import Any

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms, client_order_id

NOW_MS = 1_784_592_123_456
KEY = b"k" * 32


def terms(**changes: Any) -> Terms:  # noqa: ANN401 - any member of the terms
    usual: dict[str, Any] = {
        "account": "paper",
        "mode": "paper",
        "network": "mainnet",
        "symbol": Symbol("BTCUSDT"),
        "side": "BUY",
        "kind": "LIMIT",
        "time_in_force": "GTC",
        "quantity": Quantity(Decimal("0.001")),
        "price": Price(Decimal("60000.00")),
        "stop_price": None,
        "counted": 60_00,
        "policy": "0" * 64,
        "expires_ms": NOW_MS + 120_000,
        "nonce": "0",
    }
    return Terms(**{**usual, **changes})


def intent(number: int = 0, **changes: Any) -> NewIntent:  # noqa: ANN401 - likewise
    """Return what is claimed for terms; each number is another preview."""
    made = terms(nonce=str(number), **changes)
    preview_id: PreviewId = made.preview_id(KEY)
    return NewIntent(preview_id, client_order_id(made, preview_id), "me", "BTC", "policy", made)


def reported(status: str, executed: str) -> Order:
    """Return what the exchange says of such an order."""
    made = terms()
    return Order(
        order_id=7,
        client_order_id="mbp-x",
        symbol=made.symbol,
        side=made.side,
        kind=made.kind,
        status=status,
        time_in_force=made.time_in_force,
        price=made.price,
        stop_price=Price(Decimal(0)),
        quantity=made.quantity,
        executed=Quantity(Decimal(executed)),
        quote_spent=Quantity(Decimal(executed) * 60000),
        created_ms=NOW_MS,
        updated_ms=NOW_MS,
    )
