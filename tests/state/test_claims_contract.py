"""What every engine promises about claims: each once, limits exact, and nothing where the account is not known."""

from dataclasses import replace

import pytest

from mcp_binance_server.state.claims import DAY_MS, KEEP_MS, Claim, ClaimNews, ClaimRoom, LimitPart, Reservation
from mcp_binance_server.state.engine import MAX_VALUE_BYTES, Fenced, StateEngine

pytestmark = pytest.mark.anyio

NOW_MS = 20_500 * DAY_MS + 3_600_000
ACCOUNT = "k-one"


def claim(name: str, cents: int = 100, *, at_ms: int = NOW_MS, most: int = 1_000, group: str = "") -> Claim:
    parts = (
        LimitPart("orders_per_minute", "minute", 1, 5),
        LimitPart("orders_per_day", "day", 1, None),
        LimitPart("open_orders", "open", 1, 4),
        LimitPart("per_day", "day", cents, most, returns=True),
    )
    return Claim(name, f"{name} prepared".encode(), at_ms, parts, worth=cents, group=group)


def ended(name: str, given: int, *, rank: int = 5, over_ms: int | None = NOW_MS) -> ClaimNews:
    return ClaimNews(name, f"{name} ended".encode(), rank, settled=True, given=given, over_ms=over_ms)


async def opened(engine: StateEngine, account: str = ACCOUNT) -> None:
    lease = await engine.lease(f"claims:{account}", "me", ttl_ms=1_000)
    assert lease is not None
    assert await engine.recount(account, (), lease=lease) is Fenced.WRITTEN


async def used(engine: StateEngine, at_ms: int = NOW_MS) -> dict[str, int]:
    return (await engine.account_book(ACCOUNT, now_ms=at_ms, since_ms=at_ms)).used


async def test_an_account_that_nobody_has_opened_claims_nothing(engine: StateEngine) -> None:
    assert (await engine.reserve(ACCOUNT, claim("a"))).verdict == "lost"
    await opened(engine, "k-other")
    assert (await engine.reserve(ACCOUNT, claim("a"))).verdict == "lost"
    await opened(engine)

    assert await engine.reserve(ACCOUNT, claim("a"))
    assert (await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)).is_open


async def test_a_name_is_claimed_once_and_the_second_gets_its_value(engine: StateEngine) -> None:
    await opened(engine)

    first = await engine.reserve(ACCOUNT, claim("a"))
    second = await engine.reserve(ACCOUNT, claim("a", 999_999))

    assert first
    assert (second.verdict, second.value) == ("held", b"a prepared")
    assert await used(engine) == {"orders_per_day": 1, "per_day": 100}
    assert await engine.find_claim(ACCOUNT, "a") == b"a prepared"
    assert await engine.find_claim("k-other", "a") is None


