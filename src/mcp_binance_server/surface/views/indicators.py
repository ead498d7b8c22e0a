"""Indicator values as comma-separated rows."""

from collections.abc import Sequence

from mcp_binance_server.domain.money import decimals_of
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import plain

# Between 0 and 100, whatever the price is.
PERCENTAGES = ("rsi", "stochastic", "adx")
VOLUMES = ("obv",)


def line_value(rules: SymbolRules, line: str, value: float | None) -> str | None:
    """Write a value with the decimals its kind deserves: two more than the tick for anything in prices."""
    if value is None:
        return None
    places = _places(rules, line)
    return f"{round(value, places) + 0.0:.{places}f}"  # adding nothing turns -0.0 into 0.0


def indicator_lines(rules: SymbolRules, interval: str, told: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Render rows under a title and what is told of them; the first row holds the names."""
    return [
        f"# {plain(rules.symbol)} {interval} indicators",
        *told,
        "",
        *(",".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows),
    ]


def indicator_note(rules: SymbolRules) -> str:
    return f"Newest last, prices in {plain(rules.quote)}; a bar that is not final may still change; n/a: too few bars"


def _places(rules: SymbolRules, line: str) -> int:
    if line.startswith(PERCENTAGES):
        return 2
    return decimals_of(rules.step) if line.startswith(VOLUMES) else decimals_of(rules.tick) + 2
