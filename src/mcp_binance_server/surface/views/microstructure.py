"""The page of a microstructure analysis: where volume was, what the book holds, what is unusual, how healthy it is."""

from decimal import Decimal

from mcp_binance_server.analytics.book.metrics import Depth
from mcp_binance_server.analytics.market.anomalies import AnomalyVerdict
from mcp_binance_server.analytics.market.microstructure import MarketPart, MicrostructureReport, TouchReport
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.health import NAMES, anomaly_rows, health_rows, health_title
from mcp_binance_server.surface.views.liquidity import compact_money
from mcp_binance_server.surface.views.markdown import average, bps, money, percent, plain, price, share, span, stamp
from mcp_binance_server.surface.views.measures import collecting, in_percent, threshold_line, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE

PLACES = {"inside": "inside value area", "above": "above value area", "below": "below value area"}
ROWS = {"value_area_one_row": "one-row rule", "value_area_two_row": "two-row rule"}
CHEAP_BPS = 2
HOUR_MS = 3_600_000
WEAK = 0.5


def microstructure_page(report: MicrostructureReport) -> str:
    """Render the analysis; a section without its data says why."""
    return "\n".join(
        [
            f"# {plain(report.rules.symbol)} Market Microstructure Analysis",
            "",
            f"## Volume Profile (Last {report.hours}h)",
            *_profile(report),
            "",
            *_market(report),
            "",
            threshold_line(report.thresholds),
            "",
            NOT_ADVICE,
            f"*Last updated: {stamp(report.now_ms)}*",
        ]
    )


def _profile(report: MicrostructureReport) -> list[str]:
    seen = report.profile
    if seen is None:
        return [f"_Unavailable: {plain(report.no_profile)}_"]
    profile = seen.profile
    if profile.poc is None or profile.vah is None or profile.val is None:
        return [f"_Unavailable: {why(profile.why_null)}_"]
    poc, vah, val = (_price(report.rules, each) for each in (profile.poc, profile.vah, profile.val))
    area = f"{in_percent(float(report.thresholds.profile_area))}, {ROWS[profile.method]}"
    return [
        f"**POC**: {poc} · **VAH**: {vah} · **VAL**: {val} ({area})",
        f"**Current Price**: {_place(report.rules, seen)}",
        f"_Source: {_source(seen)}_",
    ]


def _place(rules: SymbolRules, seen: ProfileReport) -> str:
    away, place = seen.percent_from_poc, seen.place
    if seen.price is None or away is None or place is None:
        return "unknown"
    return f"{_price(rules, seen.price)} ({percent(Decimal(repr(away)))} vs POC, {PLACES[place]})"


def _source(seen: ProfileReport) -> str:
    bars = f"{len(seen.bars):,} bars, coverage {share(seen.coverage, 0)}"
    if seen.source == "aggTrades":
        return f"every trade, {seen.profile.n:,} trades, {bars}"
    return f"{seen.interval_ms // 60_000}m klines spread over each bar (approximation), {bars}"


def _market(report: MicrostructureReport) -> list[str]:
    part = report.market
    if part is None:
        unavailable = f"_Unavailable: {plain(report.no_market)}_"
        headings = "## Order Book", "## Market Anomalies", "## Market Health: Unknown"
        sections = [line for heading in headings for line in (heading, unavailable, "")]
        return [*sections, "**Recommendation**: *No judgement without the order book.*"]
    return [
        *_book(report.rules, part.book, report.thresholds),
        "",
        *_anomalies(report, part),
        "",
        f"## Market Health: {health_title(part.health)}",
        *health_rows(part.health),
        "",
        f"**Recommendation**: *{recommendation(report.rules, part)}*",
    ]


def _book(rules: SymbolRules, book: TouchReport, thresholds: Thresholds) -> list[str]:
    bids, asks = book.levels
    heading = f"## Order Book (snapshot, age {book.age_ms:,} ms, {bids}/{asks} levels)"
    top, band = book.top, book.band
    if top.mid is None or top.spread is None or top.spread_bps is None:
        return [heading, f"_Unavailable: {_no_mid(book)}_"]
    depth = (
        "n/a" if band.bids is None or band.asks is None else f"{_held(rules, band.bids)} / {_held(rules, band.asks)}"
    )
    cells = [
        f"{_price(rules, Decimal(repr(top.spread)))} ({bps(top.spread_bps)} bps)",
        _average(rules, top.mid),
        "n/a" if top.weighted_mid is None else _average(rules, top.weighted_mid),
        "n/a" if band.value is None else f"{band.value:+.2f}",
        depth,
    ]
    lines = [
        heading,
        "| Spread | Mid | Weighted mid | Imbalance 10 bps | Depth 10 bps bid/ask |",
        "|-|-|-|-|-|",
        f"| {' | '.join(cells)} |",
    ]
    stale = book.age_ms > thresholds.stale_ms
    return [*lines, "", f"_Stale: the book has been silent for {span(book.age_ms)}_"] if stale else lines


