"""The prompt liquidity_mapping."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.analytics.trend.bias import disagreements
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.freshness import doubts_about
from mcp_binance_server.surface.prompts.whole_numbers import within
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from mcp_binance_server.surface.views.freshness import contradictions, with_doubts
from mcp_binance_server.surface.views.liquidity import liquidity_page


class LiquidityMapping(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    lookback_minutes: Annotated[int, within(5, 1440)] = Field(
        30, description="Minutes of trading to look for vacuums in, 5 to 1440, default 30"
    )


async def liquidity_mapping(context: Context, arguments: LiquidityMapping) -> str:
    report = await context.liquidity.map(arguments.symbol, arguments.lookback_minutes)
    found = await doubts_about(context, arguments.symbol, quiet=report.price is None or report.touch is None)
    if report.price is not None and report.touch is not None:
        bid, ask = report.touch
        found += contradictions(report.rules, disagreements(report.price, bid=bid, ask=ask))
    return with_doubts(liquidity_page(report), dict.fromkeys(found))


LIQUIDITY_MAPPING = PromptSpec(
    name="liquidity_mapping",
    description=(
        "Map liquidity vacuums, order walls, slippage and stop levels of one market. "
        "How to read it: guide://document/market/volume-profile.md"
    ),
    arguments=LiquidityMapping,
    render=liquidity_mapping,
    live=True,
)