async def test_a_limit_that_has_no_room_is_named_and_nothing_is_taken_of_any(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a", 900))

    refused = await engine.reserve(ACCOUNT, claim("b", 101))
    fits = await engine.reserve(ACCOUNT, claim("c", 100))

    assert (refused.verdict, refused.name, refused.used) == ("full", "per_day", 900)
    assert fits
    assert await used(engine) == {"orders_per_day": 2, "per_day": 1_000}


async def test_a_day_begins_anew_by_the_time_of_the_claim(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a", 1_000))
    next_day = NOW_MS + DAY_MS

    assert await engine.reserve(ACCOUNT, claim("b", 1_000, at_ms=next_day))

    assert await used(engine) == {"orders_per_day": 1, "per_day": 1_000}
    assert await used(engine, next_day) == {"orders_per_day": 1, "per_day": 1_000}


async def test_claims_of_the_last_minute_and_those_not_over_are_counted_one_by_one(engine: StateEngine) -> None:
    await opened(engine)
    for name in "abcd":
        assert await engine.reserve(ACCOUNT, claim(name, 1))

    full = await engine.reserve(ACCOUNT, claim("e", 1))
    await engine.tell(ACCOUNT, ended("a", 0))
    fifth = await engine.reserve(ACCOUNT, claim("e", 1))
    await engine.tell(ACCOUNT, ended("b", 0))
    sixth = await engine.reserve(ACCOUNT, claim("f", 1, at_ms=NOW_MS + 59_999))
    later = await engine.reserve(ACCOUNT, claim("f", 1, at_ms=NOW_MS + 60_000))

    assert (full.verdict, full.name, full.used) == ("full", "open_orders", 4)
    assert fifth
    assert (sixth.verdict, sixth.name, sixth.used) == ("full", "orders_per_minute", 5)
    assert later


async def test_what_was_not_used_is_given_back_once_whoever_tells_it(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a", 500))

    for _ in range(3):
        assert await engine.tell(ACCOUNT, ended("a", 200))
    await engine.tell(ACCOUNT, ended("a", 150))
    assert await used(engine) == {"orders_per_day": 1, "per_day": 300}
    await engine.tell(ACCOUNT, ended("a", 500))

    assert await used(engine) == {"orders_per_day": 1, "per_day": 0}
    assert not await engine.tell(ACCOUNT, ended("nobody", 500))


async def test_old_news_change_nothing(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))
    await engine.tell(ACCOUNT, ended("a", 0, rank=7))

    await engine.tell(ACCOUNT, ClaimNews("a", b"old", 3, settled=False))

    assert await engine.find_claim(ACCOUNT, "a") == b"a ended"
    book = await engine.account_book(ACCOUNT, now_ms=NOW_MS + 60_000, since_ms=NOW_MS + 1)
    assert book.values == ()


async def test_a_claim_leaves_once_and_only_as_it_was_claimed(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))
    await engine.reserve(ACCOUNT, claim("b"))
    leaves = ClaimNews("a", b"a sent", 1, settled=False)

    first, second = await engine.depart(ACCOUNT, leaves), await engine.depart(ACCOUNT, leaves)
    await engine.tell(ACCOUNT, ended("b", 100))
    settled = await engine.depart(ACCOUNT, replace(leaves, name="b"))
    unknown = await engine.depart(ACCOUNT, replace(leaves, name="c"))

    assert first
    assert [each.verdict for each in (second, settled, unknown)] == ["gone"] * 3
    assert (second.value, settled.value, unknown.value) == (b"a sent", b"b ended", b"")


async def test_a_stop_is_everybodys_until_it_is_resumed(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))

    first = await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS)
    second = await engine.stop_account(ACCOUNT, "another", since_ms=NOW_MS + 5)
    refused = await engine.reserve(ACCOUNT, claim("b"))
    leaving = await engine.depart(ACCOUNT, ClaimNews("a", b"a sent", 1, settled=False))
    held = await engine.reserve(ACCOUNT, claim("a"))
    await engine.resume_account(ACCOUNT, now_ms=NOW_MS + 10)

    assert first == second == refused.stop == leaving.stop
    assert first is not None
    assert (first.why, first.since_ms) == ("by hand", NOW_MS)
    assert [each.verdict for each in (refused, leaving, held)] == ["stopped", "stopped", "held"]
    assert await engine.reserve(ACCOUNT, claim("b"))


def exit_claim(name: str, *, passes_stop: bool = False) -> Claim:
    parts = (LimitPart("exits_per_minute", "minute", 1, 2), LimitPart("exits_per_day", "day", 1, 9))
    return Claim(name, f"{name} prepared".encode(), NOW_MS, parts, passes_stop=passes_stop)


async def test_a_limit_counts_only_the_claims_that_name_it(engine: StateEngine) -> None:
    await opened(engine)
    for name in ("a", "b", "c", "d"):
        await engine.reserve(ACCOUNT, claim(name))

    entry = await engine.reserve(ACCOUNT, claim("e"))
    exits = [await engine.reserve(ACCOUNT, exit_claim(name)) for name in ("x", "y", "z")]

    assert (entry.verdict, entry.name, entry.used) == ("full", "open_orders", 4)
    assert [each.verdict for each in exits] == ["claimed", "claimed", "full"]
    assert (exits[2].name, exits[2].used) == ("exits_per_minute", 2)
    assert (await used(engine))["exits_per_day"] == 2


@pytest.mark.parametrize("allows_exits", [True, False])
async def test_an_agreed_exit_passes_a_stop_that_allows_exits(engine: StateEngine, *, allows_exits: bool) -> None:
    await opened(engine)
    stop = await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS, allows_exits=allows_exits)

    entry = await engine.reserve(ACCOUNT, claim("a"))
    unasked = await engine.reserve(ACCOUNT, exit_claim("x"))
    agreed = await engine.reserve(ACCOUNT, exit_claim("y", passes_stop=True))
    left = await engine.depart(ACCOUNT, ClaimNews("y", b"y sent", 1, settled=False))

    assert stop is not None
    assert stop.allows_exits is allows_exits
    assert entry.verdict == unasked.verdict == "stopped"
    assert (bool(agreed), bool(left)) == (allows_exits, allows_exits)


