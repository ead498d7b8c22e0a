"""Candles, trades and ids of a symbol agree with each other exactly, wherever one looks first."""

import random
from itertools import pairwise

import pytest

from binance_simulator.market.candles import Candle, fold, merge
from binance_simulator.market.history import LISTED_MS, History
from binance_simulator.market.listing import Listing
from binance_simulator.market.noise import Lru
from binance_simulator.market.prices import DAY_MS, HOUR_MS, Prices
from binance_simulator.market.synthetic import REFERENCE_DAY

SYMBOLS = ["BTCUSDT", "ETHBTC", "PEPEUSDT", "USDCUSDT", "TESTBUSDT", "BTCTRY", "币安人生USDT"]
NOW_MS = 1_784_592_123_456


def history_of(name: str, seed: int) -> History:
    return History(Listing().symbols[name], seed, Prices(seed, REFERENCE_DAY, {}), None)


def undated(candle: Candle | None) -> Candle | None:
    return None if candle is None else candle._replace(start_ms=0)


@pytest.mark.parametrize("seed", [7, 8, 2026])
@pytest.mark.parametrize("name", SYMBOLS)
def test_any_window_is_exactly_the_sum_of_its_trades(name: str, seed: int) -> None:
    history = history_of(name, seed)
    dice = random.Random(seed)
    for _ in range(12):
        start = NOW_MS - dice.randrange(400 * DAY_MS)
        end = start + dice.randrange(1, dice.choice([1_000, 60_000, 3 * HOUR_MS]))

        trades = list(history.forward(start, end))

        assert undated(history.window(start, end)) == undated(fold(0, trades))


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_window_cut_in_two_adds_up_to_the_whole(name: str) -> None:
    history = history_of(name, 7)
    dice = random.Random(name)
    for _ in range(12):
        start = NOW_MS - dice.randrange(300 * DAY_MS)
        end = start + dice.randrange(2 * DAY_MS, 9 * DAY_MS)
        middle = dice.randrange(start + HOUR_MS, end - HOUR_MS)

        halves = [history.window(start, middle), history.window(middle, end)]

        assert undated(history.window(start, end)) == undated(merge(half for half in halves if half is not None))


@pytest.mark.slow
def test_a_whole_day_is_the_sum_of_all_its_trades() -> None:
    history = history_of("ETHUSDT", 7)
    start = NOW_MS // DAY_MS * DAY_MS - DAY_MS

    trades = list(history.forward(start, start + DAY_MS))

    assert len(trades) > 20_000
    assert history.window(start, start + DAY_MS) == fold(start, trades)


@pytest.mark.parametrize("name", SYMBOLS)
def test_trades_run_on_without_a_hole_in_ids_or_a_step_back_in_time(name: str) -> None:
    history = history_of(name, 7)
    midnight = NOW_MS // DAY_MS * DAY_MS

    trades = list(history.forward(midnight - 300_000, midnight + 300_000))

    assert [trade.id for trade in trades] == list(range(trades[0].id, trades[0].id + len(trades)))
    assert all(one.time_ms <= two.time_ms for one, two in pairwise(trades))
    assert {two.aggregate - one.aggregate for one, two in pairwise(trades)} == {0, 1}


@pytest.mark.parametrize("name", SYMBOLS)
def test_trades_of_one_aggregate_share_price_side_and_time_and_no_two_aggregates_do(name: str) -> None:
    history = history_of(name, 7)

    trades = list(history.forward(NOW_MS, NOW_MS + HOUR_MS))
    facts = {(trade.aggregate, trade.price, trade.buyer_is_maker, trade.time_ms) for trade in trades}

    assert len(facts) == len({trade.aggregate for trade in trades})
    assert len(facts) == len({trade.time_ms for trade in trades})
    assert all(trade.lots > 0 for trade in trades)


def test_the_past_does_not_depend_on_what_was_read_first() -> None:
    late_first, early_first = history_of("SOLUSDT", 7), history_of("SOLUSDT", 7)
    late_first.window(NOW_MS - DAY_MS, NOW_MS)

    early_first.window(LISTED_MS, LISTED_MS + HOUR_MS)

    assert late_first.last(NOW_MS) == early_first.last(NOW_MS)
    assert late_first.window(LISTED_MS, LISTED_MS + DAY_MS) == early_first.window(LISTED_MS, LISTED_MS + DAY_MS)


def test_another_seed_is_another_market() -> None:
    assert history_of("BTCUSDT", 7).last(NOW_MS) != history_of("BTCUSDT", 8).last(NOW_MS)


def test_prices_move_within_a_minute() -> None:
    history = history_of("BTCUSDT", 7)

    prices = {trade.price for trade in history.forward(NOW_MS, NOW_MS + 60_000)}

    assert len(prices) > 5


def test_a_trade_and_an_aggregate_are_found_by_their_ids() -> None:
    history = history_of("ETHBTC", 8)
    dice = random.Random(3)
    for _ in range(50):
        trade = history.last(NOW_MS - dice.randrange(900 * DAY_MS))
        assert trade is not None

        assert history.time_of_trade(trade.id) == trade.time_ms // 60_000 * 60_000
        assert history.time_of_aggregate(trade.aggregate) == trade.time_ms // 60_000 * 60_000


def test_an_id_before_the_first_trade_leads_to_the_listing() -> None:
    assert history_of("ETHBTC", 8).time_of_trade(0) == LISTED_MS


def test_nothing_was_traded_before_the_listing() -> None:
    history = history_of("BTCUSDT", 7)

    assert history.window(LISTED_MS - DAY_MS, LISTED_MS) is None
    assert history.last(LISTED_MS) is None
    assert next(history.forward(0, LISTED_MS), None) is None


@pytest.mark.parametrize("name", sorted(Listing().symbols))
def test_prices_keep_inside_the_range_of_the_price_filter(name: str) -> None:
    symbol = Listing().symbols[name]
    history = History(symbol, 7, Prices(7, REFERENCE_DAY, {}), None)

    year = history.window(NOW_MS - 90 * DAY_MS, NOW_MS)

    assert year is not None
    assert symbol.lowest_tick <= year.low <= year.high <= symbol.highest_tick


@pytest.mark.parametrize(
    ("cross", "one", "other"),
    [("ETHBTC", "ETHUSDT", "BTCUSDT"), ("SOLBTC", "SOLUSDT", "BTCUSDT"), ("BTCEUR", "BTCUSDT", "EURUSDT")],
)
def test_cross_rates_follow_from_the_dollar_prices(cross: str, one: str, other: str) -> None:
    def price(name: str, at_ms: int) -> float:
        history = history_of(name, 7)
        trade = history.last(at_ms)
        assert trade is not None
        return trade.price * history.symbol.tick

    for day in range(0, 400, 57):
        at_ms = NOW_MS - day * DAY_MS
        implied = price(one, at_ms) / price(other, at_ms) * 10**8
        assert price(cross, at_ms) == pytest.approx(implied, rel=0.02)


def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    made: list[int] = []
    memory: Lru[int, int] = Lru(2)

    def make(number: int) -> int:
        made.append(number)
        return number

    for number in (1, 2, 1, 3, 1, 2):
        assert memory.get(number, lambda wanted=number: make(wanted)) == number

    assert len(memory) == 2
    assert made == [1, 2, 3, 2]
