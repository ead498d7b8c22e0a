"""The table of markets alike that is shipped: of today's scores, as it would be written, and true of another seed."""

from pathlib import Path

import pytest

from calibration.classes import ALL, HEAD, Scored, class_of, followed, percentile, written
from calibration.zero_intelligence import REGIMES
from mcp_binance_server.analytics.market import class_scores
from mcp_binance_server.analytics.market.class_scores import HIGH_SCORES, ORIGIN

SEED = 59


@pytest.fixture(scope="module")
def seen() -> Scored:
    """Follow a regime of few orders twice, on a seed that did not make the table."""
    return followed(REGIMES[2], [SEED], lives=2)


def test_the_shipped_table_is_as_it_would_be_written(seen: Scored) -> None:
    shipped = Path(class_scores.__file__).read_text(encoding="utf-8")
    made: dict[str, object] = {}

    exec(compile(written({REGIMES[2]: seen}), "made", "exec"), made)  # noqa: S102 - written in this line

    assert shipped.startswith(HEAD)
    assert made["SCORES_VERSION"] == class_scores.SCORES_VERSION
    assert {name for name in made if name.isupper()} == {name for name in vars(class_scores) if name.isupper()}
    assert [*ORIGIN] == [regime.name for regime in ALL]


def test_calm_markets_of_another_seed_seldom_exceed_it(seen: Scored) -> None:
    name = class_of(REGIMES[2], seen)
    high = HIGH_SCORES[name]

    above = {each: sum(score > high[each] for score in scores) for each, scores in seen.scores.items()}

    assert ORIGIN[REGIMES[2].name][1] == name
    assert sum(above.values()) <= 0.04 * sum(map(len, seen.scores.values())), above


def test_one_score_of_a_hundred_reaches_the_percentile() -> None:
    assert percentile([*map(float, range(100))]) == 99
    assert percentile([*map(float, range(200))]) == 198
