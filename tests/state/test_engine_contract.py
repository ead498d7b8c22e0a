"""What every engine promises about values, leases, channels and places."""

from collections.abc import AsyncIterator

import anyio
import pytest

from mcp_binance_server.state.engine import MAX_VALUE_BYTES, Admission, Fenced, Lease, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio


async def take(engine: StateEngine, owner: str, *, ttl_ms: int = 1500) -> Lease:
    lease = await engine.lease("books", owner, ttl_ms=ttl_ms)
    assert lease is not None
    return lease


async def take_messages(messages: AsyncIterator[bytes], count: int) -> list[bytes]:
    with anyio.fail_after(5):
        return [await anext(messages) for _ in range(count)]


async def test_engine_time_begins_as_utc_and_ignores_a_jump_of_the_wall_clock(
    engine: StateEngine, clock: FakeClock
) -> None:
    began = engine.now_ms()

    clock.set_wall(0)
    clock.advance(250)

    assert engine.now_ms() == began + 250


async def test_a_key_never_put_is_none(engine: StateEngine) -> None:
    assert await engine.get("k") is None


async def test_a_value_is_kept_until_its_ttl_and_gone_at_it(engine: StateEngine, clock: FakeClock) -> None:
    await engine.put("k", b"v", ttl_ms=100)

    clock.advance(99)
    assert await engine.get("k") == b"v"

    clock.advance(1)
    assert await engine.get("k") is None


async def test_the_last_write_wins_and_brings_its_own_ttl(engine: StateEngine, clock: FakeClock) -> None:
    await engine.put("k", b"long", ttl_ms=1000)
    await engine.put("k", b"short", ttl_ms=10)
    await engine.put("l", b"short", ttl_ms=10)
    await engine.put("l", b"long", ttl_ms=1000)

    assert await engine.get("k") == b"short"
    clock.advance(10)

    assert await engine.get("k") is None
    assert await engine.get("l") == b"long"


async def test_a_delete_says_whether_there_was_a_value(engine: StateEngine, clock: FakeClock) -> None:
    await engine.put("k", b"v", ttl_ms=100)
    await engine.put("old", b"v", ttl_ms=10)
    clock.advance(10)

    assert await engine.delete("k")
    assert await engine.get("k") is None
    assert not await engine.delete("k")
    assert not await engine.delete("old")


async def test_a_value_of_512_kib_is_kept_and_a_longer_one_refused(engine: StateEngine) -> None:
    await engine.put("k", bytes(MAX_VALUE_BYTES), ttl_ms=100)

    with pytest.raises(ValueError, match="524289"):
        await engine.put("k", bytes(MAX_VALUE_BYTES + 1), ttl_ms=100)
    with pytest.raises(ValueError, match="524289"):
        await engine.publish("c", bytes(MAX_VALUE_BYTES + 1))

    assert await engine.get("k") == bytes(MAX_VALUE_BYTES)


async def test_a_ttl_below_one_millisecond_is_refused(engine: StateEngine) -> None:
    with pytest.raises(ValueError, match="ttl"):
        await engine.put("k", b"v", ttl_ms=0)
    with pytest.raises(ValueError, match="ttl"):
        await engine.lease("books", "a", ttl_ms=0)
    with pytest.raises(ValueError, match="ttl"):
        await engine.admit("p", "m", ttl_ms=0, cap=1)


async def test_a_held_lease_is_refused_to_others_until_its_ttl(engine: StateEngine, clock: FakeClock) -> None:
    first = await take(engine, "a")

    clock.advance(1499)
    assert await engine.lease("books", "b", ttl_ms=1500) is None

    clock.advance(1)
    second = await take(engine, "b")
    assert int(second.token) > int(first.token)


async def test_leases_of_different_names_do_not_meet(engine: StateEngine) -> None:
    await take(engine, "a")

    assert await engine.lease("trades", "b", ttl_ms=1500) is not None


async def test_a_renewal_extends_the_lease_and_keeps_its_token(engine: StateEngine, clock: FakeClock) -> None:
    first = await take(engine, "a")
    clock.advance(1000)

    renewed = await take(engine, "a")
    clock.advance(1000)

    assert renewed == first
    assert await engine.lease("books", "b", ttl_ms=1500) is None


