"""A feed judges its minutes when they end: whole ones, once each, and none with a hole in it."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from feeds.recorded import book_of
from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.market.symbol_scores import SymbolScores
from mcp_binance_server.domain.market import BookDelta, Trade
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds.feed import FeedMemoryLimit, SymbolFeed
from support.score_history import live_through

START_MS = 1_700_000_000_000
GRID = PriceGrid(0.01, 0.001)
BIDS = [(f"{99.99 - at / 100:.2f}", "5") for at in range(30)]
ASKS = [(f"{100.01 + at / 100:.2f}", "5") for at in range(30)]


class Street:
    """One feed and the time that passes for it."""

    def __init__(self) -> None:
        self.feed = SymbolFeed(Symbol("BTCUSDT"), FeedMemoryLimit.shared_by(1))
        self.feed.minutes.measure_in(GRID)
        self.now_ms = START_MS
        self.trade_id = 0
        self.join(10)

    def join(self, update_id: int) -> None:
        self.feed.on_quiet()
        self.feed.on_snapshot(book_of(update_id, BIDS, ASKS), asked=1000, time_ms=self.now_ms)

    def second(self, *, bids: list[tuple[str, str]] | None = None) -> None:
        self.now_ms += 1000
        following = self.feed.book.last_update_id + 1
        self.feed.on_depth(BookDelta(following, following, self.now_ms, bids or [("99.80", "4")], []), self.now_ms)

    def trade(self, *, skipped: int = 0, price: str = "99.99", quantity: str = "1") -> None:
        self.trade_id += 1 + skipped
        number = self.trade_id
        paid, much = Price(Decimal(price)), Quantity(Decimal(quantity))
        sold = Trade(number, paid, much, self.now_ms, buyer_is_maker=True, first_id=number, last_id=number)
        self.feed.on_trade(sold, self.now_ms)

    def seconds(self, count: int) -> None:
        for _ in range(count):
            self.second()
            self.trade()

    @property
    def ended(self) -> int:
        return len(self.feed.minutes.ended)


@pytest.fixture
def street() -> Street:
    return Street()


def test_the_first_whole_minute_is_judged_and_the_piece_before_is_not(street: Street) -> None:
    street.seconds(59)
    piece = street.ended
    street.seconds(62)

    assert (piece, street.ended) == (0, 1)
    street.seconds(60)
    assert street.ended == 2
    first, second = street.feed.minutes.ended
    assert second.end_ms - first.end_ms == 60_000
    assert len(street.feed.pasts.scores["hidden_size"]) == 2


def lose(street: Street) -> None:
    street.feed.on_lost()
    street.join(10_000)


def gap(street: Street) -> None:
    street.feed.on_depth(BookDelta(90_000, 90_001, street.now_ms, [], []), street.now_ms)
    street.join(90_001)


def miss_a_trade(street: Street) -> None:
    street.trade(skipped=3)


def empty_a_side(street: Street) -> None:
    street.second(bids=[(price, "0") for price, _ in BIDS] + [("99.80", "0")])
    street.now_ms += 1000
    street.trade()
    street.second(bids=BIDS)


@pytest.mark.parametrize("harm", [lose, gap, miss_a_trade, empty_a_side])
def test_a_minute_with_a_hole_is_neither_judged_nor_remembered(street: Street, harm: Callable[[Street], None]) -> None:
    street.seconds(150)
    before = street.ended
    harm(street)
    street.seconds(60)

    assert before >= 1
    assert street.ended == before
    assert len(street.feed.pasts.scores["hidden_size"]) == before
    street.seconds(60)
    assert street.ended == before + 1


def test_a_book_of_which_nothing_is_told_for_seconds_stood_as_it_was(street: Street) -> None:
    street.seconds(65)
    street.now_ms += 20_000
    street.seconds(45)

    assert street.ended >= 1
    street.now_ms += 200_000
    street.seconds(5)
    ended = street.ended
    street.seconds(110)
    assert street.ended == ended + 1, "over minutes of silence nothing is known"


def test_without_the_grid_of_its_prices_a_symbol_is_not_judged() -> None:
    street = Street()
    street.feed.minutes = type(street.feed.minutes)()
    street.seconds(130)
    street.feed.minutes.measure_in(PriceGrid(0.0, 0.0))

    assert street.ended == 0
    assert street.feed.minutes.grid is None
    assert street.feed.minutes.health is None


def test_a_past_that_was_kept_is_judged_by_at_once(street: Street) -> None:
    kept = SymbolScores()
    live_through(kept, 64)
    street.feed.pasts = SymbolScores.restored(kept.series())
    street.seconds(125)

    newest = street.feed.minutes.ended[-1]
    assert all(each.judgement.not_judged is None for each in newest.verdicts)
    assert street.feed.minutes.health is not None
    assert street.feed.minutes.stress.judgement.not_judged is None


def test_a_restart_keeps_the_pasts_and_forgets_the_running_minute(street: Street) -> None:
    street.seconds(130)
    judged = len(street.feed.pasts.scores["hidden_size"])
    street.feed.restart()

    assert judged >= 1
    assert len(street.feed.pasts.scores["hidden_size"]) == judged
    assert street.feed.minutes.health is None


def stand(street: Street, size: str = "80") -> None:
    """Let a size stand in a bid until a minute has ended with it, by a market that is known for long enough."""
    kept = SymbolScores()
    live_through(kept, 64)
    street.feed.pasts = SymbolScores.restored(kept.series())
    street.second(bids=[("99.90", size)])
    street.seconds(125)
    found = street.feed.minutes.ended[-1].of("standing_size")
    assert (found.side, found.price) == ("bid", 99.9)
    assert found.judgement.is_unusual


def outcomes(street: Street) -> list[bool]:
    return [bool(each) for row in street.feed.pasts.outcomes.series().values() for each in row]


@pytest.mark.parametrize(("traded", "was_traded"), [("60", True), ("10", False)])
def test_what_becomes_of_a_standing_size_is_counted_once(street: Street, traded: str, was_traded: bool) -> None:  # noqa: FBT001
    stand(street)
    street.trade(price="99.90", quantity=traded)
    street.second(bids=[("99.90", "5")])
    street.seconds(200)

    assert outcomes(street) == [was_traded]


@pytest.mark.parametrize("harm", [lose, gap, miss_a_trade, empty_a_side])
def test_after_a_hole_nobody_knows_what_became_of_it(street: Street, harm: Callable[[Street], None]) -> None:
    stand(street)
    harm(street)
    street.second(bids=[("99.90", "5")])
    street.seconds(10)

    assert outcomes(street) == []


@pytest.mark.slow
def test_how_often_sizes_like_it_were_traded_into_is_told_from_the_fifth_on(street: Street) -> None:
    stand(street)
    told = list[dict[str, float]]()
    for traded in ("60", "60", "1", "60", "1"):
        street.trade(price="99.90", quantity=traded)
        street.second(bids=[("99.90", "5")])
        street.seconds(3)
        street.second(bids=[("99.90", "80")])
        street.seconds(125)
        told.append(dict(street.feed.minutes.ended[-1].of("standing_size").measured))

    assert all("like_it_left" not in each for each in told[:-1])
    assert (told[-1]["like_it_traded_into"], told[-1]["like_it_left"]) == (3, 5)
    assert told[-1]["like_it_traded_into_shrunk"] == pytest.approx(0.6)
