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
