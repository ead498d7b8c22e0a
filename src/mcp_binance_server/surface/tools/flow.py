"""Tool that measures order flow."""

from decimal import Decimal

from mcp_binance_server.analytics.book.impact import KyleLambda, PaidSpread
from mcp_binance_server.analytics.flow.report import FlowReport
from mcp_binance_server.analytics.flow.volume import LargeTrades
from mcp_binance_server.analytics.flow.vpin import Vpin
from mcp_binance_server.analytics.metric import Basis, Metric, Unit, Unknown
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import MeasuredAnswer, Pair, WindowSecs, measured
from mcp_binance_server.surface.views.flow import order_flow_line, per_million_bps
from mcp_binance_server.surface.views.markdown import exact
from mcp_binance_server.surface.views.measures import basis_points, number, written_average


class GetOrderFlow(Arguments):
    symbol: Pair
    window_duration_secs: WindowSecs = 60


def flow_metrics(report: FlowReport) -> dict[str, Metric]:
    """Return all measures of order flow in a time window.

    Volumes are exact. A side is named only if its share is unusual for this symbol.
    """
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
    return Metric(value=value, unit="ratio", method=method)


def _direction(report: FlowReport) -> Metric:
    direction, judgement = report.direction, report.direction.judgement
    method = "rank_in_own_windows"
    if direction.why_null is not None:
        waiting = None if judgement is None else judgement.not_judged
        return Metric(value=None, confidence="none", why_null=direction.why_null, method=method, not_judged=waiting)
    if judgement is None:
        return Metric(value=None, confidence="none", why_null="no_trades", method=method)
    return Metric(
        value=direction.word, confidence=judgement.confidence, method=method, p=judgement.p,
        base_rate=judgement.base_rate,
    )  # fmt: skip


def _late(report: FlowReport) -> dict[str, Metric]:
    """Return the measures that need a live stream and may still lack data."""
    large, paid, impact, rates = report.large, report.paid, report.impact, report.rates
    late = {
        "large_trades": _unknown(large, "quote") if isinstance(large, Unknown) else _large(large),
        "ofi": _ofi(report),
        "queue_impact": _queue_impact(report),
        "paid_spread": _unknown(paid, "bps") if isinstance(paid, Unknown) else _paid(paid),
        "kyle_lambda": _unknown(impact, "quote") if isinstance(impact, Unknown) else _kyle(impact, report.mid),
    }
    if report.vpin is not None:
        late["vpin"] = _unknown(report.vpin, "ratio") if isinstance(report.vpin, Unknown) else _vpin(report.vpin)
    if isinstance(rates, Unknown):
        late["flow_rates"] = _unknown(rates, "per_second")
    else:
        value = {"bids": round(rates.bids, 1), "asks": round(rates.asks, 1)}
        late["flow_rates"] = Metric(value=value, unit="per_second", method="level_changes")
    return late


def _ofi(report: FlowReport) -> Metric:
    ofi, flow = report.ofi, report.queues
    if isinstance(ofi, Unknown):
        return _unknown(ofi, "queues")
    if flow is None or flow.queues is None or flow.judgement is None:
        return Metric(value=None, unit="queues", why_null=ofi.why_null or "degenerate", method=ofi.method)
    judged = flow.judgement
    return Metric(
        value=number(flow.queues, 2), unit="queues", method="ofi_over_mean_touch", p=judged.p,
        base_rate=judged.base_rate, not_judged=judged.not_judged,
    )  # fmt: skip


def _queue_impact(report: FlowReport) -> Metric:
    if isinstance(report.ofi, Unknown):
        return _unknown(report.ofi, "ticks")
    flow = report.queues
    line = None if flow is None or not flow.is_fitted else flow.impact
    if line is None or line.value is None:
        return Metric(value=None, unit="ticks", why_null="not_fitted", method="ticks_per_queue")
    value = {"per_queue": number(line.value / float(report.rules.tick)), **_fit(line)}
    return Metric(value=value, unit="ticks", method="ticks_per_queue")


def _paid(paid: PaidSpread) -> Metric:
    if paid.effective_bps is None:
        return Metric(value=None, unit="bps", why_null=paid.why_null)
    value = {
        "effective": basis_points(paid.effective_bps),
        "quoted": basis_points(paid.quoted_bps),
        "realised": basis_points(paid.realised_bps),
        "impact": basis_points(paid.impact_bps),
        "n": paid.n,
    }
    return Metric(value=value, unit="bps", method=f"medians_{paid.horizon_ms // 1000}s")


def _kyle(line: KyleLambda, mid: float | None) -> Metric:
    if line.value is None:
        return Metric(value=None, unit="bps", why_null=line.why_null)
    value = {"per_million_quote": basis_points(per_million_bps(line, mid)), **_fit(line)}
    return Metric(value=value, unit="bps", method="least_squares_by_second")


def _fit(line: KyleLambda) -> dict[str, float | int | None]:
    return {"t": number(line.t, 2), "r2": number(line.r_squared), "n": line.n}


def _vpin(vpin: Vpin) -> Metric:
    if vpin.value is None:
        return Metric(value=None, unit="ratio", why_null=vpin.why_null, method=vpin.method)
    return Metric(value={"value": number(vpin.value), "of": vpin.n}, unit="ratio", method=vpin.method, p=vpin.p)


def _large(large: LargeTrades) -> Metric:
    if large.why_null is not None:
        return Metric(value=None, unit="quote", why_null=large.why_null)
    sums = {"least": _text(large.threshold_quote, 2), "net": _text(large.signed_quote, 2)}
    value = {"buys": large.buys, "sells": large.sells, **sums, "of": large.reference_n}
    if large.expected is None:
        return Metric(value=value, unit="quote", method="percentile_of_window")
    expected = {"expected": number(large.expected, 1)}
    return Metric(value=value | expected, unit="quote", method="percentile_of_trades_before")


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
        "Taker buys and sells of one pair in the last seconds, and whether they are unusual for the pair; no "
        "forecast. Answers at once, except OFI, which needs 10 s of data. Not for single trades: get_recent_trades."
    ),
    arguments=GetOrderFlow,
    answer=MeasuredAnswer,
    run=get_order_flow,
    read_only=True,
    toolset="analysis",
    live=True,
)
