"""The answer of every tool that measures the live market: one shape, said once."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mcp_binance_server.analytics.envelope import Basis, Metric
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer
from mcp_binance_server.surface.views.measures import context_member, metric_member
from mcp_binance_server.surface.views.thresholds import changed_lines, threshold_words

WindowSecs = Annotated[int, Field(description="Seconds to look back", ge=10, le=300)]


class MeasuredAnswer(Answer):
    symbol: str
    network: str
    context: dict[str, Any]
    metrics: dict[str, Any] = Field(description="{value, unit, confidence, why_null} by name")
    thresholds: str


def measured(context: Context, symbol: str, basis: Basis, metrics: Mapping[str, Metric], text: str) -> ToolAnswer:
    """Return the measures of one symbol and a line that says them."""
    answer = MeasuredAnswer(
        symbol=symbol,
        network=context.live.network.name,
        context=context_member(basis),
        metrics={name: metric_member(metric) for name, metric in metrics.items()},
        thresholds=threshold_words(context.live.thresholds),
    )
    return ToolAnswer("\n".join([text, *changed_lines(context.live.thresholds)]), answer)
