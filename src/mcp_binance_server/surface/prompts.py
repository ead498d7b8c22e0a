"""Prompts: guided analyses of markets and accounts."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from mcp_binance_server.analytics.book.metrics import TopOfBook
from mcp_binance_server.analytics.market.microstructure import AnalysisDepth
from mcp_binance_server.analytics.thresholds import RiskTolerance, Strategy
from mcp_binance_server.analytics.trend.bias import disagreements
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.surface.answers import doubts_about
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import PromptSpec
from mcp_binance_server.surface.views.derivatives.page import glance_line
from mcp_binance_server.surface.views.flow import order_flow_page
from mcp_binance_server.surface.views.liquidity import liquidity_page
from mcp_binance_server.surface.views.markdown import book_contradictions, contradictions, with_doubts
from mcp_binance_server.surface.views.microstructure import microstructure_page
from mcp_binance_server.surface.views.overview import overview_page
from mcp_binance_server.surface.views.portfolio.risk import portfolio_page
from mcp_binance_server.surface.views.trend.page import trading_page

OVERVIEW_ROWS = 8


def within(low: int, high: int) -> BeforeValidator:
    """Return a validator for a whole number in a range, given as text."""

    def read(value: object) -> int:
        text = value.strip() if isinstance(value, str) else str(value)
        if not re.fullmatch("[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return BeforeValidator(read)


class LiquidityMapping(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    lookback_minutes: Annotated[int, within(5, 1440)] = Field(
        30, description="Minutes of trading to search for thin ranges, 5 to 1440, default 30"
    )


async def liquidity_mapping(context: Context, arguments: LiquidityMapping) -> str:
    report = await context.liquidity.map(arguments.symbol, arguments.lookback_minutes)
    top = report.touch.top if report.touch else None
    doubted = await _doubts_about_price(context, report.rules, report.reading, top, report.close)
    return with_doubts(liquidity_page(report), doubted)


async def _doubts_about_price(
    context: Context,
    rules: SymbolRules,
    reading: PriceReading | None,
    top: TopOfBook | None,
    close: Price | None,
) -> list[str]:
    """Return warnings about a market. Include one if its last trade or newest candle contradicts the order book."""
    last = reading.last if reading else None
    found = await doubts_about(context, rules.symbol, quiet=last is None or top is None or top.mid is None)
    if last is not None and top is not None and top.bid is not None and top.ask is not None:
        found += contradictions(rules, disagreements(last, bid=top.bid.price, ask=top.ask.price))
    return [*dict.fromkeys(found), *book_contradictions(rules, close, top.middle if top else None)]


LIQUIDITY_MAPPING = PromptSpec(
    name="liquidity_mapping",
    description=(
        "Map one market: thin traded ranges, large standing sizes, slippage and a stop outside the noise. "
        "How to read it: guide://document/market/volume-profile.md"
    ),
    arguments=LiquidityMapping,
    render=liquidity_mapping,
    live=True,
)


class MarketOverviewArguments(Arguments):
    quote: str = Field("USDT", description="Quote asset of the pairs, default USDT", max_length=20)


async def market_overview(context: Context, arguments: MarketOverviewArguments) -> str:
    return overview_page(await context.overview.read(arguments.quote, OVERVIEW_ROWS))


MARKET_OVERVIEW = PromptSpec(
    name="market_overview",
    description=(
        "State of the whole market: share of rising pairs, largest moves and volumes, funding of perpetuals. "
        "How to read it: guide://document/market/whole-market.md"
    ),
    arguments=MarketOverviewArguments,
    render=market_overview,
)


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
    reading = report.profile.reading if report.profile else None
    top = report.market.book.top if report.market else None
    doubted = await _doubts_about_price(context, report.rules, reading, top, report.close)
    return with_doubts(microstructure_page(report), doubted)


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


class OrderFlowTrading(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    window_minutes: Annotated[int, within(1, 60)] = Field(
        5, description="Minutes to look back, 1 to 60, default 5; up to 15 are available at once"
    )


async def order_flow_trading(context: Context, arguments: OrderFlowTrading) -> str:
    report = await context.order_flow.signal(arguments.symbol, arguments.window_minutes)
    found = await doubts_about(context, arguments.symbol, quiet=not report.sample.trades)
    mid = report.touch.top.middle if report.touch else None
    return with_doubts(order_flow_page(report), [*found, *book_contradictions(report.rules, report.close, mid)])


ORDER_FLOW_TRADING = PromptSpec(
    name="order_flow_trading",
    description=(
        "Show whether takers of one market buy or sell, and whether that is unusual for it; no forecast. "
        "How to read it: guide://document/market/order-flow.md"
    ),
    arguments=OrderFlowTrading,
    render=order_flow_trading,
    live=True,
)


class PortfolioRiskArguments(Arguments):
    """No arguments: the account is that of the configured key."""


async def portfolio_risk(context: Context, _arguments: PortfolioRiskArguments) -> str:
    return portfolio_page(await context.portfolio.risk())


PORTFOLIO_RISK = PromptSpec(
    name="portfolio_risk",
    description="Assess portfolio risk and provide diversification recommendations based on current holdings",
    arguments=PortfolioRiskArguments,
    render=portfolio_risk,
    scope="account:read",
)


class TradingAnalysis(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    strategy: Strategy | None = Field(
        None, description="Trading strategy preference: aggressive, balanced, or conservative"
    )
    risk_tolerance: RiskTolerance | None = Field(None, description="Risk tolerance level: low, medium, or high")
    detail: bool = Field(False, description="All sections")  # noqa: FBT003


async def trading_analysis(context: Context, arguments: TradingAnalysis) -> str:
    judged, glance = await gather(
        lambda: context.analysis.trading(
            arguments.symbol, arguments.strategy or "balanced", arguments.risk_tolerance or "medium"
        ),
        lambda: context.derivatives.glance(arguments.symbol),
    )
    left_to_us = (arguments.strategy is None, arguments.risk_tolerance is None)
    perpetual = None if glance.value is None else glance_line(glance.value)
    return trading_page(judged.required(), defaults=left_to_us, perpetual=perpetual, detail=arguments.detail)


TRADING_ANALYSIS = PromptSpec(
    name="trading_analysis",
    description=("Analyze market conditions for a specific cryptocurrency and provide trading recommendations"),
    arguments=TradingAnalysis,
    render=trading_analysis,
    tool_only=frozenset({"detail"}),
)