def _anomalies(report: MicrostructureReport, part: MarketPart) -> list[str]:
    found, basis = part.anomalies, part.anomalies.basis
    counted = ", ".join(_count(basis.n[name], word) for name, word in _COUNTS.items() if name in basis.n)
    window = f"window {basis.requested_ms // 1000} s" + (f", {counted}" if counted else "")
    lines = [f"## Market Anomalies ({window})", *anomaly_rows(found)]
    known_ms = basis.window.to_ms - basis.window.from_ms
    if part.book.is_live and basis.coverage < 1 and not any(_is_filling(each) for each in found.verdicts):
        lines += ["", f"_Changes of the book are held for the last {span(known_ms)}: older ones have made room_"]
    waiting = [
        (each.unknown.progress, NAMES[each.type]) for each in found.verdicts if each.unknown and each.unknown.progress
    ]
    for need_ms in sorted({progress.need_ms for progress, _ in waiting}):
        alike = [(progress, name) for progress, name in waiting if progress.need_ms == need_ms]
        names = ", ".join(name for _, name in alike)
        lines += ["", f"_{names}: {collecting(alike[0][0])}_"]
    if report.depth == "deep":
        day = "a day of 5m bars" if part.day_volatility is not None else "the last hour, the day's bars are unavailable"
        lines += ["", f"_Volatility compared with {day}; the book itself is remembered for one hour_"]
    return lines


_COUNTS = {"level_changes": "level change", "trades": "trade"}


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _is_filling(verdict: AnomalyVerdict) -> bool:
    return verdict.unknown is not None and verdict.unknown.why_null == "collecting"


def recommendation(rules: SymbolRules, part: MarketPart) -> str:
    """Make one sentence of the health, its weakest part, and what a market order may take within 2 bps."""
    book = part.book
    if book.buy is None or book.sell is None:
        return f"No judgement, {_no_mid(book)}: a market order may not be filled."
    return f"{_conditions(part)}; {_capacity(rules, book.buy, book.sell)}."


def _no_mid(book: TouchReport) -> str:
    return why(book.top.why_null) if any(book.levels) else "the book is empty"


def _conditions(part: MarketPart) -> str:
    report = part.health
    if report.health.score is None:
        return f"Conditions cannot be judged yet ({why(report.health.why_null)})"
    over = f"for this symbol over the last {_baseline(report.baseline_ms)}"
    known = {name: score for name, score in report.health.components.items() if score is not None}
    weakest = min(known, key=lambda name: known[name])
    weak = known[weakest] < WEAK
    if report.health.level in ("Excellent", "Good"):
        return f"Conditions are usual {over}" + (f", but {weakest} is weak ({known[weakest]:.2f})" if weak else "")
    word = "weaker than usual" if report.health.level == "Fair" else "poor"
    return (
        f"Conditions are {word} {over}, weakest in {weakest} ({known[weakest]:.2f}): smaller or limit orders fit better"
    )


def _baseline(span_ms: int) -> str:
    # The newest second is still running, so a full hour is always a little short.
    return "hour" if span_ms >= HOUR_MS - 2_000 else span(round(span_ms, -3))


def _capacity(rules: SymbolRules, buy: Depth, sell: Depth) -> str:
    least = min(buy, sell, key=lambda each: each.quote)
    if not least.quote:
        return f"no market order costs under {CHEAP_BPS} bps now"
    bound = " (at least: the known book ends there)" if least.truncated else ""
    return f"market orders up to {_round_down(rules, least.quote)} cost under {CHEAP_BPS} bps now{bound}"


def _round_down(rules: SymbolRules, value: float) -> str:
    """Write an amount with two digits that count, never more than it is."""
    size = Decimal(10) ** (Decimal(repr(value)).adjusted() - 1)
    rounded = Decimal(repr(value)) // size * size
    return money(rounded, rules.quote, rules.tick).removesuffix(".00").replace(".00 ", " ")


def _held(rules: SymbolRules, depth: Depth) -> str:
    held = compact_money(depth.quote, rules.quote)
    return f">= {held}" if depth.truncated else held


def _price(rules: SymbolRules, value: Decimal) -> str:
    return price(value, rules.quote, rules.tick)


def _average(rules: SymbolRules, value: float) -> str:
    return average(Decimal(repr(value)), rules.quote, rules.tick)
