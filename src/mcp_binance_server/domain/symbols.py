"""Symbols as people write them, and suggestions for unknown symbols."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Literal, NewType, Protocol, TypeVar

from mcp_binance_server.domain.money import ASSET_NAMES, Price, Quantity

Symbol = NewType("Symbol", str)

LONGEST_SYMBOL = 40
# ASCII only: str.upper() also changes the long s, the dotless i and ligatures. Two texts could then name one market.
_ASCII_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}

MOST = 3
# Minimum similarity in percent for a suggestion.
LEAST_LIKENESS_PERCENT = 80
_WITHOUT_SEPARATORS = {ord(separator): None for separator in "/-_: ."}
_COMMON_QUOTES = ("USDT", "USDC", "FDUSD", "BTC", "ETH", "BNB", "EUR", "TRY", "BRL")
# Two assets are separated by one of these, with or without spaces around it.
_PAIRED = re.compile(r"\s*[/_-]\s*|\s+")
_VENUE = "BINANCE:"
# Further common names of assets.
_ALSO_CALLED = {"ETHER": "ETH", "RIPPLE": "XRP"}


def fold(text: str) -> str:
    """Trim a text and convert its ASCII letters to upper case."""
    return text.strip().translate(_ASCII_UPPER)


def is_plausible(folded: str) -> bool:
    """Return True if a text can be a symbol. Other texts never cost a request."""
    return 0 < len(folded) <= LONGEST_SYMBOL and folded.isalnum()


# In every rule zero means that the rule is off: https://developers.binance.com/docs/binance-spot-api-docs/filters
OFF = Decimal(0)
ANY_PRICE = Price(OFF)
ANY_QUANTITY = Quantity(OFF)


Ability = Literal["oco", "oto", "opo", "amend", "replace", "trail"]
"""Features of one symbol beyond plain orders: order lists, smaller quantities, replacements, trailing stops."""


@dataclass(frozen=True, slots=True)
class SymbolRules:
    """The exchange's rules for one symbol: its assets, its status, and its order limits."""

    symbol: Symbol
    base: str
    quote: str
    status: str
    tick: Price
    step: Quantity
    min_notional: Quantity
    min_price: Price = ANY_PRICE
    max_price: Price = ANY_PRICE
    min_quantity: Quantity = ANY_QUANTITY
    max_quantity: Quantity = ANY_QUANTITY
    market_step: Quantity = ANY_QUANTITY
    market_min_quantity: Quantity = ANY_QUANTITY
    market_max_quantity: Quantity = ANY_QUANTITY
    max_notional: Quantity = ANY_QUANTITY
    apply_min_to_market: bool = False
    apply_max_to_market: bool = False
    notional_rule: str = "NOTIONAL"
    bid_multiplier_up: Decimal = OFF
    bid_multiplier_down: Decimal = OFF
    ask_multiplier_up: Decimal = OFF
    ask_multiplier_down: Decimal = OFF
    percent_rule: str = "PERCENT_PRICE_BY_SIDE"
    max_position: Quantity = ANY_QUANTITY
    max_num_orders: int = 0
    max_num_algo_orders: int = 0
    trailing_above_bps: tuple[int, int] = (0, 0)
    """Least and most distance of a trailing stop that triggers above the market."""
    trailing_below_bps: tuple[int, int] = (0, 0)
    order_types: tuple[str, ...] = ()
    takes_quote_quantity: bool = True
    base_places: int = 8
    quote_places: int = 8
    self_trade_modes: tuple[str, ...] = ()
    """Self-trade prevention modes, in the exchange's words. They apply if two orders of one account would match."""
    self_trade_default: str = ""
    allows: frozenset[Ability] = frozenset()

    @property
    def is_trading(self) -> bool:
        return self.status == "TRADING"


class Pair(Protocol):
    """A spot pair or a perpetual contract, by its two assets."""

    @property
    def symbol(self) -> Symbol: ...
    @property
    def base(self) -> str: ...
    @property
    def quote(self) -> str: ...


PairT = TypeVar("PairT", bound=Pair)


@dataclass(frozen=True, slots=True)
class OrderLimit:
    """Maximum number of new orders of an account within a time span of the exchange."""

    span_ms: int
    most: int


