"""Tables of a trading analysis: support and resistance, and entry, stop and target by two rules."""

from decimal import Decimal

from mcp_binance_server.analytics.book.cost import TAKER_FEE_BPS
from mcp_binance_server.analytics.trend.levels import NoLevels, TradeLevels
from mcp_binance_server.analytics.trend.outlook import Outlook, TradingReport
from mcp_binance_server.analytics.trend.support import Cluster, LevelReason
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.surface.views.markdown import date_and_hour
from mcp_binance_server.surface.views.market import shown_price
from mcp_binance_server.surface.views.trend.words import band, code_words, entry_place, level_price, odds, target_place

# Number of reasons shown for a level.
MOST_REASONS = 3
MOST_LEVELS = 4
# Binance's taker fee without a discount, if no account is known.
USUAL_FEE = Decimal(TAKER_FEE_BPS) / 10_000


def advice_lines(view: MarketView, outlook: Outlook) -> list[str]:
    """Return the three fixed lines on entry, stop and target.

    The facts in brackets are additions to the fixed format.
    """
    levels = outlook.by_range
    if isinstance(levels, NoLevels):
        return [f"*- Entry Point: None by rule ({code_words(levels.why_null)})*"]
    entry = f"Around {band(view, levels)} ({entry_place(view, outlook, levels)})"
    return [
        f"*- Entry Point: {entry if outlook.buys else 'None by rule (downtrend)'}*",
        f"*- Stop Loss: {level_price(view, levels.stop)} (below 24h low)*",
        f"*- Take Profit: {level_price(view, levels.target)} ({target_place(outlook, levels)})*",
    ]


def level_lines(view: MarketView, outlook: Outlook) -> list[str]:
    """Return the support and resistance levels, and how often each level held when the price came back."""
    heading, levels = "## Support and Resistance", outlook.levels
    if levels is None or levels.usual is None:
        return [heading, f"_None by rule ({code_words(levels.why_null if levels else None)})_"]
    named: dict[Cluster, str] = {}
    for name, level in (
        ("R1", levels.resistance),
        ("S1", levels.support),
        ("At the target", outlook.target_level),
        ("At the entry", outlook.entry_level if outlook.buys else None),
        *(("At the price", each) for each in levels.at_price),
    ):
        if level is not None:
            named.setdefault(level, name)
    if not named:
        return [heading, "_None by rule (no level near the price)_"]
    shown = sorted([*named][:MOST_LEVELS], key=lambda each: each.price, reverse=True)
    # Without a level that stands out there is nothing to say of any, so the column is left out.
    judged = any(level.stands_out for level in shown)
    head = ["Level", "Price", "From", *(["When the price came back"] if judged else [])]
    rows = [
        [
            named[level],
            shown_price(view, level.price),
            _origins(level),
            *([_held(level, levels.usual)] if judged else []),
        ]
        for level in shown
    ]
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return [heading, lines[0], f"|{'-|' * len(head)}", *lines[1:]]


def _held(level: Cluster, usual: float) -> str:
    held, n = level.approaches
    if not level.stands_out:
        return "does not stand out"
    return f"held {held} of {n} tests (a random level holds {usual * 100:.0f} % of the time: significant)"


def _origins(level: Cluster) -> str:
    shown = [_origin(member) for member in level.members[:MOST_REASONS]]
    more = len(level.members) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _origin(member: LevelReason) -> str:
    return member.origin if member.time_ms is None else f"{member.origin} {date_and_hour(member.time_ms)}"


def rule_lines(report: TradingReport) -> list[str]:
    """Return entry, stop and target in one row per rule, even if the rules disagree."""
    outlook = report.outlook
    rows = [_rule_row(report, "24h range", outlook.by_range)]
    if outlook.by_atr is not None:
        rows.append(_rule_row(report, "ATR", outlook.by_atr))
    return ["## Levels by Rule", "| Rule | Entry | Stop | Target | Odds |", "|-|-|-|-|-|", *rows]


def _rule_row(report: TradingReport, name: str, levels: TradeLevels | NoLevels) -> str:
    view = report.view
    if isinstance(levels, NoLevels):
        return f"| {name} | none: {code_words(levels.why_null)} | n/a | n/a | n/a |"
    target = f"{level_price(view, levels.target)}{' (R1)' if levels.target_rule == 'R1' else ''}"
    return (
        f"| {name} | {band(view, levels)} | {level_price(view, levels.stop)} | {target} | {odds_of(report, levels)} |"
    )


def odds_of(report: TradingReport, levels: TradeLevels) -> str:
    """Return the odds of levels with the fee of the account, or the usual fee without one."""
    funds = report.size.funds
    return odds(levels, report.outlook.noise, USUAL_FEE if funds is None else funds.taker)
