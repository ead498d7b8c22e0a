"""The edit distance of two words counts a swap of neighbours as one slip."""

import random
from functools import cache

import pytest

from mcp_binance_server.charts.language.words import edit_distance


@pytest.mark.parametrize(
    ("word", "other", "slips"),
    [
        ("bitcoin", "bitcoin", 0),
        ("", "rsi", 3),
        ("bitcon", "bitcoin", 1),
        ("bolinger", "bollinger", 1),
        ("ris", "rsi", 1),
        ("ichimkou", "ichimoku", 1),
        ("ca", "abc", 3),
    ],
)
def test_known_distances(word: str, other: str, slips: int) -> None:
    assert edit_distance(word, other) == slips


def test_it_equals_the_recursive_definition_on_random_words() -> None:
    draw = random.Random(20_261_120)

    @cache
    def defined(one: str, other: str) -> int:
        if not one or not other:
            return len(one) + len(other)
        ways = [
            defined(one[:-1], other) + 1,
            defined(one, other[:-1]) + 1,
            defined(one[:-1], other[:-1]) + (one[-1] != other[-1]),
        ]
        if len(one) > 1 < len(other) and one[-2:] == other[-1] + other[-2]:
            ways.append(defined(one[:-2], other[:-2]) + 1)
        return min(ways)

    words = ["".join(draw.choices("abc", k=draw.randrange(7))) for _ in range(600)]

    assert all(edit_distance(a, b) == defined(a, b) for a, b in zip(words, reversed(words), strict=True))
