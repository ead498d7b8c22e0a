"""Parameters of order lists around the price of the moment."""

from decimal import Decimal

from support.trader import CENT, Trader

Parameters = dict[str, object]


def around(trader: Trader, share: str) -> Decimal:
    """Return a price so many times that of the moment."""
    return (trader.bid() * Decimal(share)).quantize(CENT)


def oco(trader: Trader, **changes: object) -> Parameters:
    """Return a pair that sells 0.01 BTC: 2 % above the market, or stopped 2 % below it."""
    return {
        "symbol": "BTCUSDT",
        "listClientOrderId": "list",
        "side": "SELL",
        "quantity": "0.01",
        "aboveType": "LIMIT_MAKER",
        "abovePrice": around(trader, "1.02"),
        "aboveClientOrderId": "above",
        "belowType": "STOP_LOSS_LIMIT",
        "belowStopPrice": around(trader, "0.98"),
        "belowPrice": around(trader, "0.97"),
        "belowTimeInForce": "GTC",
        "belowClientOrderId": "below",
    } | changes


def oto(trader: Trader, **changes: object) -> Parameters:
    """Return an entry that buys 0.01 BTC 1 % below the market, and a sale 2 % above it that waits for the entry."""
    return {
        "symbol": "BTCUSDT",
        "listClientOrderId": "list",
        "workingType": "LIMIT",
        "workingSide": "BUY",
        "workingPrice": around(trader, "0.99"),
        "workingQuantity": "0.01",
        "workingTimeInForce": "GTC",
        "workingClientOrderId": "working",
        "pendingType": "LIMIT_MAKER",
        "pendingSide": "SELL",
        "pendingPrice": around(trader, "1.02"),
        "pendingQuantity": "0.01",
        "pendingClientOrderId": "pending",
    } | changes


def otoco(trader: Trader, **changes: object) -> Parameters:
    """Return the same entry, and a pair that waits for it: 2 % above the market or stopped 3 % below."""
    entry = {name: value for name, value in oto(trader).items() if not name.startswith("pending")}
    pair = {
        "pendingSide": "SELL",
        "pendingQuantity": "0.01",
        "pendingAboveType": "LIMIT_MAKER",
        "pendingAbovePrice": around(trader, "1.02"),
        "pendingAboveClientOrderId": "above",
        "pendingBelowType": "STOP_LOSS_LIMIT",
        "pendingBelowStopPrice": around(trader, "0.97"),
        "pendingBelowPrice": around(trader, "0.96"),
        "pendingBelowTimeInForce": "GTC",
        "pendingBelowClientOrderId": "below",
    }
    return entry | pair | changes
