"""Liquidity and volume by price as Markdown."""

from decimal import Decimal

from mcp_binance_server.analytics.book.metrics import BookWalk
from mcp_binance_server.analytics.liquidity.report import (
    Costs,
    LiquidityReport,
    SidedWall,
    SlippageRow,
    StopPrice,
    VacuumReport,
    WallReport,
)
from mcp_binance_server.analytics.liquidity.vacuums import Vacuum
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.tuning import plain_number
from mcp_binance_server.domain.symbols import SymbolRules
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
ROLES = {"Bid": "support", "Ask": "resistance"}
MOST_ROWS = 10
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
            "",
            *_vacuums(report),
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


def vacuum_line(report: VacuumReport) -> str:
    """Say the vacuums of a window in one line."""
    opening = f"{plain(report.rules.symbol)}, last {span(report.requested_ms)}:"
    vacuums = report.found.vacuums
    if vacuums is None:
        return f"{opening} vacuums unknown ({_too_little(report)})."
    if not vacuums:
        return f"{opening} no liquidity vacuum in {report.trades:,} trades."
    nearest = min(vacuums, key=lambda each: abs(each.distance_percent(report.price)) if report.price else 0)
    inside = "the price is inside one" if report.around else f"nearest {_range(report.rules, nearest)}"
    return f"{opening} {len(vacuums)} liquidity vacuum{'s' if len(vacuums) > 1 else ''}; {inside}."


def compact_money(value: float, quote: str) -> str:
    """Write a large amount short: `$8.2M`."""
    size, unit = next(
        ((size, unit) for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")) if abs(value) >= size), (1.0, "")
    )
    digits = f"{value / size:,.1f}{unit}"
    return f"${digits}" if quote in DOLLAR_LIKE else f"{digits} {plain(quote)}"


def _price(rules: SymbolRules, value: Decimal) -> str:
    return price(value, rules.quote, rules.tick)


def _price_line(report: LiquidityReport) -> str:
    if report.price is None:
        return "unknown (nothing was traded in the last 24 hours)"
    shown = _price(report.rules, report.price)
    if report.vacuums is None or report.vacuums.found.vacuums is None:
        return shown
    around = report.vacuums.around
    return f"{shown} ({'not inside a vacuum' if around is None else 'inside a vacuum'})"


def _vacuums(report: LiquidityReport) -> list[str]:
    found = report.vacuums
    window = f"traded volume, last {report.lookback_minutes} min"
    if found is None:
        return [f"## Liquidity Vacuums ({window})", f"_Unavailable: {plain(report.no_vacuums)}_"]
    heading = f"## Liquidity Vacuums ({window}, {found.trades:,} trades)"
    vacuums = found.found.vacuums
    if vacuums is None:
        return [heading, f"_Unavailable: {_too_little(found)}_"]
    lines = [heading]
    if vacuums:
        lines += ["| Range | Severity | Volume vs median bin | Distance |", "|-|-|-|-|"]
        lines += [_vacuum_row(report, each) for each in _nearest(report, vacuums)]
        lines.append("")
    else:
        least = in_percent(found.thresholds.vacuum_fraction)
        lines.append(f"_None: every one of {found.found.bins} price bins holds {least} of the median bin or more_")
    more = len(vacuums) - MOST_ROWS
    further = f"; {more} more further away" if more > 0 else ""
    lines.append(f"_Source: {SOURCES[found.source]}, coverage {share(found.coverage, 0)}{further}_")
    return lines


def _nearest(report: LiquidityReport, vacuums: tuple[Vacuum, ...]) -> list[Vacuum]:
    """Return the rows that matter most at this price, from high to low as a ladder of prices stands."""
    price = report.price
    near = vacuums if price is None else sorted(vacuums, key=lambda each: abs(each.distance_percent(price)))
    return sorted(near[:MOST_ROWS], key=lambda each: each.low, reverse=True)


def _vacuum_row(report: LiquidityReport, vacuum: Vacuum) -> str:
    away = "n/a" if report.price is None else percent(Decimal(repr(vacuum.distance_percent(report.price))))
    # Only a range without any trade is empty.
    less = 100 if vacuum.deficit == 1 else min(99, round(vacuum.deficit * 100))
    cells = [_range(report.rules, vacuum), vacuum.severity, f"-{less}%", away]
    return f"| {' | '.join(cells)} |"


def _range(rules: SymbolRules, vacuum: Vacuum) -> str:
    return f"{_price(rules, vacuum.low)}-{_price(rules, vacuum.high)}"


def _too_little(report: VacuumReport) -> str:
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
    rows = ["| Side | Price | Quantity | Share of side | Persistence (95%) | Role |", "|-|-|-|-|-|-|"]
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
        ROLES[each.side],
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
    stops = report.stops
    if stops is None:
        return ["_Unavailable: there is no current price_"]
    below, above = _stop(report.rules, stops.long, "under"), _stop(report.rules, stops.short, "over")
    lines = [f"- Long: below {below} · Short: above {above}"]
    vacuums = (report.vacuums.found.vacuums or ()) if report.vacuums else ()
    if vacuums and report.price is not None:
        price = report.price
        nearest = min(vacuums, key=lambda each: abs(each.distance_percent(price)))
        risky = _range(report.rules, nearest)
        lines.append(f"- Risky zone: inside {risky} (thin trading: fast moves and slippage)")
    return lines


def _stop(rules: SymbolRules, stop: StopPrice, side: str) -> str:
    shown = _price(rules, stop.price)
    if stop.edge is None:
        return f"{shown} (2% away: no vacuum or wall known on this side)"
    return f"{shown} (0.2% {side} the nearest {stop.origin}, {_price(rules, stop.edge)})"


def profile_line(report: ProfileReport) -> str:
    """Say a profile in one line."""
    profile, rules = report.profile, report.rules
    opening = f"{plain(rules.symbol)} volume profile, last {report.requested_ms // 3_600_000} h:"
    if profile.poc is None or profile.val is None or profile.vah is None:
        return f"{opening} unknown ({why(profile.why_null)})."
    poc, val, vah = (price(each, rules.quote, rules.tick) for each in (profile.poc, profile.val, profile.vah))
    line = f"{opening} POC {poc}, value area {val}-{vah}"
    away = report.percent_from_poc
    if report.price is not None and away is not None and report.place is not None:
        last = price(report.price, rules.quote, rules.tick)
        line += f"; price {last} is {away:+.2f}% from POC, {PLACES[report.place]}"
    return f"{line}. From {PROFILE_SOURCES[report.source]}."
