"""The answer of every tool that measures the live market: one shape, said once."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mcp_binance_server.analytics.envelope import Basis, Metric, WhyNull
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer
from mcp_binance_server.surface.views.book import WIDE_BPS
from mcp_binance_server.surface.views.measure_table import basis_line, measure_lines
from mcp_binance_server.surface.views.measures import context_member, metric_member
from mcp_binance_server.surface.views.thresholds import threshold_words

WindowSecs = Annotated[int, Field(description="Seconds to look back", ge=10, le=300)]

# Why a measure has no value where a market may have fallen silent.
SILENT: frozenset[WhyNull] = frozenset({"one_sided_book", "crossed_book", "stale_book", "no_events", "no_trades"})


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
    """Return the measures of one symbol and a sentence that sums them up; the text has every one of them too."""
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
    """Tell whether the market may have fallen silent: an empty or wide book, or nothing to measure."""
    spread = metrics["spread_bps"].value if "spread_bps" in metrics else None
    is_wide = isinstance(spread, float) and spread > WIDE_BPS
    is_empty = not any(basis.n.values()) or (basis.depth_levels is not None and not all(basis.depth_levels))
    return basis.stale or is_wide or is_empty or any(each.why_null in SILENT for each in metrics.values())
