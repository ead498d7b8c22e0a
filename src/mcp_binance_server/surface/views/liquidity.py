"""Liquidity and volume by price as Markdown."""

from decimal import Decimal

from mcp_binance_server.analytics.book.metrics import BookWalk
from mcp_binance_server.analytics.liquidity.report import (
    Costs,
    LiquidityReport,
    SidedWall,
    SlippageRow,
    StopReport,
    ThinRangeReport,
    WallReport,
)
from mcp_binance_server.analytics.liquidity.stops import Noise, StopPrice
from mcp_binance_server.analytics.liquidity.thin_ranges import (
    LEAST_DEVIATIONS,
    LEAST_SPREADS,
    LEAST_TICKS,
    SHUFFLES,
    ThinRange,
    ThinRanges,
)
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.tuning import plain_number
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.book.cost import cost_words, spread_words
from mcp_binance_server.surface.views.flow import base
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, bps, percent, plain, price, share, span, stamp
from mcp_binance_server.surface.views.measures import collecting, in_percent, threshold_line, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE

SOURCES = {
    "aggTrade": "live trades",
    "aggTrades": "every trade of the window",
    "klines_1s": "1s klines spread over each bar (approximation)",
    "klines": "1m klines spread over each bar (approximation)",
}
MOST_ROWS = 10
LITTLE = 0.01
HOUR_MS = 3_600_000
MOST_WALLS = 20

PROFILE_SOURCES = {"aggTrades": "every trade", "klines": "candles spread over their range (approximation)"}
PLACES = {"inside": "inside the value area", "above": "above the value area", "below": "below the value area"}


def liquidity_page(report: LiquidityReport) -> str:
    """Render a map of liquidity; a section without its data says why."""
    return "\n".join(
        [
            f"# {plain(report.rules.symbol)} Liquidity Map",
            "",
            f"**Current Price**: {_price_line(report)}",
            *_first(report),
            "",
            *_thin(report),
            "",
            *_walls(report),
            "",
            "## Slippage (market order now, excl. fees)",
            *_costs(report),
            "",
            "## Stop Loss Guidance",
            *_guidance(report),
            "",
            threshold_line(report.thresholds),
            "",
            NOT_ADVICE,
            f"*Last updated: {stamp(report.now_ms)}*",
        ]
    )


def thin_line(report: ThinRangeReport) -> str:
    """Say the thin traded ranges of a window in one line."""
    opening = f"{plain(report.rules.symbol)}, last {span(report.requested_ms)}:"
    if report.found.found is None:
        return f"{opening} thin traded ranges not judged ({_too_little(report)})."
    near = report.nearest_first
    if not near:
        return f"{opening} no thin traded range beyond chance in {report.trades:,} trades."
    inside = "the price is inside one" if report.around else f"nearest {_range(report.rules, near[0])}"
    return f"{opening} {len(near)} thin traded range{'s' if len(near) > 1 else ''}; {inside}."


