"""The lean of a week and the words for a day: silent on noise, heard when there is something."""

import random
from collections.abc import Sequence
from decimal import Decimal
from math import exp, sqrt

import pytest

from analytics.samples import price, quantity
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.analytics.trend.bias import Bias, find_bias, offers_entry, self_normalised
from mcp_binance_server.analytics.trend.day import DaySummary, position_in_range, summarise_day
from mcp_binance_server.domain.market import Ticker
from mcp_binance_server.domain.symbols import Symbol

THREE_WEEKS = 22 * 24
HOURLY = 0.006


def ticker(opened: str, last: str, high: str, low: str) -> Ticker:
    change = Decimal(last) - Decimal(opened)
    return Ticker(
        symbol=Symbol("XUSDT"),
        last_price=price(last),
        change=price(change),
        change_percent=change / Decimal(opened) * 100,
        open_price=price(opened),
        high=price(high),
        low=price(low),
        weighted_average=price(last),
        volume=quantity(1),
        quote_volume=quantity(1),
        bid=price(last),
        ask=price(last),
        trade_count=1,
        open_time_ms=0,
        close_time_ms=1,
    )


def clustered(seed: int, hours: int = THREE_WEEKS, *, drift: float = 0.0, over: int = 24) -> list[float]:
    """Return hourly returns with fat tails and storms; `drift` deviations of the last `over` hours lead one way."""
    chance, variance, made = random.Random(seed), HOURLY**2, list[float]()
    for _ in range(hours):
        shock = chance.gauss(0, 1) / sqrt(chance.gammavariate(2, 0.5)) / sqrt(2)
        made.append(sqrt(variance) * shock)
        variance = 0.1 * HOURLY**2 + 0.1 * made[-1] ** 2 + 0.8 * variance
    usual = sqrt(sum(each * each for each in made) / hours * over)
    return [each + (drift * usual / over if at >= hours - over else 0) for at, each in enumerate(made)]


def judged(returns: Sequence[float], thresholds: Thresholds | None = None) -> DaySummary:
    """Judge the day of hourly returns, whose range reaches a little beyond its ends."""
    prices, at = [100.0], 100.0
    for each in returns[-24:]:
        at *= exp(each)
        prices.append(at)
    shown = [f"{each:.6f}" for each in (prices[0], prices[-1], max(prices) * 1.001, min(prices) * 0.999)]
    return summarise_day(ticker(*shown), returns, thresholds=thresholds or Thresholds())


def steady(move: float, *, noise: float = 0.001, hours: int = THREE_WEEKS) -> list[float]:
    """Return hours that go up and down by the noise, and in the last day lead to the move."""
    return [(noise if at % 2 else -noise) + (move / 24 if at >= hours - 24 else 0) for at in range(hours)]


def test_a_week_that_leads_one_way_has_a_direction_and_its_mirror_the_other() -> None:
    rising = [0.001 if at % 3 else -0.001 for at in range(168)]

    up, down = find_bias(rising), find_bias([-each for each in rising])

    assert up.t == pytest.approx(56 * 0.001 / sqrt(168e-6))
    assert (up.direction, down.direction, up.n) == ("up", "down", 168)


def test_only_the_last_week_counts() -> None:
    before = [0.01] * 500
    quiet = [0.001 if at % 2 else -0.001 for at in range(168)]

    assert find_bias([*before, *quiet]).direction == "unclear"


def test_less_than_a_week_is_not_judged() -> None:
    assert find_bias([0.01] * 167) == Bias(None, None, 167, 2.1, why_null="insufficient_bars")


def test_a_market_that_stands_still_leans_nowhere() -> None:
    bias = find_bias([0.0] * 168)

    assert (bias.direction, bias.t) == ("unclear", 0.0)
    assert self_normalised([]) == 0.0


@pytest.mark.slow
def test_without_drift_a_week_has_a_direction_as_often_as_the_page_says() -> None:
    found = [find_bias(clustered(seed, 168)) for seed in range(800)]

    spoken = sum(each.direction != "unclear" for each in found) / len(found)
    assert found[0].by_chance == pytest.approx(0.0357, abs=1e-4)
    assert 0.01 < spoken <= 0.05


def test_a_week_of_five_deviations_has_a_direction() -> None:
    found = [find_bias(clustered(seed, drift=5, over=168)).direction for seed in range(60)]

    assert found.count("up") >= 0.9 * len(found)


def test_only_the_conservative_strategy_waits_and_only_in_a_downtrend() -> None:
    down, unclear, unknown = (Bias(each, None, 168, 2.1) for each in ("down", "unclear", None))

    assert not offers_entry("conservative", down)
    assert offers_entry("balanced", down)
    assert offers_entry("conservative", unclear)
    assert offers_entry("conservative", unknown)


