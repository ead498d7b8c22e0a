"""The page of a microstructure analysis: where volume was, what the book holds, what is unusual, how healthy it is."""

from decimal import Decimal

from mcp_binance_server.analytics.book.metrics import Depth
from mcp_binance_server.analytics.envelope import Unknown
from mcp_binance_server.analytics.market.microstructure import MarketPart, MicrostructureReport, TakerFlow, TouchReport
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.anomalies import anomaly_rows, minutes_words, stress_line
from mcp_binance_server.surface.views.book.cost import cost_words, spread_words
from mcp_binance_server.surface.views.flow import paid_line
from mcp_binance_server.surface.views.health import health_rows, health_title, health_words, pulled_words
from mcp_binance_server.surface.views.liquidity import compact_money
from mcp_binance_server.surface.views.markdown import average, bps, percent, plain, price, share, span, stamp
from mcp_binance_server.surface.views.market import reading_words
from mcp_binance_server.surface.views.measures import in_percent, threshold_line, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE

PLACES = {"inside": "inside value area", "above": "above value area", "below": "below value area"}
ROWS = {"value_area_one_row": "one-row rule", "value_area_two_row": "two-row rule"}
# Only a whole hour of own past allows the word.
USUAL_MINUTES = 60


def microstructure_page(report: MicrostructureReport) -> str:
    """Render the analysis; a section without its data says why."""
    return "\n".join(
        [
            f"# {plain(report.rules.symbol)} Market Microstructure Analysis",
            *_first(report),
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


def _first(report: MicrostructureReport) -> list[str]:
    """Answer what is looked for first: spread, depth, flow, cost, and whether the market is as usual."""
    part = report.market
    if part is None:
        return []
    health, book = part.health, part.book
    return [
        f"**Spread**: {spread_words(health.grid.tick, health.top.mid, health.top.spread)}",
        f"**Depth** (10 bps, 3 ticks at least): {_depth(report.rules, book)}",
        f"**Flow**: {_flow(part.flow)}",
        f"**Cost**: {_cost(report.rules, book)}",
        f"**Health**: {health_words(health)}; **Stress**: {stress_line(part.anomalies)}",
    ]


def _flow(flow: TakerFlow | None) -> str:
    if flow is None:
        return "unknown, no live stream for this symbol"
    bought = flow.bought_share
    if bought is None:
        return f"nothing traded in the last {span(flow.window_ms)}"
    known = "" if flow.is_complete else ", some trades unseen"
    counted = f"{flow.trades:,} trade{'' if flow.trades == 1 else 's'}"
    return f"{share(bought)} of taker volume bought in the last {span(flow.window_ms)} ({counted}{known})"


def _cost(rules: SymbolRules, book: TouchReport) -> str:
    return f"unknown, {_no_mid(book)}" if book.cost is None else cost_words(rules, book.cost)


def _depth(rules: SymbolRules, book: TouchReport) -> str:
    band = book.band
    if band.bids is None or band.asks is None:
        return "n/a"
    return f"{_held(rules, band.bids)} bid / {_held(rules, band.asks)} ask"


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
    if seen.reading is None or away is None or place is None:
        return "unknown"
    return f"{reading_words(rules, seen.reading)} ({percent(Decimal(repr(away)))} vs POC, {PLACES[place]})"


def _source(seen: ProfileReport) -> str:
    bars = f"{len(seen.bars):,} bars, coverage {share(seen.coverage, 0)}"
    if seen.source == "aggTrades":
        return f"every trade, {seen.profile.n:,} trades, {bars}"
    return f"{seen.interval_ms // 60_000}m klines spread over each bar (approximation), {bars}"


def _market(report: MicrostructureReport) -> list[str]:
    part = report.market
    if part is None:
        unavailable = f"_Unavailable: {plain(report.no_market)}_"
        headings = "## Order Book", "## Market Anomalies", "## Market Health: not judged"
        sections = [line for heading in headings for line in (heading, unavailable, "")]
        return [*sections, "**Recommendation**: *No judgement without the order book.*"]
    return [
        *_book(report.rules, part.book, report.thresholds),
        *_paid(part),
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
    cells = [
        f"{_price(rules, Decimal(repr(top.spread)))} ({bps(top.spread_bps)} bps)",
        _average(rules, top.mid),
        "n/a" if top.weighted_mid is None else _average(rules, top.weighted_mid),
        "n/a" if band.value is None else f"{band.value:+.2f}",
        _depth(rules, book),
    ]
    lines = [
        heading,
        "| Spread | Mid | Weighted mid | Imbalance near the mid | Depth near the mid |",
        "|-|-|-|-|-|",
        f"| {' | '.join(cells)} |",
    ]
    stale = book.age_ms > thresholds.stale_ms
    return [*lines, "", f"_Stale: the book has been silent for {span(book.age_ms)}_"] if stale else lines


def _paid(part: MarketPart) -> list[str]:
    """Return what takers really paid beside the spread that is quoted, once there are trades enough."""
    if part.paid is None or isinstance(part.paid, Unknown) or part.paid.effective_bps is None:
        return []
    return ["", f"**Takers paid** (last 5 min): {paid_line(part.paid)}"]


def _anomalies(report: MicrostructureReport, part: MarketPart) -> list[str]:
    lines = [f"## Market Anomalies ({minutes_words(part.anomalies)})", *anomaly_rows(part.anomalies)]
    if report.depth == "deep":
        usual = part.day_volatility
        day = "the day's bars are unavailable" if usual is None else f"{bps(10_000 * usual, 1)} bps (a day of 5m bars)"
        lines += ["", f"_What a minute usually moves: {day}_"]
    return lines


def recommendation(rules: SymbolRules, part: MarketPart) -> str:
    """Make one sentence of the health, its weakest part, and what a market order may take cheaply."""
    book = part.book
    if book.cost is None:
        return f"No judgement, {_no_mid(book)}: a market order may not be filled."
    return f"{_conditions(part)}; {cost_words(rules, book.cost)}."


def _no_mid(book: TouchReport) -> str:
    return why(book.top.why_null) if any(book.levels) else "the book is empty"


def _conditions(part: MarketPart) -> str:
    report = part.health
    now = report.now
    if now is None:
        return f"Conditions are {_lowered(pulled_words(report))}"
    if now.word != "Usual":
        why_so = _lowered(pulled_words(report))
        return f"The book is {now.word.lower()} for this symbol, {why_so}: smaller or limit orders fit better"
    if report.past_minutes >= USUAL_MINUTES and now.pulled_by is None:
        return "Conditions are usual for this symbol"
    return f"Nothing beyond usual in {report.past_minutes} minutes of own past"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _held(rules: SymbolRules, depth: Depth) -> str:
    held = compact_money(depth.quote, rules.quote)
    return f">= {held}" if depth.truncated else held


def _price(rules: SymbolRules, value: Decimal) -> str:
    return price(value, rules.quote, rules.tick)


def _average(rules: SymbolRules, value: float) -> str:
    return average(Decimal(repr(value)), rules.quote, rules.tick)
