"""Lists of orders as they are written, around the last price of 100."""

from decimal import Decimal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Kind, ListShape, Side, TimeInForce, WrittenList, WrittenOrder
from trading.paper.bench import SYMBOL

LIST = "l"
ENTRY, ABOVE, BELOW = "l-w", "l-a", "l-b"


def written(
    name: str,
    side: Side,
    price: str | int,
    quantity: str | int = 2,
    *,
    kind: Kind = "LIMIT",
    force: TimeInForce = "GTC",
    stop: str | int | None = None,
) -> WrittenOrder:
    """Write one order down."""
    amounts = Quantity(Decimal(quantity)), Price(Decimal(price))
    return WrittenOrder(name, SYMBOL, side, kind, force, *amounts, None if stop is None else Price(Decimal(stop)))


def exits(side: Side, quantity: str | int, above: int = 105, below: int = 95) -> tuple[WrittenOrder, WrittenOrder]:
    """Write down a profit target and a stop, one above and one below, whose limit is one further."""
    if side == "SELL":
        return (
            written(ABOVE, side, above, quantity, kind="LIMIT_MAKER"),
            written(BELOW, side, below - 1, quantity, kind="STOP_LOSS_LIMIT", stop=below),
        )
    return (
        written(ABOVE, side, above + 1, quantity, kind="STOP_LOSS_LIMIT", stop=above),
        written(BELOW, side, below, quantity, kind="LIMIT_MAKER"),
    )


def oco(side: Side = "SELL", quantity: str | int = 2, above: int = 105, below: int = 95) -> WrittenList:
    """Write down two orders of which one ends the other."""
    return WrittenList(LIST, "OCO", exits(side, quantity, above, below))


def entered(
    shape: ListShape,
    entry: WrittenOrder | None = None,
    *,
    quantity: str | int = 2,
    above: int = 105,
    below: int = 95,
) -> WrittenList:
    """Write down an entry, and its exits: of one the stop."""
    first = entry or written(ENTRY, "BUY", 99, quantity)
    made = exits("SELL" if first.side == "BUY" else "BUY", quantity, above, below)
    return WrittenList(LIST, shape, (first, *(made if shape in ("OTOCO", "OPOCO") else made[1:])))
