"""Claims and limits: all of it or nothing, once, and only moves that can be."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.trading.journal.chain import Event, broken_link
from mcp_binance_server.trading.journal.ledger import STOP_FILE, HostLedger, LimitPassed, PositionRoom, TradingIsStopped
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import NEXT, IllegalMove, IntentState, NewIntent
from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.judgement.charges import DAY_MS, Charge, charges
from mcp_binance_server.trading.judgement.policy import read_policy
from support.terms import NOW_MS, intent, reported

pytestmark = pytest.mark.anyio


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[HostLedger]:
    async with opened_store(tmp_path / "trading") as store:
        yield HostLedger(store, "me")


def limited(text: str = "", number: int = 0) -> tuple[Charge, ...]:
    return charges(intent(number).terms, read_policy(f"[limits]\n{text}".encode()), "policy")


async def used(ledger: HostLedger, now_ms: int = NOW_MS) -> dict[str, int]:
    return await ledger.used("paper", limited(), now_ms)


async def test_a_claim_takes_its_part_of_every_limit(ledger: HostLedger) -> None:
    claimed, is_new = await ledger.claim(intent(), limited(), NOW_MS)

    assert (is_new, claimed.state, claimed.owner) == (True, "PREPARED", "me")
    assert claimed.terms == intent().terms
    assert await used(ledger) == {
        "orders_per_minute": 1,
        "orders_per_day": 1,
        "open_orders": 1,
        "per_symbol_day:BTCUSDT": 60_00,
        "per_day": 60_00,
    }


async def test_the_same_intent_is_claimed_once(ledger: HostLedger) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    await ledger.mark_sent(intent().preview_id, NOW_MS)

    again, is_new = await ledger.claim(intent(), limited("orders_per_day = 0"), NOW_MS)

    assert (is_new, again.state) == (False, "SENT")
    assert (await used(ledger))["orders_per_day"] == 1


@pytest.mark.parametrize(
    ("limit", "name"),
    [
        ("orders_per_minute = 1", "orders_per_minute"),
        ("orders_per_day = 1", "orders_per_day"),
        ("open_orders = 1", "open_orders"),
        ("per_day = '119.99'", "per_day"),
        ("per_symbol_day = '119.99'", "per_symbol_day:BTCUSDT"),
    ],
)
async def test_a_limit_that_would_be_passed_claims_nothing(ledger: HostLedger, limit: str, name: str) -> None:
    await ledger.claim(intent(1), limited(limit, 1), NOW_MS)
    before = await used(ledger)

    with pytest.raises(LimitPassed) as caught:
        await ledger.claim(intent(2), limited(limit, 2), NOW_MS)

    counted = {"per_day": 60_00, "per_symbol_day:BTCUSDT": 60_00}.get(name, 1)
    assert (caught.value.charge.name, caught.value.used) == (name, counted)
    assert str(caught.value) == f"{name}: {counted} of {caught.value.charge.most} used"
    assert await used(ledger) == before
    assert await ledger.find(intent(2).preview_id) is None


async def test_a_minute_slides_and_a_day_is_the_exchanges_own(ledger: HostLedger) -> None:
    midnight = (NOW_MS // DAY_MS + 1) * DAY_MS
    await ledger.claim(intent(1), limited(), midnight - 1)

    just_before, later = await used(ledger, midnight + 59_998), await used(ledger, midnight + 59_999)

    assert (just_before["orders_per_minute"], later["orders_per_minute"]) == (1, 0)
    assert (just_before["orders_per_day"], just_before["per_day"]) == (0, 0)


@pytest.mark.parametrize("state", ["NOT_SENT", "REJECTED"])
async def test_what_was_never_executed_gives_money_back_and_stays_an_order(
    ledger: HostLedger, state: IntentState
) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    if state == "REJECTED":
        await ledger.mark_sent(intent().preview_id, NOW_MS)

    await ledger.move(intent().preview_id, state, {}, NOW_MS)

    found = await used(ledger)
    assert (found["per_day"], found["per_symbol_day:BTCUSDT"], found["open_orders"]) == (0, 0, 0)
    assert (found["orders_per_day"], found["orders_per_minute"]) == (1, 1)


@pytest.mark.parametrize("state", ["UNKNOWN", "NOT_PLACED"])
async def test_what_may_have_been_executed_gives_nothing_back(ledger: HostLedger, state: IntentState) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    await ledger.mark_sent(intent().preview_id, NOW_MS)

    await ledger.move(intent().preview_id, state, {}, NOW_MS)

    assert (await used(ledger))["per_day"] == 60_00


async def test_the_unfilled_rest_of_a_final_order_is_given_back_once(ledger: HostLedger) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    await ledger.mark_sent(intent().preview_id, NOW_MS)
    await ledger.move(intent().preview_id, "ACKED", {}, NOW_MS)

    for status, executed in (("PARTIALLY_FILLED", "0.0004"), ("CANCELED", "0.0004"), ("CANCELED", "0.0004")):
        await ledger.follow(intent().preview_id, reported(status, executed), NOW_MS)

    found = await ledger.find(intent().preview_id)
    assert found is not None
    assert (found.status, found.executed, found.final_ms) == ("CANCELED", Decimal("0.0004"), NOW_MS)
    assert (await used(ledger))["per_day"] == 24_00


async def test_knowledge_of_an_order_only_grows(ledger: HostLedger) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    await ledger.mark_sent(intent().preview_id, NOW_MS)
    await ledger.move(intent().preview_id, "ACKED", {}, NOW_MS)
    for status, executed in (("FILLED", "0.001"), ("NEW", "0"), ("CANCELED", "0.0004")):
        await ledger.follow(intent().preview_id, reported(status, executed), NOW_MS)

    found = await ledger.find(intent().preview_id)

    assert found is not None
    assert (found.status, found.executed) == ("FILLED", Decimal("0.001"))


@pytest.mark.parametrize("first", NEXT)
async def test_only_moves_that_can_be_are_written(ledger: HostLedger, first: IntentState) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    lawful: set[IntentState] = set()

    for then in NEXT:
        await ledger.store.write(lambda rows: rows.execute("UPDATE intent SET state=?", (first,)))
        with suppress(IllegalMove):
            lawful.add((await ledger.move(intent().preview_id, then, {}, NOW_MS)).state)

    assert lawful == NEXT[first] | {first}


@pytest.mark.parametrize("how", ["row", "file"])
async def test_a_stop_holds_back_what_is_claimed_and_what_is_about_to_leave(ledger: HostLedger, how: str) -> None:
    await ledger.claim(intent(1), limited(), NOW_MS)
    if how == "file":
        (ledger.store.folder / STOP_FILE).touch()
    else:
        await ledger.stop("a fire", "a test", NOW_MS)

    with pytest.raises(TradingIsStopped):
        await ledger.claim(intent(2), limited(), NOW_MS)
    with pytest.raises(TradingIsStopped):
        await ledger.mark_sent(intent(1).preview_id, NOW_MS)

    found = await ledger.find(intent(1).preview_id)
    assert found is not None
    assert found.state == "PREPARED"


async def test_after_a_resume_orders_are_claimed_again(ledger: HostLedger) -> None:
    await ledger.stop("a fire", "a test", NOW_MS)
    (ledger.store.folder / STOP_FILE).touch()

    await ledger.resume("a person", NOW_MS + 1)

    assert await ledger.stopped() is None
    assert (await ledger.claim(intent(), limited(), NOW_MS))[1]


async def test_the_first_stop_is_the_one_that_is_told(ledger: HostLedger) -> None:
    await ledger.stop("a fire", "a test", NOW_MS)
    await ledger.stop("smoke", "a test", NOW_MS + 1)

    stopped = await ledger.stopped()

    assert stopped is not None
    assert (stopped.why, stopped.since_ms) == ("a fire", NOW_MS)


async def test_a_position_counts_open_buys_and_those_that_the_balances_may_lack(ledger: HostLedger) -> None:
    room = PositionRoom("position:BTC", "BTC", held=0, read_ms=NOW_MS, most=119_99)
    await ledger.claim(intent(1), limited(), NOW_MS, room)

    with pytest.raises(LimitPassed) as caught:
        await ledger.claim(intent(2), limited(), NOW_MS, room)
    assert (caught.value.charge.name, caught.value.used) == ("position:BTC", 60_00)

    await ledger.move(intent(1).preview_id, "NOT_SENT", {}, NOW_MS)  # final at the very moment of the reading
    with pytest.raises(LimitPassed):
        await ledger.claim(intent(3), limited(), NOW_MS, room)
    later = PositionRoom("position:BTC", "BTC", held=0, read_ms=NOW_MS + 1, most=119_99)
    assert (await ledger.claim(intent(3), limited(), NOW_MS, later))[1]


async def test_limits_count_one_account_and_one_day_and_give_back_to_them_alone(ledger: HostLedger) -> None:
    tomorrow = NOW_MS + DAY_MS
    for number, (account, at_ms) in enumerate((("paper", NOW_MS), ("other", NOW_MS), ("paper", tomorrow))):
        await ledger.claim(intent(number, account=account), limited(), at_ms)

    await ledger.move(intent(0, account="paper").preview_id, "NOT_SENT", {}, tomorrow)

    nothing = {"per_day": 0, "per_symbol_day:BTCUSDT": 0, "orders_per_day": 1}
    one = {"per_day": 60_00, "per_symbol_day:BTCUSDT": 60_00, "orders_per_day": 1, "orders_per_minute": 1}
    assert (await ledger.used("paper", limited(), NOW_MS)).items() >= nothing.items()
    assert (await ledger.used("other", limited(), NOW_MS)).items() >= (one | {"open_orders": 1}).items()
    assert (await ledger.used("paper", limited(), tomorrow)).items() >= (one | {"open_orders": 1}).items()


async def test_two_orders_of_one_day_are_added_up(ledger: HostLedger) -> None:
    for number in range(3):
        await ledger.claim(intent(number), limited(), NOW_MS)

    assert await used(ledger) == {
        "orders_per_minute": 3,
        "orders_per_day": 3,
        "open_orders": 3,
        "per_symbol_day:BTCUSDT": 180_00,
        "per_day": 180_00,
    }


async def test_a_position_counts_every_open_buy_of_its_asset_and_account_and_nothing_else(ledger: HostLedger) -> None:
    many = limited("orders_per_minute = 20")
    for number, changes in enumerate(({}, {}, {"side": "SELL"}, {"account": "other"})):
        await ledger.claim(intent(number, **changes), many, NOW_MS)
    await ledger.claim(replace(intent(4), asset="ETH"), many, NOW_MS)
    await ledger.claim(intent(5), many, NOW_MS)
    await ledger.move(intent(5).preview_id, "NOT_SENT", {}, NOW_MS)
    room = PositionRoom("position:BTC", "BTC", held=1, read_ms=NOW_MS + 1, most=180_01)

    assert (await ledger.claim(intent(6), many, NOW_MS, room))[1]
    with pytest.raises(LimitPassed) as caught:
        await ledger.claim(intent(7), many, NOW_MS, room)

    assert (caught.value.used, caught.value.charge.most) == (180_01, 180_01)


async def test_the_first_buy_of_an_asset_may_take_all_of_its_room(ledger: HostLedger) -> None:
    room = PositionRoom("position:BTC", "BTC", held=0, read_ms=NOW_MS, most=60_00)

    assert (await ledger.claim(intent(), limited(), NOW_MS, room))[1]


async def test_an_order_of_a_lost_list_is_found_by_its_own_id_and_not_by_that_of_another(ledger: HostLedger) -> None:
    alone = replace(intent(1), client_order_id="mbp-lost-w")
    await ledger.claim(alone, limited(), NOW_MS)
    await ledger.claim(replace(intent(2), client_order_id="mbp-list"), limited(), NOW_MS)

    found = [await ledger.named("paper", name) for name in ("mbp-lost-w", "mbp-list-a", "mbp-list", "mbp-lost")]

    assert [None if each is None else each.preview_id for each in found] == [
        alone.preview_id,
        intent(2).preview_id,
        intent(2).preview_id,
        None,
    ]


async def followed(ledger: HostLedger, *news: tuple[str, str]) -> tuple[str, Decimal, int]:
    """Return status, executed amount and the number of events after some news."""
    for status, executed in news:
        told = await ledger.follow(intent().preview_id, reported(status, executed), NOW_MS)
        assert told == await ledger.find(intent().preview_id)
    found = await ledger.find(intent().preview_id)
    assert found is not None
    return found.status, found.executed, len(await JournalReader(ledger.store).history(intent().preview_id))


@pytest.mark.parametrize("states", [("SENT",), ("SENT", "UNKNOWN"), ("SENT", "ACKED")])
async def test_news_of_an_open_order_is_written_once_in_whatever_state_it_is(
    ledger: HostLedger, states: tuple[IntentState, ...]
) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    for state in states:
        await ledger.move(intent().preview_id, state, {}, NOW_MS)
    before = len(states) + 1

    assert await followed(ledger, ("NEW", "0")) == ("NEW", Decimal(0), before + 1)
    assert await followed(ledger, ("NEW", "0")) == ("NEW", Decimal(0), before + 1)
    assert await followed(ledger, ("PARTIALLY_FILLED", "0")) == ("PARTIALLY_FILLED", Decimal(0), before + 2)
    assert await followed(ledger, ("PARTIALLY_FILLED", "0.0004")) == ("PARTIALLY_FILLED", Decimal("0.0004"), before + 3)
    assert await followed(ledger, ("PARTIALLY_FILLED", "0.0003")) == ("PARTIALLY_FILLED", Decimal("0.0004"), before + 3)
    assert await followed(ledger, ("CANCELED", "0.0004")) == ("CANCELED", Decimal("0.0004"), before + 4)
    assert await followed(ledger, ("FILLED", "0.001")) == ("CANCELED", Decimal("0.0004"), before + 4)


async def test_news_of_an_order_that_was_never_executed_is_not_written(ledger: HostLedger) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    await ledger.move(intent().preview_id, "NOT_SENT", {}, NOW_MS)

    assert await followed(ledger, ("NEW", "0"), ("FILLED", "0.001")) == ("", Decimal(0), 2)


async def acked(ledger: HostLedger, new: NewIntent) -> NewIntent:
    await ledger.claim(new, limited(), NOW_MS)
    for state in ("SENT", "ACKED"):
        await ledger.move(new.preview_id, state, {}, NOW_MS)
    return new


@pytest.mark.parametrize("account", ["paper", "other"])
async def test_an_order_that_was_made_smaller_goes_on_under_its_own_intent(ledger: HostLedger, account: str) -> None:
    target = await acked(ledger, intent(1, account=account))
    smaller = Quantity(Decimal("0.0004"))
    change = intent(2, replaces=target.client_order_id, amends=True, quantity=smaller)
    await acked(ledger, change)
    news = replace(reported("PARTIALLY_FILLED", "0.0002"), client_order_id=target.client_order_id, quantity=smaller)

    made, again = [await ledger.follow(change.preview_id, news, NOW_MS) for _ in range(2)]

    assert (made.status, made.final_ms, again) == ("AMENDED", NOW_MS, made)
    stands = await ledger.find(target.preview_id)
    told = [(each.state, dict(each.told)) for each in await JournalReader(ledger.store).history(target.preview_id)]
    assert stands is not None
    if account == "paper":
        assert (stands.quantity, stands.status, stands.executed) == (smaller, "PARTIALLY_FILLED", Decimal("0.0002"))
        assert told[3] == ("AMENDED", {"quantity": "0.0004", "by": change.preview_id})
        assert [state for state, _ in told] == ["PREPARED", "SENT", "ACKED", "AMENDED", "STATUS"]
    else:
        assert (stands.status, stands.executed, len(told)) == ("", Decimal(0), 3)


async def test_a_change_of_an_order_that_the_journal_does_not_have_ends_all_the_same(ledger: HostLedger) -> None:
    change = await acked(ledger, intent(2, replaces="mbp-elsewhere", amends=True))

    made = await ledger.follow(
        change.preview_id, replace(reported("NEW", "0"), client_order_id="mbp-elsewhere"), NOW_MS
    )

    assert (made.status, made.final_ms) == ("AMENDED", NOW_MS)


async def test_an_answer_tells_of_a_standing_order_of_the_same_account_only(ledger: HostLedger) -> None:
    own, others = await acked(ledger, intent(1)), await acked(ledger, intent(2, account="other"))
    await ledger.claim(intent(3), limited(), NOW_MS)
    names = [own.client_order_id, others.client_order_id, intent(3).client_order_id, "mbp-elsewhere"]

    for number, name in enumerate(names, start=4):
        await ledger.claim(intent(number), limited("orders_per_minute = 20"), NOW_MS)
        news = replace(reported("PARTIALLY_FILLED", "0.0002"), client_order_id=name)
        await ledger.move(intent(number).preview_id, "NOT_SENT", {}, NOW_MS, target=news)

    stands = [await ledger.find(each.preview_id) for each in (own, others, intent(3))]
    assert [each and each.status for each in stands] == ["PARTIALLY_FILLED", "", ""]


async def test_only_orders_without_an_outcome_are_unresolved(ledger: HostLedger) -> None:
    await acked(ledger, intent(1))
    for number, account in ((2, "paper"), (3, "other")):
        await ledger.claim(intent(number, account=account), limited(), NOW_MS)

    found = {account: await ledger.unresolved(account) for account in ("paper", "other", None)}

    names = {account: [each.preview_id for each in intents] for account, intents in found.items()}
    assert names["paper"] == [intent(2).preview_id]
    assert names["other"] == [intent(3, account="other").preview_id]
    assert {*names[None]} == {*names["paper"], *names["other"]}


async def test_the_first_event_of_an_order_holds_all_that_was_agreed(ledger: HostLedger) -> None:
    new = intent()
    await ledger.claim(new, limited(), NOW_MS)

    first, *_ = await JournalReader(ledger.store).history(new.preview_id)

    assert first.state == "PREPARED"
    assert first.told == {"terms": new.terms.to_json(), "way": "policy", "client_order_id": new.client_order_id}


async def test_an_order_that_was_never_claimed_cannot_move(ledger: HostLedger) -> None:
    with pytest.raises(IllegalMove, match=f"no intent {intent().preview_id}"):
        await ledger.move(intent().preview_id, "SENT", {}, NOW_MS)


async def test_every_change_is_an_event_of_one_chain(ledger: HostLedger) -> None:
    await ledger.claim(intent(), limited(), NOW_MS)
    await ledger.mark_sent(intent().preview_id, NOW_MS)
    await ledger.move(intent().preview_id, "ACKED", {"order_id": 7}, NOW_MS)
    await ledger.follow(intent().preview_id, reported("FILLED", "0.001"), NOW_MS)
    await ledger.note("DECLINED", {"way": "client"}, NOW_MS)
    await ledger.stop("a fire", "a test", NOW_MS)

    events = await ledger.store.read(lambda rows: [Event(*row) for row in rows.execute("SELECT * FROM event")])

    assert [each.state for each in events] == ["PREPARED", "SENT", "ACKED", "STATUS", "DECLINED", "STOPPED"]
    assert broken_link(events) is None
