"""Text made to hurt: nested, repeated, invisible; time and answer stay bounded."""

import pytest

from charts.language.talk import said

pytestmark = pytest.mark.flood


def test_an_answer_holds_no_control_characters() -> None:
    made = said("BTC 1h \x1b[31m wob\u202eble \x07 wobble")

    assert all(character.isprintable() for text in (made.reasoning, *made.warnings) for character in text)
