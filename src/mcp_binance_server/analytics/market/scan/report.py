"""Result of a scan, ready for display."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_binance_server.analytics.market.scan.column_table import ScanInterval
from mcp_binance_server.analytics.market.scan.conditions import ColumnRef
from mcp_binance_server.analytics.market.scan.movers import movers
from mcp_binance_server.analytics.market.scan.screen import VOLUME, BoardNumbers, ScanQuestion, Screen
from mcp_binance_server.domain.board import BoardView


@dataclass(frozen=True, slots=True)
class ScanRow:
    """One pair with its price and tick as the exchange wrote them, and its value in each column."""

    symbol: str
    price: str
    tick: str
    values: tuple[float | None, ...]

    @classmethod
    def of(cls, numbers: BoardNumbers, place: int, values: Iterable[float | None]) -> "ScanRow":
        return cls(numbers.symbols[place], numbers.prices[place], numbers.ticks[place], tuple(values))


@dataclass(frozen=True, slots=True, eq=False)
class ScanReport:
    """Result of a scan. Of `listed` pairs `screened` have enough volume, and `matched` pass every condition."""

    question: ScanQuestion
    view: BoardView
    columns: tuple[ColumnRef, ...]
    listed: int
    screened: int
    matched: int
    waiting: int
    """Pairs with data still to be read; a later request gets it."""
    rows: tuple[ScanRow, ...]
    losers: tuple[ScanRow, ...] = ()
    young: Mapping[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    unread: int = 0
    why_unread: str | None = None
    beyond: int = 0
    closes: Mapping[ScanInterval, int] = field(default_factory=dict[ScanInterval, int])


def report_on(screen: Screen, view: BoardView) -> ScanReport:
    """Return the present result of a scan that can be incomplete."""
    question, judgement = screen.question, screen.judged()
    rows, losers = shown_places(screen, judgement.matched, question.limit)
    lacking = {place for place, _ in screen.missing([*rows, *losers])}
    return ScanReport(
        question,
        view,
        question.columns,
        listed=len(screen.listed),
        screened=len(screen.screened),
        matched=len(judgement.matched),
        waiting=judgement.waiting + len(lacking),
        rows=_rows(screen, rows),
        losers=_rows(screen, losers),
        young=judgement.young,
        unread=judgement.unread,
        why_unread=next(iter(screen.failures.values()), None),
        beyond=judgement.beyond,
        closes=screen.closes(),
    )


def shown_places(screen: Screen, matched: Sequence[int], limit: int) -> tuple[list[int], list[int]]:
    """Return the pairs to show: in the requested order, or the largest gainers and losers."""
    if not screen.question.is_about_movers:
        return screen.ordered(matched)[:limit], []
    numbers = screen.numbers
    found = movers(numbers.symbols, numbers.values("change_24h"), numbers.values(VOLUME.column), matched, limit)
    return [*found.gainers], [*found.losers]


def _rows(screen: Screen, places: Sequence[int]) -> tuple[ScanRow, ...]:
    numbers, columns = screen.numbers, screen.question.columns
    return tuple(ScanRow.of(numbers, place, (screen.value(place, ref) for ref in columns)) for place in places)
