"""The rules of a symbol, and lists of symbols."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal

from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.decimals import exact
from mcp_binance_server.surface.views.markdown import plain
from mcp_binance_server.surface.views.paging import with_more

Rule = str | int | bool | list[str] | None
HEAD = ("symbol", "base", "quote", "status")
NO_SYMBOL = "No symbol matches. Try the code of an asset (BTC), its name (bitcoin), or another quote asset."
_WORD = re.compile(r"[A-Za-z0-9_ ]*")


def rule_values(rules: SymbolRules) -> dict[str, Rule]:
    """Return every rule the exchange set, by its name; None is one that is switched off."""
    return {item.name: _rule(getattr(rules, item.name)) for item in fields(rules) if item.name not in HEAD}


def rules_page(rules: SymbolRules) -> str:
    """Render a symbol and the rules in force."""
    lines = [
        f"# {plain(rules.symbol)} trading rules",
        f"**Status**: {_word(rules.status)}",
        f"**Is trading**: {_shown(rules.is_trading)}",
        f"**Assets**: {plain(rules.base)} priced in {plain(rules.quote)}",
        *(f"**{name.replace('_', ' ').capitalize()}**: {_shown(value)}" for name, value in _in_force(rules).items()),
    ]
    return "\n".join(lines)


def symbols_page(found: Sequence[SymbolRules], told: str, names: Mapping[str, str], more: str | None) -> str:
    """Render a list of symbols, one a line."""
    if not found:
        return f"{NO_SYMBOL}\n{told}"
    lines = [told, "symbol,base,quote,status,name"]
    lines += [
        ",".join(_word(cell) for cell in (each.symbol, each.base, each.quote, each.status, names.get(each.base, "")))
        for each in found
    ]
    return with_more(lines, more)


def _in_force(rules: SymbolRules) -> dict[str, Rule]:
    return {name: value for name, value in rule_values(rules).items() if value is not None}


def _rule(value: bool | int | str | Decimal | tuple[str, ...]) -> Rule:  # noqa: FBT001 - whatever a field holds
    if isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return exact(value) if value else None
    if isinstance(value, int):
        return value or None
    return [*value] if isinstance(value, tuple) else value


def _shown(value: Rule) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_word, value)) if isinstance(value, list) else _word(str(value))


def _word(text: str) -> str:
    # STOP_LOSS_LIMIT is an argument of other calls: a backslash in it would be copied into them.
    return text if _WORD.fullmatch(text) else plain(text)
