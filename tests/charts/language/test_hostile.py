"""Text made to hurt: nested, repeated, invisible; time and answer stay bounded."""

import time

import pytest

from charts.language.own_words import OWN
from charts.language.talk import knowledge, said
from mcp_binance_server.charts.language.normalise import LONGEST
from mcp_binance_server.errors import InvalidArguments

pytestmark = pytest.mark.flood

PIECES = (
    "(", "a ", "1 ", "1,", "EMA ", "EMA 1 ", "1/", "last ", "BTC ", "BTC/", "from 2024-01-01 to ", "not ", "$", "1h ",
    "-", "long 1 ", "support at 1, ", "1.", "NASDAQ:A+", "(NASDAQ:A", "aaaaaaaaaaaaaaaaaaaaaaaa ", "zzzzzzzz ", "jan ",
    "in ", "\n", "1x", "\0", "\u202e", "é", "1 and ", "between 1 and ", "rsi(", "rsi(1,", "since the ", "x:y ", "1000",
    "BTC:", "9" * 50,
)  # fmt: skip


@pytest.mark.parametrize("around", [("", ""), ("BTC 1h ", ""), ("", " BTC 1h")], ids=["alone", "after", "before"])
@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_repetition_costs_little_and_answers_little(piece: str, around: tuple[str, str]) -> None:
    before, after = around
    text = (before + piece * LONGEST)[: LONGEST - len(after)] + after
    started = time.process_time()

    try:
        answer = said(text)
        size = len(answer.reasoning) + sum(map(len, answer.warnings))
    except InvalidArguments as refused:
        size = len(refused.message)

    # A tenth of this is usual; a pattern that runs wild takes minutes.
    assert time.process_time() - started < 2
    assert size < 100_000


def test_an_answer_holds_no_control_characters() -> None:
    made = said("BTC 1h \x1b[31m wob\u202eble \x07 wobble")

    assert all(character.isprintable() for text in (made.reasoning, *made.warnings) for character in text)


def test_ninety_five_of_a_hundred_requests_take_less_than_twenty_milliseconds() -> None:
    knowledge()
    said("bitcon")
    spent: list[float] = []

    for text in OWN:
        started = time.process_time()
        said(text)
        spent.append(time.process_time() - started)

    spent.sort()
    assert spent[int(len(spent) * 0.95)] < 0.02
