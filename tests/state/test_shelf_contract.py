"""What every engine promises about shelves: a time for each value, and so many bytes for all of them."""

import pytest

from mcp_binance_server.state.engine import MAX_SHELVED_BYTES, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

ROOM = 10


async def shelve(engine: StateEngine, key: str, value: bytes, *, ttl_ms: int = 1000) -> None:
    await engine.shelve("s", key, value, ttl_ms=ttl_ms, most_bytes=ROOM)


async def found(engine: StateEngine, *keys: str) -> list[bytes | None]:
    return [await engine.shelved("s", key) for key in keys]


async def test_a_shelved_value_is_there_until_its_ttl_and_gone_at_it(engine: StateEngine, clock: FakeClock) -> None:
    await shelve(engine, "a", b"one", ttl_ms=100)

    clock.advance(99)
    assert await found(engine, "a", "b") == [b"one", None]
    clock.advance(1)

    assert await found(engine, "a") == [None]
    assert await engine.shelved("no such shelf", "a") is None


async def test_those_that_end_first_make_room(engine: StateEngine, clock: FakeClock) -> None:
    for key in "abc":
        await shelve(engine, key, key.encode() * 4)
        clock.advance(1)

    assert await found(engine, "a", "b", "c") == [None, b"bbbb", b"cccc"]


async def test_a_value_put_again_counts_once_and_has_its_new_time(engine: StateEngine, clock: FakeClock) -> None:
    await shelve(engine, "a", b"first")
    clock.advance(900)

    for _ in range(3):
        await shelve(engine, "a", b"again")
    await shelve(engine, "b", b"other")
    clock.advance(900)

    assert await found(engine, "a", "b") == [b"again", b"other"]


async def test_what_has_ended_takes_no_room(engine: StateEngine, clock: FakeClock) -> None:
    await shelve(engine, "short", b"xxxxxxxx", ttl_ms=10)
    await shelve(engine, "long", b"yy", ttl_ms=1000)
    clock.advance(10)

    await shelve(engine, "new", b"zzzzzzzz", ttl_ms=1000)

    assert await found(engine, "short", "long", "new") == [None, b"yy", b"zzzzzzzz"]


async def test_one_larger_than_the_shelf_is_not_kept_and_the_next_one_is(engine: StateEngine) -> None:
    await shelve(engine, "a", b"x" * (ROOM + 1))
    await shelve(engine, "b", b"x" * ROOM)

    assert await found(engine, "a", "b") == [None, b"x" * ROOM]


async def test_shelves_do_not_share_room_or_names(engine: StateEngine) -> None:
    await engine.shelve("s", "a", b"1234567890", ttl_ms=100, most_bytes=ROOM)
    await engine.shelve("t", "a", b"abc", ttl_ms=100, most_bytes=ROOM)

    assert await engine.shelved("s", "a") == b"1234567890"
    assert await engine.shelved("t", "a") == b"abc"


async def test_a_value_of_2_mib_is_shelved_and_a_longer_one_refused(engine: StateEngine) -> None:
    largest = bytes(range(256)) * (MAX_SHELVED_BYTES // 256)

    await engine.shelve("s", "a", largest, ttl_ms=100, most_bytes=len(largest))
    with pytest.raises(ValueError, match="2097153"):
        await engine.shelve("s", "a", largest + b"x", ttl_ms=100, most_bytes=len(largest))
    with pytest.raises(ValueError, match="ttl"):
        await engine.shelve("s", "a", b"x", ttl_ms=0, most_bytes=ROOM)

    assert await engine.shelved("s", "a") == largest
