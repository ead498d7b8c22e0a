"""The page of an order flow analysis: exact volumes first, then the only words their interval allows."""

from decimal import Decimal

from mcp_binance_server.analytics.envelope import Unknown, WhyNull
from mcp_binance_server.analytics.flow.direction import FlowDirection
from mcp_binance_server.analytics.flow.report import FlowReport, References
from mcp_binance_server.analytics.flow.volume import LargeTrades
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.money import decimals_of
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import amount, average, money, plain, price, share, stamp
from mcp_binance_server.surface.views.measures import collecting, threshold_line, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE

SOURCES = {"klines_1s": "1s klines (exact taker volumes)", "aggTrade": "live trades (exact aggressor flags)"}
NO_STREAM = "no live stream for this symbol"


def order_flow_page(report: FlowReport) -> str:
    """Render a window of order flow; without an edge it names no direction, and shows the interval that forbids it."""
    minutes = report.requested_ms // 60_000
    return "\n".join(
        [
            f"# {plain(report.rules.symbol)} Order Flow Analysis (Last {minutes} min)",
            "",
            "## Flow Metrics",
            *_metrics(report),
            "",
            f"## Signal: {report.direction.signal}",
            f"- {_verdict(report)}",
            f"- {_large(report)}",
            *_levels(report),
            "",
            threshold_line(report.thresholds),
            "",
            NOT_ADVICE,
            f"*Last updated: {stamp(report.now_ms)}*",
        ]
    )


def order_flow_line(report: FlowReport) -> str:
    """Say a window of order flow in one line."""
    sample, direction = report.sample, report.direction
    seconds = report.requested_ms // 1000
    opening = f"{plain(report.rules.symbol)} order flow, last {seconds} s:"
    if not sample.known_ms:
        return f"{opening} unknown, the exchange has no candles of this window."
    volumes = f"bought {base(report.rules, sample.bought)}, sold {base(report.rules, sample.sold)}"
    return f"{opening} {volumes}; imbalance ratio {_interval(report)}; direction {direction.direction}."


def base(rules: SymbolRules, value: Decimal, *, signed: bool = False) -> str:
    """Write a quantity of the base asset: two decimals at most from 1 upwards, below it those of the lot step."""
    finest = decimals_of(rules.step)
    places = min(2, finest) if abs(value) >= 1 or not value else max(2, finest)
    sign = "+" if signed and value > 0 else ""
    return f"{sign}{amount(value, places)} {plain(rules.base)}"


def unknown_words(unknown: Unknown, unavailable: str) -> str:
    """Say why there is no value: how far it has come, or what is missing."""
    if unknown.progress is not None:
        return f"_{collecting(unknown.progress)}_"
    return f"_Unavailable: {unavailable if unknown.why_null == 'upstream_unavailable' else why(unknown.why_null)}_"


def _metrics(report: FlowReport) -> list[str]:
    rules, sample, flow = report.rules, report.sample, report.sample.flow
    if not sample.known_ms:
        return ["_Unavailable: the exchange has no candles of this window_"]
    net = base(rules, sample.bought - sample.sold, signed=True)
    vwap = "unknown" if flow.vwap is None else average(Decimal(repr(flow.vwap)), rules.quote, rules.tick)
    return [
        f"**Buy Volume**: {base(rules, sample.bought)} · **Sell Volume**: {base(rules, sample.sold)}",
        f"**Imbalance Ratio**: {_interval(report)} · **Net Pressure**: {net}",
        f"**VWAP**: {vwap} · **Trades**: {sample.trades:,} · **OFI (10 s)**: {_ofi(report)}",
        _source(report),
    ]


def _interval(report: FlowReport) -> str:
    direction, ratio = report.direction, report.sample.flow.buy_ratio
    if ratio is None:
        return f"unknown ({why('no_trades')})"
    share = direction.share
    if share is None:
        return f"{ratio:.3f} (no interval: {_too_little(direction, report.thresholds)})"
    return f"{ratio:.3f} (95% interval {share.low:.3f}-{share.high:.3f})"


