"""The page of a trading analysis: the contract's lines first, then what the bars add."""

from decimal import Decimal

from mcp_binance_server.analytics.trend.levels import NoLevels, PositionSize, TradeLevels
from mcp_binance_server.analytics.trend.outlook import Outlook, TooFewBars, TradingReport, Trend
from mcp_binance_server.analytics.trend.support import Cluster, LevelReason
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.domain.money import decimals_of, name_of
from mcp_binance_server.surface.views.markdown import (
    DOLLAR_LIKE,
    amount,
    date_and_hour,
    doubt_lines,
    doubts,
    money,
    percent,
    plain,
    share,
    stamp,
    time_of_day,
)
from mcp_binance_server.surface.views.market import shown_average, shown_price
from mcp_binance_server.surface.views.measures import changed_lines

NOT_ADVICE = "*Computed by the stated rules from public data; not financial advice.*"
ARTICLES = {"aggressive": "an", "balanced": "a", "conservative": "a"}
MOMENTUM = {
    "positive": "positive momentum with a {size} gain",
    "negative": "negative momentum with a {size} loss",
    "little": "little net movement ({signed})",
}
SENTIMENT = {
    "bullish": "The price is holding above the daily low, suggesting bullish sentiment.",
    "bearish": "The price is trading near the daily low, suggesting bearish sentiment.",
    "unclear": "The price sits inside the daily range without a clear direction.",
}


def trading_page(report: TradingReport, *, defaults: tuple[bool, bool]) -> str:
    """Render the analysis; `defaults` says whether strategy and risk tolerance were left to us."""
    view, outlook = report.view, report.outlook
    return "\n".join(
        [
            *_day(view),
            "",
            f"**Strategy Preference**: {_choice(outlook.strategy, is_default=defaults[0])}",
            f"**Risk Tolerance**: {_choice(outlook.risk, is_default=defaults[1])}",
            "",
            _sentence(view, outlook),
            "",
            *_advice(view, outlook),
            "",
            *_added(report),
            "",
            *(line for each in changed_lines(report.thresholds) for line in (f"_{each}_", "")),
            NOT_ADVICE,
            *doubt_lines(doubts(view, report.newest_close)),
            f"*Last updated: {stamp(view.ticker.close_time_ms)}*",
        ]
    )


def _day(view: MarketView) -> list[str]:
    ticker = view.ticker
    return [
        f"# Market Analysis: {plain(ticker.symbol)}",
        "",
        f"**Current Price**: {shown_price(view, ticker.last_price)}",
        f"**24h Change**: {percent(ticker.change_percent)} ({shown_price(view, ticker.change)})",
        f"**24h High**: {shown_price(view, ticker.high)}",
        f"**24h Low**: {shown_price(view, ticker.low)}",
        f"**24h Volume**: {amount(ticker.volume)} {plain(view.rules.base)}",
    ]


def _choice(word: str, *, is_default: bool) -> str:
    return f"{word.capitalize()} (default)" if is_default else word.capitalize()


def _sentence(view: MarketView, outlook: Outlook) -> str:
    change = percent(view.ticker.change_percent)
    momentum = MOMENTUM[outlook.day.momentum].format(size=change.lstrip("+-"), signed=change)
    return (
        f"*Based on current market conditions, {plain(name_of(view.rules.base))} is showing {momentum} over 24 hours. "
        f"{SENTIMENT[outlook.day.sentiment]} "
        f"For {ARTICLES[outlook.strategy]} {outlook.strategy} strategy with {outlook.risk} risk tolerance, consider:*"
    )


def _advice(view: MarketView, outlook: Outlook) -> list[str]:
    levels = outlook.by_range
    if isinstance(levels, NoLevels):
        return [f"*- Entry Point: None by rule ({_words(levels.why_null)})*"]
    band = f"Around {_band(view, levels)} (near current support)" if outlook.buys else "None by rule (downtrend)"
    return [
        f"*- Entry Point: {band}*",
        f"*- Stop Loss: {_level(view, levels.stop)} (below 24h low)*",
        f"*- Take Profit: {_level(view, levels.target)} (near resistance)*",
    ]


def _added(report: TradingReport) -> list[str]:
    view, outlook = report.view, report.outlook
    trend = outlook.trend
    unavailable = [f"_Unavailable: {plain(reason)}_" for reason in report.missing]
    if isinstance(trend, TooFewBars):
        collecting = f"_Collecting: {trend.bars} of {trend.needed} hourly bars_"
        return ["## Trend and Volatility", collecting, *unavailable]
    lines = [*_trend(view, trend), "", *_levels(view, outlook), ""] if trend is not None else []
    return [*lines, *_rules(view, outlook), "", *_size(report), _data(view, trend), *unavailable]


def _trend(view: MarketView, trend: Trend) -> list[str]:
    relative = f" ({share(trend.atr / float(view.ticker.last_price), 2)})" if trend.atr else ""
    volatility = "n/a" if trend.annual_volatility is None else share(trend.annual_volatility)
    bias = trend.bias
    leaning = (
        "n/a" if bias.direction is None else f"{bias.direction.capitalize()} ({max(bias.up, bias.down)} of {bias.n})"
    )
    cells = [
        _number(view, trend.ema_fast),
        _number(view, trend.ema_slow),
        _number(view, trend.ema_long),
        _number(view, trend.vwap),
        "n/a" if trend.rsi is None else f"{trend.rsi:.1f}",
        f"{_number(view, trend.atr)}{relative}",
        f"{volatility} (n={trend.volatility.n})",
        leaning,
    ]
    return [
        f"## Trend and Volatility (1h, {trend.bars} bars to {date_and_hour(trend.to_ms)} UTC)",
        "| EMA20 | EMA50 | EMA200 | VWAP (day) | RSI14 | ATR14 | Realised vol (ann.) | Bias |",
        "|-|-|-|-|-|-|-|-|",
        f"| {' | '.join(cells)} |",
    ]


