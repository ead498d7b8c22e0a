"""Pictures kept for a while: by what they show, for an hour, and no more of them than there is room for."""

import pytest

from mcp_binance_server.charts.errors import PictureGone
from mcp_binance_server.charts.pictures import KEPT_MS, Pictures
from mcp_binance_server.state.engine import MAX_SHELVED_BYTES
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock


async def test_a_picture_is_there_for_an_hour_and_not_a_millisecond_longer(clock: FakeClock) -> None:
    pictures = Pictures(MemoryEngine(clock))
    uri = await pictures.keep(b"one", "png")

    clock.advance(KEPT_MS - 1)
    assert await pictures.read(uri) == b"one"
    clock.advance(1)
    with pytest.raises(PictureGone, match=uri):
        await pictures.read(uri)


async def test_a_jump_of_the_wall_clock_changes_nothing(clock: FakeClock) -> None:
    pictures = Pictures(MemoryEngine(clock))
    uri = await pictures.keep(b"one", "png")

    clock.set_wall(4_000_000_000_000)

    assert await pictures.read(uri) == b"one"


async def test_the_same_picture_has_one_address_and_its_hour_begins_anew(clock: FakeClock) -> None:
    pictures = Pictures(MemoryEngine(clock), most_bytes=5)
    first = await pictures.keep(b"same", "png")
    clock.advance(KEPT_MS - 1)

    again = await pictures.keep(b"same", "png")
    clock.advance(KEPT_MS - 1)

    assert first == again
    assert first.removeprefix("chart://").removesuffix(".png").isalnum()
    assert len(first) == len("chart://") + 16 + len(".png")
    assert await pictures.read(first) == b"same"
    assert await pictures.keep(b"same", "svg") != first


async def test_the_oldest_makes_room(clock: FakeClock) -> None:
    pictures = Pictures(MemoryEngine(clock), most_bytes=10)
    uris: list[str] = []
    for text in (b"aaaa", b"bbbb", b"cccc"):
        uris.append(await pictures.keep(text, "png"))
        clock.advance(1)

    assert [await pictures.read(uri) for uri in uris[1:]] == [b"bbbb", b"cccc"]
    with pytest.raises(PictureGone):
        await pictures.read(uris[0])


def test_one_that_is_larger_than_the_room_is_not_taken(clock: FakeClock) -> None:
    small, usual = Pictures(MemoryEngine(clock), most_bytes=10), Pictures(MemoryEngine(clock))

    assert [small.takes(bytes(size)) for size in (10, 11)] == [True, False]
    assert [usual.takes(bytes(MAX_SHELVED_BYTES + more)) for more in (0, 1)] == [True, False]
