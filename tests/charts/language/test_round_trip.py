"""A configuration said in words and read again is the same configuration."""

import pytest

from charts.configs import CATALOGUE
from charts.language.own_words import OWN
from charts.language.talk import said, shared_phrasings
from mcp_binance_server.charts.catalogue import CatalogueStudy, StudyInput
from mcp_binance_server.charts.language.vocabulary import StudyWord
from mcp_binance_server.errors import InvalidArguments
from support.chart_sentence import sentence_of

TEXTS = [*OWN, *(row["text"] for row in shared_phrasings())]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:60])
def test_what_was_understood_can_be_said_and_understood_again(text: str) -> None:
    try:
        config = said(text).config
    except InvalidArguments:
        return

    sentence = sentence_of(config, CATALOGUE)

    assert said(sentence).config == config, sentence


@pytest.mark.parametrize("indicator", CATALOGUE.indicators, ids=lambda each: each.api_name)
def test_every_study_of_the_catalogue_can_be_asked_for_with_other_numbers(indicator: CatalogueStudy) -> None:
    inputs = {each.public: _other_than(each) for each in StudyWord.of(indicator).inputs}
    study = {"name": indicator.name, **({"inputs": inputs} if inputs else {})}

    made = said(sentence_of({"symbol": "BINANCE:BTCUSDT", "interval": "4h", "studies": [study]}, CATALOGUE))

    assert made.warnings == ()
    assert made.config["studies"] == [study]


def _other_than(rule: StudyInput) -> int | float:
    assert isinstance(rule.default, int | float)
    higher = rule.default + 1
    return higher if rule.max is None or higher <= rule.max else rule.default / 2
