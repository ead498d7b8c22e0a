"""Spot pair of a perpetual, and the number of coins in one contract."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.derivatives import Contract
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable

# Maximum deviation of the price ratio. Beyond it the number in a name is not a multiplier.
MOST_OFF = Decimal("0.2")


@dataclass(frozen=True, slots=True)
class SpotPair:
    """A spot pair and its price multiplier. A multiplier taken from the name must be confirmed by prices."""

    symbol: Symbol
    multiplier: Decimal
    is_certain: bool

    def agrees(self, perpetual: Decimal, spot: Decimal) -> bool:
        """Return True if the price ratio is within 20 % of the multiplier."""
        if self.is_certain:
            return True
        return perpetual > 0 and spot > 0 and abs(perpetual / spot / self.multiplier - 1) <= MOST_OFF


def spot_pair(contract: Contract, table: SymbolTable) -> SpotPair | None:
    """Return the spot pair of a contract: with the same base, or with the base without its leading multiplier."""
    if _trading(contract.base, contract.quote, table):
        return SpotPair(Symbol(contract.base + contract.quote), Decimal(1), is_certain=True)
    if contract.multiplied is None:
        return None
    base, multiplier = contract.multiplied
    if _trading(base, contract.quote, table):
        return SpotPair(Symbol(base + contract.quote), multiplier, is_certain=False)
    return None


def _trading(base: str, quote: str, table: SymbolTable) -> SymbolRules | None:
    rules = table.find(base + quote)
    return rules if rules and rules.is_trading and (rules.base, rules.quote) == (base, quote) else None
