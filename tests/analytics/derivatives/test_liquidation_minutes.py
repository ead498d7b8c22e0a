"""Liquidations by minute: what is counted, for how long somebody listened, and what is forgotten."""

from decimal import Decimal
from random import Random

import msgspec

from mcp_binance_server.analytics.derivatives.liquidation_minutes import (
    EARLIEST_MS,
    MINUTE_MS,
    WINDOW_MS,
    LiquidationMinutes,
    LiquidationSummary,
    LiquidationTally,
)
from mcp_binance_server.domain.derivatives import Liquidation
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.symbols import Symbol

BEGAN_MS = 1_784_592_123_456
BTC, ETH = Symbol("BTCUSDT"), Symbol("ETHUSDT")


def sold(at_ms: int, value: str = "100", symbol: Symbol = BTC) -> Liquidation:
    return Liquidation(symbol, "long", Quantity(Decimal(value)), at_ms)


def bought(at_ms: int, value: str = "100", symbol: Symbol = BTC) -> Liquidation:
    return Liquidation(symbol, "short", Quantity(Decimal(value)), at_ms)


def test_each_side_is_counted_with_its_value_and_other_symbols_apart() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)

    minutes.take(sold(BEGAN_MS + 1, "10.5"), BEGAN_MS + 1)
    minutes.take(sold(BEGAN_MS + 2_000, "0.1"), BEGAN_MS + 2_000)
    minutes.take(bought(BEGAN_MS + 3_000, "7"), BEGAN_MS + 3_000)
    minutes.take(bought(BEGAN_MS + 3_000, "9", ETH), BEGAN_MS + 3_000)

    summary = minutes.summary(BEGAN_MS + 4_000)
    assert summary.of(BTC) == LiquidationTally(2, Decimal("10.6"), 1, Decimal(7))
    assert summary.of(ETH) == LiquidationTally(0, Decimal(0), 1, Decimal(9))
    assert summary.of(Symbol("SOLUSDT")) == LiquidationTally()


def test_an_event_that_two_connections_tell_counts_once() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)

    for _ in range(2):
        minutes.take(sold(BEGAN_MS + 1), BEGAN_MS + 1)

    assert minutes.summary(BEGAN_MS + 1).of(BTC).longs == 1


def test_an_event_of_no_believable_time_is_refused_and_hides_none_that_follows() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)

    refused = [
        minutes.take(sold(BEGAN_MS + 2 * MINUTE_MS), BEGAN_MS),
        minutes.take(sold(BEGAN_MS - WINDOW_MS), BEGAN_MS),
        minutes.take(sold(BEGAN_MS + 5), BEGAN_MS + 5),
    ]

    assert refused == [False, False, True]
    assert minutes.summary(BEGAN_MS + 5).of(BTC).longs == 1


def test_an_event_told_again_is_refused_for_as_long_as_its_time_is_believed_however_many_came_between() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)
    minutes.take(sold(BEGAN_MS), BEGAN_MS)
    late_ms = range(BEGAN_MS + MINUTE_MS, BEGAN_MS + EARLIEST_MS + 2 * MINUTE_MS, MINUTE_MS)

    again: list[bool] = []
    for now_ms in late_ms:
        minutes.take(sold(now_ms, symbol=ETH), now_ms)
        again.append(minutes.take(sold(BEGAN_MS), now_ms))

    assert len(again) > EARLIEST_MS // MINUTE_MS
    assert not any(again)
    assert minutes.summary(late_ms[-1]).of(BTC).longs == 1


def test_of_symbols_that_are_long_silent_nothing_is_remembered_but_their_counts() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)
    many = [Symbol(f"COIN{number}USDT") for number in range(500)]
    for symbol in many:
        minutes.take(sold(BEGAN_MS, symbol=symbol), BEGAN_MS)

    at_first = len(vars(minutes)["_newest"])
    minutes.summary(BEGAN_MS + EARLIEST_MS)
    until_then = len(vars(minutes)["_newest"])
    minutes.take(sold(BEGAN_MS + EARLIEST_MS + MINUTE_MS), BEGAN_MS + EARLIEST_MS + MINUTE_MS)

    assert (at_first, until_then) == (500, 500)
    assert vars(minutes)["_newest"] == {BTC: BEGAN_MS + EARLIEST_MS + MINUTE_MS}
    assert len(minutes.summary(BEGAN_MS + EARLIEST_MS + MINUTE_MS).tallies) == 501


def test_seconds_count_only_between_words_that_follow_each_other() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)

    for second in range(11):
        minutes.beat(BEGAN_MS + second * 1_000)  # ten seconds
    minutes.beat(BEGAN_MS + 40_000)  # half a minute without a word: not listened to
    minutes.beat(BEGAN_MS + 41_000)  # one more
    minutes.lose()
    minutes.beat(BEGAN_MS + 42_000)  # the connection was lost in between
    minutes.beat(BEGAN_MS + 43_000)  # one more

    assert minutes.summary(BEGAN_MS + 43_000).observed_ms == 12_000


def test_after_an_hour_the_first_minutes_are_forgotten() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)
    random = Random(17)
    events = sorted(random.randrange(3 * WINDOW_MS) for _ in range(2_000))

    for event in events:
        minutes.beat(BEGAN_MS + event)
        minutes.take(sold(BEGAN_MS + event, "3"), BEGAN_MS + event)

    now_ms = BEGAN_MS + events[-1]
    summary = minutes.summary(now_ms)
    expected = len({event for event in events if BEGAN_MS + event >= summary.since_ms})
    assert now_ms - WINDOW_MS <= summary.since_ms <= now_ms - WINDOW_MS + MINUTE_MS
    assert summary.of(BTC) == LiquidationTally(expected, Decimal(3 * expected), 0, Decimal(0))
    assert summary.observed_ms <= now_ms - summary.since_ms + 5_000


def test_before_an_hour_is_over_since_is_when_listening_began() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)

    assert minutes.summary(BEGAN_MS + 30 * MINUTE_MS).since_ms == BEGAN_MS


def test_a_summary_survives_its_packing() -> None:
    minutes = LiquidationMinutes(BEGAN_MS)
    minutes.beat(BEGAN_MS)
    minutes.take(sold(BEGAN_MS + 1, "123456789.123456789"), BEGAN_MS + 1)
    summary = minutes.summary(BEGAN_MS + 2)

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(summary), type=LiquidationSummary) == summary
