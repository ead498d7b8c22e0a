"""The prompt trading_analysis."""

from pydantic import Field

from mcp_binance_server.analytics.thresholds import RiskTolerance, Strategy
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from mcp_binance_server.surface.views.trading import trading_page


class TradingAnalysis(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    strategy: Strategy | None = Field(
        None, description="Trading strategy preference: aggressive, balanced, or conservative"
    )
    risk_tolerance: RiskTolerance | None = Field(None, description="Risk tolerance level: low, medium, or high")


async def trading_analysis(context: Context, arguments: TradingAnalysis) -> str:
    report = await context.analysis.trading(
        arguments.symbol, arguments.strategy or "balanced", arguments.risk_tolerance or "medium"
    )
    left_to_us = (arguments.strategy is None, arguments.risk_tolerance is None)
    return trading_page(report, defaults=left_to_us)


TRADING_ANALYSIS = PromptSpec(
    name="trading_analysis",
    description=("Analyze market conditions for a specific cryptocurrency and provide trading recommendations"),
    arguments=TradingAnalysis,
    render=trading_analysis,
)