async def test_a_stop_for_integrity_replaces_one_that_allows_exits(engine: StateEngine) -> None:
    await opened(engine)
    await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS)

    harder = await engine.stop_account(ACCOUNT, "a broken chain", since_ms=NOW_MS + 5, allows_exits=False)
    softer = await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS + 6)

    assert harder == softer
    assert harder is not None
    assert (harder.why, harder.allows_exits) == ("a broken chain", False)
    assert (await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)).stop == harder


async def test_a_stop_that_was_resumed_is_not_told_again(engine: StateEngine) -> None:
    await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS)
    await engine.resume_account(ACCOUNT, now_ms=NOW_MS + 10)

    late = await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS)
    new = await engine.stop_account(ACCOUNT, "anew", since_ms=NOW_MS + 11)

    assert late is None
    assert new is not None
    book = await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)
    assert (book.stop, book.resumed_ms) == (new, NOW_MS + 10)


async def test_a_group_has_room_for_what_is_held_and_claimed_together(engine: StateEngine) -> None:
    await opened(engine)
    room = ClaimRoom("position:BTC", held=300, most=1_000, since_ms=NOW_MS + 100)
    await engine.reserve(ACCOUNT, claim("a", 400, group="BTC"))
    await engine.reserve(ACCOUNT, claim("other", 400, group="ETH", most=10_000))
    await engine.tell(ACCOUNT, ended("other", 400))

    refused = await engine.reserve(ACCOUNT, claim("b", 301, group="BTC", most=10_000), room=room)
    await engine.tell(ACCOUNT, ended("a", 0, over_ms=NOW_MS + 100))
    still = await engine.reserve(ACCOUNT, claim("b", 301, group="BTC", most=10_000), room=room)
    later = await engine.reserve(
        ACCOUNT, claim("b", 301, group="BTC", most=10_000), room=replace(room, since_ms=NOW_MS + 101)
    )

    assert (refused.verdict, refused.name, refused.used) == ("full", "position:BTC", 700)
    assert still == refused
    assert later


async def test_of_two_alike_the_second_waits_and_so_does_one_beside_an_unsettled_one(engine: StateEngine) -> None:
    await opened(engine)
    first = replace(claim("a"), alike="same", line="BTCUSDT BUY")
    await engine.reserve(ACCOUNT, first)

    async def ask(name: str, alike: str, line: str, at_ms: int = NOW_MS) -> tuple[str, str]:
        new = replace(claim(name, at_ms=at_ms), alike=alike, line=line)
        answer = await engine.reserve(ACCOUNT, new, alike_ms=10_000)
        return answer.verdict, answer.name

    assert await ask("b", "same", "ETHUSDT BUY", NOW_MS + 9_999) == ("alike", "a")
    assert await ask("b", "other", "BTCUSDT BUY") == ("unsettled", "a")
    await engine.tell(ACCOUNT, ClaimNews("a", b"a stands", 4, settled=True))
    assert await ask("b", "other", "BTCUSDT BUY") == ("claimed", "")
    assert await ask("c", "same", "ETHUSDT BUY", NOW_MS + 10_000) == ("claimed", "")


async def test_what_is_told_again_counts_once_and_may_pass_a_limit(engine: StateEngine) -> None:
    lease = await engine.lease("claims", "me", ttl_ms=1_000)
    told = [(claim("a", 5_000), ended("a", 1_000)), (claim("b", 200), ClaimNews("b", b"b stands", 4, settled=True))]

    for _ in range(2):
        assert await engine.recount(ACCOUNT, told, lease=lease) is Fenced.WRITTEN
        assert await engine.recount(ACCOUNT, told) is Fenced.WRITTEN

    assert await used(engine) == {"orders_per_day": 2, "per_day": 4_200}
    refused = await engine.reserve(ACCOUNT, claim("c", 1))
    assert (refused.verdict, refused.used) == ("full", 4_200)
    book = await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)
    assert book.values == (b"a ended", b"b stands")


