"""Volume profile: volume by price, the point of control, and the value area."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.metric import Source, WhyNull, Window
from mcp_binance_server.analytics.thresholds import DEFAULTS, Rows, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import SymbolRules

# Tick of a symbol whose rules have a tick of zero. All prices of the exchange have eight decimals.
_FINEST = Price(Decimal("0.00000001"))

ProfileSource = Literal["trades", "klines_spread"]
Method = Literal["value_area_one_row", "value_area_two_row"]

_METHODS: dict[Rows, Method] = {1: "value_area_one_row", 2: "value_area_two_row"}
_LOT = Decimal("0.00000001")

Place = Literal["inside", "above", "below"]


def usable(tick: Price) -> Price:
    """Return the tick, or 0.00000001 if the exchange set none."""
    return tick or _FINEST


def index_of(price: Price, tick: Price) -> int:
    """Return the number of whole ticks in a price."""
    return int((price / tick).to_integral_value(ROUND_FLOOR))


def nearest(price: Decimal, tick: Price) -> Price:
    """Round a computed price to a multiple of the tick."""
    step = usable(tick)
    return Price((price / step).to_integral_value(ROUND_HALF_EVEN) * step)


class VolumeBin(NamedTuple):
    """Volume traded from one price up to, not including, another."""

    low: Price
    high: Price
    volume: Quantity


@dataclass(frozen=True, slots=True)
class ValueArea:
    """Point of control, and the first and last row of the value area around it."""

    poc: int
    low: int
    high: int
    volume: Decimal
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeProfile:
    """Volume by price.

    `val` and `vah` are the outer edges of the value area. `poc` is the middle of the bin with the most volume.
    """

    bins: tuple[VolumeBin, ...]
    bin_size: Price | None
    poc: Price | None
    vah: Price | None
    val: Price | None
    area_volume: Quantity
    area_share: float | None
    total_volume: Quantity
    n: int
    window: Window | None
    source: ProfileSource
    method: Method
    why_null: WhyNull | None = None


class _Print(NamedTuple):
    first_tick: int
    last_tick: int
    volume: Decimal


def profile_of_trades(
    trades: Sequence[Trade], tick: Price, *, bin_size: Price | None = None, thresholds: Thresholds = DEFAULTS
) -> VolumeProfile:
    """Compute a profile from trades. It is exact."""
    step = usable(tick)
    at = [index_of(trade.price, step) for trade in trades]
    prints = [_Print(index, index, trade.quantity) for index, trade in zip(at, trades, strict=True)]
    window = Window(trades[0].time_ms, trades[-1].time_ms) if trades else None
    return _profile(prints, step, bin_size, thresholds, window=window, source="trades")


def profile_of_candles(
    candles: Sequence[Candle], tick: Price, *, bin_size: Price | None = None, thresholds: Thresholds = DEFAULTS
) -> VolumeProfile:
    """Compute a profile from bars: an approximation that spreads the volume evenly from low to high."""
    step = usable(tick)
    prints = [_Print(index_of(each.low, step), index_of(each.high, step), each.volume) for each in candles]
    return _profile(prints, step, bin_size, thresholds, window=Window.of(candles), source="klines_spread")


def value_area(volumes: Sequence[Decimal], share: Decimal, rows: Rows = 1) -> ValueArea | None:
    """Grow the value area from the row with the most volume until the share is reached. Return None without volume."""
    total = sum(volumes, Decimal(0))
    if not total:
        return None
    poc = _busiest(volumes)
    low = high = poc
    volume = volumes[poc]
    while volume < share * total:
        above = volumes[high + 1 : high + 1 + rows]
        below = volumes[max(0, low - rows) : low]
        if above and (not below or sum(above) >= sum(below)):  # in a tie the area grows upwards
            high += len(above)
            volume += sum(above)
        else:
            low -= len(below)
            volume += sum(below)
    return ValueArea(poc, low, high, volume, float(volume / total))


def _busiest(volumes: Sequence[Decimal]) -> int:
    most = max(volumes)
    tied = (index for index, volume in enumerate(volumes) if volume == most)
    return min(tied, key=lambda index: (abs(2 * index - (len(volumes) - 1)), index))


def _profile(
    prints: Sequence[_Print],
    tick: Price,
    bin_size: Price | None,
    thresholds: Thresholds,
    *,
    window: Window | None,
    source: ProfileSource,
) -> VolumeProfile:
    method = _METHODS[thresholds.profile_rows]
    width = _bin_ticks(prints, tick, bin_size, thresholds) if prints else 1
    first, volumes = _fill(prints, width)
    area = value_area(volumes, thresholds.profile_area, thresholds.profile_rows)
    if area is None:
        return VolumeProfile(
            bins=(), bin_size=None, poc=None, vah=None, val=None, area_volume=Quantity(Decimal(0)), area_share=None,
            total_volume=Quantity(Decimal(0)), n=len(prints), window=window, source=source, method=method,
            why_null="no_trades",
        )  # fmt: skip
    edges = [Price((first + row) * width * tick) for row in range(len(volumes) + 1)]
    return VolumeProfile(
        bins=tuple(VolumeBin(edges[row], edges[row + 1], Quantity(volume)) for row, volume in enumerate(volumes)),
        bin_size=Price(width * tick),
        # Middle price of the bin. If two ticks are in the middle, take the lower one, because a price must be on the
        # tick.
        poc=Price(edges[area.poc] + (width - 1) // 2 * tick),
        vah=edges[area.high + 1],
        val=edges[area.low],
        area_volume=Quantity(area.volume),
        area_share=area.share,
        total_volume=Quantity(sum(volumes, Decimal(0))),
        n=len(prints),
        window=window,
        source=source,
        method=method,
    )


def _bin_ticks(prints: Sequence[_Print], tick: Price, bin_size: Price | None, thresholds: Thresholds) -> int:
    span = max(each.last_tick for each in prints) - min(each.first_tick for each in prints)
    if bin_size is None:
        return max(1, round(Fraction(span, thresholds.profile_bins)))
    asked = max(1, round(Fraction(bin_size) / Fraction(tick)))
    return max(asked, -(-span // thresholds.profile_max_bins))


def _fill(prints: Iterable[_Print], width: int) -> tuple[int, list[Decimal]]:
    rows: dict[int, Decimal] = {}
    for each in prints:
        for row, volume in _spread(each, width):
            rows[row] = rows.get(row, Decimal(0)) + volume
    if not rows:
        return 0, []
    first = min(rows)
    return first, [rows.get(row, Decimal(0)) for row in range(first, max(rows) + 1)]


def _spread(each: _Print, width: int) -> Iterable[tuple[int, Decimal]]:
    """Split a volume over bins. Running totals are rounded to the lot, so that the parts add up to the whole."""
    first, last = each.first_tick // width, each.last_tick // width
    if first == last:
        yield first, each.volume
        return
    ticks = each.last_tick - each.first_tick + 1
    given = Decimal(0)
    for row in range(first, last):
        due = (each.volume * ((row + 1) * width - each.first_tick) / ticks).quantize(_LOT)
        yield row, due - given
        given = due
    yield last, each.volume - given


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport:
    """Volume profile of a window.

    `bars` are the candles of the window, even if the profile comes from trades. `interval_ms` is their length.
    """

    rules: SymbolRules
    profile: VolumeProfile
    window: Window
    bars: tuple[Candle, ...]
    interval_ms: int
    source: Source
    reading: PriceReading | None
    now_ms: int

    @property
    def price(self) -> Price | None:
        """The current price, or None if it was not requested or there were no trades."""
        return None if self.reading is None else self.reading.price

    @property
    def requested_ms(self) -> int:
        return self.window.to_ms - self.window.from_ms

    @property
    def coverage(self) -> float:
        return len(self.bars) * self.interval_ms / self.requested_ms

    @property
    def percent_from_poc(self) -> float | None:
        """Distance of the price from the point of control, in percent of the point of control."""
        poc = self.profile.poc
        return None if poc is None or self.price is None else float((self.price - poc) / poc * 100)

    @property
    def place(self) -> Place | None:
        """Position of the price relative to the value area."""
        val, vah = self.profile.val, self.profile.vah
        if val is None or vah is None or self.price is None:
            return None
        return "below" if self.price < val else "above" if self.price >= vah else "inside"
