"""What users read is plain English: the words that only we use for things stay in the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_binance_server.surface.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "mcp_binance_server"
# The word of the house, and what a reader knows it by.
PLAIN = {
    r"mend(?:s|ed|ing)?": "fix",
    r"figures?": "number, metric",
    r"doors?": "transport, address",
    r"farewells?": "clean-up",
    r"crew": "workers",
    r"manners": "verbosity",
    r"switchboard": "sessions",
}
HOUSE_WORD = re.compile(rf"(?i)\b(?:{'|'.join(PLAIN)})\b")
# Words of others: a chart that is called so, elements of HTML.
OTHERS = re.compile(r"point (?:and|\(\?:and\|&\)) figure|</?figure\b")
# The generated reference among them has the help of every command, every setting and every error.
PAGES = sorted(
    path
    for folder in (ROOT / "docs", PACKAGE / "guide" / "content", ROOT / "plugin", ROOT / "examples")
    for path in folder.rglob("*.md")
)
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "proto" not in path.parts)


def house_words(text: str) -> list[str]:
    return [found[0] for found in HOUSE_WORD.finditer(OTHERS.sub("", text))]


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *PAGES], ids=str)
def test_a_page_for_users_is_in_plain_words(path: Path) -> None:
    assert house_words(path.read_text(encoding="utf-8")) == []


def test_what_a_client_lists_is_in_plain_words() -> None:
    lists = (CATALOGUE.tools, CATALOGUE.resources, CATALOGUE.templates, CATALOGUE.prompts)

    assert house_words("\n".join(each.wire.model_dump_json() for specs in lists for each in specs)) == []


@pytest.mark.night
def test_no_sentence_that_the_program_says_has_a_word_of_the_house() -> None:
    said = [f"{path.relative_to(PACKAGE)}: {text}" for path in SOURCES for text in sentences(path) if house_words(text)]

    assert said == []


def sentences(path: Path) -> Iterator[str]:
    """Return the texts of a module that are said to somebody: more than a word, and no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in silent]
    yield from (node.value for node in texts if isinstance(node.value, str) and " " in node.value.strip())
