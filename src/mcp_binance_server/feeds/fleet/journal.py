"""Journal of a symbol: pages of events from the leader, and the rules by which a follower accepts a page."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

import msgspec

from mcp_binance_server.domain.market import BookSnapshot, PriceLevel, WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.exchange.wire import check_levels
from mcp_binance_server.feeds.book import LocalBook

# An older page, by the engine's clock, is out of date and is ignored.
OLDEST_MS = 2_000
BOOK_LEVELS = 1_000
LOST = -1

Verdict = Literal["next", "broken", "refused"]


class JournalLine(msgspec.Struct, array_like=True, frozen=True):
    """An event as received, with its arrival time on the engine's clock and its stream.

    The stream LOST marks missing events.
    """

    stream: int
    at_ms: int
    data: bytes = b""


class SharedBook(msgspec.Struct, array_like=True, frozen=True):
    """The book at the end of a page. A side with fewer levels than `asked` is completely known.

    `as_of_ms` is the exchange's time of the last change, which can be much older than the page.
    """

    last_update_id: int
    bids: list[WrittenLevel]
    asks: list[WrittenLevel]
    asked: int
    as_of_ms: int

    @classmethod
    def of(cls, book: LocalBook, as_of_ms: int, most: int = BOOK_LEVELS) -> "SharedBook":
        """Copy the best known levels of a book."""
        bids, asks = book.written_top(most)
        known = book.known_to
        if known.bid is not None:
            bids = [level for level in bids if Decimal(level[0]) >= known.bid]
        if known.ask is not None:
            asks = [level for level in asks if Decimal(level[0]) <= known.ask]
        cut = [len(side) for side, end in ((bids, known.bid), (asks, known.ask)) if end is not None]
        return cls(book.last_update_id, bids, asks, min([most, *cut]), as_of_ms)

    def check(self) -> None:
        """Check the levels before they are shown.

        Raises:
            ValueError: a level is not a price and a quantity, or the book is crossed.
        """
        check_levels(self.bids)
        check_levels(self.asks)
        if self.bids and self.asks and float(self.bids[0][0]) >= float(self.asks[0][0]):
            raise ValueError("bids reach asks")

    def finished(self) -> LocalBook:
        """Return the levels as a book."""
        book = LocalBook()
        book.load_written(self.last_update_id, self.bids, self.asks, self.asked)
        return book

    def snapshot(self) -> BookSnapshot:
        """Return the levels as a snapshot.

        Raises:
            ValueError: a level is not a price and a quantity.
        """
        check_levels(self.bids)
        check_levels(self.asks)
        return BookSnapshot(self.last_update_id, _read(self.bids), _read(self.asks))


class JournalPage(msgspec.Struct, array_like=True, frozen=True):
    """Events of a leader since its previous page. `token` belongs to the lease, and `at_ms` is the engine's time.

    `time_ms` is the earliest and latest possible time of the exchange. A process that has not read the exchange's
    clock uses it to compute ages.
    """

    token: int
    number: int
    at_ms: int
    lines: list[JournalLine]
    book: SharedBook | None = None
    time_ms: tuple[int, int] = (0, 0)


class BookPage(msgspec.Struct, array_like=True, frozen=True):
    """The best levels of a leader's book at the end of a page, for readers that need no events.

    `book` is None if it is not in sync. `ticker` is the newest 24-hour statistics event since the previous page. It is
    empty if there was none. `traded_ms` is the time of the newest trade.
    """

    token: int
    number: int
    at_ms: int
    book: SharedBook | None
    lag_ms: int
    ticker: bytes
    traded_ms: int | None
    time_ms: tuple[int, int]


class FollowRequest(msgspec.Struct, array_like=True, frozen=True):
    """A follower's request for a symbol.

    `book` requests the whole book after a start or a gap. `finished` means that the best levels are enough.
    """

    symbol: str
    book: bool
    finished: bool = False


_PAGES, _BOOK_PAGES, _WANTS, _ENCODER = (
    msgspec.msgpack.Decoder(JournalPage),
    msgspec.msgpack.Decoder(BookPage),
    msgspec.msgpack.Decoder(FollowRequest),
    msgspec.msgpack.Encoder(),
)


def encode(told: JournalPage | BookPage | FollowRequest) -> bytes:
    return _ENCODER.encode(told)


def decode_page(data: bytes) -> JournalPage:
    """Decode a page.

    Raises:
        msgspec.MsgspecError: the data is not a page of this version.
    """
    return _PAGES.decode(data)


def decode_book_page(data: bytes) -> BookPage:
    """Decode a page with the best levels.

    Raises:
        msgspec.MsgspecError: the data is not such a page of this version.
    """
    return _BOOK_PAGES.decode(data)


def decode_want(data: bytes) -> FollowRequest:
    """Decode a follower's request.

    Raises:
        msgspec.MsgspecError: the data is not a request of this version.
    """
    return _WANTS.decode(data)


class Thread:
    """Read position of a follower.

    It refuses old pages and pages of an earlier leader, and detects skipped pages.
    """

    __slots__ = ("_number", "_token", "refused")

    def __init__(self) -> None:
        self.refused = 0
        self.forget()

    def forget(self) -> None:
        """Forget the position, so that any page can be the next one."""
        self._token, self._number = -1, 0

    def judge(self, page: JournalPage | BookPage, now_ms: int) -> Verdict:
        """Return whether a page continues the last one, starts over after a gap, or is refused."""
        is_next = (page.token, page.number) == (self._token, self._number + 1)
        is_behind = (page.token, page.number) <= (self._token, self._number)
        if is_behind or now_ms - page.at_ms > OLDEST_MS:
            self.refused += 1
            return "refused"
        self._token, self._number = page.token, page.number
        return "next" if is_next else "broken"


def _read(levels: Sequence[WrittenLevel]) -> tuple[PriceLevel, ...]:
    return tuple(PriceLevel(Price(Decimal(price)), Quantity(Decimal(quantity))) for price, quantity in levels)
