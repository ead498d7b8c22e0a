"""Spread, mid, weighted mid and depth of one book."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Price

BookState = Literal["normal", "locked", "crossed", "one_sided"]
Taker = Literal["buy", "sell"]
AmountUnit = Literal["quote", "base"]
Levels = Sequence[PriceLevel]

BPS = 10_000
# Tolerance: float rounding must not exclude a level at the edge of a band, nor leave a tiny unfilled rest.
_ROUNDING = 1e-12

Matrix = Sequence[Sequence[float]]
Vector = Sequence[float]

_MAX_TERMS = 10_000
_CONVERGED = 1e-13


@dataclass(frozen=True, slots=True)
class TopOfBook:
    """The best bid and ask with their mid and spread. A crossed book is faulty and has neither."""

    state: BookState
    bid: PriceLevel | None
    ask: PriceLevel | None
    mid: float | None
    spread: float | None
    spread_bps: float | None
    weighted_mid: float | None
    why_null: WhyNull | None = None

    @property
    def middle(self) -> Decimal | None:
        """The mid without rounding."""
        if self.mid is None or self.bid is None or self.ask is None:
            return None
        return (self.bid.price + self.ask.price) / 2


@dataclass(frozen=True, slots=True)
class Imbalance:
    """Imbalance from -1 (only asks) to 1 (only bids) over the levels present on each side."""

    value: float | None
    bid_levels: int
    ask_levels: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class Depth:
    """Depth of one side within a band.

    `truncated` means that the book ends before the band, so the depth is a lower bound.
    """

    base: float
    quote: float
    worst_price: Price | None
    levels: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class BandImbalance:
    """Depth of both sides within a distance of the mid, and its imbalance from -1 (asks) to 1 (bids)."""

    bids: Depth | None
    asks: Depth | None
    value: float | None
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BookWalk:
    """Result of a market order, without fees. The part that exceeds the book is unfilled and has no price."""

    unit: AmountUnit
    base: float
    quote: float
    unfilled: float
    vwap: float | None
    worst_price: Price | None
    levels: int
    slip_mid_bps: float | None
    slip_touch_bps: float | None
    why_null: WhyNull | None = None

    @property
    def complete(self) -> bool:
        return not self.unfilled

    @property
    def filled(self) -> float:
        return self.quote if self.unit == "quote" else self.base


def top_of_book(bids: Levels, asks: Levels) -> TopOfBook:
    """Return the best bid and ask with mid and spread.

    The weighted mid lies nearer to the side with less size. It is not Stoikov's microprice.
    """
    bid, ask = bids[0] if bids else None, asks[0] if asks else None
    if bid is None or ask is None:
        return TopOfBook("one_sided", bid, ask, None, None, None, None, "one_sided_book")
    if bid.price > ask.price:
        return TopOfBook("crossed", bid, ask, None, None, None, None, "crossed_book")
    mid = float(bid.price + ask.price) / 2
    spread = float(ask.price - bid.price)
    size = float(bid.quantity + ask.quantity)
    weighted = None
    if size:
        weighted = (float(bid.quantity) * float(ask.price) + float(ask.quantity) * float(bid.price)) / size
    return TopOfBook("normal" if spread else "locked", bid, ask, mid, spread, spread / mid * BPS, weighted)


def imbalance_of_levels(bids: Levels, asks: Levels, levels: int) -> Imbalance:
    """Compute the imbalance of the best levels. It describes the moment and forecasts nothing."""
    near_bids, near_asks = bids[:levels], asks[:levels]
    if near_bids and near_asks and near_bids[0].price > near_asks[0].price:
        return Imbalance(None, len(near_bids), len(near_asks), "crossed_book")
    value = _ratio(sum(float(each.quantity) for each in near_bids), sum(float(each.quantity) for each in near_asks))
    return Imbalance(value, len(near_bids), len(near_asks), "one_sided_book" if value is None else None)


def imbalance_of_band(bids: Levels, asks: Levels, bps: float) -> BandImbalance:
    """Compute the imbalance within a distance of the mid."""
    top = top_of_book(bids, asks)
    if top.mid is None:
        return BandImbalance(None, None, None, top.why_null)
    below, above = capacity(bids, top.mid, "sell", bps), capacity(asks, top.mid, "buy", bps)
    value = _ratio(below.base, above.base)
    return BandImbalance(below, above, value, "degenerate" if value is None else None)


def capacity(levels: Levels, mid: float, side: Taker, bps: float) -> Depth:
    """Sum all levels within a distance of the mid. An empty side is unknown, so its 0 is marked `truncated`."""
    reach = mid * (bps / BPS + _ROUNDING)
    limit = mid + reach if side == "buy" else mid - reach
    base = quote = 0.0
    used = 0
    for each in levels:
        price, quantity = float(each.price), float(each.quantity)
        if price > limit if side == "buy" else price < limit:
            break
        base += quantity
        quote += price * quantity
        used += 1
    return Depth(base, quote, levels[used - 1].price if used else None, used, used == len(levels))


def walk(levels: Levels, amount: float, mid: float | None, side: Taker, unit: AmountUnit = "quote") -> BookWalk:
    """Fill an order from the best level on, until it is filled or the book ends.

    A cost is positive for buys and for sells.
    """
    crumb = amount * _ROUNDING
    left, base, quote, used = amount, 0.0, 0.0, 0
    worst: Price | None = None
    for each in levels:
        if left <= crumb:
            break
        price, quantity = float(each.price), float(each.quantity)
        taken = min(quantity, left / price if unit == "quote" else left)
        if not taken:
            continue
        base += taken
        quote += taken * price
        left -= taken * price if unit == "quote" else taken
        used += 1
        worst = each.price
    vwap = quote / base if base else None
    return BookWalk(
        unit=unit,
        base=base,
        quote=quote,
        unfilled=left if left > crumb else 0.0,
        vwap=vwap,
        worst_price=worst,
        levels=used,
        slip_mid_bps=_cost_bps(vwap, mid, side),
        slip_touch_bps=_cost_bps(vwap, float(levels[0].price) if levels else None, side),
        why_null=None if used else "one_sided_book" if amount > 0 else "degenerate",
    )


def _cost_bps(paid: float | None, against: float | None, side: Taker) -> float | None:
    if paid is None or not against:
        return None
    return (paid - against if side == "buy" else against - paid) / against * BPS


def _ratio(bids: float, asks: float) -> float | None:
    return (bids - asks) / (bids + asks) if bids + asks else None


@dataclass(frozen=True, slots=True)
class PriceAdjustment:
    """Adjustment of the mid by state: `first` for the next move, `total` for all later moves together."""

    first: tuple[float, ...]
    total: tuple[float, ...]
    why_null: WhyNull | None = None


def price_adjustment(quiet: Matrix, moving: Matrix, steps: Vector, after_move: Matrix) -> PriceAdjustment:
    """Compute Stoikov's (2018) microprice adjustment for each state of imbalance and spread.

    It is the sum of all expected future moves of the mid. `quiet` holds the probabilities of a state change without a
    move. `moving` holds the probabilities of a move by each of `steps`. `after_move` holds the probabilities of the
    state after a move.

    The sum converges only for symmetrised data, whose first adjustment has no constant part. Other data is refused.
    """
    size = len(quiet)
    stay = [[float(row == column) - quiet[row][column] for column in range(size)] for row in range(size)]
    expected = [sum(chance * step for chance, step in zip(row, steps, strict=True)) for row in moving]
    solved = _solve(stay, [[expected[row], *after_move[row]] for row in range(size)])
    if solved is None:
        return PriceAdjustment((), (), "not_fitted")
    first = [row[0] for row in solved]
    term, total = first, list(first)
    for _ in range(_MAX_TERMS):
        term = [sum(chance * each for chance, each in zip(row[1:], term, strict=True)) for row in solved]
        total = [so_far + each for so_far, each in zip(total, term, strict=True)]
        if max(map(abs, term), default=0.0) < _CONVERGED:
            return PriceAdjustment(tuple(first), tuple(total))
    return PriceAdjustment(tuple(first), (), "not_fitted")


def _solve(matrix: Matrix, right: Matrix) -> list[list[float]] | None:
    """Solve by Gaussian elimination with pivoting. Return None if the matrix is singular.

    It is singular, for example, if one state is never left.
    """
    size = len(matrix)
    rows = [[*left, *wanted] for left, wanted in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        if abs(rows[pivot][column]) < _CONVERGED:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        lead = [each / rows[column][column] for each in rows[column]]
        rows[column] = lead
        for row in range(size):
            factor = rows[row][column]
            if row != column and factor:
                rows[row] = [each - factor * top for each, top in zip(rows[row], lead, strict=True)]
    return [row[size:] for row in rows]
