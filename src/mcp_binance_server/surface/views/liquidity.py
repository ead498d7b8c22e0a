"""Liquidity and volume by price, as Markdown."""

from decimal import Decimal

from mcp_binance_server.analytics.book.metrics import BookWalk
from mcp_binance_server.analytics.book.report import LargestLevel
from mcp_binance_server.analytics.liquidity.report import (
    LiquidityReport,
    SlippageRow,
    StandingReport,
    StopReport,
    ThinRangeReport,
)
from mcp_binance_server.analytics.liquidity.stops import TAIL_FROM, Noise, StopPrice
from mcp_binance_server.analytics.liquidity.thin_ranges import (
    LEAST_DEVIATIONS,
    LEAST_SPREADS,
    LEAST_TICKS,
    SHUFFLES,
    ThinRange,
    ThinRanges,
)
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.metric import Metric
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.anomalies import FLOORS, measured_numbers, no_stream, standing_words
from mcp_binance_server.surface.views.book.metrics import reach_words
from mcp_binance_server.surface.views.flow import base
from mcp_binance_server.surface.views.glance import data_line, glance_lines
from mcp_binance_server.surface.views.markdown import (
    DOLLAR_LIKE,
    bps,
    compact_money,
    exact,
    instant,
    percent,
    plain,
    price,
    share,
    span,
    stamp,
    time_of_day,
)
from mcp_binance_server.surface.views.market import measured_from, reading_words
from mcp_binance_server.surface.views.measures import (
    base_rate_words,
    changed_words,
    not_judged_words,
    number,
    threshold_line,
    why,
)
from mcp_binance_server.surface.views.trend import NOT_ADVICE, ONE_BOOK

SOURCES = {
    "aggTrade": "live trades",
    "aggTrades": "every trade of the window",
    "klines_1s": "1s klines spread over each bar (approximation)",
    "klines": "1m klines spread over each bar (approximation)",
}
MOST_ROWS = 10
LITTLE = 0.01
HOUR_MS = 3_600_000

PROFILE_SOURCES = {"aggTrades": "every trade", "klines": "candles spread over their range (approximation)"}
_CONTRADICTORY = f"_Not judged: {why('contradiction')}_"
PLACES = {"inside": "inside the value area", "above": "above the value area", "below": "below the value area"}


def liquidity_page(report: LiquidityReport) -> str:
    """Render the liquidity map of a market. A section without data shows the reason."""
    return "\n".join(
        [
            f"# {plain(report.rules.symbol)} Liquidity Map",
            *glance_lines(report.rules, report.touch, report.flow, plain(report.no_book)),
            f"**Current Price**: {_price_line(report)}",
            "",
            *_thin(report),
            "",
            *_standing(report),
            "",
            "## Slippage (market order now, excl. fees)",
            *_costs(report),
            "",
            "## Stop Loss Guidance",
            *_guidance(report),
            "",
            _data(report),
            threshold_line(report.thresholds),
            "",
            ONE_BOOK,
            NOT_ADVICE,
            f"*Last updated: {stamp(report.now_ms)}*",
        ]
    )


def thin_line(report: ThinRangeReport) -> str:
    """Return one line with the thinly traded ranges of a period, and with a large standing size if it is unusual."""
    opening = f"{plain(report.rules.symbol)}, last {span(report.requested_ms)}:"
    now = report.reading
    told = f" Measured from {measured_from(report.rules, now)}." if now is not None and now.is_mid else ""
    if report.standing.unusual is not None:
        size = standing_line(report.rules, report.standing)
        return f"{opening} {_thin_words(report)}. {size[:1].upper()}{size[1:]}.{told}"
    return f"{opening} {_thin_words(report)}.{told}"


def _thin_words(report: ThinRangeReport) -> str:
    if report.found.found is None:
        return f"thin traded ranges not judged ({_too_little(report)})"
    near = report.nearest_first
    if not near:
        return f"no thinly traded range wider than by chance in {report.trades:,} trades"
    inside = "the price is inside one" if report.around else f"nearest {_range(report.rules, near[0])}"
    return f"{len(near)} thin traded range{'s' if len(near) > 1 else ''}; {inside}"


