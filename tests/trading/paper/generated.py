"""A market that is a function of the print's number: whoever comes next can be told what was missed."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.market import PriceLevel, Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.paper.account import Pair

SYMBOL, PAIR = Symbol("ABXY"), Pair("AB", "XY")
# Little enough that an exit now and then cannot be paid for.
START = {"AB": Decimal(90), "XY": Decimal(90_000)}
STEP = Quantity(Decimal("0.01"))
RATES = Commission(Decimal("0.00075"), Decimal("0.001"))
ACCOUNTS = ("ann", "bob")
PRINT_MS = 10
ARRIVAL = "an order arrives"
BEGAN_MS = 1_784_592_000_000


def middle(number: int) -> int:
    return 1000 + round(6 * math.sin(number / 25) + 3 * math.sin(number / 7))


@cache
def printed(number: int) -> Trade:
    """Return a print by its number: always the same."""
    buyer_is_maker = number * 31 % 7 < 3
    price = middle(number) + (-1 if buyer_is_maker else 1) * (1 + number % 3)
    amounts = Price(Decimal(price)), Quantity(Decimal(1 + number * 13 % 9))
    return Trade(number, *amounts, BEGAN_MS + number * PRINT_MS, buyer_is_maker, number, number)


@dataclass
class ShownBook:
    """The book after a print; `told` hears of each order that walks it."""

    number: int = 0
    told: Callable[[str], None] = lambda _what: None

    def best_first(self, side: Side) -> Iterable[PriceLevel]:
        self.told(ARRIVAL)
        away = -1 if side == "BUY" else 1
        for step in range(1, 12):
            price = Price(Decimal(middle(self.number) + away * step))
            yield PriceLevel(price, self.displayed(side, price) or Quantity(Decimal(0)))

    def displayed(self, side: Side, price: Price) -> Quantity | None:
        off = int(price) - middle(self.number)
        stands = 1 <= (-off if side == "BUY" else off) <= 11
        return Quantity(Decimal(1 + (int(price) * 7 + self.number // 5) % 6 if stands else 0))
