"""The pictures of docs/how-sure.md show what was measured."""

import pytest

from calibration.pictures import IMAGES, pictures, windows


@pytest.mark.parametrize("name", ["null-minutes.svg", "base-rate.svg"])
def test_a_picture_is_as_it_would_be_drawn_now(name: str) -> None:
    assert (IMAGES / name).read_text(encoding="utf-8") == pictures()[name]


def test_the_page_says_what_the_picture_shows() -> None:
    shares = windows()
    page = (IMAGES.parent / "how-sure.md").read_text(encoding="utf-8")

    rare, ordinary = (sum(each >= share for each in shares) for share in (0.905, 0.68))
    assert f"90.5 % is seen in {rare} of them" in page
    assert abs(ordinary / len(shares) - 0.5) < 0.05, "half of these minutes"
