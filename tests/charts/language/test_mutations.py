"""Requests with accidents, ten thousand with `--scale 4`: none crashes, none is wrong and says nothing."""

from random import Random

import pytest

from charts.configs import CATALOGUE
from charts.language.mutations import mutated
from charts.language.own_words import OWN
from charts.language.talk import NOW, PRO, said, shared_phrasings
from mcp_binance_server.charts.validate import Conditions, validate_chart
from mcp_binance_server.errors import InvalidArguments
from support.chart_sentence import sentence_of

TEXTS = [*OWN, *(row["text"] for row in shared_phrasings())]
CONDITIONS = Conditions(PRO, NOW)
BATCHES, EACH = 10, 250
# Saying and reading again costs as much as the rest together.
SAID_AGAIN = 25


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.flood
@pytest.mark.parametrize("batch", range(BATCHES))
def test_an_accident_is_refused_or_read_or_said(batch: int, scale: int) -> None:
    random = Random(batch)
    for number in range(EACH * scale):
        text = mutated(random.choice(TEXTS), TEXTS, random)
        try:
            made = said(text)
        except InvalidArguments:
            continue
        verdict = validate_chart(made.config, catalogue=CATALOGUE, conditions=CONDITIONS)
        assert verdict.valid or made.warnings, (text, verdict.findings)
        if number % SAID_AGAIN == 0:
            sentence = sentence_of(made.config, CATALOGUE)
            assert said(sentence).config == made.config, (text, sentence)


def test_the_same_words_at_the_same_moment_are_the_same_chart() -> None:
    random = Random(99)
    texts = [mutated(random.choice(TEXTS), TEXTS, random) for _ in range(50)]

    def outcome(text: str) -> object:
        try:
            return said(text)
        except InvalidArguments as refused:
            return refused.message

    assert [outcome(text) for text in texts] == [outcome(text) for text in texts]