def _levels(view: MarketView, outlook: Outlook) -> list[str]:
    levels = outlook.levels
    if levels is None or levels.why_null is not None:
        return ["## Support and Resistance", f"_None by rule ({_words(levels.why_null if levels else None)})_"]
    rows = [
        f"| {name} | {shown_price(view, cluster.price)} | {_origins(cluster)} | {cluster.strength} |"
        for name, cluster in (("R1", levels.resistance), ("S1", levels.support))
        if cluster is not None
    ]
    return ["## Support and Resistance", "| Level | Price | From | Strength |", "|-|-|-|-|", *rows]


def _origins(cluster: Cluster) -> str:
    # Three reasons tell enough; the strength counts them all.
    shown = [_origin(member) for member in cluster.members[:3]]
    more = len(cluster.members) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _origin(member: LevelReason) -> str:
    return member.origin if member.time_ms is None else f"{member.origin} {date_and_hour(member.time_ms)}"


def _rules(view: MarketView, outlook: Outlook) -> list[str]:
    rows = [_rule_row(view, "24h range", outlook.by_range)]
    if outlook.by_atr is not None:
        rows.append(_rule_row(view, "ATR", outlook.by_atr))
    return ["## Levels by Rule", "| Rule | Entry | Stop | Target | Reward:risk |", "|-|-|-|-|-|", *rows]


def _rule_row(view: MarketView, name: str, levels: TradeLevels | NoLevels) -> str:
    if isinstance(levels, NoLevels):
        return f"| {name} | none: {_words(levels.why_null)} | n/a | n/a | n/a |"
    target = f"{_level(view, levels.target)}{' (R1)' if levels.target_rule == 'R1' else ''}"
    return f"| {name} | {_band(view, levels)} | {_level(view, levels.stop)} | {target} | {levels.reward_risk:.2f} |"


def _size(report: TradingReport) -> list[str]:
    view, outlook, equity = report.view, report.outlook, report.equity
    if outlook.size is None or equity is None:
        return _share_of_equity(view, outlook)
    if not isinstance(outlook.size, PositionSize):
        return [f"**Position Size**: none by rule ({_words(outlook.size.why_null)})"]
    size = outlook.size
    quantity = f"{size.quantity:,.{decimals_of(view.rules.step)}f} {plain(view.rules.base)}"
    fraction = _fraction(outlook)
    whole = (
        f"of {_sum(view, equity.amount)} equity"
        if equity.is_own
        else f"per {_short(view, _sum(view, equity.amount))} equity"
    )
    capped = ", capped by equity" if size.capped_by_equity else ""
    return [
        f"**Position Size**: {quantity} ({_sum(view, size.notional)}) "
        f"risks {_sum(view, size.risk)} = {fraction} {whole} (24h-range rule{capped})"
    ]


def _share_of_equity(view: MarketView, outlook: Outlook) -> list[str]:
    # An equity in dollars says nothing of a market in another currency; a share of it holds in any.
    levels = outlook.by_range
    if isinstance(levels, NoLevels):
        return []
    lost = (levels.entry - levels.stop) / levels.entry
    bought = f"of equity in {plain(view.rules.base)} risks"
    if lost < outlook.risk_fraction:
        return [f"**Position Size**: 100% {bought} {share(float(lost), 2)} of it (24h-range rule, capped by equity)"]
    part = share(float(outlook.risk_fraction / lost))
    return [f"**Position Size**: {part} {bought} {_fraction(outlook)} of it (24h-range rule)"]


def _fraction(outlook: Outlook) -> str:
    return percent(outlook.risk_fraction * 100).lstrip("+").replace(".0%", "%")


def _data(view: MarketView, trend: Trend | TooFewBars | None) -> str:
    ticker = time_of_day(view.ticker.close_time_ms)
    if not isinstance(trend, Trend):
        return f"**Data**: ticker {ticker}"
    gaps = trend.expected - trend.bars
    covered = share(trend.bars / trend.expected, 0)
    return f"**Data**: ticker {ticker}, {trend.bars} bars, coverage {covered}, gaps {gaps}"


def _number(view: MarketView, value: float | None) -> str:
    return "n/a" if value is None else shown_average(view, Decimal(repr(value)))


def _level(view: MarketView, value: Decimal) -> str:
    return _short(view, shown_price(view, value))


def _sum(view: MarketView, value: Decimal) -> str:
    return money(value, view.rules.quote, view.rules.tick)


def _short(view: MarketView, shown: str) -> str:
    if view.rules.quote in DOLLAR_LIKE:
        return shown.removesuffix(".00")
    digits, _, quote = shown.partition(" ")
    return f"{digits.removesuffix('.00')} {quote}"


def _band(view: MarketView, levels: TradeLevels) -> str:
    return f"{_level(view, levels.entry_low)}-{_level(view, levels.entry_high)}"


def _words(code: str | None) -> str:
    return (code or "no data").replace("_", " ")