def _price(rules: SymbolRules, value: Decimal) -> str:
    return price(value, rules.quote, rules.tick)


def _price_line(report: LiquidityReport) -> str:
    if report.reading is None:
        return "unknown (nothing was traded in the last 24 hours)"
    shown = reading_words(report.rules, report.reading)
    around = report.thin.around if report.thin else None
    return shown if around is None else f"{shown} (inside a thin traded range)"


def _data(report: LiquidityReport) -> str:
    """Return the times of a page's data. Candles end with the last closed minute, streams are exact to the second."""
    thin = report.thin
    moments = {
        "price": report.reading.at_ms if report.reading else None,
        "book": report.touch.as_of_ms if report.touch else None,
    }
    if thin is None:
        return data_line(moments)
    if thin.source == "aggTrade":
        return data_line({**moments, "trades": thin.window.to_ms})
    closed = "trades" if thin.source == "aggTrades" else "closed candles"
    return data_line(moments, closed_ms=thin.window.to_ms, closed=closed)


def _thin(report: LiquidityReport) -> list[str]:
    thin = report.thin
    window = f"last {report.lookback_minutes} min"
    if thin is None:
        return [f"## Thin Traded Ranges ({window})", f"_Unavailable: {plain(report.no_trades)}_"]
    heading = f"## Thin Traded Ranges ({window}, {thin.trades:,} trades)"
    if report.is_contradictory:
        return [heading, _CONTRADICTORY]
    if thin.found.found is None:
        return [heading, f"_Not judged: {_too_little(thin)}_"]
    lines = [heading]
    shown = thin.nearest_first[:MOST_ROWS]
    if shown:
        lines += ["| Range | Width (sigma) | Width (spreads) | Volume left | Distance |", "|-|-|-|-|-|"]
        lines += [_thin_row(report, each) for each in shown]
        lines += [
            "",
            f"_Wider than in each of {SHUFFLES} shuffles of the same price steps; sigma: the window's usual move_",
        ]
    else:
        lines.append(f"_None beyond chance: {_widest(thin.found)}_")
    more = len(thin.nearest_first) - len(shown)
    further = f"; {more} more further away" if more > 0 else ""
    lines.append(f"_Source: {SOURCES[thin.source]}, coverage {share(thin.coverage, 0)}{further}_")
    return lines


def _widest(found: ThinRanges) -> str:
    """Return the width of the widest range without trades, and the reason why it is not listed."""
    if not found.widest:
        return "no range with hardly any trading between traded prices"
    widest = f"the widest range with hardly any trading is {found.widest:.2f} sigma of the window"
    if found.as_wide:
        return f"{widest}; {found.as_wide} of {found.shuffles} shuffles of the same price steps have one as wide"
    matters = f"{LEAST_DEVIATIONS} sigma, {LEAST_TICKS} ticks and {LEAST_SPREADS} spreads"
    return f"{widest}, below the minimum ({matters})"


def _thin_row(report: LiquidityReport, found: ThinRange) -> str:
    rules = report.rules
    away = "n/a" if report.price is None else percent(Decimal(repr(found.distance_percent(report.price))))
    spreads = "n/a" if found.spreads is None else f"{found.spreads:,.0f}"
    left = "none" if not found.volume else f"{base(rules, Quantity(Decimal(repr(found.volume))))}, {_usual(found)}"
    return f"| {_range(rules, found)} | {found.deviations:.2f} | {spreads} | {left} | {away} |"


def _usual(found: ThinRange) -> str:
    """Return the volume in a range relative to the median of its bins. A small share is not shown as zero."""
    return f"{share(found.of_median, 0)} of usual" if found.of_median >= LITTLE else "under 1% of usual"


def _range(rules: SymbolRules, found: ThinRange) -> str:
    return f"{_price(rules, found.low)}-{_price(rules, found.high)}"


