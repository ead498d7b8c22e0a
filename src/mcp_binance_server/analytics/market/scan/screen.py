"""Scan of a board, and the state of each pair: matched, still to read, or failed."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from mcp_binance_server.analytics.market.scan.board_columns import Values, board_numbers, board_values, listed_places
from mcp_binance_server.analytics.market.scan.column_table import SCAN_INTERVALS, ScanInterval
from mcp_binance_server.analytics.market.scan.columns import DayColumns, InterestColumns, SeriesColumns
from mcp_binance_server.analytics.market.scan.conditions import ColumnRef, Condition, SortBy
from mcp_binance_server.analytics.market.scan.movers import in_order
from mcp_binance_server.domain.board import Board, BoardMarket
from mcp_binance_server.domain.derivatives import Underlying

ScanStep = ScanInterval | Literal["interest"]
"""Data read for a pair beyond the board: candles of an interval, or its open interest."""
STEPS: tuple[ScanStep, ...] = (*reversed(SCAN_INTERVALS), "interest")
VOLUME = ColumnRef("quote_volume_24h")
USUAL_COLUMNS = (ColumnRef("change_24h"), VOLUME)
# Maximum number of pairs whose open interest is read. Each costs one request of two hundred a minute.
MOST_INTEREST = 100


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The stored columns of one series of a pair. `days` is set only for daily candles."""

    series: SeriesColumns
    days: DayColumns | None = None


ReadColumns = PairColumns | InterestColumns
AtHand = Callable[[ScanStep, str], ReadColumns | None]


@dataclass(frozen=True, slots=True)
class ScanQuestion:
    """One scan request. Without conditions and an order it asks for the largest gainers and losers."""

    market: BoardMarket
    quote: str
    min_volume: float
    underlying: Underlying | None = None
    where: tuple[Condition, ...] = ()
    sort: SortBy | None = None
    show: tuple[ColumnRef, ...] = ()
    limit: int = 10

    @property
    def is_about_movers(self) -> bool:
        return not self.where and self.sort is None

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        """Columns of each row after its price, in order of the request."""
        named = [condition.ref for condition in self.where]
        named += [] if self.sort is None else [self.sort.ref]
        named += self.show or USUAL_COLUMNS
        return tuple(ref for ref in dict.fromkeys(named) if ref.column != "price")

    @property
    def steps(self) -> tuple[tuple[ScanStep, tuple[Condition, ...]], ...]:
        """The reads that decide whether a pair matches, in order. After a failed step a pair is not read further."""
        conditions: dict[ScanStep, list[Condition]] = {}
        for condition in self.where:
            if (step := step_of(condition.ref)) is not None:
                conditions.setdefault(step, []).append(condition)
        if self.sort is not None and (step := step_of(self.sort.ref)) is not None:
            conditions.setdefault(step, [])
        return tuple((step, tuple(conditions[step])) for step in STEPS if step in conditions)


def step_of(ref: ColumnRef) -> ScanStep | None:
    """Return the read that a column needs, or None if the board has it."""
    match ref.spec.stage:
        case "board":
            return None
        case "daily":
            return "1d"
        case "interval":
            return ref.interval
        case "interest":
            return "interest"