def compact_money(value: float, quote: str) -> str:
    """Write a large amount short: `$8.2M`."""
    size, unit = next(
        ((size, unit) for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")) if abs(value) >= size), (1.0, "")
    )
    digits = f"{value / size:,.1f}{unit}"
    return f"${digits}" if quote in DOLLAR_LIKE else f"{digits} {plain(quote)}"


def _price(rules: SymbolRules, value: Decimal) -> str:
    return price(value, rules.quote, rules.tick)


def _first(report: LiquidityReport) -> list[str]:
    """Answer what is looked for first: what it costs to trade now, and how much the known book holds."""
    lines = list[str]()
    if report.touch is not None:
        bid, ask = (float(each) for each in report.touch)
        lines.append(f"**Spread**: {spread_words(float(report.rules.tick), (bid + ask) / 2, ask - bid)}")
    if report.costs is not None:
        held = (compact_money(each, report.rules.quote) for each in (report.costs.held_bids, report.costs.held_asks))
        lines.append(f"**Known book**: {' bid / '.join(held)} ask")
    if report.order_cost is not None:
        lines.append(f"**Cost**: {cost_words(report.rules, report.order_cost)}")
    return lines


def _price_line(report: LiquidityReport) -> str:
    if report.price is None:
        return "unknown (nothing was traded in the last 24 hours)"
    shown = _price(report.rules, report.price)
    around = report.thin.around if report.thin else None
    return shown if around is None else f"{shown} (inside a thin traded range)"


def _thin(report: LiquidityReport) -> list[str]:
    thin = report.thin
    window = f"last {report.lookback_minutes} min"
    if thin is None:
        return [f"## Thin Traded Ranges ({window})", f"_Unavailable: {plain(report.no_trades)}_"]
    heading = f"## Thin Traded Ranges ({window}, {thin.trades:,} trades)"
    if thin.found.found is None:
        return [heading, f"_Not judged: {_too_little(thin)}_"]
    lines = [heading]
    shown = thin.nearest_first[:MOST_ROWS]
    if shown:
        lines += ["| Range | Width (sigma) | Width (spreads) | Volume left | Distance |", "|-|-|-|-|-|"]
        lines += [_thin_row(report, each) for each in shown]
        lines += [
            "",
            f"_Wider than in any of {SHUFFLES} shuffles of the same price steps; sigma: the window's usual move_",
        ]
    else:
        lines.append(f"_None beyond chance: {_widest(thin.found)}_")
    more = len(thin.nearest_first) - len(shown)
    further = f"; {more} more further away" if more > 0 else ""
    lines.append(f"_Source: {SOURCES[thin.source]}, coverage {share(thin.coverage, 0)}{further}_")
    return lines


def _widest(found: ThinRanges) -> str:
    """Say how wide the widest empty stretch is, and why that is nothing."""
    if not found.widest:
        return "no stretch between traded prices has hardly any trading"
    widest = f"the widest stretch with hardly any trading is {found.widest:.2f} sigma of the window"
    if found.as_wide:
        return f"{widest}, and the same price steps shuffled leave one as wide ({found.as_wide} of {found.shuffles})"
    matters = f"{LEAST_DEVIATIONS} sigma, {LEAST_TICKS} ticks and {LEAST_SPREADS} spreads"
    return f"{widest}, less than matters ({matters})"


def _thin_row(report: LiquidityReport, found: ThinRange) -> str:
    rules = report.rules
    away = "n/a" if report.price is None else percent(Decimal(repr(found.distance_percent(report.price))))
    spreads = "n/a" if found.spreads is None else f"{found.spreads:,.0f}"
    left = "none" if not found.volume else f"{base(rules, Quantity(Decimal(repr(found.volume))))}, {_usual(found)}"
    return f"| {_range(rules, found)} | {found.deviations:.2f} | {spreads} | {left} | {away} |"


def _usual(found: ThinRange) -> str:
    """Say what the bins hold against as many median ones; a little is not nothing."""
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


def _walls(report: LiquidityReport) -> list[str]:
    found = report.walls
    if found is None:
        return ["## Order Walls", f"_Unavailable: {plain(report.no_book)}_"]
    return [f"## Order Walls ({_seen(found)})", *_wall_rows(report.rules, found), *_progress(found)]


def _seen(found: WallReport) -> str:
    if found.snapshots == 1:
        return "1 snapshot"
    seconds = found.span_ms // 1000
    if found.progress is not None:
        return f"{found.snapshots} snapshots over {seconds} s"
    least = in_percent(found.thresholds.wall_persistence)
    return f"seen in >= {least} of {found.snapshots} snapshots over {seconds} s"


def _wall_rows(rules: SymbolRules, found: WallReport) -> list[str]:
    shown = found.standing
    if not shown:
        limits = found.thresholds
        large = f"no level stands out from its neighbours (z >= {plain_number(limits.wall_z)}) and holds"
        lasting = "" if found.progress or found.snapshots == 1 else " for long enough"
        return [f"_None: {large} {in_percent(limits.wall_share)} of its side{lasting}_"]
    rows = ["| Side | Price | Quantity | Share of side | Persistence (95%) |", "|-|-|-|-|-|"]
    largest = sorted(shown, key=lambda each: each.wall.candidate.share, reverse=True)[:MOST_WALLS]
    rows += [_wall_row(rules, each) for each in shown if each in largest]
    left_out = len(shown) - len(largest)
    return [*rows, "", f"_{left_out} with a smaller share left out_"] if left_out else rows


def _wall_row(rules: SymbolRules, each: SidedWall) -> str:
    found, seen = each.wall.candidate, each.wall.persistence
    if each.wall.status == "confirmed" and seen is not None:
        lasting = f"{share(seen.value, 0)} ({seen.low * 100:.0f}-{seen.high * 100:.0f})"
    else:
        lasting = "candidate (1 snapshot)" if seen is None else f"candidate ({seen.n} snapshot{'s' * (seen.n > 1)})"
    cells = [
        each.side,
        _price(rules, found.price),
        base(rules, found.quantity),
        share(found.share, 0),
        lasting,
    ]
    return f"| {' | '.join(cells)} |"


def _progress(found: WallReport) -> list[str]:
    return [] if found.progress is None else ["", f"_{collecting(found.progress)}_"]


def _costs(report: LiquidityReport) -> list[str]:
    costs = report.costs
    if costs is None:
        return [f"_Unavailable: {plain(report.no_book)}_"]
    # Once a sum is beyond both sides, larger ones say nothing new.
    beyond = sum(not row.buy.complete and not row.sell.complete for row in costs.rows)
    shown = costs.rows[: len(costs.rows) - max(0, beyond - 1)]
    rows = [_cost_row(report.rules, costs, row) for row in shown]
    return ["| Notional | Buy bps | Sell bps | Complete |", "|-|-|-|-|", *rows]


def _cost_row(rules: SymbolRules, costs: Costs, row: SlippageRow) -> str:
    complete = "yes"
    if not (row.buy.complete and row.sell.complete):
        asks, bids = compact_money(costs.held_asks, rules.quote), compact_money(costs.held_bids, rules.quote)
        complete = f"no: book known holds {asks} / {bids}"
    digits = f"{row.notional:,f}"
    notional = f"${digits}" if rules.quote in DOLLAR_LIKE else f"{digits} {plain(rules.quote)}"
    return f"| {notional} | {_bps(row.buy)} | {_bps(row.sell)} | {complete} |"


def _bps(walk: BookWalk) -> str:
    return "n/a" if not walk.complete or walk.slip_mid_bps is None else bps(walk.slip_mid_bps, 1)


def _guidance(report: LiquidityReport) -> list[str]:
    found = report.stop
    if found.stop is None or found.noise is None:
        return [f"_Unavailable: {no_stop(found)}_"]
    return [
        f"- Stop for a holder: {_stop(report.rules, found.stop)}",
        f"_{_noise(found.noise, found.stop.horizon_ms)}_",
    ]


def no_stop(found: StopReport) -> str:
    """Say why there is no stop."""
    if found.why_null == "no_trades":
        return "there is no current price"
    if found.why_null == "insufficient_bars":
        return "too few trades in the last 24 h to tell noise from moves"
    return f"the usual move of a day is unknown, {why(found.why_null)}"


def _stop(rules: SymbolRules, stop: StopPrice) -> str:
    below = "below" if stop.side == "long" else "above"
    within = f"noise alone reaches it in {_hours(stop.horizon_ms)} in about {share(stop.chance, 0)}"
    edge = "" if stop.edge is None else _price(rules, stop.edge)
    reason = {
        "noise": "",
        "ticks": "; 3 ticks, the least",
        "spread": "; 2 spreads, the least",
        "thin_range": f"; moved beyond the thin traded range that ends at {edge}",
        "wall": f"; moved beyond the standing size at {edge}",
    }[stop.origin]
    return f"{_price(rules, stop.price)} ({stop.distance_percent:.2f}% {below}; {within}{reason})"


def _hours(duration_ms: int) -> str:
    return f"{duration_ms // HOUR_MS} h"


def _noise(noise: Noise, horizon_ms: int) -> str:
    usual = f"Usual move in {_hours(horizon_ms)}: {noise.over(horizon_ms) * 100:.2f}%"
    bars = f"Garman-Klass, {noise.bars} bars of {span(noise.bar_ms)}"
    return f"{usual} ({bars}); the chance takes normal steps without drift: an approximation"


def profile_line(report: ProfileReport) -> str:
    """Say a profile in one line."""
    profile, rules = report.profile, report.rules
    opening = f"{plain(rules.symbol)} volume profile, last {report.requested_ms // HOUR_MS} h:"
    if profile.poc is None or profile.val is None or profile.vah is None:
        return f"{opening} unknown ({why(profile.why_null)})."
    poc, val, vah = (price(each, rules.quote, rules.tick) for each in (profile.poc, profile.val, profile.vah))
    line = f"{opening} POC {poc}, value area {val}-{vah}"
    away = report.percent_from_poc
    if report.price is not None and away is not None and report.place is not None:
        last = price(report.price, rules.quote, rules.tick)
        line += f"; price {last} is {away:+.2f}% from POC, {PLACES[report.place]}"
    return f"{line}. From {PROFILE_SOURCES[report.source]}."
