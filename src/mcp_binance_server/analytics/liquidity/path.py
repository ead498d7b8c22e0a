"""Price path and its volume, in few enough pieces for shuffling."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.market.profile import index_of, usable
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

# Maximum pieces. Shuffling takes about a microsecond a piece, and up to 59 shuffles are made.
MOST_PIECES = 800
# A piece covers at most a twenty-fifth of the range: volume spread over a piece must not fill a jumped gap.
PIECES_OF_RANGE = 25


class PathPiece(NamedTuple):
    """A stretch of trading: its last tick, its lowest and highest tick, and its volume."""

    close: int
    low: int
    high: int
    volume: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TradedPath:
    """Pieces in time order; `n` is the number of trades or bars they were made of."""

    pieces: tuple[PathPiece, ...]
    tick: Price
    n: int
    why_null: WhyNull | None = None

    @property
    def steps(self) -> list[int]:
        """The moves between the ends of consecutive pieces, in ticks."""
        return [after.close - before.close for before, after in zip(self.pieces, self.pieces[1:], strict=False)]

    @property
    def deviation(self) -> float:
        """The usual move of the whole window, in ticks: the root of the sum of squared moves."""
        return sqrt(sum(each * each for each in self.steps))


def path_of_trades(trades: Sequence[Trade], tick: Price, *, thresholds: Thresholds = DEFAULTS) -> TradedPath:
    """Join neighbouring trades into pieces."""
    step = usable(tick)
    prints = [(index_of(each.price, step), float(each.quantity)) for each in trades]
    pieces = [PathPiece(at, at, at, volume) for at, volume in prints]
    is_short = len(trades) < thresholds.vacuum_min_trades
    return TradedPath(
        pieces=tuple(_gathered(pieces)),
        tick=step,
        n=len(trades),
        why_null=_why(trades, "insufficient_events", is_short),
    )


def path_of_candles(candles: Sequence[Candle], tick: Price, *, thresholds: Thresholds = DEFAULTS) -> TradedPath:
    """Convert each bar to a piece, its volume spread from its low to its high: an approximation."""
    step = usable(tick)
    pieces = [
        PathPiece(index_of(each.close, step), index_of(each.low, step), index_of(each.high, step), float(each.volume))
        for each in candles
    ]
    is_short = len(candles) < thresholds.vacuum_min_bars
    return TradedPath(
        pieces=tuple(_gathered(pieces)),
        tick=step,
        n=len(candles),
        why_null=_why(candles, "insufficient_bars", is_short),
    )


def _why(found: Sequence[object], too_few: WhyNull, is_short: bool) -> WhyNull | None:  # noqa: FBT001 - private
    return "no_trades" if not found else too_few if is_short else None


def _gathered(pieces: Sequence[PathPiece]) -> Sequence[PathPiece]:
    if len(pieces) <= MOST_PIECES:
        return pieces
    most = -(-len(pieces) // MOST_PIECES)
    span = max(each.high for each in pieces) - min(each.low for each in pieces)
    narrow = [*_joined(pieces, most, span // PIECES_OF_RANGE)]
    # A price that jumps up and down all the time has no narrow pieces, but their number must still be bounded.
    return narrow if len(narrow) <= 2 * MOST_PIECES else [*_joined(pieces, most, span)]


def _joined(pieces: Iterable[PathPiece], most: int, widest: int) -> Iterable[PathPiece]:
    joined: PathPiece | None = None
    count = 0
    for each in pieces:
        if joined is not None:
            low, high = min(joined.low, each.low), max(joined.high, each.high)
            if count < most and high - low <= widest:
                joined = PathPiece(each.close, low, high, joined.volume + each.volume)
                count += 1
                continue
            yield joined
        joined, count = each, 1
    if joined is not None:
        yield joined
