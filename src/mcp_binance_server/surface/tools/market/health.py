"""Tools that find anomalies in a live market and rate its health."""

from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MeasuredAnswer, Pair, WindowSecs, measured
from mcp_binance_server.surface.views.anomalies import anomalies_line, anomaly_metrics
from mcp_binance_server.surface.views.health import health_line, health_metrics


class DetectMarketAnomalies(Arguments):
    symbol: Pair
    window_duration_secs: WindowSecs = 60


async def detect_market_anomalies(context: Context, arguments: DetectMarketAnomalies) -> ToolAnswer:
    report = await context.anomalies.detect(arguments.symbol, arguments.window_duration_secs)
    return measured(context, report.rules, report.basis, anomaly_metrics(report), anomalies_line(report))


DETECT_MARKET_ANOMALIES = ToolSpec(
    name="detect_market_anomalies",
    title="Market anomalies",
    description=(
        "Unusual events in the last minutes of one pair's live book and trades, each with its frequency in the pair's "
        "own past: hidden size, absorption, size that came and went, floods of changes, large standing size, stress. "
        "Needs an hour of data; the first call starts it. Not for intent, and not for a single "
        "score: get_microstructure_health."
    ),
    arguments=DetectMarketAnomalies,
    answer=MeasuredAnswer,
    run=detect_market_anomalies,
    read_only=True,
    toolset="analysis",
    live=True,
)


class GetMicrostructureHealth(Arguments):
    symbol: Pair
    window_duration_secs: WindowSecs = 300


async def get_microstructure_health(context: Context, arguments: GetMicrostructureHealth) -> ToolAnswer:
    report = await context.health.measure(arguments.symbol, arguments.window_duration_secs)
    return measured(context, report.rules, report.basis, health_metrics(report), health_line(report))


GET_MICROSTRUCTURE_HEALTH = ToolSpec(
    name="get_microstructure_health",
    title="Market health",
    description=(
        "Score (0 to 100) of one pair's live book: spread and depth compared with its own last hour. Also "
        "resilience and imbalance. Needs half an hour of data; the first call starts it. Not for comparing "
        "pairs, and not for the state of the stream."
    ),
    arguments=GetMicrostructureHealth,
    answer=MeasuredAnswer,
    run=get_microstructure_health,
    read_only=True,
    toolset="analysis",
    live=True,
)
