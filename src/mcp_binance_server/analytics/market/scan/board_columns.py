"""Columns computed from a board alone, and the pairs that a query covers.

A board is the list of all pairs of a market with their texts as the exchange wrote them.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from math import isfinite

from mcp_binance_server.domain.board import Board, BoardField
from mcp_binance_server.domain.derivatives import Underlying

Values = list[float | None]
_YEAR_HOURS = 8_760


def board_values(board: Board, column: str) -> Values:
    """Return a column of stage `board` as numbers, by position on the board.

    Missing and invalid values are None. `funding_apr` needs the funding interval of the contract; without it the value
    is None, because no interval is assumed.

    Raises:
        KeyError: the board has no such column.
    """
    return _MAKERS[column](board)


def board_numbers(board: Board, field: BoardField, *, shift: int = 0) -> Values:
    """Return a field of the board as numbers, multiplied by ten to the power of `shift`."""
    return [_number(text, shift) for text in board.texts(field)]


def listed_places(
    board: Board, *, quote: str | None = None, min_volume: float = 0.0, underlying: Underlying | None = None
) -> list[int]:
    """Return the positions of the pairs that a query covers. On spot every pair counts as crypto."""
    kept = range(board.count)
    if quote is not None:
        quotes = board.texts("quote")
        kept = [place for place in kept if quotes[place] == quote]
    if underlying is not None and board.market == "perpetual":
        kinds = board.texts("underlying")
        kept = [place for place in kept if kinds[place] == underlying]
    volumes = board_values(board, "quote_volume_24h")
    return [place for place in kept if (volume := volumes[place]) is not None and volume >= min_volume]


def _number(text: str, shift: int = 0) -> float | None:
    try:
        # Shift the decimal point in the text, because that is exact: the float 100 x 0.00007 is not 0.007.
        value = float(f"{text}e{shift}" if shift else text)
    except ValueError:
        return _shifted(text, shift) if text and shift else None
    return value if isfinite(value) else None


def _shifted(text: str, shift: int) -> float | None:
    try:
        value = float(Decimal(text).scaleb(shift))
    except (InvalidOperation, ValueError):
        return None
    return value if isfinite(value) else None


def _plain(field: BoardField, shift: int = 0) -> Callable[[Board], Values]:
    return lambda board: board_numbers(board, field, shift=shift)


def _pairs(board: Board, first: BoardField, second: BoardField) -> Iterator[tuple[float | None, float | None]]:
    return zip(board_numbers(board, first), board_numbers(board, second), strict=True)


def _range(board: Board) -> Values:
    return [_over(100, high, low) for high, low in _pairs(board, "high", "low")]


def _mark_vs_index(board: Board) -> Values:
    return [_over(10_000, mark, index) for mark, index in _pairs(board, "mark", "index")]


def _spread(board: Board) -> Values:
    return [
        None
        if bid is None or ask is None or not 0 < bid <= ask
        else _finite(10_000 * (ask - bid) / (bid + (ask - bid) / 2))
        for bid, ask in _pairs(board, "bid", "ask")
    ]


def _apr(board: Board) -> Values:
    # Rates have eight decimals. As whole numbers they are exact, so only the division rounds.
    rates = board_numbers(board, "funding", shift=8)
    return [
        None if rate is None or hours is None or hours <= 0 else _finite(rate * _YEAR_HOURS / (1e6 * hours))
        for rate, hours in zip(rates, board_numbers(board, "interval_hours"), strict=True)
    ]


def _over(scale: int, value: float | None, reference: float | None) -> float | None:
    if value is None or reference is None or value <= 0 or reference <= 0:
        return None
    return _finite(scale * (value - reference) / reference)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


_MAKERS: Mapping[str, Callable[[Board], Values]] = {
    "price": _plain("last"),
    "change_24h": _plain("change_percent"),
    "range_24h": _range,
    "quote_volume_24h": _plain("quote_volume"),
    "trades_24h": _plain("trades"),
    "spread_bps": _spread,
    "funding_rate": _plain("funding", shift=2),
    "funding_apr": _apr,
    "mark_vs_index_bps": _mark_vs_index,
}
