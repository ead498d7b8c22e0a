"""The tool that measures order flow."""

from decimal import Decimal

from mcp_binance_server.analytics.envelope import Basis, Metric, Unit, Unknown
from mcp_binance_server.analytics.flow.report import FlowReport
from mcp_binance_server.analytics.flow.volume import LargeTrades
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MeasuredAnswer, Pair, WindowSecs, measured
from mcp_binance_server.surface.views.flow import order_flow_line
from mcp_binance_server.surface.views.markdown import exact
from mcp_binance_server.surface.views.measures import written_average


class GetOrderFlow(Arguments):
    symbol: Pair
    window_duration_secs: WindowSecs = 60


def flow_metrics(report: FlowReport) -> dict[str, Metric]:
    """Return every measure of a window of flow; volumes are exact, a direction only what its interval allows."""
    sample, rules = report.sample, report.rules
    if not sample.known_ms:
        nothing = Metric(value=None, why_null="insufficient_history")
        known = dict.fromkeys(
            ("buy_volume", "sell_volume", "imbalance_ratio", "net_pressure", "cvd", "vwap", "trades", "direction"),
            nothing,
        )
        return known | _late(report)
    net = exact(sample.bought - sample.sold, rules.step)
    vwap = written_average(sample.flow.vwap, rules.tick)
    return {
        "buy_volume": Metric(value=exact(sample.bought, rules.step), unit="base", method=sample.flow.method),
        "sell_volume": Metric(value=exact(sample.sold, rules.step), unit="base"),
        "imbalance_ratio": _ratio(report),
        "net_pressure": Metric(value=net, unit="base"),
        "cvd": Metric(value=net, unit="base", method="change_since_window_start"),
        "vwap": Metric(value=vwap, unit="quote", why_null=sample.flow.why_null),
        "trades": Metric(value=sample.trades),
        "direction": _direction(report),
    } | _late(report)


def _ratio(report: FlowReport) -> Metric:
    ratio, direction = report.sample.flow.buy_ratio, report.direction
    if ratio is None:
        return Metric(value=None, unit="ratio", why_null="no_trades")
    share = direction.share
    value = {
        "value": round(ratio, 4),
        "lo": None if share is None else round(share.low, 4),
        "hi": None if share is None else round(share.high, 4),
    }
    method = None if share is None else share.method
    return Metric(value=value, unit="ratio", confidence=direction.confidence, method=method)


def _direction(report: FlowReport) -> Metric:
    direction = report.direction
    word = None if direction.direction == "UNKNOWN" else direction.direction
    why = None if word else direction.why_null or "no_trades"
    return Metric(value=word, confidence=direction.confidence, why_null=why)


def _late(report: FlowReport) -> dict[str, Metric]:
    """Return what needs more than candles, and may still be collecting."""
    large, ofi, vpin, rates = report.large, report.ofi, report.vpin, report.rates
    late = {
        "large_trades": _unknown(large, "quote") if isinstance(large, Unknown) else _large(large),
        "ofi": _unknown(ofi, "base")
        if isinstance(ofi, Unknown)
        else Metric(value=_text(ofi.value, 8), unit="base", why_null=ofi.why_null, method=ofi.method),
    }
    if isinstance(vpin, Unknown):
        late["vpin"] = _unknown(vpin, "ratio")
    else:
        value = None if vpin.value is None else round(vpin.value, 4)
        late["vpin"] = Metric(value=value, unit="ratio", why_null=vpin.why_null, method=vpin.method)
    if isinstance(rates, Unknown):
        late["flow_rates"] = _unknown(rates, "per_second")
    else:
        value = {"bids": round(rates.bids, 1), "asks": round(rates.asks, 1)}
        late["flow_rates"] = Metric(value=value, unit="per_second", method="level_changes")
    return late


def _large(large: LargeTrades) -> Metric:
    if large.why_null is not None:
        return Metric(value=None, unit="quote", why_null=large.why_null)
    sums = {"least": _text(large.threshold_quote, 2), "net": _text(large.signed_quote, 2)}
    return Metric(value={"buys": large.buys, "sells": large.sells, **sums}, unit="quote")


def _unknown(unknown: Unknown, unit: Unit) -> Metric:
    return Metric(value=None, unit=unit, why_null=unknown.why_null, progress=unknown.progress)


def _text(value: float | None, places: int) -> str | None:
    return None if value is None else exact(Decimal(f"{value:.{places}f}"))


def _basis(report: FlowReport) -> Basis:
    sample = report.sample
    return Basis(
        window=sample.window,
        requested_ms=report.requested_ms,
        n={"trades": sample.trades, "seconds": len(sample.seconds)},
        coverage=report.coverage,
        source=(sample.source,),
        as_of_ms=sample.window.to_ms,
        age_ms=max(0, report.now_ms - sample.window.to_ms),
        gaps=sample.gaps,
    )


async def get_order_flow(context: Context, arguments: GetOrderFlow) -> ToolAnswer:
    report = await context.order_flow.flow(arguments.symbol, arguments.window_duration_secs)
    line = order_flow_line(report)
    return measured(context, report.rules, _basis(report), flow_metrics(report), line)


GET_ORDER_FLOW = ToolSpec(
    name="get_order_flow",
    title="Order flow",
    description=(
        "What aggressive buyers and sellers of one pair took in the last seconds, with an interval and the only "
        "direction it allows. Answers at once; OFI collects for 10 s. Not for single trades: get_recent_trades."
    ),
    arguments=GetOrderFlow,
    answer=MeasuredAnswer,
    run=get_order_flow,
    read_only=True,
    toolset="analysis",
    live=True,
)
