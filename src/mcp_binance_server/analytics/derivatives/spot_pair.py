"""Spot pair of a perpetual, and the number of coins in one contract."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.derivatives import Contract
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable

# Maximum deviation of the price ratio. Beyond it a name that looks like a multiple belongs to another asset.
MOST_OFF = Decimal("0.2")


@dataclass(frozen=True, slots=True)
class SpotPair:
    """A spot pair and its price multiplier. A multiplier read from the name needs prices that agree."""

    symbol: Symbol
    multiplier: Decimal
    is_certain: bool

    def agrees(self, perpetual: Decimal, spot: Decimal) -> bool:
        """Return True if the prices confirm the pair: their ratio is within 20 % of the multiplier."""
        if self.is_certain:
            return True
        return perpetual > 0 and spot > 0 and abs(perpetual / spot / self.multiplier - 1) <= MOST_OFF


def spot_pair(contract: Contract, table: SymbolTable) -> SpotPair | None:
    """Find the spot pair of a contract: by the same base, else by the base without its leading multiplier."""
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
