"""Trading symbols: how a caller's text becomes one, and the table of those that exist."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NewType

from mcp_binance_server.domain.money import Price, Quantity

Symbol = NewType("Symbol", str)

LONGEST_SYMBOL = 40
SEPARATORS = "/-_: ."
# ASCII only: str.upper() folds the long s, the dotless i and ligatures, so two texts would name one market.
_ASCII_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
_WITHOUT_SEPARATORS = {ord(separator): None for separator in SEPARATORS}
_NAMES = {
    "BITCOIN": "BTC",
    "ETHEREUM": "ETH",
    "ETHER": "ETH",
    "BINANCECOIN": "BNB",
    "SOLANA": "SOL",
    "RIPPLE": "XRP",
    "DOGECOIN": "DOGE",
    "CARDANO": "ADA",
    "LITECOIN": "LTC",
    "TRON": "TRX",
    "CHAINLINK": "LINK",
    "AVALANCHE": "AVAX",
    "POLKADOT": "DOT",
    "STELLAR": "XLM",
    "COSMOS": "ATOM",
    "SHIBAINU": "SHIB",
}


def fold(text: str) -> str:
    """Trim and upper-case the ASCII letters, and nothing else."""
    return text.strip().translate(_ASCII_UPPER)


def is_plausible(folded: str) -> bool:
    """Tell whether a text could be a symbol at all, so that garbage never costs a request."""
    return 0 < len(folded) <= LONGEST_SYMBOL and folded.isalnum()


@dataclass(frozen=True, slots=True)
class SymbolRules:
    """What the exchange says of one symbol: its assets, its status, its smallest steps."""

    symbol: Symbol
    base: str
    quote: str
    status: str
    tick: Price
    step: Quantity
    min_notional: Quantity

    @property
    def is_trading(self) -> bool:
        return self.status == "TRADING"


@dataclass(frozen=True)
class SymbolTable:
    """Every symbol of the exchange, the authority on what is valid, and the limits that came with it."""

    rules: Mapping[Symbol, SymbolRules] = field(repr=False)
    weight_limit: int

    @classmethod
    def of(cls, rules: Iterable[SymbolRules], weight_limit: int) -> "SymbolTable":
        return cls({each.symbol: each for each in rules}, weight_limit)

    def find(self, folded: str) -> SymbolRules | None:
        return self.rules.get(Symbol(folded))

    @cached_property
    def ordered(self) -> tuple[Symbol, ...]:
        """The symbols as a person expects them: trading ones first, USDT pairs before others, then by name."""
        return tuple(
            each.symbol
            for each in sorted(
                self.rules.values(), key=lambda each: (not each.is_trading, each.quote != "USDT", each.symbol)
            )
        )

    def starting_with(self, text: str) -> list[Symbol]:
        prefix = fold(text)
        return [symbol for symbol in self.ordered if symbol.startswith(prefix)]


def suggest(text: str, table: SymbolTable | None) -> tuple[str, ...]:
    """Name what a caller may have meant by a text that is no symbol, best guess first."""
    bare = fold(text[: 2 * LONGEST_SYMBOL]).translate(_WITHOUT_SEPARATORS)
    asset = _NAMES.get(bare, bare)
    guesses = dict.fromkeys(guess for guess in (bare, f"{asset}USDT", f"{asset}USDC", f"{asset}BTC") if guess)
    if table is None:  # nothing is known yet and asking is not worth a request
        return (f"{asset}USDT",) if bare in _NAMES else ()
    return tuple(guess for guess in guesses if table.find(guess) is not None)
