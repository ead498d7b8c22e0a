"""Pictures kept for a while: by what they show, for an hour, and no more of them than there is room for."""

import pytest

from mcp_binance_server.charts.errors import PictureGone
from mcp_binance_server.charts.pictures import KEPT_MS, Pictures
from support.clock import FakeClock


def test_a_picture_is_there_for_an_hour_and_not_a_millisecond_longer(clock: FakeClock) -> None:
    pictures = Pictures(clock)
    uri = pictures.keep(b"one", "png")

    clock.advance(KEPT_MS - 1)
    assert pictures.read(uri) == b"one"
    clock.advance(1)
    with pytest.raises(PictureGone, match=uri):
        pictures.read(uri)


def test_a_jump_of_the_wall_clock_changes_nothing(clock: FakeClock) -> None:
    pictures = Pictures(clock)
    uri = pictures.keep(b"one", "png")

    clock.set_wall(4_000_000_000_000)

    assert pictures.read(uri) == b"one"


def test_the_same_picture_has_one_address_and_its_hour_begins_anew(clock: FakeClock) -> None:
    pictures = Pictures(clock, most_bytes=5)
    first = pictures.keep(b"same", "png")
    clock.advance(KEPT_MS - 1)

    again = pictures.keep(b"same", "png")
    clock.advance(KEPT_MS - 1)

    assert first == again
    assert first.removeprefix("chart://").removesuffix(".png").isalnum()
    assert len(first) == len("chart://") + 16 + len(".png")
    assert pictures.read(first) == b"same"
    assert pictures.keep(b"same", "svg") != first


def test_the_oldest_makes_room(clock: FakeClock) -> None:
    pictures = Pictures(clock, most_bytes=10)
    uris = [pictures.keep(text, "png") for text in (b"aaaa", b"bbbb", b"cccc")]

    assert [pictures.read(uri) for uri in uris[1:]] == [b"bbbb", b"cccc"]
    with pytest.raises(PictureGone):
        pictures.read(uris[0])


def test_one_that_is_larger_than_all_the_room_is_not_kept_and_takes_nothing_with_it_later(clock: FakeClock) -> None:
    pictures = Pictures(clock, most_bytes=10)
    with pytest.raises(PictureGone):
        pictures.read(pictures.keep(b"x" * 11, "png"))

    assert pictures.read(pictures.keep(b"small", "png")) == b"small"
