"""What a caller may have meant by a text that is no symbol."""

from mcp_binance_server.domain.assets import ASSET_NAMES
from mcp_binance_server.domain.symbols import LONGEST_SYMBOL, SymbolTable, fold

MOST = 3
# Below this likeness a suggestion is a guess about somebody else's mind.
LEAST_LIKENESS = 80
_WITHOUT_SEPARATORS = {ord(separator): None for separator in "/-_: ."}
_COMMON_QUOTES = ("USDT", "USDC", "FDUSD", "BTC", "ETH", "BNB", "EUR", "TRY", "BRL")
# What people also say for an asset, beside its own name.
_ALSO_CALLED = {"ETHER": "ETH", "RIPPLE": "XRP"}
_BY_NAME = {fold(name).replace(" ", ""): asset for asset, name in ASSET_NAMES.items()} | _ALSO_CALLED


def suggest(text: str, table: SymbolTable | None) -> tuple[str, ...]:
    """Name up to three symbols, best guess first; without a table only what the text itself makes likely."""
    bare = fold(text[: 2 * LONGEST_SYMBOL]).translate(_WITHOUT_SEPARATORS)
    asset = _BY_NAME.get(bare, bare)
    if not bare:
        return ()
    if table is None:
        return _unchecked(bare, asset)
    exact = [guess for guess in (bare, *(f"{asset}{quote}" for quote in _COMMON_QUOTES)) if table.find(guess)]
    return tuple(dict.fromkeys([*exact, *_alike(bare, table)]))[:MOST]


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
    # Loaded late: only a mistake needs it, and everybody would pay for the import.
    from rapidfuzz import fuzz, process  # noqa: PLC0415

    found = process.extract(bare, table.ordered, scorer=fuzz.ratio, limit=MOST, score_cutoff=LEAST_LIKENESS)
    return [symbol for symbol, _score, _place in found]
