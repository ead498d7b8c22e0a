"""What every engine promises about logs: one entry after another, each where its writer saw the end, or none."""

import asyncio

import pytest

from mcp_binance_server.state.engine import MAX_SHELVED_BYTES, MAX_VALUE_BYTES, StateEngine
from mcp_binance_server.state.logs import LogMark, LogPart
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

BEGIN = LogMark()
TTL_MS = 1_000


def tag(name: str) -> str:
    return name.rjust(32, "0")


async def append(engine: StateEngine, name: str, after: LogMark, log: str = "l") -> LogPart:
    return await engine.append_log(log, f"entry {name}".encode(), after=after, tag=tag(name), ttl_ms=TTL_MS)


async def written(engine: StateEngine, names: str) -> list[LogMark]:
    """Write entries one after another; return where the log ended before them and after each."""
    ends = [BEGIN]
    for name in names:
        part = await append(engine, name, ends[-1])
        assert part.is_appended
        ends.append(part.end)
    return ends


async def test_an_entry_is_written_where_the_log_ends_and_nowhere_else(engine: StateEngine) -> None:
    first = await append(engine, "a", BEGIN)
    late = await append(engine, "b", BEGIN)
    next_one = await append(engine, "b", late.end)

    assert first == LogPart(LogMark(1, tag("a")), kept=1, is_appended=True)
    assert late == LogPart(LogMark(1, tag("a")), (b"entry a",), kept=1)
    assert next_one == LogPart(LogMark(2, tag("b")), kept=2, is_appended=True)
    assert (await engine.read_log("l", after=BEGIN)).entries == (b"entry a", b"entry b")


async def test_what_follows_a_place_is_told_and_nothing_at_the_end(engine: StateEngine) -> None:
    _, first, _, third = await written(engine, "abc")

    assert await engine.read_log("l", after=first) == LogPart(third, (b"entry b", b"entry c"), kept=3)
    assert await engine.read_log("l", after=third) == LogPart(third, kept=3)
    assert await engine.read_log("another", after=BEGIN) == LogPart(BEGIN)


async def test_a_place_of_another_log_is_told_the_whole_of_this_one(engine: StateEngine) -> None:
    *_, end = await written(engine, "ab")

    for stray in (LogMark(2, tag("x")), LogMark(1, tag("b")), LogMark(7, tag("b"))):
        whole = LogPart(end, (b"entry a", b"entry b"), kept=2, is_whole=True)
        assert await engine.read_log("l", after=stray) == whole
        assert await append(engine, "c", stray) == whole
    assert await engine.read_log("lost", after=end) == LogPart(BEGIN, is_whole=True)
    assert not (await append(engine, "c", end, "lost")).is_appended


async def test_of_many_who_write_at_once_one_is_first_and_all_come_in_the_end(engine: StateEngine) -> None:
    tries = 0

    async def write(name: str) -> None:
        nonlocal tries
        part = await append(engine, name, BEGIN)
        while not part.is_appended:
            tries += 1
            part = await append(engine, name, part.end)

    names = "abcdefgh"
    await asyncio.gather(*(write(name) for name in names))

    told = await engine.read_log("l", after=BEGIN)
    assert sorted(told.entries) == [f"entry {name}".encode() for name in names]
    assert (told.end.position, tries > 0) == (8, True)


async def test_a_snapshot_stands_for_what_it_was_made_of_and_the_next_one_drops_that(engine: StateEngine) -> None:
    ends = await written(engine, "abcd")

    assert await engine.trim_log("l", b"a to b", at=ends[2], ttl_ms=TTL_MS)
    kept = LogPart(ends[4], (b"entry c", b"entry d"), 4, b"a to b", is_whole=True)
    assert await engine.read_log("l", after=BEGIN) == kept
    assert (await engine.read_log("l", after=ends[1])).entries == (b"entry b", b"entry c", b"entry d")
    assert await engine.trim_log("l", b"a to c", at=ends[3], ttl_ms=TTL_MS)

    left = LogPart(ends[4], (b"entry d",), 2, b"a to c", is_whole=True)
    assert await engine.read_log("l", after=BEGIN) == left
    assert await engine.read_log("l", after=ends[1]) == left
    assert (await engine.read_log("l", after=ends[3])).entries == (b"entry d",)
    assert (await append(engine, "e", ends[4])).kept == 3
    assert not (await append(engine, "f", BEGIN)).is_appended


