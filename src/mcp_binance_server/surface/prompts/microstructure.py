"""The prompt market_microstructure_analysis."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.analytics.market.microstructure import AnalysisDepth
from mcp_binance_server.analytics.trend.bias import disagreements
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.freshness import doubts_about
from mcp_binance_server.surface.prompts.whole_numbers import within
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from mcp_binance_server.surface.views.freshness import contradictions, with_doubts
from mcp_binance_server.surface.views.microstructure import microstructure_page


class MarketMicrostructureAnalysis(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    profile_hours: Annotated[int, within(1, 168)] = Field(
        24, description="Hours of the volume profile, 1 to 168, default 24"
    )
    analysis_depth: AnalysisDepth = Field(
        "standard", description="Baseline: quick (5 minutes), standard (1 hour), or deep (adds 24 hours of volatility)"
    )


async def market_microstructure_analysis(context: Context, arguments: MarketMicrostructureAnalysis) -> str:
    report = await context.microstructure.analyse(arguments.symbol, arguments.profile_hours, arguments.analysis_depth)
    last = report.profile.price if report.profile else None
    top = report.market.book.top if report.market else None
    found = await doubts_about(context, arguments.symbol, quiet=last is None or top is None or top.mid is None)
    if last is not None and top is not None and top.bid is not None and top.ask is not None:
        apart = disagreements(last, bid=top.bid.price, ask=top.ask.price)
        found += contradictions(report.rules, apart)
    return with_doubts(microstructure_page(report), dict.fromkeys(found))


MARKET_MICROSTRUCTURE_ANALYSIS = PromptSpec(
    name="market_microstructure_analysis",
    description=(
        "Analyze how one market trades: volume profile, order book, anomalies and health, each by stated rules. "
        "How to read it: guide://document/market/microstructure-health.md"
    ),
    arguments=MarketMicrostructureAnalysis,
    render=market_microstructure_analysis,
    live=True,
)