def _too_little(report: ThinRangeReport) -> str:
    found, limits = report.found, report.thresholds
    if found.why_null == "insufficient_events":
        return f"too few trades: {found.n:,} of {limits.vacuum_min_trades:,} needed; try a longer lookback"
    if found.why_null == "insufficient_bars":
        return f"too few bars: {found.n:,} of {limits.vacuum_min_bars:,} needed; try a longer lookback"
    return why(found.why_null)


def standing_line(rules: SymbolRules, report: StandingReport) -> str:
    """Return one line that says how unusual the largest standing size is, and how often similar sizes occur here."""
    if report.unknown is not None:
        return f"not judged: {no_stream(report.unknown)}"
    if report.changed is not None:
        return changed_words(report.changed)
    if report.waiting is not None:
        return not_judged_words(report.waiting)
    verdict = report.verdict
    if verdict is None:
        return "not judged: no whole minute yet"
    seen = "" if verdict.judgement.base_rate is None else base_rate_words(verdict.judgement.base_rate)
    measured = standing_words(rules, verdict.measured)
    at = "" if verdict.price is None else f" at {_price(rules, Decimal(repr(verdict.price)))} ({verdict.side})"
    if report.unusual is not None:
        return f"large standing size{at}: {measured}; {seen}"
    largest = f"the largest{at}: {measured}" if at else measured
    usual = f"nothing unusual ({report.past_minutes} min of own past)"
    return f"{usual}; {largest}; at least {FLOORS['standing_size']}: {seen}"


def standing_metric(rules: SymbolRules, report: StandingReport) -> Metric:
    """Return the largest standing size with its rank and base rate. If there is not enough data, return the reason."""
    if report.unknown is not None:
        return Metric(value=None, confidence="none", why_null=report.unknown.why_null)
    verdict = report.verdict
    if verdict is None or report.waiting is not None:
        code = "collecting" if report.waiting is None else "insufficient_history"
        return Metric(value=None, confidence="none", why_null=code, not_judged=report.waiting)
    judgement = verdict.judgement
    value: dict[str, object] = {
        "unusual": report.unusual is not None,
        "score": number(judgement.score),
        "floor": judgement.criterion.floor,
        "minute": None if report.end_ms is None else instant(report.end_ms),
        **measured_numbers(rules, verdict),
    }
    if verdict.price is not None:
        value |= {"side": verdict.side, "price": exact(Decimal(repr(verdict.price)), rules.tick)}
    if report.changed is not None:
        value |= {"unusual_minutes_of_the_hour": report.changed.k}
    return Metric(
        value=value,
        confidence=judgement.confidence,
        method=f"at least {FLOORS['standing_size']}, by its rank in the pair's own past",
        p=judgement.p,
        base_rate=judgement.base_rate,
    )


def _standing(report: LiquidityReport) -> list[str]:
    found = report.standing
    minute = "" if found.end_ms is None else f" (the minute to {time_of_day(found.end_ms)} UTC)"
    line = standing_line(report.rules, found)
    line = line[:1].upper() + line[1:]
    lines = [f"## Standing Size{minute}", f"- {line}" if found.unusual else f"_{line}_"]
    largest = ", ".join(_largest(report.rules, side, each) for side, each in report.largest.items())
    if not largest or report.reach is None:
        return lines
    return [*lines, f"_Largest levels {reach_words(report.reach)} now, not compared with the past: {largest}_"]


def _largest(rules: SymbolRules, side: str, found: LargestLevel) -> str:
    size, at = base(rules, found.level.quantity), _price(rules, found.level.price)
    return f"{side} {size} at {at} ({share(found.share)} of its side)"


def _costs(report: LiquidityReport) -> list[str]:
    costs = report.costs
    if costs is None:
        return [f"_Unavailable: {plain(report.no_book)}_"]
    # If the amount exceeds both sides of the book, the line below says so already.
    rows = [_cost_row(report.rules, row) for row in costs.rows if row.buy.complete or row.sell.complete]
    bids, asks = (compact_money(each, report.rules.quote) for each in (costs.held_bids, costs.held_asks))
    held = f"_The known levels hold {bids} of bids and {asks} of asks_"
    return ["| Notional | Buy bps | Sell bps | Complete |", "|-|-|-|-|", *rows, "", held] if rows else [held]