async def test_an_owner_that_comes_back_too_late_gets_a_higher_token(engine: StateEngine, clock: FakeClock) -> None:
    first = await take(engine, "a")
    clock.advance(1500)

    again = await take(engine, "a")

    assert int(again.token) > int(first.token)


async def test_a_released_lease_is_free_at_once_and_its_token_is_not_used_again(engine: StateEngine) -> None:
    first = await take(engine, "a")

    assert await engine.release(first)

    second = await take(engine, "b")
    assert int(second.token) > int(first.token)
    assert not await engine.release(first)
    assert await engine.lease("books", "a", ttl_ms=1500) is None


async def test_a_lease_from_before_does_not_release_the_owners_new_one(engine: StateEngine, clock: FakeClock) -> None:
    first = await take(engine, "a")
    clock.advance(1500)
    await take(engine, "a")

    assert not await engine.release(first)
    assert await engine.lease("books", "b", ttl_ms=1500) is None


async def test_the_newest_token_writes_and_publishes_in_one_step(engine: StateEngine, clock: FakeClock) -> None:
    lease = await take(engine, "a")

    async with engine.subscribe("c") as messages:
        outcome = await engine.put_fenced("book", b"1", lease=lease, ttl_ms=100, channel="c")

        assert outcome is Fenced.WRITTEN
        assert await take_messages(messages, 1) == [b"1"]
    assert await engine.get("book") == b"1"
    clock.advance(100)
    assert await engine.get("book") is None


async def test_a_fenced_write_without_a_channel_publishes_nothing(engine: StateEngine) -> None:
    lease = await take(engine, "a")

    async with engine.subscribe("") as messages:
        await engine.put_fenced("book", b"1", lease=lease, ttl_ms=100)
        await engine.publish("", b"end")

        assert await take_messages(messages, 1) == [b"end"]


async def test_a_stale_token_writes_nothing_where_a_plain_put_would(engine: StateEngine, clock: FakeClock) -> None:
    old = await take(engine, "a")
    clock.advance(1500)
    new = await take(engine, "b")
    await engine.put_fenced("book", b"new", lease=new, ttl_ms=100)

    async with engine.subscribe("c") as messages:
        outcome = await engine.put_fenced("book", b"old", lease=old, ttl_ms=100, channel="c")
        await engine.publish("c", b"end")

        assert outcome is Fenced.STALE
        assert await take_messages(messages, 1) == [b"end"]
    assert await engine.get("book") == b"new"

    await engine.put("book", b"old", ttl_ms=100)
    assert await engine.get("book") == b"old"


async def test_a_lease_the_engine_does_not_know_is_lost_and_writes_nothing(engine: StateEngine) -> None:
    foreign = Lease(name="books", owner="a", token=str(engine.now_ms()), ttl_ms=1500)

    outcome = await engine.put_fenced("book", b"1", lease=foreign, ttl_ms=100, channel="c")

    assert outcome is Fenced.LOST
    assert await engine.get("book") is None


async def test_a_fenced_value_over_512_kib_is_refused(engine: StateEngine) -> None:
    lease = await take(engine, "a")

    with pytest.raises(ValueError, match="524289"):
        await engine.put_fenced("book", bytes(MAX_VALUE_BYTES + 1), lease=lease, ttl_ms=100)


async def test_messages_arrive_in_order_at_every_subscriber_of_the_channel_only(engine: StateEngine) -> None:
    async with engine.subscribe("c") as first, engine.subscribe("c") as second, engine.subscribe("d") as other:
        await engine.publish("c", b"1")
        await engine.publish("c", b"2")
        await engine.publish("d", b"end")

        assert await take_messages(first, 2) == [b"1", b"2"]
        assert await take_messages(second, 2) == [b"1", b"2"]
        assert await take_messages(other, 1) == [b"end"]


async def test_nothing_is_replayed_to_one_who_subscribes_later(engine: StateEngine) -> None:
    await engine.publish("c", b"before")

    async with engine.subscribe("c") as messages:
        await engine.publish("c", b"after")

        assert await take_messages(messages, 1) == [b"after"]


async def test_a_subscriber_waits_for_a_message_still_to_come(engine: StateEngine) -> None:
    async with engine.subscribe("c") as messages, anyio.create_task_group() as group:
        group.start_soon(engine.publish, "c", b"later")

        assert await take_messages(messages, 1) == [b"later"]


