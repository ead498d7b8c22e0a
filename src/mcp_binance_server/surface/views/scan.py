"""Result of a market scan as Markdown, and the format of its numbers."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import partial

from mcp_binance_server.analytics.market.scan.conditions import ColumnRef
from mcp_binance_server.analytics.market.scan.report import ScanReport, ScanRow
from mcp_binance_server.domain.board import BoardView
from mcp_binance_server.surface.views.markdown import counted, exact, instant, plain, span, with_more
from mcp_binance_server.surface.views.market import NOTHING, source

# A funding rate is about 0.01 %, so it needs more decimals.
FUNDING_PLACES = 4
PLACES = {"count": 0, "percent": 2, "bps": 2, "ratio": 2, "score_0_100": 1}
# All other units are part of their column's name.
SIGNS = {"percent": "%", "ratio": "\N{MULTIPLICATION SIGN}"}
WHOLE_FROM = 1_000
FUTURES_SOURCE = "Binance USDⓈ-M futures API v1"
CHANCE = "The more pairs are screened, the more stand out by chance."


def written_price(row: ScanRow) -> str:
    """Format a price with the decimals of its tick, as in every other answer."""
    return exact(Decimal(row.price), Decimal(row.tick or 0))


def written_value(ref: ColumnRef, value: float | None) -> str | None:
    """Format a value with the decimals that its unit needs."""
    if value is None:
        return None
    if ref.column == "funding_rate":
        return f"{value:z.{FUNDING_PLACES}f}"
    if ref.spec.unit in ("price", "quote"):
        return f"{value:.0f}" if abs(value) >= WHOLE_FROM else exact(Decimal(f"{value:.6g}"))
    return f"{value:z.{PLACES[ref.spec.unit]}f}"


def with_unit(ref: ColumnRef, quote: str) -> str:
    """Return the name of a column with its unit: `change_24h %`. A unit that the name contains is not repeated."""
    sign = plain(quote) if ref.spec.unit in ("price", "quote") else SIGNS.get(ref.spec.unit)
    return str(ref) if sign is None else f"{ref} {sign}"


def unit_notes(report: ScanReport) -> list[str]:
    """Return the units of all columns. Structured data has no table header to show them."""
    columns = report.columns if report.rows or report.losers else ()
    named = ((str(ref), with_unit(ref, report.question.quote)) for ref in columns)
    return [words for name, words in named if words != name]


def scan_notes(report: ScanReport) -> list[str]:
    """Return notes on a scan: the number of pairs that were considered, left out, or are still waiting."""
    asked = report.question
    kind = "" if asked.underlying is None or asked.market == "spot" else f"{asked.underlying} "
    least = exact(Decimal(repr(asked.min_volume)))
    quote = plain(asked.quote)
    notes = [f"{report.screened} {kind}{quote} pairs trade at least {least} {quote} in 24h"]
    if asked.is_about_movers:
        notes.append("rows: pairs that rose most; losers: pairs that fell most")
    if asked.where:
        notes.append(f"Conditions: {', '.join(f'`{each}`' for each in asked.where)}. {CHANCE}")
    if asked.sort is not None:
        order = "Largest" if asked.sort.largest_first else "Smallest"
        notes.append(f"{order} {asked.sort.ref} first")
    notes += [
        f"{count} {_pairs(count)} fewer than {bars} closed {interval} candles and do not match"
        for (bars, interval), count in sorted(report.young.items())
    ]
    notes += [f"{interval} candles closed at {instant(at_ms)}" for interval, at_ms in report.closes.items()]
    if report.waiting:
        notes.append("Waiting pairs are read within the rate limit: repeat the call in a few seconds")
    if report.unread:
        notes.append(f"{report.unread} could not be read and are not judged: {plain(report.why_unread or '')}")
    if report.beyond:
        notes.append(f"{report.beyond} less traded pairs are not judged: open interest is read for at most 100")
    return notes


def board_source(view: BoardView) -> str:
    """Return the source of a market table."""
    is_futures = view.board.market == "perpetual" and view.origin == "configured"
    return FUTURES_SOURCE if is_futures else source(view.origin, view.board.host)


def board_footer(view: BoardView) -> str:
    """Return the time and source of a market table in one line."""
    board = view.board
    return f"*As of {instant(board.at_ms)}; source: {board_source(view)}; host {plain(board.host)}*"


def age_words(view: BoardView) -> str | None:
    """Return the age of an old market table and the reason for it; None if the table is current."""
    if view.failure is None:
        return None
    return f"Stale: the table of pairs is {span(view.age_ms)} old; {plain(view.failure)}"


def scan_page(report: ScanReport, more: str | None) -> str:
    """Render a scan as one table, or as two tables of the largest gains and losses."""
    asked = report.question
    table = partial(scan_table, report.columns, asked.quote)
    old = f", {span(report.view.age_ms)} old" if report.view.failure else ""
    shown = counted(len(report.rows) + len(report.losers), asked.limit)
    lines = [
        f"**{asked.market.capitalize()} market{old}**: {shown}; listed {report.listed}, matched {report.matched}, "
        f"waiting {report.waiting}",
        *(f"- {note}" for note in scan_notes(report)),
        "",
    ]
    if asked.is_about_movers:
        lines += ["**Rose most**", "", *table(report.rows)]
        lines += ["", "**Fell most** (losers)", "", *table(report.losers)]
    elif report.waiting and not report.rows:
        lines.append(f"None yet: {report.waiting} of {report.listed} pairs are still unread.")
    else:
        lines += table(report.rows)
    return with_more([*lines, "", board_footer(report.view)], more)


def scan_table(columns: Sequence[ColumnRef], quote: str, rows: Iterable[ScanRow]) -> list[str]:
    """Render rows with a header of names and units. Without rows return `None.`."""
    rows = [*rows]
    if not rows:
        return ["None."]
    names = ["symbol", "price", *(with_unit(ref, quote) for ref in columns)]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    return [*lines, *(f"| {' | '.join(_cells(columns, row))} |" for row in rows)]


def _cells(columns: Sequence[ColumnRef], row: ScanRow) -> list[str]:
    values = (_cell(ref, value) for ref, value in zip(columns, row.values, strict=True))
    return [plain(row.symbol), written_price(row), *values]


def _cell(ref: ColumnRef, value: float | None) -> str:
    written = written_value(ref, value)
    if written is None:
        return NOTHING
    # Numbers of ten digits need thousands separators.
    return f"{int(written):,}" if ref.spec.unit in ("quote", "count") and written.isdigit() else written


def _pairs(count: int) -> str:
    return "pair has" if count == 1 else "pairs have"
