"""A level is not strong because it lies where a series without drift happens to end, or to turn."""

import pytest

from calibration.candles import paths
from calibration.measuring import lean, strengths
from calibration.ours.series import trend

MINUTES = 21 * 24 * 60
MOST = 0.2


@pytest.mark.timeout(300)
def test_strength_does_not_lean_to_the_middle_of_the_range() -> None:
    rows = [row for path in paths(60, MINUTES, 61) for row in strengths(path, trend(path))]

    found = lean(rows)

    print(f"{len(rows)} levels of 60 driftless series: rank correlation {found:+.2f}")  # noqa: T201 - a figure
    assert len(rows) >= 200
    assert abs(found) <= MOST


def test_a_lean_would_be_seen() -> None:
    assert lean([(float(at), at / 10) for at in range(10)]) == pytest.approx(1)
    assert lean([(float(at), -at / 10) for at in range(10)]) == pytest.approx(-1)
