"""The rules by which a follower takes a page, and a book that was handed on."""

from decimal import Decimal

import pytest

from mcp_binance_server.domain.market import BookDelta, BookSnapshot, PriceLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.feeds.book import LocalBook
from mcp_binance_server.feeds.fleet.journal import (
    BOOK_LEVELS,
    OLDEST_MS,
    JournalLine,
    JournalPage,
    SharedBook,
    Thread,
    decode_page,
    encode,
)


def page(token: int, number: int, at_ms: int = 0) -> JournalPage:
    return JournalPage(token, number, at_ms, [])


def judged(*pages: JournalPage, now_ms: int = 0) -> list[str]:
    thread = Thread()
    return [thread.judge(each, now_ms) for each in pages]


def test_the_first_page_begins_and_the_others_follow() -> None:
    assert judged(page(7, 4), page(7, 5), page(7, 6)) == ["broken", "next", "next"]


def test_a_missing_page_is_a_break() -> None:
    assert judged(page(7, 1), page(7, 3), page(7, 4)) == ["broken", "broken", "next"]


def test_a_page_told_twice_or_out_of_order_is_refused() -> None:
    assert judged(page(7, 1), page(7, 2), page(7, 2), page(7, 1), page(7, 3)) == [
        "broken",
        "next",
        "refused",
        "refused",
        "next",
    ]


def test_a_new_leader_is_a_break_and_the_one_before_is_never_heard_again() -> None:
    assert judged(page(7, 8), page(9, 1), page(7, 9), page(8, 1), page(9, 2)) == [
        "broken",
        "broken",
        "refused",
        "refused",
        "next",
    ]


def test_a_page_that_was_on_its_way_for_too_long_is_refused_and_the_next_one_is_a_break() -> None:
    thread = Thread()

    assert thread.judge(page(7, 1, at_ms=1_000), 1_000 + OLDEST_MS) == "broken"
    assert thread.judge(page(7, 2, at_ms=1_000), 1_001 + OLDEST_MS) == "refused"
    assert thread.judge(page(7, 3, at_ms=5_000), 5_000) == "broken"
    assert thread.refused == 1


def test_who_has_forgotten_takes_a_lower_token() -> None:
    thread = Thread()
    thread.judge(page(7, 1), 0)
    thread.forget()

    assert thread.judge(page(3, 1), 0) == "broken"


def levels(*prices: int) -> tuple[PriceLevel, ...]:
    return tuple(PriceLevel(Price(Decimal(price)), Quantity(Decimal(1))) for price in prices)


def book(bids: int, asks: int, asked: int) -> LocalBook:
    made = LocalBook()
    below, above = levels(*range(10_000, 10_000 - bids, -1)), levels(*range(10_001, 10_001 + asks))
    made.load(BookSnapshot(50, below, above), asked=asked)
    return made


def handed_on(given: LocalBook) -> LocalBook:
    sent = decode_page(encode(JournalPage(1, 1, 0, [JournalLine(0, 5, b"{}")], SharedBook.of(given, 5)))).book
    assert sent is not None
    taken = LocalBook()
    taken.load(sent.snapshot(), asked=sent.asked)
    return taken


@pytest.mark.parametrize(("bids", "asks"), [(5, 5), (20, 5), (5, 20), (20, 20), (0, 5)])
def test_a_book_that_is_handed_on_knows_no_more_and_hardly_less(bids: int, asks: int) -> None:
    given = book(bids, asks, asked=20)
    taken = handed_on(given)

    assert taken.top(BOOK_LEVELS) == given.top(BOOK_LEVELS)
    assert taken.known_to == given.known_to
    assert taken.last_update_id == 50


def test_levels_beyond_what_is_known_are_not_handed_on() -> None:
    given = book(20, 20, asked=20)
    given.apply(BookDelta(51, 51, 0, [("9000", "3"), ("9990", "0")], [("11000", "3")]))
    taken = handed_on(given)

    assert len(taken.top(BOOK_LEVELS).bids) == 19
    assert taken.known_to.bid == given.known_to.bid
    known = taken.known_to.ask
    assert known is not None
    assert known <= Decimal(10_020)


def test_a_deep_book_is_cut_and_says_so() -> None:
    taken = handed_on(book(BOOK_LEVELS + 200, 10, asked=5_000))

    assert taken.level_counts.bids == BOOK_LEVELS
    assert taken.known_to.bid == Decimal(10_000 - BOOK_LEVELS + 1)
