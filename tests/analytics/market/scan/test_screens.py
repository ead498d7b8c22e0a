"""Two hundred random screens, step by step over columns, against one look at every row in decimals."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from random import Random

import pytest

from analytics.boards import random_board
from analytics.perpetuals import NOW_MS, interest_hours
from analytics.samples import Number, walk
from analytics.series import rows_of
from mcp_binance_server.analytics.market.scan.board_columns import board_values, listed_places
from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, INTERVAL_MS, SCAN_INTERVALS, ScanInterval
from mcp_binance_server.analytics.market.scan.columns import (
    DayColumns,
    InterestColumns,
    SeriesColumns,
    SeriesLine,
    day_columns,
    interest_columns,
    series_columns,
)
from mcp_binance_server.analytics.market.scan.conditions import (
    OPERATORS,
    ColumnRef,
    Condition,
    SortBy,
    read_conditions,
    read_sort,
)
from mcp_binance_server.analytics.market.scan.movers import in_order
from mcp_binance_server.domain.board import Board, BoardMarket

SCREENS = 200
PAIRS = 60
STEPS = ("board", "daily", "1d", "4h", "1h", "15m", "interest")


@dataclass(frozen=True)
class Market:
    """A board, and of every pair its series, days and open interest; some pairs are too young for some columns."""

    board: Board
    series: Mapping[tuple[int, ScanInterval], SeriesColumns]
    days: Mapping[int, DayColumns]
    interest: Mapping[int, InterestColumns]

    def values(self, ref: ColumnRef) -> list[float | None]:
        """Return a column as a screen takes it: by place."""
        match ref.spec.stage:
            case "board":
                return board_values(self.board, ref.column)
            case "daily":
                volumes = board_values(self.board, "quote_volume_24h")
                return [self.days[place].rel_volume_24h(volume) for place, volume in enumerate(volumes)]
            case "interval":
                assert ref.interval is not None
                prices = board_values(self.board, "price")
                return [self.series[place, ref.interval].value(ref.column, price) for place, price in enumerate(prices)]
            case "interest":
                if ref.column == "oi_change_24h":
                    return [self.interest[place].oi_change_24h for place in range(self.board.count)]
                marks = [float(text) if text else None for text in self.board.texts("mark")]
                return [self.interest[place].oi_value(mark) for place, mark in enumerate(marks)]


def shifted(rows: list[SeriesLine], interval_ms: int) -> list[SeriesLine]:
    """Let rows end with the candle that runs now."""
    last = NOW_MS // interval_ms
    return [(interval_ms * (last - len(rows) + 1 + place), *row[1:]) for place, row in enumerate(rows)]


@cache
def market(seed: int, kind: BoardMarket) -> Market:
    chance = Random(seed)
    board = random_board(seed, PAIRS, kind)
    series: dict[tuple[int, ScanInterval], SeriesColumns] = {}
    days: dict[int, DayColumns] = {}
    interest: dict[int, InterestColumns] = {}
    for place in range(board.count):
        rows = rows_of(walk(chance.randrange(10**6), bars=chance.choice((1, 9, 18, 40, 220))))
        for interval in SCAN_INTERVALS:
            kept = shifted(rows[chance.randrange(len(rows)) :], INTERVAL_MS[interval])
            series[place, interval] = series_columns(kept, NOW_MS, INTERVAL_MS[interval])
        days[place] = day_columns(shifted(rows, INTERVAL_MS["1d"]), NOW_MS)
        levels: list[Number] = [chance.randrange(90, 110) for _ in range(chance.choice((20, 30)))]
        interest[place] = interest_columns(interest_hours(levels), NOW_MS)
    return Market(board, series, days, interest)


def random_ref(chance: Random, kind: BoardMarket) -> ColumnRef:
    name = chance.choice([each for each in COLUMNS if kind == "perpetual" or not COLUMNS[each].perpetual_only])
    return ColumnRef(name, chance.choice(SCAN_INTERVALS) if COLUMNS[name].takes_interval else None)


def random_question(chance: Random, kind: BoardMarket, of: Market) -> tuple[list[str], str]:
    """Draw conditions whose bounds are values that occur, so that a bound is often met exactly."""
    texts: list[str] = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        ref = random_ref(chance, kind)
        known = [value for value in of.values(ref) if value is not None] or [0.0]
        bound = round(Decimal(chance.choice(known)), chance.choice((2, 9, 12)))
        texts.append(f"{ref} {chance.choice(OPERATORS)} {bound:f}")
    return texts, chance.choice(("", "-")) + str(random_ref(chance, kind))


def step_of(condition: Condition) -> int:
    return STEPS.index(condition.interval or condition.ref.spec.stage)


def screened(of: Market, conditions: tuple[Condition, ...], sort: SortBy) -> list[str]:
    """Screen as the service does: cheap columns first, and only survivors go on."""
    symbols = of.board.texts("symbol")
    places = listed_places(of.board, quote="USDT", min_volume=1_000_000)
    for condition in sorted(conditions, key=step_of):
        places = condition.matching(places, of.values(condition.ref))
    ordered = in_order(places, symbols, of.values(sort.ref), largest_first=sort.largest_first)
    return [symbols[place] for place in ordered]


def looked_through(of: Market, texts: list[str], sort: str) -> list[str]:
    """Look at every row once, read the question anew, compare in decimals, and insert one by one."""
    found: list[tuple[str, Decimal | None]] = []
    by_column = {text: of.values(ref_of(text.split()[0])) for text in [*texts, sort.removeprefix("-")]}
    for row in of.board.rows(range(of.board.count)):
        if row["quote"] != "USDT" or not row["quote_volume"] or Decimal(row["quote_volume"]) < 1_000_000:
            continue
        if all(is_true(by_column[text][row.place], *text.split()[1:]) for text in texts):
            value = by_column[sort.removeprefix("-")][row.place]
            found.append((row.symbol, None if value is None else Decimal(value)))
    ordered: list[tuple[str, Decimal | None]] = []
    for one in found:
        at = 0
        while at < len(ordered) and comes_before(ordered[at], one, is_rising=sort.startswith("-")):
            at += 1
        ordered.insert(at, one)
    return [symbol for symbol, _ in ordered]


def ref_of(text: str) -> ColumnRef:
    name, _, interval = text.partition("@")
    return ColumnRef(name, next((each for each in SCAN_INTERVALS if each == interval), None))


def is_true(value: float | None, sign: str, number: str) -> bool:
    if value is None:
        return False
    # A bound is what its text means as a float: the values are floats too.
    left, right = Decimal(value), Decimal(float(number))
    return (left == right and "=" in sign) or (left < right if "<" in sign else left > right)


def comes_before(one: tuple[str, Decimal | None], other: tuple[str, Decimal | None], *, is_rising: bool) -> bool:
    (name, value), (other_name, other_value) = one, other
    if value is None or other_value is None:
        return name < other_name if value is other_value else other_value is None
    if value == other_value:
        return name < other_name
    return (value < other_value) == is_rising


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spot", "perpetual"])
def test_a_screen_in_steps_finds_what_a_look_at_every_row_finds_in_the_same_order(kind: BoardMarket) -> None:
    chance = Random(17)
    sizes: set[int] = set()
    for number in range(SCREENS // 2):
        of = market(number % 4, kind)
        texts, sort = random_question(chance, kind, of)

        got = screened(of, read_conditions(texts, kind), read_sort(sort, kind))

        assert got == looked_through(of, texts, sort), (texts, sort)
        sizes.add(len(got))
    assert 0 in sizes
    assert len(sizes) > 10
