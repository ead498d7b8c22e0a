"""The exchange's clock as seen from here."""

import pytest

from mcp_binance_server.exchange.server_time import LONG_GOOD_FOR_MS, REFRESH_MS, ServerTime, minute_of
from support.clock import FakeClock

DATE, DATE_MS = "Tue, 21 Jul 2026 00:02:03 GMT", 1_784_592_123_000


def test_until_something_is_known_the_machines_clock_must_do(clock: FakeClock) -> None:
    assert ServerTime(clock).now_ms() == clock.now_ms()


@pytest.mark.parametrize("own_ms", [DATE_MS, DATE_MS + 456, DATE_MS + 999, DATE_MS + 1_200])
def test_a_clock_that_agrees_with_a_date_header_is_trusted_to_the_millisecond(own_ms: int) -> None:
    clock = FakeClock(own_ms)
    time = ServerTime(clock)

    time.glimpse(DATE)

    assert time.now_ms() == own_ms
    assert not time.is_due


@pytest.mark.parametrize("own_ms", [DATE_MS - 5_000, DATE_MS + 60_000])
def test_a_clock_that_disagrees_is_replaced_by_the_header(own_ms: int) -> None:
    time = ServerTime(FakeClock(own_ms))

    time.glimpse(DATE)

    assert abs(time.now_ms() - DATE_MS) <= 1_000
    assert time.is_due


@pytest.mark.parametrize("own_ms", [DATE_MS + 456, DATE_MS + 8_000])
def test_a_clock_is_right_when_the_header_lies_between_question_and_answer(own_ms: int) -> None:
    time = ServerTime(FakeClock(own_ms))

    time.glimpse(DATE, took_ms=9_000)

    assert time.likely_ms() == own_ms
    assert time.earliest_ms() <= DATE_MS
    assert time.now_ms() >= DATE_MS + 10_000


def test_an_answer_that_took_long_does_not_overrule_one_that_did_not(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.glimpse(DATE)
    clock.advance(20_000)

    time.glimpse(DATE, took_ms=1_500)

    assert time.now_ms() == clock.now_ms()


def test_a_header_does_not_settle_what_the_exchange_has_refused() -> None:
    time = ServerTime(FakeClock(DATE_MS))
    time.glimpse(DATE)

    time.forget()
    time.glimpse(DATE)

    assert time.is_due


def test_a_learned_time_beats_a_header_that_agrees_and_survives_a_jump_of_the_wall_clock(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS - 700, asked_at_ms=clock.monotonic_ms(), answered_at_ms=clock.monotonic_ms() + 100)

    time.glimpse(DATE)
    clock.set_wall(1)
    clock.advance(1_050)

    assert time.now_ms() == DATE_MS + 300


def test_a_header_far_from_the_learned_time_has_it_read_again_but_not_more_than_once_a_minute(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS - 5_000, asked_at_ms=0, answered_at_ms=0)

    time.glimpse(DATE)
    assert time.is_due
    assert abs(time.now_ms() - DATE_MS) <= 1_000

    time.learn(DATE_MS - 5_000, asked_at_ms=0, answered_at_ms=0)
    time.glimpse(DATE)
    assert not time.is_due


def test_it_is_due_again_after_half_an_hour_or_when_forgotten(clock: FakeClock) -> None:
    time = ServerTime(clock)
    assert time.is_due
    time.learn(1, asked_at_ms=0, answered_at_ms=0)
    assert not time.is_due
    clock.advance(REFRESH_MS + 1)
    assert time.is_due
    time.learn(1, asked_at_ms=clock.monotonic_ms(), answered_at_ms=clock.monotonic_ms())

    time.forget()

    assert time.is_due


@pytest.mark.parametrize("date", ["", "yesterday", "21 July"])
def test_a_header_that_is_no_date_says_nothing(date: str, clock: FakeClock) -> None:
    time = ServerTime(clock)

    time.glimpse(date)

    assert time.now_ms() == clock.now_ms()
    assert minute_of(date) is None


def test_a_header_names_its_minute() -> None:
    assert minute_of(DATE) == DATE_MS // 60_000


def test_an_answer_that_took_long_does_not_replace_a_learned_time(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=0)
    clock.advance(12_000)

    # The exchange was silent for twelve seconds, then answered with the time at which it was asked.
    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=12_000)

    assert time.now_ms() == DATE_MS + 12_000


def test_an_answer_that_took_long_tells_ages_by_the_latest_and_moments_by_the_earliest(clock: FakeClock) -> None:
    time = ServerTime(clock)
    clock.advance(12_000)

    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=12_000)

    assert (time.earliest_ms(), time.likely_ms(), time.now_ms()) == (DATE_MS, DATE_MS + 6_000, DATE_MS + 12_000)


