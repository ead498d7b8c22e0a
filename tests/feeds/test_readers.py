"""Which symbol makes room for whom."""

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.readers import (
    KEPT_MS,
    MINUTE_MS,
    MOST_REMEMBERED,
    MOST_REPLACED,
    Readers,
    Replacing,
    to_stop,
)

BTC, ETH, BNB, SOL = (Symbol(f"{base}USDT") for base in ("BTC", "ETH", "BNB", "SOL"))
HOG, ANN, BOB = "hog", "ann", "bob"


def read_by(*parties: str) -> Readers:
    readers = Readers()
    for party in parties:
        readers.enter(party)
    return readers


def left_by(party: str, at_ms: float) -> Readers:
    readers = read_by(party)
    readers.leave(party, at_ms)
    return readers


def test_what_the_asker_or_nobody_read_of_late_goes_first_the_longest_unused_before_others() -> None:
    readers = {
        BTC: read_by(HOG),
        ETH: left_by(HOG, KEPT_MS),
        BNB: left_by(ANN, 1_000),
        SOL: left_by(ANN, 0),
    }

    assert to_stop(readers, ANN, KEPT_MS) == SOL
    assert to_stop(readers, BOB, KEPT_MS) == SOL
    assert to_stop(readers, BOB, KEPT_MS - 1) == SOL
    assert to_stop(readers, HOG, 2_000) == ETH


def test_a_symbol_that_another_process_wants_is_used_but_nobodys_here() -> None:
    wanted = left_by(HOG, 0)
    wanted.wanted_ms = KEPT_MS
    readers = {BTC: wanted, ETH: left_by(HOG, 1)}

    assert to_stop(readers, BOB, KEPT_MS + 1) == ETH
    assert to_stop({BTC: wanted}, BOB, KEPT_MS + 1) == BTC


def test_between_equals_the_longest_unused_makes_room_and_who_has_more_waits_a_minute() -> None:
    readers = {BTC: left_by(ANN, 2), ETH: left_by(BOB, 1), BNB: read_by(HOG), SOL: read_by(HOG)}

    assert to_stop(readers, "newcomer", 10) == ETH
    assert to_stop(readers, HOG, 10) is None
    assert to_stop(readers, HOG, KEPT_MS + 1) == ETH


def test_of_what_is_read_the_oldest_of_whoever_reads_most_makes_room() -> None:
    readers = {BTC: read_by(HOG, ANN), ETH: read_by(HOG), BNB: read_by(HOG), SOL: read_by("", HOG)}

    assert to_stop(readers, BOB, 0) == ETH
    assert to_stop(readers, ANN, 0) == ETH
    assert to_stop({BTC: read_by(HOG)}, BOB, 0) is None


def test_a_crowd_that_has_left_costs_no_memory() -> None:
    readers = Readers()
    for number in range(10 * MOST_REMEMBERED):
        readers.enter(f"{number}")
        readers.leave(f"{number}", number)
    last_ms = 10 * MOST_REMEMBERED + KEPT_MS

    assert len(readers.parties(0)) == MOST_REMEMBERED
    readers.enter(ANN)
    readers.leave(ANN, last_ms)
    assert readers.parties(last_ms) == {ANN}


def test_room_is_made_so_often_in_a_minute_for_one_party() -> None:
    replacing = Replacing()
    for number in range(MOST_REPLACED):
        assert replacing.allows(HOG, number)
        replacing.note(HOG, number)
        replacing.note("", number)

    assert not replacing.allows(HOG, MINUTE_MS - 1)
    assert replacing.allows(ANN, MINUTE_MS - 1)
    assert replacing.allows("", MINUTE_MS - 1)
    assert replacing.allows(HOG, MINUTE_MS)
