"""The tape: what it keeps, what it knows to be missing, and whose trades they were."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.recorded import Pair, recording, trade_of
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.feeds.book import MissedUpdates, Stale
from mcp_binance_server.feeds.tape import Coverage, Printed, SignedVolume, Tape, TapeWindow
from support.fixtures import RECORDED_MARKET, needs


def tape_of(*trades: Trade, span_ms: int = 1_000, most: int = 100, opened_ms: int | None = None) -> Tape:
    tape = Tape(span_ms=span_ms, most=most, opened_ms=opened_ms)
    for trade in trades:
        tape.add(trade)
    return tape


def ids(window: TapeWindow) -> list[int]:
    return [trade.trade_id for trade in window.trades]


def test_an_empty_tape_knows_nothing() -> None:
    tape = tape_of()

    assert len(tape) == 0
    assert tape.newest is None
    assert tape.coverage == Coverage(None, None, 0)
    assert tape.window(0) == TapeWindow(0, (), missing=0, is_complete=False)
    assert tape.window(0).volume == SignedVolume(Quantity(Decimal(0)), Quantity(Decimal(0)))


def test_a_stream_known_to_be_open_vouches_for_a_market_without_trades() -> None:
    tape = tape_of(opened_ms=500)

    assert tape.window(500).is_complete
    assert not tape.window(499).is_complete
    assert tape.add(trade_of(7, 900)) == Printed(forgotten=0)
    assert tape.coverage == Coverage(500, 900, 0)


def test_the_first_trade_vouches_only_for_what_follows_its_millisecond() -> None:
    tape = tape_of(trade_of(7, 900))

    assert tape.newest == trade_of(7, 900)
    assert tape.coverage == Coverage(901, 900, 0)


def test_old_trades_make_room_by_age_and_by_count() -> None:
    tape = tape_of(trade_of(1, 0), trade_of(2, 500), trade_of(3, 600), span_ms=1_000, most=3)

    by_count = tape.add(trade_of(4, 700))
    by_age = tape.add(trade_of(5, 1_601))

    assert (by_count, by_age) == (Printed(1), Printed(2))
    assert ids(tape.window(0)) == [4, 5]
    assert tape.coverage == Coverage(601, 1_601, 0)


def test_a_trade_that_came_already_is_stale() -> None:
    tape = tape_of(trade_of(1, 10), trade_of(2, 20))

    assert tape.add(trade_of(2, 20)) == Stale(2, 2)
    assert tape.add(trade_of(1, 10)) == Stale(2, 1)
    assert len(tape) == 2


def test_a_hole_is_told_once_and_keeps_windows_across_it_incomplete() -> None:
    tape = tape_of(trade_of(1, 10), trade_of(2, 20))

    outcome = tape.add(trade_of(5, 50))
    tape.add(trade_of(6, 60))

    assert outcome == MissedUpdates(expected=3, received=5)
    assert tape.holes == (MissedUpdates(3, 5),)
    assert tape.coverage == Coverage(51, 60, missing=2)
    assert tape.window(50) == TapeWindow(50, (trade_of(5, 50), trade_of(6, 60)), missing=2, is_complete=False)
    assert tape.window(51) == TapeWindow(51, (trade_of(6, 60),), missing=0, is_complete=True)


def test_a_hole_is_forgotten_with_the_trades_before_it() -> None:
    tape = tape_of(trade_of(1, 10), trade_of(5, 50), trade_of(6, 60), most=2)

    assert tape.holes == ()
    assert tape.coverage == Coverage(51, 60, 0)


def test_filling_a_hole_makes_the_window_whole() -> None:
    tape = tape_of(trade_of(1, 10), trade_of(2, 20), trade_of(6, 60))

    partly = tape.fill([trade_of(4, 40), trade_of(2, 20), trade_of(7, 70)])
    holes = tape.holes
    wholly = tape.fill([trade_of(3, 30), trade_of(4, 40), trade_of(5, 50)])

    assert (partly, wholly) == (1, 2)
    assert holes == (MissedUpdates(3, 4), MissedUpdates(5, 6))
    assert tape.coverage == Coverage(11, 60, 0)
    assert ids(tape.window(0)) == [1, 2, 3, 4, 5, 6]


def test_filling_reaches_back_before_the_first_trade_as_far_as_there_is_room() -> None:
    tape = tape_of(trade_of(10, 100), trade_of(11, 110), most=4)

    kept = tape.fill([trade_of(trade_id, trade_id * 10) for trade_id in range(5, 10)])

    assert kept == 2
    assert ids(tape.window(0)) == [8, 9, 10, 11]
    assert tape.coverage == Coverage(71, 110, 0)


def test_an_empty_tape_cannot_be_filled() -> None:
    with pytest.raises(ValueError, match="add the first"):
        tape_of().fill([trade_of(1, 1)])


@pytest.mark.parametrize(("span_ms", "most"), [(-1, 5), (5, 0)])
def test_a_tape_without_room_is_refused(span_ms: int, most: int) -> None:
    with pytest.raises(ValueError, match="at least one trade"):
        Tape(span_ms=span_ms, most=most)


def test_a_time_that_runs_backwards_never_empties_the_tape() -> None:
    tape = tape_of(trade_of(1, 5_000), trade_of(2, 10), span_ms=100, most=1)

    assert tape.newest == trade_of(2, 10)
    assert tape.add(trade_of(3, 5_001)) == Printed(forgotten=1)


def test_the_aggressor_is_the_one_who_did_not_make_the_price() -> None:
    tape = tape_of(trade_of(1, 10, "0.5"), trade_of(2, 20, "0.3", buyer_is_maker=True), trade_of(3, 30, "0.00000001"))

    volume = tape.window(0).volume

    assert volume == SignedVolume(buy=Quantity(Decimal("0.50000001")), sell=Quantity(Decimal("0.3")))
    assert volume.net == Decimal("0.20000001")
    assert volume.total == Decimal("0.80000001")


@needs(RECORDED_MARKET)
@pytest.mark.parametrize(("pair", "count"), [("btcusdt", 19_904), ("ethusdt", 14_515)])
def test_the_recorded_trades_have_no_hole_and_every_dropped_one_is_found(pair: Pair, count: int) -> None:
    trades = recording(pair).trades
    whole = Tape(span_ms=10**7, most=count)
    holed = Tape(span_ms=10**7, most=count)

    outcomes = {type(whole.add(trade)) for trade in trades}
    for place, trade in enumerate(trades):
        if place % 1_000 != 500:
            holed.add(trade)
    lost = [trade for place, trade in enumerate(trades) if place % 1_000 == 500]

    assert len(trades) == count
    assert outcomes == {Printed}
    assert [gap.expected for gap in holed.holes] == [trade.trade_id for trade in lost]
    assert holed.fill(lost) == len(lost)
    assert holed.coverage == whole.coverage
    assert holed.window(0) == whole.window(0)
    total = whole.window(0).volume.total
    assert total == sum(trade.quantity for trade in trades)


@st.composite
def markets(draw: st.DrawFn) -> list[tuple[Trade, bool]]:
    """Return every trade of a market, in order, and whether it reaches us."""
    at, found = 1_000, list[tuple[Trade, bool]]()
    for place, byte in enumerate(draw(st.binary(min_size=1, max_size=60))):
        at += byte % 8 * (byte % 3)
        found.append((trade_of(100 + place, at, f"0.{byte + 1}", buyer_is_maker=byte % 2 == 0), byte % 16 != 15))
    return found


@given(market=markets(), span_ms=st.integers(0, 120), most=st.integers(1, 40), from_ms=st.integers(900, 1_500))
def test_a_tape_equals_a_list_that_is_cut_after_every_trade(
    market: list[tuple[Trade, bool]], span_ms: int, most: int, from_ms: int
) -> None:
    tape = Tape(span_ms=span_ms, most=most)
    naive: list[Trade] = []

    for place, (trade, arrives) in enumerate(market):
        if not arrives:
            continue
        follows = not naive or naive[-1].trade_id + 1 == trade.trade_id
        outcome = tape.add(trade)
        naive = [each for each in [*naive, trade] if each.time_ms >= trade.time_ms - span_ms][-most:]

        window = tape.window(from_ms)
        assert isinstance(outcome, Printed if follows else MissedUpdates)
        assert len(tape) == len(naive)
        assert list(window.trades) == [each for each in naive if each.time_ms >= from_ms]
        held = {each.trade_id for each in naive}
        between = set(range(naive[0].trade_id, trade.trade_id + 1))
        assert tape.coverage.missing == len(between - held)
        if window.is_complete:
            happened = [each for each, _ in market[: place + 1] if each.time_ms >= from_ms]
            assert list(window.trades) == happened
            assert window.volume.net == sum(
                -each.quantity if each.buyer_is_maker else each.quantity for each in happened
            )


@given(market=markets())
def test_a_tape_with_its_holes_filled_equals_one_that_missed_nothing(market: list[tuple[Trade, bool]]) -> None:
    whole = tape_of(*(trade for trade, _ in market), span_ms=10**6)
    holed = tape_of(market[0][0], *(trade for trade, arrives in market[1:-1] if arrives), market[-1][0], span_ms=10**6)

    for gap in holed.holes:
        holed.fill(trade for trade, _ in market if gap.expected <= trade.trade_id < gap.received)

    assert holed.holes == ()
    assert holed.coverage == whole.coverage
    assert holed.window(0) == whole.window(0)
