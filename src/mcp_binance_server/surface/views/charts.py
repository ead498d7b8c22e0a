"""Chart options as text: indicators, exchanges and symbols, one per line."""

import json
from collections.abc import Sequence
from itertools import groupby

from mcp_binance_server.charts.catalogue import (
    CatalogueStudy,
    ChartCatalogue,
    Example,
    Exchange,
    Held,
    ListedSymbol,
    Scalar,
    StudyInput,
)
from mcp_binance_server.surface.views.markdown import counted, instant, plain

# chart-img.com documents an upper limit of this size for inputs without a limit.
NO_LIMIT = 100_000
TYPES = {"Integer": "number", "Float": "number", "Boolean": "boolean"}


def source_line(held: Held[object]) -> str:
    """Return the source of a list and its time."""
    # Names of environment variables must not be escaped, because users copy them.
    warning = f"; {plain(held.warning)}".replace("\\_", "_") if held.warning else ""
    return f"*Source: {held.source}, as of {instant(held.at_ms)}{warning}*"


def indicators_part(catalogue: ChartCatalogue) -> str:
    """Render all indicators by category, with their inputs and default values."""
    ordered = sorted(catalogue.indicators, key=lambda each: each.category)
    parts = [
        f"## Indicators ({len(ordered)})",
        "name (display name; chart-img's name if it differs): inputs with default (type, least..most, description)",
    ]
    for category, found in groupby(ordered, key=lambda each: each.category):
        parts += ["", f"**{plain(category)}**", *map(_indicator, found)]
    return "\n".join(parts)


def parameters_part(catalogue: ChartCatalogue, examples: Sequence[Example]) -> str:
    """Render the allowed values of chart parameters, the rate limits and the examples."""
    named = ("interval", "range", "theme", "style", "scale", "session", "format")
    lines = ["## Parameters", *(f"**{name}**: {plain(' '.join(catalogue.options(name)))}" for name in named)]
    lines += [
        "",
        "## Plans",
        "",
        "| Plan | Requests per second | Daily max | Max resolution | Max studies |",
        "|-|-|-|-|-|",
    ]
    for name, plan in catalogue.plans.items():
        limits = (plan.requests_per_second, plan.daily_max, plan.max_resolution, plan.max_studies)
        lines.append(f"| {plain(name)} | {' | '.join(map(str, limits))} |")
    lines += ["", "## Examples", *map(_example, examples)]
    return "\n".join(lines)


def exchanges_part(exchanges: Sequence[Exchange]) -> str:
    """Render the exchanges by type. The ID comes first, because symbols start with it."""
    lines = [f"## Exchanges ({len(exchanges)})"]
    for kind, found in groupby(exchanges, key=lambda each: each.type):
        lines += ["", f"**{plain(kind)}**", *map(_exchange, found)]
    return "\n".join(lines)


def symbols_part(exchange: str, shown: Sequence[ListedSymbol], total: int) -> str:
    """Render symbols as charts accept them."""
    told = f"Symbols of {plain(exchange)}: {counted(len(shown), total=total)}"
    if not shown:
        return f"{no_symbol(exchange)}\n{told}"
    lines = [told]
    lines += [f"{exchange}:{each.symbol}, {plain(each.description)}, {plain(each.type)}" for each in shown]
    return "\n".join(lines)


def no_symbol(exchange: str) -> str:
    return f"No symbol of {plain(exchange)} matches. Search for a part of its name, such as BTC or AAPL."


def _example(example: Example) -> str:
    return f"- {plain(example.description)}: `{json.dumps(example.config, ensure_ascii=False)}`"


def _indicator(indicator: CatalogueStudy) -> str:
    inputs = ", ".join(map(_input, indicator.input.values()))
    names = [indicator.display_name] if indicator.name.partition("@")[0] != indicator.display_name else []
    names += [indicator.api_name] if indicator.api_name != indicator.display_name else []
    shown = f" ({plain('; '.join(names))})" if names else ""
    return f"- {indicator.name}{shown}: {plain(inputs) or 'no inputs'}"


def _input(rule: StudyInput) -> str:
    least, most = limits_of(rule)
    span = (
        "" if least is None and most is None else f", {'' if least is None else least}..{'' if most is None else most}"
    )
    return f"{rule.public}={_default(rule.default)} ({type_of(rule)}{span}, {rule.label})"


def limits_of(rule: StudyInput) -> tuple[int | float | None, int | float | None]:
    """Return the smallest and the largest value of an input; None means no limit."""
    least, most = (None if each is None or abs(each) >= NO_LIMIT else each for each in (rule.min, rule.max))
    return least, most


def type_of(rule: StudyInput) -> str:
    return TYPES.get(rule.type, "string")


def _exchange(exchange: Exchange) -> str:
    name = "" if exchange.id == exchange.name else f" ({plain(exchange.name)})"
    return f"- {exchange.id}{name}: {plain(exchange.description)}"


def _default(value: Scalar | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