async def test_a_snapshot_of_the_end_leaves_the_end_where_it_is(engine: StateEngine) -> None:
    _, first, second = await written(engine, "ab")

    assert await engine.trim_log("l", b"a", at=first, ttl_ms=TTL_MS)
    assert await engine.trim_log("l", b"a to b", at=second, ttl_ms=TTL_MS)

    assert await engine.read_log("l", after=second) == LogPart(second, kept=1)
    assert await engine.read_log("l", after=BEGIN) == LogPart(second, (), 1, b"a to b", is_whole=True)
    assert (await append(engine, "c", second)).is_appended


async def test_a_snapshot_that_is_late_or_of_another_log_changes_nothing(engine: StateEngine) -> None:
    ends = await written(engine, "abc")
    assert await engine.trim_log("l", b"a to b", at=ends[2], ttl_ms=TTL_MS)

    for at in (BEGIN, ends[1], ends[2], LogMark(3, tag("x")), LogMark(9, tag("c"))):
        assert not await engine.trim_log("l", b"wrong", at=at, ttl_ms=TTL_MS)
    assert not await engine.trim_log("lost", b"wrong", at=ends[3], ttl_ms=TTL_MS)

    assert (await engine.read_log("l", after=BEGIN)).snapshot == b"a to b"
    assert await engine.read_log("lost", after=BEGIN) == LogPart(BEGIN)


async def test_a_log_is_gone_as_a_whole_at_its_ttl_which_every_write_renews(
    engine: StateEngine, clock: FakeClock
) -> None:
    _, end = await written(engine, "a")
    clock.advance(TTL_MS - 1)
    end = (await append(engine, "b", end)).end
    clock.advance(TTL_MS - 1)
    assert await engine.trim_log("l", b"a to b", at=end, ttl_ms=TTL_MS)

    clock.advance(TTL_MS - 1)
    assert (await engine.read_log("l", after=end)).end == end
    clock.advance(1)

    assert await engine.read_log("l", after=end) == LogPart(BEGIN, is_whole=True)
    assert await append(engine, "c", BEGIN) == LogPart(LogMark(1, tag("c")), kept=1, is_appended=True)


async def test_bytes_come_back_as_they_were(engine: StateEngine) -> None:
    every, largest = bytes(range(256)), bytes(MAX_SHELVED_BYTES)

    part = await engine.append_log("l", every, after=BEGIN, tag=tag("a"), ttl_ms=TTL_MS)
    end = (await engine.append_log("l", b"", after=part.end, tag=tag("b"), ttl_ms=TTL_MS)).end
    assert (await engine.read_log("l", after=BEGIN)).entries == (every, b"")
    assert await engine.trim_log("l", largest, at=end, ttl_ms=TTL_MS)

    assert (await engine.read_log("l", after=BEGIN)).snapshot == largest


async def test_what_cannot_be_kept_is_refused(engine: StateEngine) -> None:
    for entry, name, ttl_ms in ((bytes(MAX_VALUE_BYTES + 1), tag("a"), 1), (b"", "short", 1), (b"", tag("a"), 0)):
        with pytest.raises(ValueError, match=r"at most|characters|ttl"):
            await engine.append_log("l", entry, after=BEGIN, tag=name, ttl_ms=ttl_ms)
    for snapshot, ttl_ms in ((bytes(MAX_SHELVED_BYTES + 1), 1), (b"", 0)):
        with pytest.raises(ValueError, match=r"at most|ttl"):
            await engine.trim_log("l", snapshot, at=BEGIN, ttl_ms=ttl_ms)

    assert await engine.read_log("l", after=BEGIN) == LogPart(BEGIN)
