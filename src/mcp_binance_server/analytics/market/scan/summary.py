"""Market overview: breadth, movers, most traded pairs, and funding of perpetuals."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.market.scan.board_columns import Values
from mcp_binance_server.analytics.market.scan.breadth import Breadth, breadth
from mcp_binance_server.analytics.market.scan.movers import in_order, movers
from mcp_binance_server.analytics.market.scan.report import ScanRow
from mcp_binance_server.analytics.market.scan.screen import USUAL_COLUMNS, BoardNumbers
from mcp_binance_server.analytics.ranks import Quartiles, quartiles
from mcp_binance_server.domain.board import BoardView

# Interest part of every funding rate, 0.01 % in eight hours, in % a year. A contract whose price equals its index has
# exactly this rate. https://www.binance.com/en/support/faq/360033525031
USUAL_APR = 10.95
ROUNDING = 0.005


@dataclass(frozen=True, slots=True)
class FundingRow:
    """Estimated funding of one contract in % per interval, and extrapolated to a year."""

    symbol: str
    rate: float
    apr: float
    interval_hours: str


@dataclass(frozen=True, slots=True)
class FundingSummary:
    """Annual estimated funding rates of all contracts: quartiles, and the highest and lowest beyond the usual rate.

    `usual` counts the contracts at the usual rate.
    """

    aprs: Quartiles
    usual: int
    highest: tuple[FundingRow, ...]
    lowest: tuple[FundingRow, ...]


@dataclass(frozen=True, slots=True)
class MarketSummary:
    """Overview of one market with one quote asset. Of `listed` pairs only those with enough volume count."""

    view: BoardView
    listed: int
    breadth: Breadth
    gainers: tuple[ScanRow, ...]
    losers: tuple[ScanRow, ...]
    most_traded: tuple[ScanRow, ...]
    funding: FundingSummary | None


@dataclass(frozen=True, slots=True)
class MarketOverview:
    """Overview of spot and perpetuals. `missing` is the reason if perpetuals are offered but could not be read."""

    quote: str
    min_volume: float
    spot: MarketSummary
    perpetual: MarketSummary | None
    missing: str | None


def summarised(
    numbers: BoardNumbers, view: BoardView, *, quote: str, min_volume: float, count: int
) -> MarketSummary | None:
    """Summarise the pairs of a board with one quote asset. Return None if there are none."""
    listed = numbers.listed(quote, "crypto")
    if not listed:
        return None
    changes, volumes = numbers.values("change_24h"), numbers.values("quote_volume_24h")
    liquid = [place for place in listed if (volumes[place] or 0.0) >= min_volume]
    found = movers(numbers.symbols, changes, volumes, liquid, count)
    return MarketSummary(
        view,
        len(listed),
        breadth([changes[place] for place in liquid]),
        _rows(numbers, found.gainers),
        _rows(numbers, found.losers),
        _rows(numbers, found.most_traded),
        _funding(numbers, liquid, count) if view.board.market == "perpetual" else None,
    )


def _rows(numbers: BoardNumbers, places: Sequence[int]) -> tuple[ScanRow, ...]:
    columns = [numbers.values(ref.column) for ref in USUAL_COLUMNS]
    return tuple(ScanRow.of(numbers, place, (values[place] for values in columns)) for place in places)


def _funding(numbers: BoardNumbers, places: Sequence[int], count: int) -> FundingSummary:
    rates, aprs = numbers.values("funding_rate"), numbers.values("funding_apr")
    known = {place: apr for place in places if (apr := aprs[place]) is not None}
    above = [place for place, apr in known.items() if apr > USUAL_APR + ROUNDING]
    below = [place for place, apr in known.items() if apr < USUAL_APR - ROUNDING]
    return FundingSummary(
        quartiles([*known.values()]),
        len(known) - len(above) - len(below),
        _funding_rows(numbers, in_order(above, numbers.symbols, aprs)[:count], rates, aprs),
        _funding_rows(numbers, in_order(below, numbers.symbols, aprs, largest_first=False)[:count], rates, aprs),
    )


def _funding_rows(numbers: BoardNumbers, places: Sequence[int], rates: Values, aprs: Values) -> tuple[FundingRow, ...]:
    return tuple(
        FundingRow(row.symbol, rates[row.place] or 0.0, aprs[row.place] or 0.0, row["interval_hours"])
        for row in numbers.board.rows(places)
    )
