"""The word of a window: silent on coins and on parent orders, heard where takers really lean."""

import random
from collections.abc import Sequence
from decimal import Decimal

import pytest

from mcp_binance_server.analytics.flow.direction import FlowDirection, flow_direction
from mcp_binance_server.analytics.flow.volume import SecondFlow
from mcp_binance_server.analytics.flow.window_scores import MOST_WINDOWS, FlowScores, one_sidedness, past_windows
from mcp_binance_server.analytics.metric import Window
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle

MINUTE_MS = 60_000
QUICK = Thresholds(resamples=100)


def minute(chance: random.Random, seconds: int, buy: float, parent_s: float) -> list[SecondFlow]:
    """Trade in bursts of heavy sizes; each second follows its parent order, or every trade its own coin."""
    rows = list[SecondFlow]()
    until, bought = 0.0, True
    for second in range(seconds):
        if second >= until:
            bought, until = chance.random() < buy, second + (chance.expovariate(1 / parent_s) if parent_s else 0)
        sums = {True: 0.0, False: 0.0}
        count = 1 + chance.randrange(12)
        for _ in range(count):
            side = bought if parent_s and chance.random() < 0.7 else chance.random() < (0.5 if parent_s else buy)
            sums[side] += chance.lognormvariate(-1, 1.5)
        rows.append(SecondFlow(second, sums[True], sums[False], count))
    return rows


def past_of(windows: Sequence[Sequence[SecondFlow]], seconds: int) -> FlowScores:
    scores = [one_sidedness(sum(s.buy for s in rows), sum(s.sell for s in rows)) for rows in windows]
    return FlowScores(seconds * 1000, 0, tuple(each for each in scores if each is not None))


def words(seed: int, seconds: int, *, parent_s: float = 0.0, buy: float = 0.5, windows: int = 150) -> list[str]:
    """Judge windows one after another; a lean begins after the past is known."""
    chance = random.Random(seed)
    rows = [minute(chance, seconds, 0.5, parent_s) for _ in range(MOST_WINDOWS)]
    said = list[str]()
    for _ in range(windows):
        now = minute(chance, seconds, buy, parent_s)
        past = past_of(rows[-MOST_WINDOWS:], seconds)
        said.append(flow_direction(now, Window(0, seconds * 1000), past, thresholds=QUICK).word)
        rows.append(minute(chance, seconds, 0.5, parent_s) if buy != 0.5 else now)
    return said


@pytest.mark.night
@pytest.mark.flood
@pytest.mark.parametrize("parent_s", [0, 5, 15, 30])
def test_on_tapes_that_mean_nothing_a_side_is_seldom_named(parent_s: float) -> None:
    said = [word for seed in (7, 11) for word in words(seed, 60, parent_s=parent_s)]

    assert sum(word != "USUAL" for word in said) <= 24  # 13 of 300 are due; one in a thousand runs has more


@pytest.mark.night
@pytest.mark.flood
def test_takers_who_lean_are_heard() -> None:
    strong = words(7, 60, buy=0.75, windows=60)
    long = words(11, 300, buy=0.60, windows=30)

    assert strong.count("ONE-SIDED (bought)") >= 54
    assert long.count("ONE-SIDED (bought)") >= 24
    assert words(7, 60, buy=0.25, windows=60).count("ONE-SIDED (sold)") >= 54


def judged(buy: float, past: FlowScores, *, trades: int | None = None, gaps: int = 0) -> FlowDirection:
    rows = [SecondFlow(at, buy, 1 - buy, 3) for at in range(60)]
    return flow_direction(rows, Window(0, MINUTE_MS), past, trades=trades, gaps=gaps)


def test_a_rare_lean_below_the_floor_is_not_named() -> None:
    calm = FlowScores(MINUTE_MS, 0, (0.01,) * 66)

    assert (judged(0.549, calm).word, judged(0.551, calm).word) == ("USUAL", "ONE-SIDED (bought)")
    assert judged(0.4, calm).word == "ONE-SIDED (sold)"


def test_a_side_is_named_up_to_three_of_sixty_seven() -> None:
    two, three = ((0.6,) * high + (0.2,) * (66 - high) for high in (2, 3))

    spoken, silent = (judged(0.75, FlowScores(MINUTE_MS, 0, scores)) for scores in (two, three))

    assert (spoken.word, silent.word) == ("ONE-SIDED (bought)", "USUAL")
    assert spoken.judgement is not None
    assert spoken.judgement.p == pytest.approx(3 / 67)
    assert spoken.judgement.base_rate is not None
    assert (spoken.judgement.base_rate.k, spoken.judgement.base_rate.n) == (2, 66)


def test_what_cannot_be_judged_says_why_and_names_nobody() -> None:
    past = FlowScores(MINUTE_MS, 0, (0.01,) * 39)
    enough = FlowScores(MINUTE_MS, 0, (0.01,) * 40)
    few = [SecondFlow(at, 5, 0, 10) for at in range(7)]
    thin = [SecondFlow(at, 1, 0, 1) for at in range(20)]

    short = judged(0.9, past)

    assert (short.why_null, short.word) == ("insufficient_history", "NOT JUDGED")
    assert short.judgement is not None
    assert short.judgement.not_judged is not None
    assert (short.judgement.not_judged.have, short.judgement.not_judged.need) == (39, 40)
    assert judged(0.9, enough).word == "ONE-SIDED (bought)"
    assert judged(0.9, enough, gaps=1).why_null == "gap_in_window"
    assert judged(0.9, enough, trades=29).why_null == "insufficient_events"
    window = Window(0, MINUTE_MS)
    for rows, why in (([], "no_trades"), (few, "insufficient_events"), (thin, "insufficient_events")):
        got = flow_direction(rows, window, enough)
        assert (got.why_null, got.word, got.share, got.judgement) == (why, "NOT JUDGED", None, None)
    unasked = flow_direction([SecondFlow(at, 1, 1, 3) for at in range(60)], window, "upstream_unavailable")
    assert (unasked.why_null, unasked.judgement) == ("upstream_unavailable", None)
    assert unasked.share is not None


def bar(at: int, bought: str, trades: int = 40, step_ms: int = MINUTE_MS) -> Candle:
    price, volume = Price(Decimal(1)), Quantity(Decimal(10))
    return Candle(
        at * step_ms, (at + 1) * step_ms - 1, price, price, price, price, volume, volume, trades,
        Quantity(Decimal(bought)),
    )  # fmt: skip


def test_windows_are_cut_back_from_the_end_and_only_whole_ones_that_traded_count() -> None:
    bars = [bar(0, "5"), bar(1, "8"), bar(2, "6"), bar(4, "9"), bar(5, "9"), bar(6, "7"), bar(7, "7", 1), bar(8, "0")]

    got = past_windows(bars, 2 * MINUTE_MS, 8 * MINUTE_MS)

    # Back from minute 8: (6, 7), (4, 5), (2 and no 3), (0, 1); minute 8 itself is not over.
    assert got.scores == pytest.approx((0.3, 0.8, 0.4))
    assert past_windows(bars, 2 * MINUTE_MS, 8 * MINUTE_MS, minimum=42).scores == pytest.approx((0.3, 0.8))


def test_no_more_windows_than_needed_are_kept_and_they_are_the_newest() -> None:
    bars = [bar(at, "9" if at < 34 else "5") for at in range(100)]

    got = past_windows(bars, MINUTE_MS, 100 * MINUTE_MS)

    assert len(got.scores) == MOST_WINDOWS
    assert set(got.scores) == {0.0}
