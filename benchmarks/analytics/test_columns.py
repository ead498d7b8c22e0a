"""What the columns of one series cost beside the indicator table, and those of a board of 1,500 pairs."""

from collections.abc import Callable
from time import process_time

from analytics.boards import Row, board_of
from analytics.samples import HOUR_MS, walk
from analytics.series import end_of, rows_of
from mcp_binance_server.analytics.indicators.table import INDICATORS
from mcp_binance_server.analytics.market.scan.board_columns import board_values
from mcp_binance_server.analytics.market.scan.columns import MOST_BARS, series_columns

# 0.04 to 0.06 on a busy machine.
MOST_OF_TABLE = 0.2
# 0.6 ms for three columns on a machine that does nothing else.
MOST_BOARD_MS = 6.0
PAIRS = 1_500
SAME_NUMBERS = (("rsi", 14), ("atr", 14), ("sma", 20), ("sma", 50), ("sma", 200))


def least_ms(work: Callable[[], object], times: int = 15) -> float:
    """Return the least processor time of several tries: what is over it is somebody else's."""
    spent: list[float] = []
    for _ in range(times):
        began = process_time()
        work()
        spent.append(1000 * (process_time() - began))
    return min(spent)


def test_columns_of_a_series_cost_a_fifth_of_the_indicator_table() -> None:
    candles = walk(1, bars=MOST_BARS)
    rows = rows_of(candles)

    ours = least_ms(lambda: series_columns(rows, end_of(rows), HOUR_MS))
    table = least_ms(lambda: [each.compute(candles, each.defaults) for each in INDICATORS.values()])
    same = least_ms(lambda: [INDICATORS[name].compute(candles, {"n": n}) for name, n in SAME_NUMBERS])

    print(f"columns {ours:.2f} ms, table {table:.2f}, of it the same numbers {same:.2f}")  # noqa: T201 - a figure
    assert ours <= MOST_OF_TABLE * table
    assert ours < same


def test_three_columns_of_a_whole_board_take_a_few_milliseconds() -> None:
    row: Row = {"symbol": "C", "last": "1.2345", "change_percent": "-5.123", "quote_volume": "1234567.89"}
    board = board_of(*[row] * PAIRS, market="spot")

    spent = least_ms(lambda: [board_values(board, name) for name in ("price", "change_24h", "quote_volume_24h")])

    print(f"three columns of {PAIRS} pairs: {spent:.2f} ms")  # noqa: T201 - a figure
    assert spent < MOST_BOARD_MS
