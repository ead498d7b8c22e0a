"""Page of a microstructure analysis: volume profile, order book, anomalies, market health."""

from decimal import Decimal

from mcp_binance_server.analytics.market.glance import TouchReport
from mcp_binance_server.analytics.market.microstructure import MarketPart, MicrostructureReport
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.anomalies import anomaly_rows, minutes_words, not_judged_line, stress_line
from mcp_binance_server.surface.views.flow import paid_line
from mcp_binance_server.surface.views.glance import data_line, glance_lines, no_mid
from mcp_binance_server.surface.views.health import health_rows, health_title, health_words, pulled_words
from mcp_binance_server.surface.views.markdown import average, bps, percent, plain, price, share, span, stamp
from mcp_binance_server.surface.views.market import reading_words
from mcp_binance_server.surface.views.measures import in_percent, threshold_line, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE, ONE_BOOK

PLACES = {"inside": "inside value area", "above": "above value area", "below": "below value area"}
ROWS = {"value_area_one_row": "one-row rule", "value_area_two_row": "two-row rule"}
# The word "usual" requires an hour of the symbol's history.
USUAL_MINUTES = 60


def microstructure_page(report: MicrostructureReport) -> str:
    """Render the analysis. A section without data shows the reason."""
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
            _data(report),
            threshold_line(report.thresholds),
            "",
            ONE_BOOK,
            NOT_ADVICE,
            f"*Last updated: {stamp(report.now_ms)}*",
        ]
    )


def _first(report: MicrostructureReport) -> list[str]:
    """Return spread, depth, flow and cost. State whether the market is as usual."""
    part = report.market
    book = part.book if part is not None else None
    lines = glance_lines(report.rules, book, report.flow, plain(report.no_market))
    if part is None:
        return lines
    lines += _ranked(report)
    if report.is_cold:
        return lines
    return [*lines, f"**Health**: {health_words(part.health)} · **Stress**: {stress_line(part.anomalies)}"]


def _ranked(report: MicrostructureReport) -> list[str]:
    """Return how the newest five minutes compare with the hours before, from candles."""
    ranks = report.ranks
    if ranks is None:
        return []
    return [
        f"**Last 5 min**: more volume than {ranks.volume:.0f}% and a wider range than {ranks.range:.0f}% of the "
        f"{ranks.n} windows of 5 min before"
    ]


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
        f"**Current Price**: {_place(report.rules, seen, is_contradictory=report.is_contradictory)}",
        f"_Source: {_source(seen)}_",
    ]


def _place(rules: SymbolRules, seen: ProfileReport, *, is_contradictory: bool) -> str:
    away, place = seen.percent_from_poc, seen.place
    if is_contradictory:
        return f"not compared, {why('contradiction')}"
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
        *_book(report.rules, part.book),
        *_paid(part),
        "",
        *(_cold(report, part) if report.is_cold else _judged(report, part)),
    ]


def _cold(report: MicrostructureReport, part: MarketPart) -> list[str]:
    """Return one line for everything that needs a live past, while nothing of it can be judged."""
    waiting = not_judged_line(part.anomalies)
    return [
        "## Market Anomalies and Health",
        f"_{waiting}; stress and health also need a live past_",
        *_day(report, part),
    ]


def _judged(report: MicrostructureReport, part: MarketPart) -> list[str]:
    return [
        *_anomalies(report, part),
        "",
        f"## Market Health: {health_title(part.health)}",
        *health_rows(part.health),
        "",
        f"**Recommendation**: *{recommendation(part)}*",
    ]


def _data(report: MicrostructureReport) -> str:
    part, seen = report.market, report.profile
    moments = {
        "price": seen.reading.at_ms if seen and seen.reading else None,
        "book": part.book.as_of_ms if part else None,
        "trades": part.flow.to_ms if part and part.flow else None,
    }
    return data_line(moments, closed_ms=seen.window.to_ms if seen else None)


def _book(rules: SymbolRules, book: TouchReport) -> list[str]:
    bids, asks = book.levels
    heading = f"## Order Book (snapshot, age {book.age_ms:,} ms, {bids}/{asks} levels)"
    top, band = book.top, book.band
    if top.mid is None or top.bid is None or top.ask is None:
        return [heading, f"_Unavailable: {no_mid(book)}_"]
    cells = [
        _price(rules, top.bid.price),
        _price(rules, top.ask.price),
        _average(rules, top.mid),
        "n/a" if top.weighted_mid is None else _average(rules, top.weighted_mid),
        "n/a" if band.value is None else f"{band.value:+.2f}",
    ]
    lines = [
        heading,
        "| Bid | Ask | Mid | Weighted mid | Imbalance near the mid |",
        "|-|-|-|-|-|",
        f"| {' | '.join(cells)} |",
    ]
    return [*lines, "", f"_Stale: no book update for {span(book.age_ms)}_"] if book.is_stale else lines


def _paid(part: MarketPart) -> list[str]:
    """Return the spread that takers paid and the quoted spread, if there are enough trades."""
    paid = paid_line(part.paid)
    return [] if paid is None else ["", f"**Takers paid** (last 5 min): {paid}"]


def _anomalies(report: MicrostructureReport, part: MarketPart) -> list[str]:
    lines = [f"## Market Anomalies ({minutes_words(part.anomalies)})", *anomaly_rows(part.anomalies)]
    return [*lines, *_day(report, part)]


def _day(report: MicrostructureReport, part: MarketPart) -> list[str]:
    if report.depth != "deep":
        return []
    usual = part.day_volatility
    day = "the day's bars are unavailable" if usual is None else f"{bps(10_000 * usual, 1)} bps (a day of 5m bars)"
    return ["", f"_Usual move in a minute: {day}_"]


def recommendation(part: MarketPart) -> str:
    """Return the market's health and its weakest component in one sentence."""
    if part.book.cost is None:
        return f"No judgement, {no_mid(part.book)}: a market order may not be filled."
    return f"{_conditions(part)}."


def _conditions(part: MarketPart) -> str:
    report = part.health
    now = report.now
    if now is None:
        if report.unknown is not None:
            return f"No judgement, {health_words(report).removeprefix('not judged: ')}"
        return "Not judged yet: use spread, depth, flow and cost above"
    if now.word != "Usual":
        why_so = _lowered(pulled_words(report))
        return f"The book is {now.word.lower()} for this symbol, {why_so}: prefer smaller orders or limit orders"
    if unusual := len(part.anomalies.unusual):
        are = "is" if unusual == 1 else "are"
        return f"{unusual} of {len(part.anomalies.judged)} events above {are} unusual; spread and depth are not"
    if report.past_minutes >= USUAL_MINUTES and now.pulled_by is None:
        return "Conditions are usual for this symbol"
    return f"Nothing unusual in {report.past_minutes} minutes of the symbol's own past"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _price(rules: SymbolRules, value: Decimal) -> str:
    return price(value, rules.quote, rules.tick)


def _average(rules: SymbolRules, value: float) -> str:
    return average(Decimal(repr(value)), rules.quote, rules.tick)
