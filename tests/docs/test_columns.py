"""The columns of a screen as a person and a model read of them are those of the column table, units included."""

import re
from collections.abc import Iterator
from pathlib import Path

from mcp_binance_server.analytics.market.scan.column_table import COLUMNS, SCAN_INTERVALS, ColumnSpec, ColumnUnit, Stage
from mcp_binance_server.surface.tools.market.scan import ScanMarket

PAGE = Path(__file__).parents[2] / "docs" / "market.md"
IN: dict[ColumnUnit, str] = {
    "price": "the quote asset",
    "quote": "the quote asset",
    "count": "trades",
    "percent": "%",
    "bps": "basis points",
    "ratio": "times",
    "score_0_100": "0 to 100",
}
READ: dict[Stage, tuple[str, ...]] = {
    "board": ("nothing more",),
    "daily": ("2 a pair, once a day",),
    "interval": ("2 a pair and interval, once a candle", "the same read"),
    "interest": ("one request a contract, for 100 at most", "the same read"),
}


def rows() -> Iterator[tuple[list[str], str, str, str]]:
    """Give each row of the page's table: its columns, their unit, their meaning, their cost."""
    table = PAGE.read_text(encoding="utf-8").split("| Column | In |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        names, unit, meaning, costs = (cell.strip() for cell in line.strip("|").split("|"))
        yield re.findall(r"`([^`]+)`", names), unit, meaning, costs


def test_the_page_has_every_column_in_the_order_of_the_table() -> None:
    assert [name for names, *_ in rows() for name in names] == [*COLUMNS]


def test_the_page_tells_of_each_column_its_unit_its_cost_and_whether_it_is_of_perpetuals() -> None:
    for names, unit, meaning, costs in rows():
        for spec in map(COLUMNS.__getitem__, names):
            assert unit == IN[spec.unit], spec.name
            assert costs in READ[spec.stage], spec.name
            assert meaning.startswith("perpetuals: ") is spec.perpetual_only, spec.name


def test_the_page_tells_which_columns_need_an_interval_and_which_there_are() -> None:
    told = re.search(r"Those from `(\w+)` to `(\w+)` need an interval: (.*?)\.\s", PAGE.read_text(encoding="utf-8"))
    assert told is not None
    places = {name: place for place, name in enumerate(COLUMNS)}
    needing = {name for name, place in places.items() if places[told[1]] <= place <= places[told[2]]}

    assert needing == {name for name, spec in COLUMNS.items() if spec.takes_interval}
    assert re.findall(r"@(\w+)", told[3]) == [*SCAN_INTERVALS]


def test_a_model_is_told_every_column_among_those_of_its_kind() -> None:
    told = ScanMarket.model_fields["where"].description or ""
    free, closed, perpetual = re.split(r"; with @|; perpetual: ", told.split("Columns: ")[1].split(". ")[0])

    def named(part: str) -> list[str]:
        return re.findall(r"\w+", part.rsplit(": ", maxsplit=1)[-1])

    def of(*, perpetual_only: bool, takes_interval: bool) -> list[str]:
        def is_one(spec: ColumnSpec) -> bool:
            return (spec.perpetual_only, spec.takes_interval) == (perpetual_only, takes_interval)

        return [name for name, spec in COLUMNS.items() if is_one(spec)]

    assert named(free) == of(perpetual_only=False, takes_interval=False)
    assert named(closed) == of(perpetual_only=False, takes_interval=True)
    assert named(perpetual) == of(perpetual_only=True, takes_interval=False)
