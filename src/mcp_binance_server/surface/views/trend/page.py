"""Page of a trading analysis: the fixed format, then additions."""

from decimal import Decimal

from mcp_binance_server.analytics.trend.levels import NoLevels
from mcp_binance_server.analytics.trend.outlook import TooFewBars, TradingReport, Trend
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.surface.views.markdown import (
    CONTRADICTION,
    amount,
    data_times,
    date_and_hour,
    doubt_lines,
    doubts,
    percent,
    plain,
    share,
    stale_doubts,
    stamp,
    time_of_day,
    with_doubts,
)
from mcp_binance_server.surface.views.market import current_price, shown_average, shown_price
from mcp_binance_server.surface.views.measures import changed_lines, why
from mcp_binance_server.surface.views.trend import NOT_ADVICE, ONE_BOOK
from mcp_binance_server.surface.views.trend.levels import advice_lines, level_lines, odds_of, rule_lines
from mcp_binance_server.surface.views.trend.size import size_lines
from mcp_binance_server.surface.views.trend.words import bias_line, opening_sentence

MORE = "_Indicators, levels and a second rule: get_analysis with detail_"


def trading_page(
    report: TradingReport, *, defaults: tuple[bool, bool], perpetual: str | None = None, detail: bool = False
) -> str:
    """Render the analysis: the fixed format with the main additions, or with `detail` all sections.

    `defaults` says whether strategy and risk tolerance are defaults. The line on the perpetual is an addition to the
    fixed format. It follows the market's own lines.
    """
    view, outlook = report.view, report.outlook
    warned = [each for each in doubts(view, report.newest_close) if each not in stale_doubts(view)]
    contradicted = any(each.startswith(CONTRADICTION) for each in warned)
    page = "\n".join(
        [
            *_day(view),
            *([perpetual] if perpetual else []),
            "",
            f"**Strategy Preference**: {_choice(outlook.strategy, is_default=defaults[0])}",
            f"**Risk Tolerance**: {_choice(outlook.risk, is_default=defaults[1])}",
            "",
            opening_sentence(view, outlook),
            "",
            *([f"*- Not judged: {why('contradiction')}*"] if contradicted else advice_lines(view, outlook)),
            "",
            *_further(report, contradicted=contradicted, detail=detail),
            "",
            *(line for each in changed_lines(report.thresholds) for line in (f"_{each}_", "")),
            ONE_BOOK,
            NOT_ADVICE,
            f"*Last updated: {stamp(view.ticker.close_time_ms)}*",
        ]
    )
    return with_doubts(page, warned)


def _day(view: MarketView) -> list[str]:
    ticker = view.ticker
    return [
        f"# Market Analysis: {plain(ticker.symbol)}",
        "",
        f"**Current Price**: {current_price(view)}",
        f"**24h Change**: {percent(ticker.change_percent)} ({shown_price(view, ticker.change)})",
        f"**24h High**: {shown_price(view, ticker.high)}",
        f"**24h Low**: {shown_price(view, ticker.low)}",
        f"**24h Volume**: {amount(ticker.volume)} {plain(view.rules.base)}",
        *doubt_lines(stale_doubts(view)),
    ]


def _choice(word: str, *, is_default: bool) -> str:
    return f"{word.capitalize()} (default)" if is_default else word.capitalize()


def _further(report: TradingReport, *, contradicted: bool, detail: bool) -> list[str]:
    if not detail:
        return _main(report, contradicted=contradicted)
    return _trend_alone(report) if contradicted else _added(report)


def _main(report: TradingReport, *, contradicted: bool) -> list[str]:
    """Return the bias, the odds of the levels above, and the position size, one line each."""
    outlook = report.outlook
    trend = outlook.trend
    lines = [bias_line(trend.bias, is_stale=outlook.is_stale)] if isinstance(trend, Trend) else []
    if isinstance(trend, TooFewBars):
        lines.append(f"_Collecting: {trend.bars} of {trend.needed} hourly bars_")
    if not contradicted:
        lines += [] if isinstance(outlook.by_range, NoLevels) else [f"**Odds**: {odds_of(report, outlook.by_range)}"]
        lines += size_lines(report)[:1]
    return ["## Trend and Volatility", *lines, *(f"_Unavailable: {plain(each)}_" for each in report.missing), MORE]


def _added(report: TradingReport) -> list[str]:
    view, outlook = report.view, report.outlook
    trend = outlook.trend
    unavailable = [f"_Unavailable: {plain(reason)}_" for reason in report.missing]
    if isinstance(trend, TooFewBars):
        collecting = f"_Collecting: {trend.bars} of {trend.needed} hourly bars_"
        return ["## Trend and Volatility", collecting, "", *size_lines(report), _data(report), *unavailable]
    lines = (
        [*_trend(view, trend, is_stale=outlook.is_stale), "", *level_lines(view, outlook), ""]
        if trend is not None
        else []
    )
    return [*lines, *rule_lines(report), "", *size_lines(report), _data(report), *unavailable]


def _trend_alone(report: TradingReport) -> list[str]:
    """Return the trend of the candles, without the sections that compare them with the book."""
    outlook = report.outlook
    trend = outlook.trend
    lines = [*_trend(report.view, trend, is_stale=outlook.is_stale), ""] if isinstance(trend, Trend) else []
    return [*lines, "## Levels by Rule", f"_Not judged: {why('contradiction')}_", "", _data(report)]


def _trend(view: MarketView, trend: Trend, *, is_stale: bool) -> list[str]:
    last = float(view.ticker.last_price)
    relative = f" ({share(trend.atr / last, 2)})" if trend.atr and last else ""
    volatility = "n/a" if trend.annual_volatility is None else share(trend.annual_volatility)
    cells = [
        _number(view, trend.ema_fast),
        _number(view, trend.ema_slow),
        _number(view, trend.ema_long),
        _number(view, trend.vwap),
        "n/a" if trend.rsi is None else f"{trend.rsi:.1f}",
        f"{_number(view, trend.atr)}{relative}",
        f"{volatility} (n={trend.volatility.n})",
    ]
    return [
        f"## Trend and Volatility (1h, {trend.bars} bars to {date_and_hour(trend.to_ms)} UTC)",
        "| EMA20 | EMA50 | EMA200 | VWAP (day) | RSI14 | ATR14 | Realised vol (ann.) |",
        "|-|-|-|-|-|-|-|",
        f"| {' | '.join(cells)} |",
        *_warming(trend),
        "",
        bias_line(trend.bias, is_stale=is_stale),
    ]


def _warming(trend: Trend) -> list[str]:
    told = ", ".join(f"{label} {share(weight)}" for label, weight in trend.warming.items())
    return ["", f"_Warming: the start value still has this weight in each average: {told}_"] if told else []


def _data(report: TradingReport) -> str:
    view, trend = report.view, report.outlook.trend
    times = {"24h statistics and book": view.ticker.close_time_ms}
    if report.candles_ms is not None:
        times["candles"] = report.candles_ms
    last_ms = view.reading.last_ms if view.reading else None
    told = data_times(times) + ("" if last_ms is None else f", last trade {time_of_day(last_ms)}")
    if not isinstance(trend, Trend):
        return f"**Data**: {told}"
    gaps = trend.expected - trend.bars
    covered = share(trend.bars / trend.expected, 0)
    return f"**Data**: {told}, {trend.bars} bars, coverage {covered}, gaps {gaps}"


def _number(view: MarketView, value: float | None) -> str:
    return "n/a" if value is None else shown_average(view, Decimal(repr(value)))
