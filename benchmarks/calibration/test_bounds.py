"""The words of every judgement, held to their bounds at the quick size on a seed that nobody tuned on.

`scripts/calibration --size full` runs the same at the size by which a release is judged.
"""

import pytest

from calibration.rates import missed
from calibration.run import HEAVY_PART, PARTS, measure

SEED = 47


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", [part for part in PARTS if part not in {HEAVY_PART, "books"}])
def test_a_part_keeps_its_bounds(part: str) -> None:
    assert missed(measure((part, 0, "quick", SEED))) == []


@pytest.mark.timeout(600)
def test_books_keep_their_bounds_over_all_regimes() -> None:
    table = measure(("books", 0, "quick", SEED))
    for piece in range(1, len(PARTS["books"])):
        table.merge(measure(("books", piece, "quick", SEED)).rates)

    assert missed(table) == []
