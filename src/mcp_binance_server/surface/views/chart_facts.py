"""What can be drawn, for reading: one line an indicator, one an exchange, one a symbol."""

import json
from collections.abc import Sequence
from itertools import groupby

from mcp_binance_server.charts.catalogue import Catalogue, Exchange, Indicator, Scalar
from mcp_binance_server.charts.facts import Example, Held, ListedSymbol
from mcp_binance_server.surface.views.markdown import instant, plain

LONGEST_EXAMPLE = 600


def source_line(held: Held[object]) -> str:
    """Say where facts come from and when they were true."""
    # The name of a variable must stay as it is, to be copied.
    warning = f"; {plain(held.warning)}".replace("\\_", "_") if held.warning else ""
    return f"*Source: {held.source}, as of {instant(held.at_ms)}{warning}*"


def indicators_part(catalogue: Catalogue) -> str:
    """Render every indicator by category: its name, and its inputs with their defaults."""
    ordered = sorted(catalogue.indicators, key=lambda each: each.category)
    parts = [f"## Indicators ({len(ordered)})", "name (display name): inputs with their defaults"]
    for category, found in groupby(ordered, key=lambda each: each.category):
        parts += ["", f"**{plain(category)}**", *map(_indicator, found)]
    return "\n".join(parts)


def parameters_part(catalogue: Catalogue, examples: Sequence[Example]) -> str:
    """Render the values that a chart's parameters take, the plans and the examples."""
    named = ("interval", "range", "theme", "style", "scale", "session", "format")
    lines = ["## Parameters", *(f"**{name}**: {plain(' '.join(catalogue.options(name)))}" for name in named)]
    lines += ["", "## Plans", "plan: requests/s, images/day, largest image, studies and drawings"]
    lines += [
        f"{plain(name)}: {plan.requests_per_second}, {plan.daily_max}, {plan.max_resolution}, {plan.max_studies}"
        for name, plan in catalogue.plans.items()
    ]
    lines += ["", "## Examples", *map(_example, examples)]
    return "\n".join(lines)


def exchanges_part(exchanges: Sequence[Exchange]) -> str:
    """Render the exchanges by type, the id first: it is what a symbol begins with."""
    lines = [f"## Exchanges ({len(exchanges)})"]
    for kind, found in groupby(exchanges, key=lambda each: each.type):
        lines.append(f"**{plain(kind)}**: " + ", ".join(map(_exchange, found)))
    return "\n".join(lines)


def symbols_part(exchange: str, shown: Sequence[ListedSymbol], total: int) -> str:
    """Render symbols as they are written in a chart."""
    if not shown:
        return f"No symbol of {plain(exchange)} matches. Search for a part of its name, such as BTC or AAPL."
    lines = [f"{len(shown)} of {total} symbols of {plain(exchange)}"]
    lines += [f"{exchange}:{each.symbol}, {plain(each.description)}, {plain(each.type)}" for each in shown]
    return "\n".join(lines)


def _example(example: Example) -> str:
    config = json.dumps(example.config, ensure_ascii=False)
    return f"- {plain(example.description)}" + (f": `{config}`" if len(config) <= LONGEST_EXAMPLE else "")


def _indicator(indicator: Indicator) -> str:
    inputs = ", ".join(f"{rule.public}={_default(rule.default)}" for rule in indicator.input.values())
    name = indicator.name.partition("@")[0]
    shown = "" if name == indicator.display_name else f" ({plain(indicator.display_name)})"
    return f"- {indicator.name}{shown}: {plain(inputs) or 'no inputs'}"


def _exchange(exchange: Exchange) -> str:
    return exchange.id if exchange.id == exchange.name else f"{exchange.id} ({plain(exchange.name)})"


def _default(value: Scalar | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