def _cost_row(rules: SymbolRules, row: SlippageRow) -> str:
    complete = "yes" if row.buy.complete and row.sell.complete else "no: beyond the known levels"
    digits = f"{row.notional:,f}"
    notional = f"${digits}" if rules.quote in DOLLAR_LIKE else f"{digits} {plain(rules.quote)}"
    return f"| {notional} | {_bps(row.buy)} | {_bps(row.sell)} | {complete} |"


def _bps(walk: BookWalk) -> str:
    return "n/a" if not walk.complete or walk.slip_mid_bps is None else bps(walk.slip_mid_bps, 1)


def _guidance(report: LiquidityReport) -> list[str]:
    found = report.stop
    if report.is_contradictory:
        return [_CONTRADICTORY]
    if found.stop is None or found.noise is None:
        return [f"_Unavailable: {no_stop(found)}_"]
    return [
        f"- Stop for a holder: {_stop(report.rules, found.stop)}",
        f"_{_noise(found.noise, found.stop.horizon_ms)}_",
    ]


def no_stop(found: StopReport) -> str:
    """Return the reason why there is no stop price."""
    if found.why_null == "no_trades":
        return "there is no current price"
    if found.why_null == "insufficient_bars":
        return "too few trades in the last 24 h to separate noise from moves"
    return f"the usual move of a day is unknown: {why(found.why_null)}"


def _stop(rules: SymbolRules, stop: StopPrice) -> str:
    below = "below" if stop.side == "long" else "above"
    within = f"noise alone reaches it in {_hours(stop.horizon_ms)} in about {share(stop.chance, 0)} of cases"
    edge = "" if stop.edge is None else _price(rules, stop.edge)
    reason = {
        "noise": "",
        "ticks": "; 3 ticks, the minimum",
        "spread": "; 2 spreads, the minimum",
        "thin_range": f"; moved beyond the thin traded range that ends at {edge}",
        "standing_size": f"; moved beyond the standing size at {edge}",
    }[stop.origin]
    return f"{_price(rules, stop.price)} ({stop.distance_percent:.2f}% {below}; {within}{reason})"


def _hours(duration_ms: int) -> str:
    return f"{duration_ms // HOUR_MS} h"


def _noise(noise: Noise, horizon_ms: int) -> str:
    usual = f"Usual move in {_hours(horizon_ms)}: {noise.over(horizon_ms) * 100:.2f}%"
    bars = f"Garman-Klass, {noise.bars} bars of {span(noise.bar_ms)}"
    return f"{usual} ({bars}); chance: {chance_rule(noise)}"


def chance_rule(noise: Noise) -> str:
    """Return what the chance of reaching a stop by noise is measured from."""
    normal = "normal steps without drift"
    if not noise.days:
        return normal
    return f"{normal}; beyond {TAIL_FROM:g} usual moves, the pair's own {noise.days} days"


def profile_line(report: ProfileReport) -> str:
    """Return a volume profile in one line."""
    profile, rules = report.profile, report.rules
    opening = f"{plain(rules.symbol)} volume profile, last {report.requested_ms // HOUR_MS} h:"
    if profile.poc is None or profile.val is None or profile.vah is None:
        return f"{opening} unknown ({why(profile.why_null)})."
    poc, val, vah = (price(each, rules.quote, rules.tick) for each in (profile.poc, profile.val, profile.vah))
    line = f"{opening} POC {poc}, value area {val}-{vah}"
    away = report.percent_from_poc
    if report.reading is not None and away is not None and report.place is not None:
        line += f"; {measured_from(rules, report.reading)} is {away:+.2f}% from POC, {PLACES[report.place]}"
    return f"{line}. From {PROFILE_SOURCES[report.source]}."