async def test_who_lost_the_lease_opens_nothing(engine: StateEngine) -> None:
    old = await engine.lease("claims", "old", ttl_ms=1_000)
    assert old is not None
    await engine.release(old)
    await engine.lease("claims", "new", ttl_ms=1_000)

    stale = await engine.recount(ACCOUNT, [(claim("a"), ended("a", 0))], lease=old)
    lost = await engine.recount(ACCOUNT, [(claim("a"), ended("a", 0))], lease=replace(old, name="nobody's"))

    assert (stale, lost) == (Fenced.STALE, Fenced.LOST)
    assert await engine.find_claim(ACCOUNT, "a") is None
    assert (await engine.reserve(ACCOUNT, claim("b"))).verdict == "lost"


async def test_a_claim_is_remembered_for_48_hours_after_its_end_and_while_it_has_none(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("over"))
    await engine.reserve(ACCOUNT, claim("open"))
    await engine.tell(ACCOUNT, ended("over", 0, over_ms=NOW_MS + 5))

    await engine.reserve(ACCOUNT, claim("x", at_ms=NOW_MS + 4 + KEEP_MS))
    assert await engine.find_claim(ACCOUNT, "over") == b"over ended"
    await engine.reserve(ACCOUNT, claim("y", at_ms=NOW_MS + 5 + KEEP_MS))

    assert await engine.find_claim(ACCOUNT, "over") is None
    assert await engine.find_claim(ACCOUNT, "open") == b"open prepared"


async def test_a_group_may_be_filled_to_its_last_unit_and_other_groups_take_none_of_it(engine: StateEngine) -> None:
    await opened(engine)
    room = ClaimRoom("position:BTC", held=300, most=1_000, since_ms=NOW_MS)
    await engine.reserve(ACCOUNT, claim("other", 400, group="ETH", most=10_000))
    await engine.reserve(ACCOUNT, claim("none", 400, most=10_000))

    whole = await engine.reserve(ACCOUNT, claim("a", 700, group="BTC", most=10_000), room=room)
    more = await engine.reserve(ACCOUNT, claim("b", 1, group="BTC", most=10_000), room=room)

    assert whole
    assert (more.verdict, more.used) == ("full", 1_000)


async def test_old_news_give_back_what_newer_news_did_not_know_of_and_once(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a", 500))
    await engine.tell(ACCOUNT, ended("a", 0, rank=7))

    found: list[int] = []
    for rank, given in ((3, 1), (3, 50), (7, 50), (7, 49), (3, 60), (8, 60)):
        assert await engine.tell(ACCOUNT, ended("a", given, rank=rank)) is True
        found.append((await used(engine))["per_day"])

    assert found == [499, 450, 450, 450, 440, 440]
    assert await engine.tell(ACCOUNT, ended("nobody", 0)) is False


async def test_news_of_the_same_rank_replace_what_was_known(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))

    for value in (b"first", b"second"):
        await engine.tell(ACCOUNT, ClaimNews("a", value, 4, settled=False))

    assert await engine.find_claim(ACCOUNT, "a") == b"second"


async def test_a_book_lists_claims_by_their_time_and_then_by_name(engine: StateEngine) -> None:
    await opened(engine)
    for name, at_ms in (("a", NOW_MS + 1), ("d", NOW_MS), ("c", NOW_MS)):
        await engine.reserve(ACCOUNT, claim(name, at_ms=at_ms))

    book = await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)

    assert book.values == (b"c prepared", b"d prepared", b"a prepared")


async def test_a_book_lists_what_is_open_what_ended_since_and_the_last_minute(engine: StateEngine) -> None:
    await opened(engine)
    since_ms, now_ms = NOW_MS + 10, NOW_MS + 70_000
    begun = {"old": now_ms - 60_000, "late": now_ms - 59_999, "open": NOW_MS, "open too": NOW_MS, "since": NOW_MS}
    for name, at_ms in begun.items():
        await engine.reserve(ACCOUNT, replace(claim(name, at_ms=at_ms), parts=()))
    for name, over_ms in (("old", since_ms - 1), ("late", since_ms - 1), ("since", since_ms)):
        await engine.tell(ACCOUNT, ended(name, 0, over_ms=over_ms))

    book = await engine.account_book(ACCOUNT, now_ms=now_ms, since_ms=since_ms)

    assert book.values == (b"open prepared", b"open too prepared", b"since ended", b"late ended")