@pytest.mark.parametrize(("trip_ms", "unsure_ms"), [(250, 0), (600, 300), (1_000, 500)])
def test_an_answer_that_was_not_quick_leaves_half_its_way_open(trip_ms: int, unsure_ms: int, clock: FakeClock) -> None:
    time = ServerTime(clock)

    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=trip_ms)

    assert time.now_ms() - time.likely_ms() == time.likely_ms() - time.earliest_ms() == unsure_ms


def test_a_header_tells_its_second_from_end_to_end() -> None:
    time = ServerTime(FakeClock(DATE_MS + 60_000))

    time.glimpse(DATE)

    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS, DATE_MS + 1_000)


def test_what_proves_a_clock_wrong_may_have_been_on_its_way_for_a_while(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=0)
    # The clock there was set forward by three seconds; what was sent then comes in a burst, 800 ms later.
    clock.advance(800)
    truth_ms = DATE_MS + 3_800

    for event_ms in range(DATE_MS + 100, DATE_MS + 3_100, 100):
        time.witness(event_ms)

    assert time.earliest_ms() <= truth_ms <= time.now_ms()


@pytest.mark.parametrize("took_ms", [900, 13_400])
def test_a_header_may_have_been_written_when_its_answer_was_asked_for_or_when_it_came(took_ms: int) -> None:
    time = ServerTime(FakeClock(DATE_MS + 60_000))

    time.glimpse(DATE, took_ms=took_ms)

    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS, DATE_MS + 1_000 + took_ms)


def test_two_events_from_a_time_to_come_prove_that_it_has_come_and_one_does_not(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=0)

    time.witness(DATE_MS + 50_000)
    assert time.now_ms() == DATE_MS
    time.witness(DATE_MS + 3_000)
    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS + 3_000, DATE_MS + 4_000)
    time.witness(DATE_MS + 2_000)

    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS + 3_000, DATE_MS + 4_000)


def test_events_prove_a_machines_own_clock_wrong_before_anything_was_answered() -> None:
    clock = FakeClock(DATE_MS)
    time = ServerTime(clock)

    time.witness(DATE_MS + 3_000)
    time.witness(DATE_MS + 3_100)
    clock.advance(1_000)

    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS + 4_000, DATE_MS + 5_000)


def test_whoever_has_not_read_the_clock_hears_from_another_process_how_late_it_may_be() -> None:
    clock = FakeClock(DATE_MS)
    time = ServerTime(clock)

    time.hear(DATE_MS + 8_500, DATE_MS + 9_000)
    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS + 8_500, DATE_MS + 9_000)
    time.hear(DATE_MS + 8_800, DATE_MS + 8_900)
    for nonsense in ((10**15, 10**15), (-(2**63), DATE_MS + 10_000), (DATE_MS + 11_000, DATE_MS + 10_000)):
        time.hear(*nonsense)
    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS + 8_500, DATE_MS + 9_000)

    time.learn(DATE_MS + 9_100, asked_at_ms=0, answered_at_ms=0)
    time.hear(DATE_MS + 20_000, DATE_MS + 20_000)
    assert time.now_ms() == DATE_MS + 9_100


def test_what_was_asked_before_the_clock_there_was_set_does_not_set_it_back(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=0)
    clock.advance(100)
    time.witness(DATE_MS + 3_100)
    time.witness(DATE_MS + 3_100)

    time.forget()
    time.glimpse(DATE, took_ms=150)
    time.learn(DATE_MS + 50, asked_at_ms=50, answered_at_ms=100)
    assert (time.earliest_ms(), time.now_ms()) == (DATE_MS + 3_100, DATE_MS + 4_100)

    time.learn(DATE_MS + 3_200, asked_at_ms=100, answered_at_ms=100)
    assert time.now_ms() == DATE_MS + 3_200


def test_a_first_answer_that_took_long_is_soon_asked_for_again(clock: FakeClock) -> None:
    time = ServerTime(clock)
    time.learn(DATE_MS, asked_at_ms=0, answered_at_ms=12_000)
    clock.advance(12_000)
    assert not time.is_rough

    clock.advance(LONG_GOOD_FOR_MS + 1)
    assert time.is_rough
    time.learn(DATE_MS + 72_001, asked_at_ms=72_001, answered_at_ms=72_001)
    clock.advance(LONG_GOOD_FOR_MS + 1)

    assert not time.is_rough
