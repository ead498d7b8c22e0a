"""Liquidity map: thin ranges, standing sizes, the cost of market orders, and a stop price."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.metrics import BookWalk, top_of_book, walk
from mcp_binance_server.analytics.book.report import LargestLevel, Reach
from mcp_binance_server.analytics.liquidity.low_volume import LowVolumeRange
from mcp_binance_server.analytics.liquidity.stops import Noise, StopPrice
from mcp_binance_server.analytics.liquidity.thin_ranges import ThinRange, ThinRanges
from mcp_binance_server.analytics.market.glance import TakerFlow, TouchReport
from mcp_binance_server.analytics.market.symbol_scores import EventVerdict
from mcp_binance_server.analytics.metric import BaseRate, NotJudged, Source, Unknown, WhyNull, Window
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import BookSnapshot
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.price_reading import PriceReading, contradicts
from mcp_binance_server.domain.symbols import SymbolRules

ROUND_SUMS = (10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    """A stop, and the noise that it is based on. Without a stop `why_null` is the missing input."""

    stop: StopPrice | None
    noise: Noise | None
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingReport:
    """Verdict on large standing sizes in the last whole minute.

    Without a verdict there is either progress or a reason. `changed` means that unusual sizes were frequent within the
    hour. Then a single unusual size means little.
    """

    verdict: EventVerdict | None = None
    end_ms: int | None = None
    changed: BaseRate | None = None
    past_minutes: int = 0
    waiting: NotJudged | None = None
    unknown: Unknown | None = None

    @property
    def unusual(self) -> EventVerdict | None:
        """The unusual size to report, if any."""
        verdict = self.verdict
        return verdict if verdict is not None and verdict.judgement.is_unusual and self.changed is None else None

    @property
    def prices(self) -> tuple[Price, ...]:
        """Prices of an unusual size. A stop is placed beyond them."""
        found = self.unusual
        return () if found is None or found.price is None else (Price(Decimal(repr(found.price))),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinRangeReport:
    """Thin ranges of a window, and the source of the data. `low_volume` is set only on request."""

    rules: SymbolRules
    found: ThinRanges
    low_volume: tuple[LowVolumeRange, ...] | None
    window: Window
    requested_ms: int
    coverage: float
    trades: int
    source: Source
    reading: PriceReading | None
    stop: StopReport
    standing: StandingReport
    now_ms: int
    thresholds: Thresholds = DEFAULTS

    @property
    def price(self) -> Price | None:
        """The current price, or None without trades."""
        return None if self.reading is None else self.reading.price

    @property
    def nearest_first(self) -> tuple[ThinRange, ...]:
        """The thin ranges, sorted by distance from the price."""
        found, price = self.found.found or (), self.price
        return found if price is None else tuple(sorted(found, key=lambda each: abs(each.distance_percent(price))))

    @property
    def around(self) -> ThinRange | None:
        """The thin range that contains the price, if any."""
        price = self.price
        return next((each for each in self.found.found or () if price is not None and each.contains(price)), None)


class SlippageRow(NamedTuple):
    """Cost of buying and of selling for one round amount."""

    notional: Decimal
    buy: BookWalk
    sell: BookWalk


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Cost of market orders, and the total depth of the known book in quote units."""

    rows: tuple[SlippageRow, ...]
    held_bids: float
    held_asks: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiquidityReport:
    """All parts of one market's page. Unread parts are None; `no_trades` and `no_book` are the reasons."""

    rules: SymbolRules
    reading: PriceReading | None
    thin: ThinRangeReport | None
    standing: StandingReport
    largest: Mapping[BookSide, LargestLevel]
    """The largest level of each side now, unjudged."""
    reach: Reach | None
    costs: Costs | None
    stop: StopReport
    lookback_minutes: int
    now_ms: int
    touch: TouchReport | None = None
    """The best bid and ask, to compare with the price, and the depth near them."""
    flow: TakerFlow | None = None
    close: Price | None = None
    """Close of the newest bar, to compare with the book."""
    no_trades: str = ""
    no_book: str = ""
    thresholds: Thresholds = DEFAULTS

    @property
    def is_contradictory(self) -> bool:
        return contradicts(self.close, self.touch.top.middle if self.touch else None)

    @property
    def price(self) -> Price | None:
        """The current price, or None without trades."""
        return None if self.reading is None else self.reading.price


def costs_of(book: BookSnapshot, *, is_dollar: bool) -> Costs:
    """Compute the cost of round amounts.

    If the quote asset is not a dollar, the amounts are powers of ten that the book can fill.
    """
    mid = top_of_book(book.bids, book.asks).mid
    held_bids = sum(float(each.price * each.quantity) for each in book.bids)
    held_asks = sum(float(each.price * each.quantity) for each in book.asks)
    sums = [Decimal(each) for each in ROUND_SUMS] if is_dollar else _sums_of(min(held_bids, held_asks))
    rows = tuple(
        SlippageRow(each, walk(book.asks, float(each), mid, "buy"), walk(book.bids, float(each), mid, "sell"))
        for each in sums
    )
    return Costs(rows=rows, held_bids=held_bids, held_asks=held_asks)


def _sums_of(held: float) -> list[Decimal]:
    largest = Decimal(repr(held)).adjusted() if held else 0
    return [Decimal(1).scaleb(largest + power) for power in (-3, -2, -1, 0)]
