"""Page of an order flow analysis: exact volumes first, then how unusual they are for the symbol."""

from decimal import Decimal

from mcp_binance_server.analytics.book.impact import PAID_TRADES, KyleLambda, PaidSpread
from mcp_binance_server.analytics.flow.book_events import QueueFlow
from mcp_binance_server.analytics.flow.report import FlowReport, References
from mcp_binance_server.analytics.flow.volume import LargeTrades
from mcp_binance_server.analytics.flow.window_scores import ONE_SIDED
from mcp_binance_server.analytics.metric import Unknown, WhyNull
from mcp_binance_server.analytics.score_history import Judgement
from mcp_binance_server.domain.money import STABLECOINS, Price, decimals_of
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.glance import data_line, glance_lines
from mcp_binance_server.surface.views.markdown import amount, average, bps, money, plain, price, share, stamp
from mcp_binance_server.surface.views.market import reading_words
from mcp_binance_server.surface.views.measures import not_judged_words, threshold_line, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE, ONE_BOOK

SOURCES = {"klines_1s": "1s klines (exact taker volumes)", "aggTrade": "live trades (exact aggressor flags)"}
NO_STREAM = "no live stream for this symbol"
MILLION = 1_000_000
# Smallest t-statistic of a slope that is shown. By chance it occurs in about one of 700 windows.
IMPACT_T = 3.0
# Of 2.28 million one-minute windows: tests/analytics/flow/test_real_windows.py repeats the count on a sixth.
_NEXT = (
    "It foretells nothing: the minute after ONE-SIDED moved -0.22 bps on average, against it (95%: -0.31 to -0.13; "
    "58 months of minutes of 7 Binance perpetuals, 2024-2026)"
)


def order_flow_page(report: FlowReport) -> str:
    """Render the order flow of a time window. A side is named only if its share is unusual for the symbol."""
    minutes = report.requested_ms // 60_000
    return "\n".join(
        [
            f"# {plain(report.rules.symbol)} Order Flow Analysis (Last {minutes} min)",
            *glance_lines(report.rules, report.touch, report.taken, "the order book could not be read"),
            f"**Current Price**: {_current(report)}",
            "",
            f"## Taker Flow: {report.direction.word}",
            f"- {_sentence(report)}",
            f"- {_caution(report)}",
            "",
            "## Flow Metrics",
            *_metrics(report),
            *(f"_Unavailable: {plain(reason)}_" for reason in report.missing),
            "",
            _data(report),
            threshold_line(report.thresholds),
            "",
            ONE_BOOK,
            NOT_ADVICE,
            f"*Last updated: {stamp(report.now_ms)}*",
        ]
    )


def order_flow_line(report: FlowReport) -> str:
    """Return the order flow of a time window in one line."""
    sample = report.sample
    seconds = report.requested_ms // 1000
    opening = f"{plain(report.rules.symbol)} order flow, last {seconds} s:"
    if not sample.known_ms:
        return f"{opening} unknown, the exchange has no candles for this window."
    volumes = f"bought {base(report.rules, sample.bought)}, sold {base(report.rules, sample.sold)}"
    return f"{opening} {volumes}; {report.direction.word}, {_sentence(report)}. {_NEXT}."


def base(rules: SymbolRules, value: Decimal, *, signed: bool = False) -> str:
    """Format a quantity of the base asset with at most two decimals. Below 1 it has the decimals of the lot step."""
    finest = decimals_of(rules.step)
    places = min(2, finest) if abs(value) >= 1 or not value else max(2, finest)
    sign = "+" if signed and value > 0 else ""
    return f"{sign}{amount(value, places)} {plain(rules.base)}"


def paid_line(paid: PaidSpread | Unknown | None) -> str | None:
    """Return the spread that takers paid as text, or None if it is unknown.

    Example: `effective spread 1.20 bps (quoted 0.98 bps)`. The realised spread and the price impact follow if known.
    """
    if not isinstance(paid, PaidSpread) or paid.effective_bps is None:
        return None
    quoted = "" if paid.quoted_bps is None else f" (quoted {bps(paid.quoted_bps)} bps)"
    line = f"effective spread {bps(paid.effective_bps)} bps{quoted}, median of {paid.n:,} trades"
    if paid.realised_bps is None or paid.impact_bps is None:
        return line
    horizon = paid.horizon_ms // 1000
    return f"{line}; {horizon} s later {bps(paid.realised_bps)} bps realised, {bps(paid.impact_bps)} bps impact"


def per_million_bps(impact: KyleLambda, mid: float | None) -> float | None:
    """Return the fitted price impact in bps.

    This is the move of the mid price if takers of one side trade a million of the quote asset.
    """
    return None if impact.value is None or not mid else impact.value * MILLION / mid / mid * 10_000


def _current(report: FlowReport) -> str:
    return "unknown" if report.reading is None else reading_words(report.rules, report.reading)