class BoardNumbers:
    """Columns of a board as numbers. Each is computed once, on first use."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._made: dict[str, Values] = {}
        self._listed: dict[tuple[str, Underlying | None], list[int]] = {}

    @cached_property
    def symbols(self) -> list[str]:
        return self.board.texts("symbol")

    @cached_property
    def prices(self) -> list[str]:
        """Last prices as the exchange wrote them."""
        return self.board.texts("last")

    @cached_property
    def ticks(self) -> list[str]:
        return self.board.texts("tick")

    @cached_property
    def marks(self) -> Values:
        return board_numbers(self.board, "mark")

    def listed(self, quote: str, underlying: Underlying | None) -> list[int]:
        """Return the pairs with a quote asset, most traded first."""
        if (quote, underlying) not in self._listed:
            places = listed_places(self.board, quote=quote, underlying=underlying)
            self._listed[quote, underlying] = in_order(places, self.symbols, self.values(VOLUME.column))
        return self._listed[quote, underlying]

    def values(self, column: str) -> Values:
        if column not in self._made:
            self._made[column] = board_values(self.board, column)
        return self._made[column]


@dataclass(frozen=True, slots=True)
class ScreenState:
    """State of all pairs of a scan, as positions on the board, most traded first."""

    matched: list[int]
    to_read: list[tuple[int, ScanStep]]
    """The next reads: for each pair, its first missing step."""
    waiting: int
    unread: int
    beyond: int
    young: Mapping[tuple[int, str], int]
    """Number of pairs with fewer closed candles than a condition needs, by that number and the interval."""


@dataclass
class Screen:
    """One scan of one board, decided by the columns read so far."""

    question: ScanQuestion
    numbers: BoardNumbers
    at_hand: AtHand
    failures: dict[tuple[ScanStep, str], str] = field(default_factory=dict[tuple[ScanStep, str], str])

    @cached_property
    def steps(self) -> tuple[tuple[ScanStep, tuple[Condition, ...]], ...]:
        return self.question.steps

    @property
    def is_on_the_board(self) -> bool:
        """Whether the board alone has all needed columns."""
        return not any(map(step_of, self.question.columns))

    @cached_property
    def listed(self) -> list[int]:
        """All pairs that the query covers, with any volume, most traded first."""
        return self.numbers.listed(self.question.quote, self.question.underlying)

    @cached_property
    def screened(self) -> list[int]:
        """The listed pairs with enough volume."""
        volumes = self.numbers.values(VOLUME.column)
        return [place for place in self.listed if (volumes[place] or 0.0) >= self.question.min_volume]

    @cached_property
    def candidates(self) -> list[int]:
        """The screened pairs that pass the conditions on columns of the board."""
        places = self.screened
        for condition in self.question.where:
            if step_of(condition.ref) is None:
                values = self.numbers.values(condition.column)
                places = [place for place in places if condition.holds(values[place])]
        return places

    def judged(self) -> ScreenState:
        """Return the present state. A pair that cannot be read neither matches nor fails."""
        if not self.steps:
            return ScreenState(self.candidates, [], 0, 0, 0, {})
        matched: list[int] = []
        to_read: list[tuple[int, ScanStep]] = []
        young: Counter[tuple[int, str]] = Counter()
        unread = beyond = reached = 0
        has_interest = any(step == "interest" for step, _ in self.steps)
        for place in self.candidates:
            verdict = self._verdict(place, young)
            if verdict == "out":
                continue
            if has_interest and verdict in ("in", "interest", "unread"):
                reached += 1
                if reached > MOST_INTEREST:
                    beyond += 1
                    continue
            if verdict == "in":
                matched.append(place)
            elif verdict == "unread":
                unread += 1
            else:
                to_read.append((place, verdict))
        waiting = len(to_read)
        # Open interest is read last: only then is it known which pairs need it.
        before = [each for each in to_read if each[1] != "interest"]
        return ScreenState(matched, before or to_read, waiting, unread, beyond, young)

    def further(self, place: int) -> ScanInterval | None:
        """Return the candle interval that a pair needs next, or None once its candles are complete."""
        verdict = self._verdict(place, Counter())
        return next((each for each in SCAN_INTERVALS if each == verdict), None)

    def ordered(self, places: Sequence[int]) -> list[int]:
        """Sort pairs by the requested column. By default the most traded come first."""
        sort = self.question.sort
        if sort is None:
            return [*places]
        return in_order(places, self.numbers.symbols, self._values(sort.ref, places), largest_first=sort.largest_first)

    def missing(self, places: Sequence[int]) -> list[tuple[int, ScanStep]]:
        """Return the reads that the shown rows still need."""
        steps = {step for ref in self.question.columns if (step := step_of(ref)) is not None}
        return [
            (place, step)
            for step in STEPS
            if step in steps
            for place in places
            if self.at_hand(step, symbol := self.numbers.symbols[place]) is None and (step, symbol) not in self.failures
        ]

    def value(self, place: int, ref: ColumnRef) -> float | None:
        """Return the value of a pair in a column.

        It is None if the pair has no value, or if the value was not read yet.
        """
        step = step_of(ref)
        if step is None:
            return self.numbers.values(ref.column)[place]
        columns = self.at_hand(step, self.numbers.symbols[place])
        return None if columns is None else self._value(place, ref, columns)

    def closes(self) -> dict[ScanInterval, int]:
        """Return the close time of the last candle by interval. If pairs differ, it is the oldest."""
        steps = {*map(step_of, self.question.columns)}
        found: dict[ScanInterval, int] = {}
        for interval in SCAN_INTERVALS:
            if interval not in steps:
                continue
            read = [self.at_hand(interval, self.numbers.symbols[place]) for place in self.candidates]
            closed = [
                each.series.closed_ms
                for each in read
                if isinstance(each, PairColumns) and each.series.closed_ms is not None
            ]
            if closed:
                found[interval] = min(closed)
        return found

    def _values(self, ref: ColumnRef, places: Sequence[int]) -> Values:
        if step_of(ref) is None:
            return self.numbers.values(ref.column)
        values: Values = [None] * self.numbers.board.count
        for place in places:
            values[place] = self.value(place, ref)
        return values

    def _verdict(self, place: int, young: Counter[tuple[int, str]]) -> ScanStep | Literal["in", "out", "unread"]:
        symbol = self.numbers.symbols[place]
        for step, conditions in self.steps:
            columns = self.at_hand(step, symbol)
            if columns is None:
                return "unread" if (step, symbol) in self.failures else step
            for condition in conditions:
                value = self._value(place, condition.ref, columns)
                if not condition.holds(value):
                    if value is None and (lacking := _lacking(condition.ref, columns)) is not None:
                        young[lacking] += 1
                    return "out"
        return "in"

    def _value(self, place: int, ref: ColumnRef, columns: ReadColumns) -> float | None:
        if isinstance(columns, InterestColumns):
            if ref.column == "oi_change_24h":
                return columns.oi_change_24h
            return columns.oi_value(self.numbers.marks[place])
        if ref.spec.stage == "daily":
            volume = self.numbers.values(VOLUME.column)[place]
            return None if columns.days is None else columns.days.rel_volume_24h(volume)
        return columns.series.value(ref.column, self.numbers.values("price")[place])


def _lacking(ref: ColumnRef, columns: ReadColumns) -> tuple[int, str] | None:
    if isinstance(columns, InterestColumns):
        return None
    read = columns.days if ref.spec.stage == "daily" else columns.series
    bars = ref.spec.bars
    return (bars, ref.interval or "1d") if read is not None and read.n < bars else None
