"""Stoikov's microprice: where the mid is expected to go from each state of the book."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.envelope import WhyNull

Matrix = Sequence[Sequence[float]]
Vector = Sequence[float]

_MAX_TERMS = 10_000
_CONVERGED = 1e-13


@dataclass(frozen=True, slots=True)
class PriceAdjustment:
    """What to add to the mid in each state: by the next move, and by all moves to come."""

    first: tuple[float, ...]
    total: tuple[float, ...]
    why_null: WhyNull | None = None


def price_adjustment(quiet: Matrix, moving: Matrix, steps: Vector, after_move: Matrix) -> PriceAdjustment:
    """Sum the expected moves of the mid over states of imbalance and spread (Stoikov 2018).

    `quiet` holds the chances to change state without a move, `moving` those of a move by each of `steps`, `after_move`
    those of the state a move leads to. The matrix of moves is stochastic: the sum converges only because data made
    symmetric leaves the first adjustment without a constant part, so data that is not is refused.
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
    """Eliminate with pivots; None when the matrix is singular, as for a state that is never left."""
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
