"""Summary of whole markets as Markdown: breadth, largest moves and volumes, funding."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from mcp_binance_server.analytics.market.scan.report import ScanRow
from mcp_binance_server.analytics.market.scan.screen import USUAL_COLUMNS
from mcp_binance_server.analytics.market.scan.summary import (
    USUAL_APR,
    FundingRow,
    FundingSummary,
    MarketOverview,
    MarketSummary,
)
from mcp_binance_server.analytics.ranks import Quartiles
from mcp_binance_server.surface.views.markdown import amount, doubt_lines, percent, plain, share
from mcp_binance_server.surface.views.market import NOTHING
from mcp_binance_server.surface.views.scan import CHANCE, FUNDING_PLACES, age_words, board_footer, scan_table

LEFT_OUT = {"spot": "", "perpetual": ", and contracts on equities and commodities"}
HEADINGS = {"spot": "Spot", "perpetual": "Perpetuals"}
FUNDING_MEANING = (
    "At each settlement longs pay funding to shorts; if funding is negative, shorts pay longs. Rates are estimates "
    "for the next settlement. Yearly rates assume that the rate stays the same; they use each contract's own interval "
    "and are not compounded."
)
NONE = "None"
MULTIPLIER = re.compile("^(?:10+|1M)(?=[A-Z])")
ONE_VENUE = "This page sees the markets of one venue, no other exchange."
NO_FORECAST = "Changes cover the last 24 hours and do not forecast the next."


def overview_page(overview: MarketOverview) -> str:
    """Render the state of the whole market from one table of spot and one table of futures, for a model."""
    return "\n".join(
        [f"# Market overview against {plain(overview.quote)}", "", *overview_lines(overview), "", _footers(overview)]
    )


def market_index(overview: MarketOverview, addresses: Iterable[str], *, listed: int, trading: int) -> str:
    """Render the list of market pages, and a summary of each market."""
    head = ["# Markets", "", f"**Trading Pairs**: {trading:,} trading now, {listed:,} listed", "", *addresses]
    return "\n".join([*head, "", *overview_lines(overview), "", _footers(overview)])


def overview_lines(overview: MarketOverview) -> list[str]:
    """Render each market, the missing data, and the limitations of the numbers."""
    listed = set[str]()
    lines = _market_lines(overview, overview.spot, listed)
    if overview.perpetual is not None:
        lines += ["", *_market_lines(overview, overview.perpetual, listed)]
    if overview.missing is not None:
        lines += ["", f"*Perpetuals are missing: {plain(overview.missing)}*"]
    return [*lines, "", f"{NO_FORECAST} {CHANCE} {ONE_VENUE}"]


def _market_lines(overview: MarketOverview, market: MarketSummary, listed: set[str]) -> list[str]:
    """Render one market. Coins in `listed` are named and not listed again; those of this market are added."""
    breadth, quote = market.breadth, plain(overview.quote)
    least = amount(Decimal(repr(overview.min_volume)), 0)
    old = age_words(market.view)
    lines = [
        f"## {HEADINGS[market.view.board.market]}",
        *doubt_lines([] if old is None else [old]),
        f"**Pairs**: {breadth.n:,} of {market.listed:,} against {quote}; left out: pairs that traded less than "
        f"{least} {quote} in 24 hours{LEFT_OUT[market.view.board.market]}",
    ]
    if breadth.share_up is not None:
        lines.append(
            f"**Rose**: {share(breadth.share_up)}; {breadth.up:,} up, {breadth.down:,} down, {breadth.flat:,} unchanged"
        )
        lines.append(f"**Change of 24 hours**: {_quarters(breadth.changes)}")
    for name, rows in (
        ("Rose most", market.gainers),
        ("Fell most", market.losers),
        ("Traded most", market.most_traded),
    ):
        lines += ["", f"**{name}**", *_new_rows(overview.quote, rows, listed)]
    return [*lines, *([] if market.funding is None else _funding_lines(market.funding))]


def _new_rows(quote: str, rows: Sequence[ScanRow], listed: set[str]) -> list[str]:
    new = [row for row in rows if _coin(row.symbol) not in listed]
    above = [plain(row.symbol) for row in rows if row not in new]
    listed |= {_coin(row.symbol) for row in new}
    lines = ["", *scan_table(USUAL_COLUMNS, quote, new)] if new else []
    if above:
        lines += ["", f"_Listed above: {', '.join(above)}_"]
    return lines or [f"_{NONE}_"]


def _coin(symbol: str) -> str:
    """Return a symbol without the multiplier of a perpetual: PEPEUSDT for 1000PEPEUSDT."""
    return MULTIPLIER.sub("", symbol)


def _funding_lines(funding: FundingSummary) -> list[str]:
    return [
        "",
        f"**Funding in a year**: {_quarters(funding.aprs)}; {funding.usual:,} at the usual {USUAL_APR}%",
        FUNDING_MEANING,
        *_funding_table("Highest, above the usual rate", funding.highest),
        *_funding_table("Lowest, below the usual rate", funding.lowest),
    ]


def _funding_table(name: str, rows: Sequence[FundingRow]) -> list[str]:
    lines = ["", f"**{name}**"]
    if not rows:
        return [*lines, f"_{NONE}_"]
    lines += ["", "| symbol | % at a settlement | every hours | % in a year |", "|---|---|---|---|"]
    return lines + [
        f"| {plain(row.symbol)} | {row.rate:z.{FUNDING_PLACES}f} | {row.interval_hours} | {row.apr:z.2f} |"
        for row in rows
    ]


def _quarters(cut: Quartiles) -> str:
    lower, median, upper = (
        NOTHING if each is None else percent(Decimal(repr(each))) for each in (cut.lower, cut.median, cut.upper)
    )
    return f"median {median}, middle half {lower} to {upper} (n {cut.n:,})"


def _footers(overview: MarketOverview) -> str:
    markets = [each for each in (overview.spot, overview.perpetual) if each is not None]
    return "\n".join(board_footer(each.view) for each in markets)
