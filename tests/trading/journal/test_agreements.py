"""Refusals and approvals, and what the journal tells of the past."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.money import Price
from mcp_binance_server.trading.approvals import (
    PUBLIC_PART,
    WrongPassphrase,
    fingerprint,
    is_approved,
    is_sealed,
    new_approver,
    opened_public,
    public_key_hint,
    sign,
)
from mcp_binance_server.trading.journal.agreements import Agreements, PreviewIsDeclined
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.reading import JournalReader, Traded
from mcp_binance_server.trading.journal.store import Store, opened_store
from mcp_binance_server.trading.judgement.guards import DUPLICATE_MS
from support.terms import KEY, NOW_MS, intent, terms

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with opened_store(tmp_path / "trading") as opened:
        yield opened


async def test_a_no_is_for_its_preview_and_counts_for_its_visitor(store: Store) -> None:
    agreements = Agreements(store)
    for number, visitor in ((1, "me"), (2, "you"), (3, "me")):
        await agreements.decline(intent(number).preview_id, visitor, NOW_MS + number)

    assert await agreements.is_declined(intent(1).preview_id)
    assert not await agreements.is_declined(intent(9).preview_id)
    assert await agreements.declined_since("me", NOW_MS) == [NOW_MS + 1, NOW_MS + 3]
    assert await agreements.declined_since("me", NOW_MS + 1) == [NOW_MS + 3]


async def test_what_waits_is_listed_until_it_is_over(store: Store) -> None:
    agreements, new = Agreements(store), intent(1)
    await agreements.wait(new.preview_id, "me", new.terms, NOW_MS)
    await agreements.wait(new.preview_id, "me", new.terms, NOW_MS + 5)

    (waits,) = await agreements.waiting(NOW_MS + 6)

    assert (waits.preview_id, waits.terms, waits.since_ms) == (new.preview_id, new.terms, NOW_MS)
    assert await agreements.waiting(new.terms.expires_ms) == []
    assert await agreements.waiting(NOW_MS, "you") == []


async def test_an_approval_is_kept_with_its_signature(store: Store) -> None:
    agreements, new = Agreements(store), intent(1)
    assert not await agreements.approve(new.preview_id, "x", NOW_MS)
    await agreements.wait(new.preview_id, "me", new.terms, NOW_MS)
    assert await agreements.signature(new.preview_id) is None

    assert await agreements.approve(new.preview_id, "signed", NOW_MS)

    assert await agreements.signature(new.preview_id) == "signed"


async def test_wrong_passphrases_are_counted_since_the_last_right_one(store: Store) -> None:
    agreements, new = Agreements(store), intent(1)
    counts = [await agreements.wrong_passphrase(NOW_MS) for _ in range(3)]
    await agreements.wait(new.preview_id, "me", new.terms, NOW_MS)
    await agreements.approve(new.preview_id, "signed", NOW_MS)

    assert counts == [1, 2, 3]
    assert await agreements.wrong_passphrase(NOW_MS) == 1


def test_a_signature_is_for_exactly_one_order() -> None:
    approver, made = new_approver("correct horse"), terms()
    preview_id = made.preview_id(KEY)
    signature = sign(approver.sealed, "correct horse", made, preview_id)
    other = terms(counted=60_01)

    assert is_approved(approver.public, made, preview_id, signature, NOW_MS)
    assert not is_approved(approver.public, other, preview_id, signature, NOW_MS)
    assert not is_approved(approver.public, made, other.preview_id(KEY), signature, NOW_MS)
    assert not is_approved(approver.public, made, preview_id, signature, made.expires_ms)
    assert not is_approved(new_approver("x").public, made, preview_id, signature, NOW_MS)
    for broken in ("", "?", signature[:-4], "AAAA"):
        assert not is_approved(approver.public, made, preview_id, broken, NOW_MS)
        assert not is_approved(broken, made, preview_id, signature, NOW_MS)


def test_without_the_passphrase_nothing_is_signed() -> None:
    approver = new_approver("correct horse")

    assert opened_public(approver.sealed, "correct horse") == approver.public
    assert opened_public(approver.sealed, "wrong") is None
    with pytest.raises(WrongPassphrase):
        sign(approver.sealed, "", terms(), terms().preview_id(KEY))
    assert b"correct horse" not in approver.sealed
    assert is_sealed(approver.sealed)
    assert "PRIVATE" not in repr(approver)


def test_the_public_half_is_told_without_the_passphrase_if_the_file_has_it() -> None:
    approver = new_approver("correct horse")
    private, _ = approver.sealed.split(PUBLIC_PART)

    assert public_key_hint(approver.sealed) == approver.public
    assert opened_public(private, "correct horse") == approver.public  # as earlier versions made them
    for other in (private, b"", PUBLIC_PART, private + PUBLIC_PART + b"\nAAAA\n-----END PUBLIC KEY-----\n"):
        assert public_key_hint(other) is None


def test_a_public_half_is_known_by_a_short_name() -> None:
    one, other = new_approver("x"), new_approver("x")

    assert fingerprint(one.public) == fingerprint(one.public) != fingerprint(other.public)
    assert len(fingerprint(one.public)) == 16


@pytest.mark.parametrize("account", ["paper", None])
async def test_of_one_millisecond_the_last_written_comes_first(store: Store, account: str | None) -> None:
    ledger, reader = HostLedger(store, "me"), JournalReader(store)
    for number in range(12):
        await ledger.claim(intent(number), (), NOW_MS + number // 6)
    await ledger.mark_sent(intent(6).preview_id, NOW_MS + 9)

    found = [each.preview_id for each in await reader.newest(9, account)]

    assert found == [intent(number).preview_id for number in range(11, 2, -1)]


async def test_the_newest_come_first_and_the_past_can_be_paged(store: Store) -> None:
    ledger, reader = HostLedger(store, "me"), JournalReader(store)
    for number in range(5):
        await ledger.claim(intent(number), (), NOW_MS + number)

    first = await reader.newest(2, "paper")
    then = await reader.newest(2, "paper", first[-1].prepared_ms)

    assert [each.prepared_ms - NOW_MS for each in (*first, *then)] == [4, 3, 2, 1]
    assert await reader.newest(9, "another") == []
    found = await reader.by_client_order_id("paper", intent(3).client_order_id)
    assert found is not None
    assert found.preview_id == intent(3).preview_id


async def test_what_is_recent_is_new_or_without_a_known_end(store: Store) -> None:
    ledger, reader = HostLedger(store, "me"), JournalReader(store)
    for number in range(3):
        await ledger.claim(intent(number), (), NOW_MS)
    await ledger.claim(intent(3, side="SELL"), (), NOW_MS)
    elsewhere = intent(4, price=Price(Decimal(59_000)))
    await ledger.claim(elsewhere, (), NOW_MS)
    await ledger.move(elsewhere.preview_id, "NOT_SENT", {}, NOW_MS)
    await ledger.move(intent(0).preview_id, "NOT_SENT", {}, NOW_MS)

    soon = await reader.past(intent(9).terms, (), NOW_MS + DUPLICATE_MS - 1, None)
    later = await reader.past(intent(9).terms, (), NOW_MS + DUPLICATE_MS, None)

    assert sorted(each.is_unresolved for each in soon.recent) == [False, True, True]
    assert [each.is_unresolved for each in later.recent] == [True, True]


async def test_what_was_declined_cannot_be_claimed_any_more(store: Store) -> None:
    await Agreements(store).decline(intent().preview_id, "me", NOW_MS)

    with pytest.raises(PreviewIsDeclined):
        await HostLedger(store, "me").claim(intent(), (), NOW_MS)
    assert await HostLedger(store, "me").find(intent().preview_id) is None


async def test_the_day_is_summed_by_symbol_and_side(store: Store) -> None:
    ledger, reader = HostLedger(store, "me"), JournalReader(store)
    for number, side in enumerate(("BUY", "BUY", "SELL")):
        await ledger.claim(intent(number, side=side), (), NOW_MS)
    await store.write(lambda rows: rows.execute("UPDATE intent SET executed='0.5', spent='100.25'"))

    (day,) = await reader.traded("paper", NOW_MS)

    assert day == Traded("BTCUSDT", 1, 200.5, 0.5, 100.25)  # type: ignore[arg-type] # equal as numbers
    assert await reader.traded("paper", NOW_MS + 86_400_000) == []


async def test_a_changed_file_is_seen(store: Store) -> None:
    ledger, reader = HostLedger(store, "me"), JournalReader(store)
    for number in range(3):
        await ledger.claim(intent(number), (), NOW_MS)
    assert await reader.broken_link() is None

    await store.write(lambda rows: rows.execute("UPDATE event SET facts='{}' WHERE seq=2"))

    assert await reader.broken_link() == 2