async def test_what_a_day_has_used_is_remembered_for_48_hours_after_it(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))
    forgotten = (NOW_MS // DAY_MS + 1) * DAY_MS + KEEP_MS

    await engine.reserve(ACCOUNT, claim("b", at_ms=forgotten - 1))
    before = await used(engine)
    await engine.reserve(ACCOUNT, claim("c", at_ms=forgotten))

    assert before == {"orders_per_day": 1, "per_day": 100}
    assert await used(engine) == {}


async def test_a_claim_without_an_end_is_remembered_for_90_days(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))

    await engine.reserve(ACCOUNT, claim("b", at_ms=NOW_MS + 90 * DAY_MS - 1))
    kept = await engine.find_claim(ACCOUNT, "a")
    await engine.reserve(ACCOUNT, claim("c", at_ms=NOW_MS + 90 * DAY_MS))

    assert kept == b"a prepared"
    assert await engine.find_claim(ACCOUNT, "a") is None
    assert (await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)).values == (b"b prepared", b"c prepared")


async def test_a_claim_that_ended_before_it_began_is_remembered_from_its_beginning(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a", at_ms=NOW_MS + 10))
    await engine.tell(ACCOUNT, ended("a", 0, over_ms=NOW_MS))

    await engine.reserve(ACCOUNT, claim("b", at_ms=NOW_MS + KEEP_MS + 9))
    kept = await engine.find_claim(ACCOUNT, "a")
    await engine.reserve(ACCOUNT, claim("c", at_ms=NOW_MS + KEEP_MS + 10))

    assert (kept, await engine.find_claim(ACCOUNT, "a")) == (b"a ended", None)


async def test_what_was_over_and_is_found_open_counts_as_open_again(engine: StateEngine) -> None:
    await opened(engine)
    for name in "abcd":
        await engine.reserve(ACCOUNT, claim(name, 1))
    await engine.tell(ACCOUNT, ended("a", 0, rank=3))
    await engine.tell(ACCOUNT, ended("a", 0, rank=4, over_ms=None))

    refused = await engine.reserve(ACCOUNT, claim("e", 1))

    assert (refused.verdict, refused.name, refused.used) == ("full", "open_orders", 4)


async def test_a_claim_that_is_open_again_counts_once_in_its_group(engine: StateEngine) -> None:
    await opened(engine)
    room = ClaimRoom("position:BTC", held=0, most=1, since_ms=NOW_MS)
    await engine.reserve(ACCOUNT, claim("a", 10, group="BTC"))
    await engine.tell(ACCOUNT, ended("a", 0, rank=3))
    await engine.tell(ACCOUNT, ended("a", 0, rank=4, over_ms=None))

    refused = await engine.reserve(ACCOUNT, claim("b", 1, group="BTC"), room=room)

    assert (refused.verdict, refused.used) == ("full", 10)


async def test_nothing_is_kept_of_a_claim_that_is_forgotten(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))
    await engine.tell(ACCOUNT, ended("a", 0))

    await engine.reserve(ACCOUNT, claim("b", at_ms=NOW_MS + KEEP_MS))

    assert await engine.tell(ACCOUNT, ended("a", 0)) is False
    assert await engine.depart(ACCOUNT, ClaimNews("a", b"", 1, settled=False)) == Reservation("gone")


async def test_nothing_is_given_back_to_a_day_that_is_forgotten(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))
    forgotten = (NOW_MS // DAY_MS + 1) * DAY_MS + KEEP_MS
    await engine.reserve(ACCOUNT, claim("b", at_ms=forgotten))

    assert await engine.tell(ACCOUNT, ended("a", 50, over_ms=forgotten))

    assert await used(engine) == {}


async def test_a_later_resume_stays_when_an_earlier_one_is_told(engine: StateEngine) -> None:
    await engine.resume_account(ACCOUNT, now_ms=NOW_MS + 10)
    await engine.resume_account(ACCOUNT, now_ms=NOW_MS)

    assert (await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)).resumed_ms == NOW_MS + 10
    assert await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS + 10) is None
    assert await engine.stop_account(ACCOUNT, "by hand", since_ms=NOW_MS + 11) is not None


async def test_claims_that_name_neither_a_like_nor_a_line_wait_for_none(engine: StateEngine) -> None:
    await opened(engine)

    assert await engine.reserve(ACCOUNT, claim("a"), alike_ms=10_000)
    assert await engine.reserve(ACCOUNT, claim("b"), alike_ms=10_000)


