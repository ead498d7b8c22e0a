"""Price path with its volume, reduced to few pieces so that it can be shuffled fast."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from mcp_binance_server.analytics.market.profile import index_of, usable
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

# Maximum number of pieces. Shuffling takes about a microsecond per piece, and there are up to 59 shuffles.
MOST_PIECES = 800
# A piece covers at most 1/25 of the range. Volume is spread over a piece and must not fill a price gap.
PIECES_OF_RANGE = 25


class PathPiece(NamedTuple):
    """A piece of a price path: its last, lowest and highest tick, and its volume."""

    close: int
    low: int
    high: int
    volume: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TradedPath:
    """Pieces of a price path in time order. `n` is the number of trades or bars that they come from."""

    pieces: tuple[PathPiece, ...]
    tick: Price
    n: int
    why_null: WhyNull | None = None

    @property
    def steps(self) -> list[int]:
        """Differences between the last ticks of consecutive pieces."""
        return [after.close - before.close for before, after in zip(self.pieces, self.pieces[1:], strict=False)]

    @property
    def deviation(self) -> float:
        """Usual move of the whole window in ticks: the root of the sum of squared steps."""
        return sqrt(sum(each * each for each in self.steps))


def path_of_trades(trades: Sequence[Trade], tick: Price, *, thresholds: Thresholds = DEFAULTS) -> TradedPath:
    """Merge neighbouring trades into pieces."""
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
    """Convert each bar to a piece. Its volume is spread from low to high, which is an approximation."""
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
    # A price that jumps all the time cannot be cut into narrow pieces. Then wide pieces keep the number bounded.
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
