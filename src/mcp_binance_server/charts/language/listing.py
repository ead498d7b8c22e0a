"""What the exchange lists, arranged for reading: its assets, its quotes, and how a text splits into a pair."""

from dataclasses import dataclass, field

from mcp_binance_server.domain.assets import ASSET_NAMES, STABLECOINS
from mcp_binance_server.domain.symbols import SymbolTable

# The quotes a pair may end in when the exchange lists no such pair (any more).
KNOWN_QUOTES = ("FDUSD", *STABLECOINS, "BTC", "ETH", "BNB", "EUR", "TRY", "BRL")


@dataclass(frozen=True, slots=True)
class Listing:
    """The pairs that are trading, by symbol."""

    pairs: dict[str, tuple[str, str]] = field(repr=False)
    bases: frozenset[str] = field(repr=False)
    quotes: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, table: SymbolTable | None) -> "Listing":
        """Arrange a symbol table; without one the well-known coins are known by name alone."""
        rules = () if table is None else table.rules.values()
        pairs = {str(each.symbol): (each.base, each.quote) for each in rules if each.is_trading}
        bases = frozenset(base for base, _quote in pairs.values())
        return cls(pairs, bases, frozenset(quote for _base, quote in pairs.values()))

    @property
    def is_empty(self) -> bool:
        return not self.pairs

    def lists(self, base: str, quote: str) -> bool:
        return base + quote in self.pairs

    def knows(self, asset: str) -> bool:
        """Whether a code is an asset, by the exchange or by name."""
        return asset in self.bases or asset in ASSET_NAMES

    def split(self, text: str) -> tuple[str, str] | None:
        """Split an upper-case text into base and quote: a listed pair, or the shape of one."""
        if (found := self.pairs.get(text)) is not None:
            return found
        for quote in (*KNOWN_QUOTES, "USD"):
            base = text.removesuffix(quote)
            if base != text and 2 <= len(base) <= 12 and base.isalnum():
                return base, quote
        return None