async def test_a_day_begins_at_midnight(engine: StateEngine) -> None:
    await opened(engine)
    midnight = 20_501 * DAY_MS

    for name, at_ms in (("a", midnight - 1), ("b", midnight), ("c", midnight + 1)):
        assert await engine.reserve(ACCOUNT, claim(name, at_ms=at_ms))

    assert await used(engine, midnight - 1) == {"orders_per_day": 1, "per_day": 100}
    assert await used(engine, midnight) == {"orders_per_day": 2, "per_day": 200}


async def test_a_value_that_is_too_large_is_neither_claimed_nor_kept(engine: StateEngine) -> None:
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("a"))
    large = bytes(MAX_VALUE_BYTES + 1)
    news = ClaimNews("a", large, 1, settled=False)

    with pytest.raises(ValueError, match="at most"):
        await engine.reserve(ACCOUNT, replace(claim("b"), value=large))
    with pytest.raises(ValueError, match="at most"):
        await engine.depart(ACCOUNT, news)
    with pytest.raises(ValueError, match="at most"):
        await engine.tell(ACCOUNT, news)

    assert await engine.find_claim(ACCOUNT, "a") == b"a prepared"
    assert await engine.tell(ACCOUNT, replace(news, value=large[:-1]))


async def test_what_is_not_said_of_a_claim_counts_nothing(engine: StateEngine) -> None:
    await opened(engine)
    bare = Claim("bare", b"bare", NOW_MS, ())
    room = ClaimRoom("all", held=1, most=1, since_ms=NOW_MS)

    first = await engine.reserve(ACCOUNT, bare, room=room)
    book = await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)

    assert (first.verdict, first.value, first.name, first.used, first.stop) == ("claimed", b"", "", 0, None)
    assert (book.is_open, book.stop, book.resumed_ms, book.used, book.values) == (True, None, 0, {}, (b"bare",))


async def test_a_refusal_holds_what_it_is_about_and_nothing_else(engine: StateEngine) -> None:
    assert not (await engine.account_book(ACCOUNT, now_ms=NOW_MS, since_ms=NOW_MS)).is_open
    lost = await engine.reserve(ACCOUNT, claim("a"))
    await opened(engine)
    await engine.reserve(ACCOUNT, claim("0 first", 1))
    await engine.reserve(ACCOUNT, replace(claim("a", 1), alike="same", line="BTCUSDT BUY"))

    held = await engine.reserve(ACCOUNT, claim("a"))
    alike = await engine.reserve(ACCOUNT, replace(claim("b"), alike="same"), alike_ms=1)
    unsettled = await engine.reserve(ACCOUNT, replace(claim("b"), line="BTCUSDT BUY"))
    gone = await engine.depart(ACCOUNT, ClaimNews("nobody", b"", 1, settled=False))
    left = await engine.depart(ACCOUNT, ClaimNews("a", b"a sent", 1, settled=False))
    again = await engine.depart(ACCOUNT, ClaimNews("a", b"a sent", 1, settled=False))

    assert lost == Reservation("lost")
    assert held == Reservation("held", b"a prepared")
    assert (alike, unsettled) == (Reservation("alike", name="a"), Reservation("unsettled", name="a"))
    assert (gone, left, again) == (Reservation("gone"), Reservation("claimed"), Reservation("gone", b"a sent"))


async def test_a_group_counts_each_of_its_open_claims_and_each_that_ended_since(engine: StateEngine) -> None:
    await opened(engine)
    room = ClaimRoom("position:BTC", held=1, most=1, since_ms=NOW_MS + 5)
    for number, name in enumerate("abcd"):
        await engine.reserve(ACCOUNT, claim(name, 10**number, most=10_000, group="BTC", at_ms=NOW_MS + number))
    await engine.tell(ACCOUNT, ended("c", 0, over_ms=NOW_MS + 5))
    await engine.tell(ACCOUNT, ended("d", 0, over_ms=NOW_MS + 4))

    refused = await engine.reserve(ACCOUNT, claim("e", 1, most=10_000, group="BTC"), room=room)

    assert refused == Reservation("full", name="position:BTC", used=112)


async def test_all_that_is_on_a_shelf_can_be_read(engine: StateEngine) -> None:
    await engine.shelve("s", "a", b"1", ttl_ms=100, most_bytes=10)
    await engine.shelve("s", "b", b"2", ttl_ms=100, most_bytes=10)

    assert await engine.on_shelf("s") == {"a": b"1", "b": b"2"}
    assert await engine.on_shelf("t") == {}