def _metrics(report: FlowReport) -> list[str]:
    rules, sample, flow = report.rules, report.sample, report.sample.flow
    if not sample.known_ms:
        return ["_Unavailable: the exchange has no candles for this window_"]
    net = base(rules, sample.bought - sample.sold, signed=True)
    vwap = "unknown" if flow.vwap is None else average(Decimal(repr(flow.vwap)), rules.quote, rules.tick)
    return [
        f"**Buy Volume**: {base(rules, sample.bought)} · **Sell Volume**: {base(rules, sample.sold)}",
        f"**Imbalance Ratio**: {_interval(report)} · **Net Pressure**: {net}",
        f"**VWAP**: {vwap} · **Trades**: {sample.trades:,}{_ofi(report)}",
        *_paid(report),
        *_large(report),
        *_levels(report),
        *_not_known(report),
        _source(report),
    ]


def _paid(report: FlowReport) -> list[str]:
    """Return the spread that takers paid and their price impact, if a live stream has measured them."""
    lines = list[str]()
    if (paid := paid_line(report.paid)) is not None:
        lines.append(f"**Takers paid**: {paid}")
    impact = report.impact
    if isinstance(impact, Unknown) or impact.t is None or impact.t < IMPACT_T:
        return lines
    moved = per_million_bps(impact, report.mid)
    if moved is not None and report.rules.quote in STABLECOINS:
        lines.append(
            f"**Impact**: $1M one-sided moves the mid about {moved:.2g} bps "
            f"(t {impact.t:.0f} over {impact.n} s; a linear fit of small trades)"
        )
    return lines


def _interval(report: FlowReport) -> str:
    direction, ratio = report.direction, report.sample.flow.buy_ratio
    if ratio is None:
        return f"unknown ({why('no_trades')})"
    sampled = direction.share
    if sampled is None:
        return f"{ratio:.3f}"
    return f"{ratio:.3f} ({sampled.low:.3f}-{sampled.high:.3f} by resampling its seconds)"


def _not_judged(report: FlowReport) -> str:
    direction, thresholds = report.direction, report.thresholds
    if direction.judgement is not None and direction.judgement.not_judged is not None:
        return not_judged_words(direction.judgement.not_judged)
    if direction.why_null == "insufficient_events":
        if direction.trades < thresholds.min_events:
            return f"too few trades yet ({direction.trades} of {thresholds.min_events})"
        return f"too few seconds with trades ({direction.seconds} of {thresholds.min_seconds})"
    if direction.why_null == "insufficient_history":
        known, asked = direction.window_ms // 1000, report.requested_ms // 1000
        if known < asked:
            return f"not judged: {known:,} of {asked:,} s known"
        return "not judged: past values exist only for whole minutes and for windows up to 100 s"
    return f"not judged: {why(direction.why_null)}"


def _sentence(report: FlowReport) -> str:
    """Return a sentence on how one-sided the window was, compared with earlier windows of the symbol."""
    direction, ratio = report.direction, report.sample.flow.buy_ratio
    if ratio is None:
        nothing = "No taker volume in the window" if report.sample.known_ms else "No data for the window"
        return f"{nothing}; not judged"
    bought = f"{share(ratio)} of taker volume bought"
    judgement = direction.judgement
    if judgement is None or judgement.base_rate is None:
        return f"{bought}; {_not_judged(report)}"
    line = f"{bought}: more one-sided than {_beaten(judgement)} of {_length(direction.window_ms)}"
    if judgement.score < ONE_SIDED.floor:
        low, high = (1 - ONE_SIDED.floor) / 2, (1 + ONE_SIDED.floor) / 2
        line += f"; from {share(low, 0)} to {share(high, 0)} no side is named"
    return line


def _caution(report: FlowReport) -> str:
    if not report.direction.word.startswith("ONE-SIDED"):
        return _NEXT
    return f"{_NEXT}; by chance alone, up to {share(ONE_SIDED.alpha, 0)} of windows are ONE-SIDED"


def _beaten(judgement: Judgement) -> str:
    """Return the number of earlier windows with a lower score: `58 of the last 60 windows`."""
    seen, p = judgement.base_rate, judgement.p
    n = seen.n if seen is not None else 0
    return f"{n + 1 - round((p or 0.0) * (n + 1))} of the last {n} windows"


def _length(window_ms: int) -> str:
    seconds = window_ms // 1000
    return f"{seconds // 60} min" if seconds >= 120 and not seconds % 60 else f"{seconds} s"


def _ofi(report: FlowReport) -> str:
    ofi, queues = report.ofi, report.queues
    if isinstance(ofi, Unknown) or ofi.value is None or queues is None or queues.queues is None:
        return ""
    return f" · **OFI (10 s)**: {_queues(queues.queues, queues, report.rules)} ({ofi.n} events)"


