"""Columns a board has by itself: exact at round numbers, None where the exchange said nothing or nonsense."""

from collections.abc import Callable
from decimal import Decimal
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.boards import board_of, random_board
from mcp_binance_server.analytics.derivatives.funding import annualised
from mcp_binance_server.analytics.market.scan.board_columns import board_numbers, board_values, listed_places
from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, columns_of
from mcp_binance_server.domain.board import Board, BoardField

BOARD_NAMES = [name for name, each in COLUMNS.items() if each.stage == "board"]
EXAMPLE: dict[BoardField, str] = {
    "symbol": "SOLUSDT", "quote": "USDT", "last": "151.20", "high": "154", "low": "140", "change_percent": "-5.000",
    "quote_volume": "1000000.5", "trades": "12345", "bid": "151.1", "ask": "151.3", "mark": "151.2151",
    "index": "151.2", "funding": "0.00007000", "interval_hours": "4", "underlying": "crypto",
}  # fmt: skip


Two = Callable[[Decimal, Decimal], Decimal]
# Recomputed in decimals, row by row: a second algorithm. Columns of one field take it twice.
EXACT: dict[str, tuple[BoardField, BoardField, Two]] = {
    "price": ("last", "last", lambda last, _: last),
    "change_24h": ("change_percent", "change_percent", lambda change, _: change),
    "range_24h": ("high", "low", lambda high, low: 100 * (high / low - 1)),
    "quote_volume_24h": ("quote_volume", "quote_volume", lambda volume, _: volume),
    "trades_24h": ("trades", "trades", lambda trades, _: trades),
    "spread_bps": ("bid", "ask", lambda bid, ask: 20_000 * (ask - bid) / (ask + bid)),
    "funding_rate": ("funding", "funding", lambda rate, _: 100 * rate),
    "funding_apr": ("funding", "interval_hours", lambda rate, hours: annualised(rate, int(hours))),
    "mark_vs_index_bps": ("mark", "index", lambda mark, index: 10_000 * (mark / index - 1)),
}


def exact(board: Board, column: str) -> list[Decimal | None]:
    first, second, compute = EXACT[column]
    texts = zip(board.texts(first), board.texts(second), strict=True)
    return [compute(Decimal(one), Decimal(other)) if one and other else None for one, other in texts]


@pytest.mark.parametrize("column", BOARD_NAMES)
def test_a_column_agrees_with_decimals(column: str) -> None:
    board = random_board(1)

    got, expected = board_values(board, column), exact(board, column)

    assert [each is None for each in got] == [each is None for each in expected]
    assert 0 < got.count(None) < board.count
    known = [float(each) for each in expected if each is not None]
    assert [each for each in got if each is not None] == pytest.approx(known, rel=1e-9, abs=1e-9)


def test_a_row_of_known_values() -> None:
    board = board_of(EXAMPLE)

    got = {name: board_values(board, name)[0] for name in BOARD_NAMES}

    assert got == {
        "price": 151.2,
        "change_24h": -5.0,
        "range_24h": 10.0,
        "quote_volume_24h": 1000000.5,
        "trades_24h": 12345.0,
        "spread_bps": pytest.approx(13.227513227513),
        "funding_rate": 0.007,
        "funding_apr": 15.33,
        "mark_vs_index_bps": pytest.approx(0.998677248677),
    }


@pytest.mark.parametrize(("hours", "apr"), [("8", 10.95), ("4", 21.9), ("1", 87.6)])
def test_the_same_rate_is_another_year_at_another_interval(hours: str, apr: float) -> None:
    board = board_of({**EXAMPLE, "funding": "0.00010000", "interval_hours": hours})

    assert board_values(board, "funding_apr") == [apr]


def test_without_its_interval_a_rate_has_no_year() -> None:
    board = board_of({**EXAMPLE, "interval_hours": ""}, {**EXAMPLE, "interval_hours": "0"})

    assert board_values(board, "funding_apr") == [None, None]


@given(st.decimals(min_value=-1, max_value=1, places=8), st.sampled_from([1, 2, 4, 8]))
def test_rates_are_rounded_once_so_that_a_bound_means_what_it_says(rate: Decimal, hours: int) -> None:
    board = board_of({**EXAMPLE, "funding": f"{rate:.8f}", "interval_hours": str(hours)})

    assert board_values(board, "funding_rate") == [float(100 * rate)]
    assert board_values(board, "funding_apr") == [float(annualised(rate, hours))]


def test_rates_in_exponent_form_are_read_as_well() -> None:
    board = board_of({**EXAMPLE, "funding": "1E-4", "interval_hours": "8"}, {**EXAMPLE, "funding": "1E-4x"})

    assert board_values(board, "funding_rate") == [0.01, None]
    assert board_values(board, "funding_apr")[0] == 10.95


nonsense = st.sampled_from(
    ["", "nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e999", "0", "-1", "x", "1e-320", "sNaN"]
)


@given(st.dictionaries(st.sampled_from(sorted(EXAMPLE.keys() - {"symbol"})), nonsense, min_size=1))
def test_nonsense_is_no_value_and_never_infinite(spoilt: dict[BoardField, str]) -> None:
    board = board_of({**EXAMPLE, **spoilt})

    for name in BOARD_NAMES:
        (value,) = board_values(board, name)
        assert value is None or isfinite(value)
    assert board_numbers(board, "last", shift=2)[0] is None or "last" not in spoilt or spoilt["last"] in "0 -1 1e-320"


def test_a_crossed_or_one_sided_quote_has_no_spread() -> None:
    board = board_of(
        {**EXAMPLE, "bid": "2", "ask": "1"},
        {**EXAMPLE, "bid": "0"},
        {**EXAMPLE, "ask": ""},
        {**EXAMPLE, "bid": "151.3"},
    )

    assert board_values(board, "spread_bps") == [None, None, None, 0.0]


def test_a_spot_board_has_every_column_of_spot_and_no_other_number() -> None:
    board = random_board(2, market="spot")

    for name in BOARD_NAMES:
        values = board_values(board, name)
        assert len(values) == board.count
        assert any(each is not None for each in values) == (name in columns_of("spot"))
    with pytest.raises(KeyError):
        board_values(board, "rsi_14")


def test_the_pairs_of_a_question_are_of_its_quote_its_kind_and_its_volume() -> None:
    board = random_board(3)

    got = listed_places(board, quote="USDT", min_volume=1_000_000, underlying="crypto")

    expected = [
        row.place
        for row in board.rows(range(board.count))
        if row["quote"] == "USDT"
        and row["underlying"] == "crypto"
        and row["quote_volume"]
        and Decimal(row["quote_volume"]) >= 1_000_000
    ]
    assert got == expected
    assert 0 < len(got) < len(listed_places(board)) < board.count


def test_on_spot_every_pair_is_crypto() -> None:
    board = random_board(4, market="spot")

    assert listed_places(board, underlying="crypto") == listed_places(board)
