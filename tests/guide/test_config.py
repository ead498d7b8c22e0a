"""The configuration: what ships, what a file adds, and every mistake with its line."""

from pathlib import Path

import pytest

from mcp_binance_server.guide.config import Category, Collection, Guides, builtin_guides
from mcp_binance_server.guide.config_file import LARGEST_BYTES, parse_config, read_config


def good(text: str, folder: Path = Path("/base")) -> Guides:
    guides, mistakes = parse_config(text, folder)
    assert mistakes == ()
    assert guides is not None
    return guides


def test_without_a_file_there_are_the_categories_and_collections_that_ship() -> None:
    guides = builtin_guides()

    assert list(guides.categories) == ["start", "market", "risk", "trading", "charts", "errors", "data", "examples"]
    assert list(guides.collections) == ["all", "start", "errors", "before-trading"]
    assert [each.name for each in guides.categories_of(guides.collections["all"])] == sorted(guides.categories)


def test_a_file_adds_to_what_ships_and_wins_over_it() -> None:
    guides = good(
        "version: 1\n"
        "roots: [mine, /abs]\n"
        "categories:\n"
        "  risk: {dir: my-risk/, patterns: ['*.txt']}\n"
        "  desk:\n"
        "  here: {dir: .}\n"
        "collections:\n"
        "  all: {categories: [desk]}\n"
        "limits: {matches: 3}\n"
        "watch: false\n"
    )

    assert guides.roots == (Path("/base/mine"), Path("/abs"))
    risk = guides.categories["risk"]
    assert (risk.folder, risk.patterns, risk.builtin) == (("my-risk",), ("*.txt",), True)
    assert risk.description == builtin_guides().categories["risk"].description
    assert guides.categories["desk"] == Category("desk", "", ("desk",))
    assert guides.categories["here"].folder == ()
    assert guides.collections["all"] == Collection("all", "", ("desk",))
    assert (guides.limits.matches, guides.watch) == (3, False)


def test_a_category_that_ships_can_be_hidden_with_the_collections_that_had_only_it() -> None:
    guides = good("version: 1\ndisable_builtin: [errors, start]\n")

    assert "errors" not in guides.categories
    assert "errors" not in guides.collections
    assert [each.name for each in guides.categories_of(guides.collections["start"])] == ["examples"]


def test_a_name_of_both_kinds_is_legal_and_help_is_warned_about() -> None:
    guides = good("version: 1\ncategories: {help: , a: }\ncollections: {a: {categories: [a]}}\n")

    assert "easily mistaken for guide://help" in guides.warnings[0]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "must hold keys"),
        ("- a", 1, "must hold keys"),
        ("roots: []", 1, "version: field required"),
        ("version: 2", 1, "version"),
        ("version: 1\ncolour: red", 2, "colour: unknown key"),
        ("version: 1\ncategories:\n  risk:\n    dirs: x", 4, "categories.risk.dirs: unknown key"),
        ("version: 1\ncategories:\n  risk: {dir: ../x}", 3, "without '..'"),
        ("version: 1\ncategories:\n  risk: {dir: /etc}", 3, "must be relative"),
        ("version: 1\ncategories:\n  risk: {dir: 'C:\\x'}", 3, "must be relative"),
        ("version: 1\ncategories:\n  risk: {dir: a/.git}", 3, "leading dots"),
        ("version: 1\ncategories:\n  risk: {patterns: ['*.md',\n    '[a']}", 4, "not closed"),
        ("version: 1\ncategories:\n  risk: {patterns: []}", 3, "at least 1"),
        ("version: 1\ncategories:\n  a b: {dir: x}", 3, "a name has 1 to 30 letters"),
        ("version: 1\ncategories:\n  desk:\n  Desk:", 1, "differ only in case: desk"),
        ("version: 1\ncategories: {a: {description: " + "x" * 201 + "}}", 2, "200 characters"),
        ("version: 1\ncollections:\n  a: {categories: [nowhere]}", 3, "no category nowhere"),
        ("version: 1\ncollections:\n  a: {categories: [risk]}\n  b: {categories: [a]}", 4, "a is a collection"),
        ("version: 1\ncollections: {a: {}}", 2, "categories: field required"),
        ("version: 1\ndisable_builtin: [risk]\ncollections:\n  a: {categories: [risk]}", 4, "no category risk"),
        ("version: 1\ndisable_builtin:\n  - rsk", 3, "rsk is not built in"),
        ("version: 1\nlimits: {matches: 501}", 2, "500"),
        ("version: 1\nlimits: {document_bytes: 0}", 2, "greater than"),
        ("version: 1\nwatch: perhaps", 2, "watch"),
        ("version: 1\nversion: 1", 2, "duplicate key"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, line: int, words: str) -> None:
    guides, mistakes = parse_config(text, Path())

    assert guides is None
    assert (mistakes[0].line, len(mistakes)) == (line, 1)
    assert words in mistakes[0].text


def test_every_mistake_is_told_at_once_in_the_order_of_the_file() -> None:
    _, mistakes = parse_config("version: 1\ncolour: red\ncategories: {risk: {dir: ../x}}\nwatch: 7\n", Path())

    assert [mistake.line for mistake in mistakes] == [2, 3, 4]


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"version: 1 # \xff")
    (tmp_path / "large.yaml").write_bytes(b"#" * (LARGEST_BYTES + 1))
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "good.yaml").write_text("\ufeffversion: 1")
    (tmp_path / "link.yaml").symlink_to("good.yaml")

    said = {
        name: read_config(tmp_path / f"{name}.yaml")[1] for name in ("none", "latin", "large", "loop", "good", "link")
    }

    assert {name: [each.line for each in mistakes] for name, mistakes in said.items()} == {
        "none": [0], "latin": [0], "large": [0], "loop": [0], "good": [], "link": [],
    }  # fmt: skip
    assert "UTF-8" in said["latin"][0].text
    assert "larger" in said["large"][0].text
