"""Documents: what is taken from their text, and what never leaves us."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.guide.document import Facts, headings, read_text
from mcp_binance_server.words import one_line, visible


@pytest.mark.slow
def test_no_control_format_or_separator_character_leaves_us_but_tab_and_line_feed() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))

    left = {
        character for character in visible(everything) if unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}
    }

    assert left == {"\n", "\t"}


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u202e", "\u2066", "\ufeff", "\u00ad", "\U000e0041", "\ufe01", "\U000e0100", "\u3164"]
)
def test_characters_that_hide_text_are_gone(hidden: str) -> None:
    assert visible(f"sell{hidden}all") == "sellall"


def test_what_people_write_stays() -> None:
    text = "Ünïcode 币安 🙂\ufe0f\t| tab\n\n- “quotes”, 1 000 €\n"

    assert visible(text) == text
    assert visible("a\r\nb\rc\u2028d") == "a\nb\nc\nd"


@given(st.text(max_size=80))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    assert "\n" not in one_line(text, 20)
    assert len(one_line(text, 20)) <= 20


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_texts_are_cleaned_as_all_others_are(text: str) -> None:
    assert visible(text) == visible(f"{text}é")[:-1]


def test_front_matter_is_taken_off_and_read() -> None:
    front = "title: Sizing\ndescription: |\n  Two\n  lines\ntags: [risk, 5]\nother: x\n"
    text = f"\ufeff---\n{front}---\n\n# Heading\n\nBody\n"

    facts, body = read_text("sizing.md", text)

    assert facts == Facts("Sizing", "Two lines", ("risk", "5"))
    assert body == "# Heading\n\nBody\n"


@pytest.mark.parametrize(
    ("text", "title", "mistake"),
    [
        ("# First #\n\n# Second\n", "First", ""),
        ("```\n# code\n```\n## C#\n", "C#", ""),
        ("no heading\n", "a.md", ""),
        ("", "a.md", ""),
        ("---\ntitle: [1, 2]\n---\n# Real\n", "Real", ""),
        ("---\n- a list\n---\n# Real\n", "Real", ""),
        ("---\ntitle: a\ntitle: b\n---\n# Real\n", "Real", "front matter, line 3: duplicate key 'title'"),
        ("---\nfoo: &a [x]\nbar: *a\n---\n# Real\n", "Real", "front matter, line 3: aliases (*name) are not supported"),
        ("---\ntitle: never closed\n# Real\n", "Real", ""),
        ("---\nx: " + "y" * 9_000 + "\n---\n# Real\n", "a.md", ""),
    ],
)
def test_a_title_is_found_or_the_id_stands_in(text: str, title: str, mistake: str) -> None:
    facts, _ = read_text("a.md", text)

    assert (facts.title, facts.mistake) == (title, mistake)


def test_broken_front_matter_is_served_whole() -> None:
    text = "---\na: 1\na: 2\n---\n# Body\n"

    assert read_text("a.md", text)[1] == text


@pytest.mark.parametrize(
    ("doc_id", "text", "body"),
    [
        ("a.json", "{}", "```json\n{}\n```\n"),
        ("a.CSV", "x,y\n", "```csv\nx,y\n```\n"),
        ("a.txt", "```` in it\n", "`````text\n```` in it\n`````\n"),
        ("a.yml", "---\na: 1\n---\n", "```yaml\n---\na: 1\n---\n```\n"),
        ("a.toml", "", "```toml\n```\n"),
        ("a.markdown", "plain", "plain"),
    ],
)
def test_what_is_not_markdown_is_put_into_a_fence(doc_id: str, text: str, body: str) -> None:
    assert read_text(doc_id, text)[1] == body


def test_headings_know_where_they_stand() -> None:
    body = "# A\ntext\n~~~\n# not one\n~~~\n## B\n#no\n"

    assert [(body[at : at + 2], text) for at, text in headings(body)] == [("# ", "A"), ("##", "B")]
