"""The flow word on real minutes: how often it is ONE-SIDED, and what the next minute did."""

from collections import defaultdict
from itertools import pairwise
from math import log, sqrt
from statistics import mean

import pytest

from mcp_binance_server.analytics.flow.window_scores import MOST_WINDOWS, ONE_SIDED, one_sidedness
from mcp_binance_server.analytics.score_history import ScoreHistory
from mcp_binance_server.analytics.thresholds import DEFAULTS
from support.fixtures import MARKET_HISTORY, needs
from support.history import MINUTE_MS, minutes_of, months_of_minutes

DAY_MS = 86_400_000


@needs(MARKET_HISTORY)
@pytest.mark.night
@pytest.mark.slow
def test_the_word_is_as_rare_as_its_rule_says_and_foretells_no_minute() -> None:
    judged = 0
    by_day: dict[tuple[str, int], list[float]] = defaultdict(list)
    for path in months_of_minutes():
        past = ScoreHistory(most=MOST_WINDOWS)
        for now, following in pairwise(minutes_of(path)):
            score = one_sidedness(now["taker_buy_volume"], now["volume"] - now["taker_buy_volume"])
            if score is None or now["count"] < DEFAULTS.min_events:
                continue
            judgement = past.judge(ONE_SIDED, score)
            past.add(score)
            if judgement.not_judged is None:
                judged += 1
                if judgement.is_unusual and following["open_time"] - now["open_time"] == MINUTE_MS:
                    side = 1 if 2 * now["taker_buy_volume"] > now["volume"] else -1
                    day = path.name, int(now["open_time"]) // DAY_MS
                    by_day[day].append(side * 10_000 * log(following["close"] / now["close"]))

    moves = [each for moves in by_day.values() for each in moves]
    middle = mean(moves)
    # Minutes of one day depend on each other, so the days are the sample.
    error = sqrt(sum((sum(day) - middle * len(day)) ** 2 for day in by_day.values())) / len(moves)
    assert judged > 300_000
    assert 0.04 < len(moves) / judged < 0.055
    assert middle < 1.96 * error