@pytest.mark.slow
def test_without_drift_a_day_has_a_word_in_at_most_one_case_of_twenty() -> None:
    words = [judged(clustered(seed)).sentiment for seed in range(400)]

    assert 0 < len(words) - words.count("unclear") <= 0.05 * len(words)


@pytest.mark.slow
@pytest.mark.parametrize(("drift", "least"), [(3, 0.7), (5, 0.9)])
def test_a_day_of_some_deviations_is_heard(drift: int, least: float) -> None:
    words = [judged(clustered(seed, drift=drift)).sentiment for seed in range(80)]
    fallen = [judged(clustered(seed, drift=-drift)).sentiment for seed in range(80)]

    assert words.count("bullish") >= least * len(words)
    assert fallen.count("bearish") >= least * len(fallen)


@pytest.mark.parametrize(
    ("move", "momentum", "sentiment"),
    [
        (0.020, "positive", "bullish"),
        (0.007, "positive", "unclear"),
        (0.003, "little", "unclear"),
        (-0.003, "little", "unclear"),
        (-0.007, "negative", "unclear"),
        (-0.020, "negative", "bearish"),
    ],
)
def test_the_words_for_a_day_grow_with_its_move_in_usual_days(move: float, momentum: str, sentiment: str) -> None:
    day = judged(steady(move))

    assert (day.momentum, day.sentiment) == (momentum, sentiment)
    assert day.strength == pytest.approx(abs(self_normalised(steady(move)[-24:])), rel=0.001)


def test_a_large_move_in_a_loud_market_is_little() -> None:
    day = judged([*steady(0.0, noise=0.02)[:-24], *steady(0.03)[-24:]])

    assert (day.momentum, day.against) == ("little", "usual_day")
    assert day.strength == pytest.approx(0.03 / (0.02 * sqrt(24)), rel=0.01)


def test_a_move_that_drowns_in_its_own_day_is_little() -> None:
    day = judged([*steady(0.0)[:-24], *steady(0.03, noise=0.02)[-24:]])

    assert (day.momentum, day.against) == ("little", "own_noise")


@pytest.mark.parametrize(
    ("opened", "last", "sentiment"),
    [("100", "103", "bullish"), ("100", "102.4", "unclear"), ("105", "102.6", "unclear"), ("105", "102", "bearish")],
)
def test_a_word_needs_the_half_of_the_range_it_speaks_of(opened: str, last: str, sentiment: str) -> None:
    rising = Decimal(last) > Decimal(opened)

    day = summarise_day(ticker(opened, last, "105", "100"), steady(0.025 if rising else -0.025))

    assert day.momentum == ("positive" if rising else "negative")
    assert day.sentiment == sentiment


def test_bars_that_went_the_other_way_than_the_ticker_silence_it() -> None:
    day = summarise_day(ticker("100", "103", "105", "100"), steady(-0.025))

    assert (day.momentum, day.sentiment, day.strength) == ("little", "unclear", 0.0)


@pytest.mark.parametrize("hours", [0, 24, 167])
def test_without_a_week_of_bars_no_day_is_judged(hours: int) -> None:
    day = summarise_day(ticker("100", "140", "140", "100"), [0.01] * hours)

    assert (day.momentum, day.sentiment, day.strength) == ("not_judged", "unclear", None)


def test_a_day_after_weeks_of_nothing_is_held_against_its_own_noise() -> None:
    day = summarise_day(ticker("100", "103", "103", "100"), [*[0.0] * 200, *[0.03 / 24] * 24])

    assert (day.momentum, day.sentiment, day.against) == ("positive", "bullish", "own_noise")
    assert summarise_day(ticker("100", "100", "103", "100"), [0.0] * 200).momentum == "little"


def test_a_day_without_a_range_has_no_position_and_no_sentiment() -> None:
    day = summarise_day(ticker("1", "1.03", "1", "1"), steady(0.03))

    assert (day.momentum, day.position, day.sentiment) == ("positive", None, "unclear")


def test_the_edges_can_be_set() -> None:
    deaf = Thresholds(momentum_sigmas=100, sentiment_sigmas=100)

    assert judged(steady(0.02), deaf).momentum == "little"
    assert find_bias([0.001] * 168, edge=14).direction == "unclear"


def test_the_position_runs_from_the_low_to_the_high() -> None:
    assert [position_in_range(price(at), price(20), price(10)) for at in (10, 15, 20)] == [0.0, 0.5, 1.0]
