"""The words of every judgement, held to their bounds at the quick size on a seed that nobody tuned on.

`scripts/calibration --size full` runs the same at the size by which a release is judged.
"""

import pytest

from calibration.rates import Bound, Rate, missed
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


def test_what_was_never_seen_misses_no_ceiling_and_what_was_seen_once_does() -> None:
    never = Bound("part", "row", ceiling=0.0)

    assert [never.missed(Rate(k=0, n=n)) for n in (1, 600, 3_000)] == [False] * 3
    assert never.missed(Rate(k=1, n=600))
    assert not Bound("part", "row", floor=1.0).missed(Rate(k=600, n=600))
