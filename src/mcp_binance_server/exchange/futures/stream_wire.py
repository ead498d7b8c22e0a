"""Messages of the futures streams in Binance's spelling; the same streams carry coin-margined contracts."""

from typing import Literal

import msgspec

from mcp_binance_server.domain.derivatives import Liquidation
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.wire import UNREADABLE, AboveZero, EpochMs, Name, price, quantity
from mcp_binance_server.words import word

# Market data has its own URL path. On another path a stream opens but sends nothing.
LIQUIDATIONS_PATH = "/market/ws/!forceOrder@arr"
MARK_PRICE_PATH = "/market/ws/btcusdt@markPrice@1s"
USD_MARGINED = 1


class ForcedOrderWire(msgspec.Struct):
    """A liquidation event. Its one-letter names differ by case, so case must not be ignored."""

    symbol: Name = msgspec.field(name="s")
    side: Literal["BUY", "SELL"] = msgspec.field(name="S")
    filled: AboveZero = msgspec.field(name="z")
    average_price: AboveZero = msgspec.field(name="ap")
    time: EpochMs = msgspec.field(name="T")


class ForceOrderWire(msgspec.Struct):
    event: Literal["forceOrder"] = msgspec.field(name="e")
    order: ForcedOrderWire = msgspec.field(name="o")
    product: int = msgspec.field(name="st", default=USD_MARGINED)


_DECODER = msgspec.json.Decoder(ForceOrderWire)


def read_liquidation(event: bytes) -> Liquidation | None:
    """Return the liquidation in an event; None if the event is invalid or about another product."""
    try:
        read = _DECODER.decode(event)
    except UNREADABLE:
        return None
    if read.product != USD_MARGINED:
        return None
    order = read.order
    value = Quantity(quantity(order.filled) * price(order.average_price))
    # A long position is liquidated by a sell order.
    return Liquidation(Symbol(word(order.symbol)), "long" if order.side == "SELL" else "short", value, order.time)