@dataclass(frozen=True)
class SymbolTable:
    """All symbols of the exchange with their rules, and the rate limits from the same answer."""

    rules: Mapping[Symbol, SymbolRules] = field(repr=False)
    weight_limit: int
    order_limits: tuple[OrderLimit, ...] = ()

    @classmethod
    def of(
        cls, rules: Iterable[SymbolRules], weight_limit: int, order_limits: tuple[OrderLimit, ...] = ()
    ) -> "SymbolTable":
        return cls({each.symbol: each for each in rules}, weight_limit, order_limits)

    def find(self, folded: str) -> SymbolRules | None:
        return self.rules.get(Symbol(folded))

    @cached_property
    def ordered(self) -> tuple[Symbol, ...]:
        """Symbols in the order that people expect: trading ones first, then USDT pairs before others, then by name."""
        return tuple(
            each.symbol
            for each in sorted(
                self.rules.values(), key=lambda each: (not each.is_trading, each.quote != "USDT", each.symbol)
            )
        )

    def starting_with(self, text: str) -> list[Symbol]:
        prefix = fold(text)
        return [symbol for symbol in self.ordered if symbol.startswith(prefix)]


_BY_NAME = {fold(name).replace(" ", ""): asset for asset, name in ASSET_NAMES.items()} | _ALSO_CALLED


def suggest(text: str, table: SymbolTable | None) -> tuple[str, ...]:
    """Return up to three symbols that a text can mean, best guess first.

    Without a table, only symbols that the text itself suggests are returned.
    """
    bare = fold(text[: 2 * LONGEST_SYMBOL]).translate(_WITHOUT_SEPARATORS)
    asset = _BY_NAME.get(bare, bare)
    if not bare:
        return ()
    if table is None:
        return _unchecked(bare, asset)
    exact = [guess for guess in (bare, *(f"{asset}{quote}" for quote in _COMMON_QUOTES)) if table.find(guess)]
    return tuple(dict.fromkeys([*exact, *_alike(bare, table)]))[:MOST]


def is_spelled(text: str) -> bool:
    """Return True if a text has the form of an asset, or of assets with separators. Other texts cost no request."""
    parts = _PAIRED.split(fold(text).removeprefix(_VENUE))
    return len(text) <= LONGEST_SYMBOL and all(map(is_plausible, parts))


def is_like_pair(text: str) -> bool:
    """Return True if a text ends with a usual quote asset, as BTCUSDT does."""
    folded = fold(text)
    return _unchecked(folded, folded) == (folded,)


def spelled_pair(text: str, rules: Iterable[PairT]) -> PairT | None:
    """Return the one pair that a spelling means, or None: `btc`, `bitcoin`, `BTC/USDT`, `BTC-USDT`, `BINANCE:BTCUSDT`.

    `rules` are the trading pairs. An asset means its pair with USDT, or its only pair.
    """
    folded = fold(text).removeprefix(_VENUE)
    alone = {folded, _asset(folded)}
    # "bitcoin cash/usdt" has two separators: each of them can be the one between the assets.
    both = {(_asset(folded[: cut.start()]), _asset(folded[cut.end() :])) for cut in _PAIRED.finditer(folded)}
    fits: dict[Symbol, PairT] = {}
    of_asset: list[PairT] = []
    for each in rules:
        if each.symbol == folded or (each.base, each.quote) in both:
            fits[each.symbol] = each
        elif each.base in alone:
            of_asset.append(each)
    preferred = [each for each in of_asset if each.quote == "USDT"] or of_asset
    found = [*fits.values(), *preferred]
    return found[0] if len(found) == 1 else None


def _asset(name: str) -> str:
    return _BY_NAME.get(name.translate(_WITHOUT_SEPARATORS), name)


def _unchecked(bare: str, asset: str) -> tuple[str, ...]:
    if asset != bare:
        return (f"{asset}USDT",)
    is_pair = (
        bare.isascii()
        and bare.isalnum()
        and any(bare.endswith(quote) and 2 <= len(bare) - len(quote) <= 10 for quote in _COMMON_QUOTES)
    )
    return (bare,) if is_pair else ()


def _alike(bare: str, table: SymbolTable) -> list[str]:
    # Imported late: only an unknown symbol needs it, and the import would slow down every start.
    from difflib import get_close_matches  # noqa: PLC0415

    return get_close_matches(bare, table.ordered, MOST, LEAST_LIKENESS_PERCENT / 100)