def _too_little(direction: FlowDirection, thresholds: Thresholds) -> str:
    if direction.why_null != "insufficient_events":
        return why(direction.why_null)
    if direction.trades < thresholds.min_events:
        return f"{direction.trades} of {thresholds.min_events} aggregate trades needed"
    return f"trades in {direction.seconds} of {thresholds.min_seconds} seconds needed"


def _ofi(report: FlowReport) -> str:
    ofi = report.ofi
    if isinstance(ofi, Unknown):
        return unknown_words(ofi, NO_STREAM)
    if ofi.value is None:
        return f"unknown ({_few(ofi.why_null, ofi.n, report.thresholds.min_events)})"
    return f"{base(report.rules, Decimal(repr(ofi.value)), signed=True)} ({ofi.n} events)"


def _few(code: WhyNull | None, have: int, need: int) -> str:
    return f"{why(code)}: {have} of {need}" if code == "insufficient_events" else why(code)


def _source(report: FlowReport) -> str:
    sample = report.sample
    known, asked = sample.known_ms // 1000, report.requested_ms // 1000
    short = "" if known + sample.gaps >= asked else ": every number is of these seconds alone"
    return f"_Source: {SOURCES[sample.source]}, {known:,} of {asked:,} s, gaps {sample.gaps}{short}_"


def _verdict(report: FlowReport) -> str:
    direction, ratio = report.direction, report.sample.flow.buy_ratio
    if ratio is None:
        nothing = "No aggressor volume in the window" if report.sample.known_ms else "Nothing is known of the window"
        return f"{nothing} (confidence: {direction.confidence})"
    bought = f"{share(ratio)} of aggressor volume bought"
    interval = direction.share
    if interval is None:
        return (
            f"{bought}; no interval: {_too_little(direction, report.thresholds)} (confidence: {direction.confidence})"
        )
    if not interval.side_of(0.5):
        span = f"{share(interval.low)}-{share(interval.high)}"
        return f"{bought}; the interval {span} includes 50% (confidence: {direction.confidence})"
    halves = " in both halves" if direction.confidence == "high" else ", but not in both halves"
    return f"{bought}; the interval excludes 50%{halves} (confidence: {direction.confidence})"


def _large(report: FlowReport) -> str:
    large = report.large
    if isinstance(large, Unknown):
        return f"Large trades: {unknown_words(large, why(large.why_null))}"
    if large.threshold_quote is None:
        few = _few(large.why_null, large.n, report.thresholds.large_trade_min_n)
        return f"Large trades: unknown ({few} aggregate trades)"
    return f"Large trades (>= {_threshold(report.rules, large)}): {large.buys} buys, {large.sells} sells"


def _threshold(rules: SymbolRules, large: LargeTrades) -> str:
    return money(Decimal(repr(large.threshold_quote)), rules.quote, rules.tick).removesuffix(".00")


def _levels(report: FlowReport) -> list[str]:
    levels, rules = report.references, report.rules
    unavailable = [f"- _Unavailable: {plain(reason)}_" for reason in report.missing]
    if levels is None:
        return unavailable
    if levels == References(None, None, None, None):
        return ["- Reference levels: none, too little was traded in the last 24 hours"]
    low, high, val, vah = (
        "none" if each is None else price(each, rules.quote, rules.tick)
        for each in (levels.swing_low, levels.swing_high, levels.val, levels.vah)
    )
    if report.direction.signal == "LONG BIAS":
        line = f"Stop reference: {low} (last swing low, 1m) · Target reference: {vah} (VAH 24h)"
    elif report.direction.signal == "SHORT BIAS":
        line = f"Stop reference: {high} (last swing high, 1m) · Target reference: {val} (VAL 24h)"
    else:
        line = f"Reference levels: swings {low} and {high} (1m) · value area {val} and {vah} (24h)"
    return [f"- {line}", *unavailable]