async def test_a_slow_subscriber_loses_the_oldest_messages(engine: StateEngine) -> None:
    async with engine.subscribe("c") as messages, engine.subscribe("after") as arrived:
        for number in range(1003):
            await engine.publish("c", str(number).encode())
        await engine.publish("after", b"")
        await take_messages(arrived, 1)

        assert await take_messages(messages, 1000) == [str(number).encode() for number in range(3, 1003)]


async def test_the_iterator_ends_with_its_context(engine: StateEngine) -> None:
    async with engine.subscribe("c") as messages:
        pass

    assert [message async for message in messages] == []


async def test_closing_the_engine_ends_the_iterators_after_what_they_hold(engine: StateEngine) -> None:
    async with engine.subscribe("c") as messages, engine.subscribe("after") as arrived:
        await engine.publish("c", b"1")
        await engine.publish("after", b"")
        await take_messages(arrived, 1)
        await engine.close()

        assert [message async for message in messages] == [b"1"]


async def test_places_are_given_up_to_the_cap_and_the_refused_learn_when_one_frees(
    engine: StateEngine, clock: FakeClock
) -> None:
    assert await engine.admit("p", "a", ttl_ms=100, cap=2) == Admission(admitted=True, count=1, retry_ms=0)
    clock.advance(30)
    assert await engine.admit("p", "b", ttl_ms=100, cap=2) == Admission(admitted=True, count=2, retry_ms=0)

    refused = await engine.admit("p", "c", ttl_ms=100, cap=2)

    assert refused == Admission(admitted=False, count=2, retry_ms=70)
    clock.advance(refused.retry_ms)
    assert (await engine.admit("p", "c", ttl_ms=100, cap=2)).admitted


async def test_a_renewed_place_is_not_the_next_to_free(engine: StateEngine, clock: FakeClock) -> None:
    await engine.admit("p", "a", ttl_ms=100, cap=2)
    await engine.admit("p", "b", ttl_ms=200, cap=2)
    clock.advance(50)
    await engine.touch("p", "a", ttl_ms=1000)

    assert (await engine.admit("p", "c", ttl_ms=100, cap=2)).retry_ms == 150


async def test_a_member_inside_is_admitted_again_on_the_same_place_with_a_new_ttl(
    engine: StateEngine, clock: FakeClock
) -> None:
    await engine.admit("p", "a", ttl_ms=100, cap=1)
    clock.advance(60)

    assert await engine.admit("p", "a", ttl_ms=100, cap=1) == Admission(admitted=True, count=1, retry_ms=0)
    clock.advance(60)

    assert await engine.members("p") == 1


async def test_a_cap_of_zero_admits_nobody(engine: StateEngine) -> None:
    assert await engine.admit("p", "a", ttl_ms=100, cap=0) == Admission(admitted=False, count=0, retry_ms=100)


async def test_pools_do_not_share_places(engine: StateEngine) -> None:
    await engine.admit("p", "a", ttl_ms=100, cap=1)

    assert (await engine.admit("q", "a", ttl_ms=100, cap=1)).admitted
    assert await engine.members("p") == 1


async def test_a_touch_keeps_a_place_and_does_not_bring_one_back(engine: StateEngine, clock: FakeClock) -> None:
    await engine.admit("p", "a", ttl_ms=100, cap=1)
    clock.advance(99)

    assert await engine.touch("p", "a", ttl_ms=100)
    clock.advance(100)

    assert not await engine.touch("p", "a", ttl_ms=100)
    assert await engine.members("p") == 0
    assert not await engine.touch("p", "stranger", ttl_ms=100)
    assert not await engine.touch("no such pool", "a", ttl_ms=100)


async def test_leaving_frees_the_place_at_once_and_twice_is_the_same_as_once(engine: StateEngine) -> None:
    await engine.admit("p", "a", ttl_ms=100, cap=1)

    await engine.leave("p", "a")
    await engine.leave("p", "a")
    await engine.leave("no such pool", "a")

    assert await engine.members("p") == 0
    assert await engine.members("no such pool") == 0
    assert (await engine.admit("p", "b", ttl_ms=100, cap=1)).admitted
