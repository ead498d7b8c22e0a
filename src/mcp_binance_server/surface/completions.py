"""What a client may offer while a person is typing."""

from typing import get_args

from mcp import types

from mcp_binance_server.analytics.market.microstructure import AnalysisDepth
from mcp_binance_server.analytics.thresholds import RiskTolerance, Strategy
from mcp_binance_server.domain.candles import INTERVALS
from mcp_binance_server.errors import AppError
from mcp_binance_server.services.guides import Names
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.uris import GUIDE_SCHEME, as_written

MOST = 100
CHOICES: dict[str, tuple[str, ...]] = {
    "strategy": get_args(Strategy),
    "risk_tolerance": get_args(RiskTolerance),
    "interval": INTERVALS,
    "analysis_depth": get_args(AnalysisDepth),
}
GUIDE_NAMES: dict[str, Names] = {"id": "collections", "name": "categories", "context": "contexts"}


async def complete(context: Context, params: types.CompleteRequestParams) -> types.Completion:
    """Return the values an argument can take; nothing for an unknown one, and never an error."""
    typed = params.argument.value
    if isinstance(params.ref, types.ResourceTemplateReference) and params.ref.uri.startswith(GUIDE_SCHEME):
        found = [choice for choice in await _guides(context, params) if choice.startswith(typed)]
    elif params.argument.name == "symbol":
        found = await _symbols(context, typed)
        if isinstance(params.ref, types.ResourceTemplateReference):
            found = [as_written(symbol) for symbol in found]
    else:
        choices = CHOICES.get(params.argument.name, ())
        found = [choice for choice in choices if choice.startswith(typed)]
    return types.Completion(values=found[:MOST], total=len(found), has_more=len(found) > MOST)


async def _symbols(context: Context, typed: str) -> list[str]:
    try:
        return [*await context.market.symbols(typed)]
    except AppError:  # a person is typing: an empty list is kinder than a message
        return []


async def _guides(context: Context, params: types.CompleteRequestParams) -> list[str]:
    if kind := GUIDE_NAMES.get(params.argument.name):
        return await context.guides.names(kind)
    chosen = (params.context.arguments if params.context else None) or {}
    place = chosen.get("name") or chosen.get("context")
    return await context.guides.doc_ids(place) if params.argument.name == "docId" and place else []