def _not_known(report: FlowReport) -> list[str]:
    """Return one line that lists the unknown values, each with the progress of its data collection."""
    ofi, paid, large, limits = report.ofi, report.paid, report.large, report.thresholds
    waiting = dict[str, str]()
    if isinstance(ofi, Unknown):
        waiting["OFI"] = _lacking(ofi, NO_STREAM)
    elif not _ofi(report):
        waiting["OFI"] = _few(ofi.why_null or "degenerate", ofi.n, limits.min_events, "events")
    if isinstance(paid, Unknown):
        waiting["takers paid"] = _lacking(paid, NO_STREAM)
    elif paid.effective_bps is None:
        waiting["takers paid"] = _few(paid.why_null, paid.n, PAID_TRADES, "trades after a quote")
    if isinstance(large, Unknown):
        waiting["large trades"] = _lacking(large, why(large.why_null))
    elif large.threshold_quote is None:
        waiting["large trades"] = _few(large.why_null, large.reference_n, limits.large_trade_min_n, "aggregate trades")
    # Values with the same reason share one entry.
    alike = dict[str, list[str]]()
    for name, reason in waiting.items():
        alike.setdefault(reason, []).append(name)
    told = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in alike.items())
    return [f"_Not known yet: {told}_"] if told else []


def _lacking(unknown: Unknown, unavailable: str) -> str:
    progress = unknown.progress
    if progress is None:
        return unavailable if unknown.why_null == "upstream_unavailable" else why(unknown.why_null)
    seconds = f"{progress.have_ms // 1000} of {-(-progress.need_ms // 1000)} s"
    have, need = progress.have_n or 0, progress.need_n or 0
    return f"{seconds}, {have} of {need} events" if have < need else seconds


def _queues(queues: float, flow: QueueFlow, rules: SymbolRules) -> str:
    line = f"{queues:+.1f} queues"
    if flow.judgement is not None and flow.judgement.base_rate is not None:
        line += f", larger than {_beaten(flow.judgement)}"
    if flow.is_fitted and flow.impact is not None and flow.impact.value is not None:
        ticks = flow.impact.value / float(rules.tick)
        line += f", {ticks:.2g} ticks a queue (R² {flow.impact.r_squared or 0.0:.2f})"
    return line


def _few(code: WhyNull | None, have: int, need: int, of: str) -> str:
    return f"{have:,} of {need:,} {of}" if code == "insufficient_events" else why(code)


def _source(report: FlowReport) -> str:
    sample = report.sample
    known, asked = sample.known_ms // 1000, report.requested_ms // 1000
    short = "" if known + sample.gaps >= asked else ": all numbers cover only these seconds"
    return f"_Source: {SOURCES[sample.source]}, {known:,} of {asked:,} s, gaps {sample.gaps}{short}_"


def _large(report: FlowReport) -> list[str]:
    large = report.large
    if isinstance(large, Unknown) or large.threshold_quote is None:
        return []
    top = 100 - report.thresholds.large_trade_percentile
    among = "this window" if large.of_window else f"the {large.reference_n:,} trades before"
    line = f"**Large trades** (>= {_threshold(report.rules, large)}, the top {top}% of {among}): "
    line += f"{_counted(large.buys, 'buy')}, {_counted(large.sells, 'sell')}"
    return [line if large.expected is None else f"{line}; {large.expected:.1f} expected"]


def _counted(count: int | None, of: str) -> str:
    return f"1 {of}" if count == 1 else f"{count or 0:,} {of}s"


def _threshold(rules: SymbolRules, large: LargeTrades) -> str:
    return money(Decimal(repr(large.threshold_quote)), rules.quote, rules.tick).removesuffix(".00")


def _levels(report: FlowReport) -> list[str]:
    levels = report.references
    if levels is None:
        return []
    if report.is_contradictory:
        return [f"**Reference levels**: not judged, {why('contradiction')}"]
    if levels == References(None, None, None, None):
        return ["**Reference levels**: none, too little was traded in the last 24 hours"]
    below = _reference(report.rules, levels.swing_low, levels.val, "VAL")
    above = _reference(report.rules, levels.swing_high, levels.vah, "VAH")
    return [f"**Reference levels**: below {below} · above {above}"]


def _reference(rules: SymbolRules, swing: Price | None, edge: Price | None, name: str) -> str:
    shown = {"swing": (swing, "1m"), name: (edge, "24h")}
    found = [
        f"{label} {price(value, rules.quote, rules.tick)} ({bars})"
        for label, (value, bars) in shown.items()
        if value is not None
    ]
    return ", ".join(found) or "none"


def _data(report: FlowReport) -> str:
    known = report.sample.window.to_ms if report.sample.known_ms else None
    moments = {
        "price": report.reading.at_ms if report.reading else None,
        "book": report.touch.as_of_ms if report.touch else None,
        "flow": known,
    }
    return data_line(moments, closed_ms=report.closed_ms)
