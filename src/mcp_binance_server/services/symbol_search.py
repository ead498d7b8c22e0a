"""Which symbols a caller may look for by an asset's code, its name, or a piece of a symbol."""

from mcp_binance_server.domain.assets import ASSET_NAMES
from mcp_binance_server.domain.suggestions import suggest
from mcp_binance_server.domain.symbols import SymbolRules, SymbolTable, fold

# Shorter pieces are in too many names to mean one.
SHORTEST_NAME = 3


def matching(query: str, quote: str | None, table: SymbolTable) -> list[SymbolRules]:
    """Return every symbol that fits: trading ones first, then the closest, then as the table orders them."""
    wanted = _bare(query)
    named = _named(wanted)
    against = None if quote is None else fold(quote)
    everything = [table.rules[symbol] for symbol in table.ordered]
    listed = [rules for rules in everything if against is None or rules.quote == against]
    ranked = [(rank, rules) for rules in listed if (rank := _rank(rules, wanted, named)) is not None]
    if not ranked:
        # A second name (ripple, ether) or a misspelling: whatever the suggestions make of it.
        suggested = suggest(query, table)
        bases = {rules.base for rules in everything if rules.symbol in suggested}
        ranked = [(0, rules) for rules in listed if rules.base in bases]
    ranked.sort(key=lambda found: (not found[1].is_trading, found[0]))  # stable: the table's order stays
    return [rules for _, rules in ranked]


def _bare(text: str) -> str:
    return "".join(character for character in fold(text) if character.isalnum())


def _named(wanted: str) -> dict[str, int]:
    if len(wanted) < SHORTEST_NAME:
        return {}
    names = {asset: _bare(name) for asset, name in ASSET_NAMES.items()}
    return {asset: 1 if name == wanted else 2 for asset, name in names.items() if name.startswith(wanted)}


def _rank(rules: SymbolRules, wanted: str, named: dict[str, int]) -> int | None:
    fits = (
        (rules.symbol == wanted, 0),
        (rules.base == wanted, 1),
        (rules.base in named, named.get(rules.base, 2)),
        (bool(wanted) and rules.symbol.startswith(wanted), 3),
        (rules.quote == wanted, 4),
        (bool(wanted) and wanted in rules.symbol, 5),
    )
    return next((rank for fit, rank in fits if fit), None)
