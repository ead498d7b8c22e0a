"""Building blocks of tool answers: rows, and measures with their metadata."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from mcp_binance_server.analytics.metric import Basis, Metric, WhyNull
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer
from mcp_binance_server.surface.views.book.levels import WIDE_BPS
from mcp_binance_server.surface.views.measures import (
    basis_line,
    context_member,
    measure_lines,
    metric_member,
    threshold_words,
)

SymbolArgument = Annotated[str, Field(description="Trading pair, e.g. BTCUSDT; btc is fine", max_length=200)]
Pair = Annotated[str, Field(description="Trading pair, e.g. BTCUSDT", max_length=200)]
ClientOrderId = Annotated[
    str, Field(description="The id the order was placed with", pattern=r"^[.A-Z:/a-z0-9_-]{1,36}$")
]
MaybeText = Annotated[str | None, WithJsonSchema({"type": ["string", "null"]})]

WindowSecs = Annotated[int, Field(description="Seconds to look back", ge=10, le=300)]

# Reasons for a missing value that suggest that the market is not trading.
SILENT: frozenset[WhyNull] = frozenset({"one_sided_book", "crossed_book", "stale_book", "no_events", "no_trades"})


def _without_null(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    schema.update(schema.pop("anyOf")[0])


def optional(description: str) -> Any:  # noqa: ANN401 - as pydantic's own Field
    """Declare an optional argument. Its schema omits null, which has no meaning in arguments."""
    return Field(None, description=description, json_schema_extra=_without_null)


def omitted(description: str | None = None) -> Any:  # noqa: ANN401 - as pydantic's own Field
    """Declare a member of an answer that is left out if it is None."""
    return Field(None, description=description, exclude_if=is_none, json_schema_extra=_without_null)


def is_none(value: object) -> bool:
    """Return True for a member that is left out of an answer."""
    return value is None


def _bare(schema: dict[str, Any]) -> None:
    schema.pop("required", None)
    for each in (schema, *schema.get("properties", {}).values()):
        each.pop("title", None)


class Row(BaseModel):
    """One row of a list. Its schema has only names and types, because clients pay for its size in context."""

    model_config = ConfigDict(json_schema_extra=_bare)


class MeasuredAnswer(Answer):
    symbol: str
    network: str
    summary: str
    context: dict[str, Any]
    metrics: dict[str, Any] = Field(description="{value, unit, confidence, why_null} by name")
    thresholds: str


def measured(
    context: Context, rules: SymbolRules, basis: Basis, metrics: Mapping[str, Metric], summary: str
) -> ToolAnswer:
    """Return the measures of one symbol as structured data, and as text with a summary sentence."""
    answer = MeasuredAnswer(
        symbol=rules.symbol,
        network=context.live.network.name,
        summary=summary,
        context=context_member(basis, rules),
        metrics={name: metric_member(metric) for name, metric in metrics.items()},
        thresholds=threshold_words(context.live.thresholds),
    )
    lines = measure_lines(answer.metrics, rules)
    below = basis_line(answer.context, answer.network, answer.thresholds)
    return ToolAnswer("\n".join([summary, "", *lines, "", below]), answer, quiet=_is_quiet(basis, metrics))


def _is_quiet(basis: Basis, metrics: Mapping[str, Metric]) -> bool:
    """Return True if the market may have stopped trading: its book is empty or wide, or values are missing."""
    spread = metrics["spread_bps"].value if "spread_bps" in metrics else None
    is_wide = isinstance(spread, float) and spread > WIDE_BPS
    is_empty = not any(basis.n.values()) or (basis.depth_levels is not None and not all(basis.depth_levels))
    return basis.stale or is_wide or is_empty or any(each.why_null in SILENT for each in metrics.values())
