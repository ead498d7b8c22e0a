"""An entry goes into a JSON text and comes out again, and nothing else moves."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.cli.setup.files import UnreadableConfig
from mcp_binance_server.cli.setup.json_edit import entry_in_json, put_in_json, read_json, take_from_json

ENTRY = {"command": "/bin/x", "args": ["a"], "env": {"A": "b"}}
WORDS = st.sampled_from(["mcpServers", "binance", "other", "a", "ö", "//", '"', "}", "", "x:y"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "//", "/* */", "},", '"', "ü\n"])
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS, below, max_size=3), max_leaves=12
)
SERVERS = st.dictionaries(WORDS, VALUES, max_size=4)
BLANKS = ("", " ", "\n", "\r\n", "\t")
REMARKS = (*BLANKS, "\n  // }, {\n", "/* , */", "\n/* { */\n")


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    document: dict[str, Any] = draw(st.dictionaries(WORDS, VALUES, max_size=4))
    document.pop("mcpServers", None)
    items = list(document.items())
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ("mcpServers", draw(SERVERS)))
    return dict(items)


@st.composite
def texts(draw: st.DrawFn, *, relaxed: bool) -> tuple[str, dict[str, Any]]:
    """Write a document as nobody would: blanks anywhere, and where they may be, comments and trailing commas."""
    document = draw(documents())
    if draw(st.booleans()):
        return json.dumps(document, indent=draw(st.sampled_from([None, 2, 4, "\t"]))), document
    filling = st.sampled_from(REMARKS if relaxed else BLANKS)

    def written(value: Any) -> str:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            parts = [f"{json.dumps(key)}{draw(filling)}:{draw(filling)}{written(each)}" for key, each in value.items()]  # pyright: ignore[reportUnknownVariableType]
            return "{" + _listed(parts) + "}"
        if isinstance(value, list):
            return "[" + _listed([written(each) for each in value]) + "]"  # pyright: ignore[reportUnknownVariableType]
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    def _listed(parts: list[str]) -> str:
        spaced = [f"{draw(filling)}{part}{draw(filling)}" for part in parts]
        comma = "," if relaxed and parts and draw(st.booleans()) else ""
        return ",".join(spaced) + comma + draw(filling)

    return draw(filling) + written(document) + draw(filling), document


def servers(document: dict[str, Any]) -> dict[str, Any]:
    return document.get("mcpServers") or {}


def bare(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document in which no table of servers and an empty one are the same, as they are to a client."""
    return {key: value for key, value in document.items() if key != "mcpServers" or value}


@pytest.mark.night
@pytest.mark.parametrize("relaxed", [False, True])
@given(data=st.data())
def test_any_file_keeps_everything_else(data: st.DataObject, *, relaxed: bool) -> None:
    text, document = data.draw(texts(relaxed=relaxed))

    added = put_in_json(text, "mcpServers", "binance", ENTRY, relaxed=relaxed)
    again = put_in_json(added, "mcpServers", "binance", ENTRY, relaxed=relaxed)
    removed = take_from_json(added, "mcpServers", "binance", relaxed=relaxed)

    others = {key: value for key, value in servers(document).items() if key != "binance"}
    expected = {**document, "mcpServers": {**others, "binance": ENTRY}}
    assert read_json(added, relaxed=relaxed).value == expected
    assert again == added
    assert bare(_read(removed, relaxed=relaxed)) == bare({**document, "mcpServers": others})
    assert take_from_json(removed, "mcpServers", "binance", relaxed=relaxed) == removed


@pytest.mark.night
@given(data=st.data())
def test_every_comment_survives_beside_the_entry(data: st.DataObject) -> None:
    text, document = data.draw(texts(relaxed=True))
    if "binance" in servers(document):
        return

    added = put_in_json(text, "mcpServers", "binance", ENTRY, relaxed=True)

    kept = iter(added)
    assert all(sign in kept for sign in text if not sign.isspace())


def test_what_the_standard_library_reads_we_read_alike() -> None:
    text = '{"a": [1, -2.5e3, true, null, "\\u00e9\\ud83d\\ude00"], "b": {"c": {}}}'

    assert read_json(text).value == json.loads(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{\n\t"theme": "dark", // mine\n\t"mcpServers": {\n\t\t"github": {"command": "gh"} // keep\n\t},\n}\n',
            '{\n\t"theme": "dark", // mine\n\t"mcpServers": {\n\t\t"github": {"command": "gh"}, // keep\n'
            '\t\t"binance": {\n\t\t\t"command": "x"\n\t\t}\n\t},\n}\n',
        ),
        (
            '{\r\n    "mcpServers": {}\r\n}\r\n',
            '{\r\n    "mcpServers": {\r\n        "binance": {\r\n            "command": "x"\r\n'
            "        }\r\n    }\r\n}\r\n",
        ),
        ('{"a":1}', '{"a":1, "mcpServers": {"binance": {"command": "x"}}}'),
        ("", '{\n  "mcpServers": {\n    "binance": {\n      "command": "x"\n    }\n  }\n}\n'),
    ],
)
def test_the_style_of_the_file_is_taken_over(before: str, after: str) -> None:
    added = put_in_json(before, "mcpServers", "binance", {"command": "x"}, relaxed=True)

    assert added == after


def test_what_was_added_to_a_tidy_file_leaves_it_as_it_was() -> None:
    before = '{\n  "a": 1,\n  "mcpServers": {\n    "github": {\n      "command": "gh"\n    }\n  }\n}\n'

    added = put_in_json(before, "mcpServers", "binance", ENTRY, relaxed=False)

    assert take_from_json(added, "mcpServers", "binance", relaxed=False) == before


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('{"a": 1,}', "1:9", "comma is not allowed"),
        ('{\n  "a": 1 // x\n}', "2:10", "allows no comments"),
        ('{\n  "a": 1\n  "b": 2\n}', "3:3", "a comma or '}' is expected"),
        ('{"a" 1}', "1:6", "a colon is expected"),
        ("{a: 1}", "1:2", "a name in double quotes"),
        ('{"a": }', "1:7", "a value is expected"),
        ('{"a": NaN}', "1:7", "not a JSON number"),
        ('{"a": [1, 2', "1:12", "the file ends too early"),
        ('{"a": "x\n"}', "1:9", "invalid control character"),
        ("[]", "1:1", "an object in braces"),
        ("{} x", "1:4", "unexpected text after the end"),
        ('{"mcpServers": []}', "1:16", "must be an object"),
        ('{"mcpServers": {},\n "mcpServers": {}}', "2:2", "duplicate key"),
        ('{"a": ' + "[" * 300, "1:207", "nested too deeply"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(UnreadableConfig) as refused:
        put_in_json(text, "mcpServers", "binance", ENTRY, relaxed=False)

    assert str(refused.value).startswith(f"{place}: ")
    assert problem in refused.value.problem


def test_a_comment_that_does_not_end_is_refused_where_it_begins() -> None:
    with pytest.raises(UnreadableConfig, match="1:4: this comment is not closed"):
        put_in_json("{} /* x", "mcpServers", "binance", ENTRY, relaxed=True)


def test_a_mark_at_the_beginning_stays_there() -> None:
    added = put_in_json('\ufeff{"a": 1}', "mcpServers", "binance", ENTRY, relaxed=False)

    assert added.startswith('\ufeff{"a": 1, ')
    assert entry_in_json(added, "mcpServers", "binance", relaxed=False) == ENTRY


def _read(text: str, *, relaxed: bool) -> dict[str, Any]:
    value: Any = read_json(text, relaxed=relaxed).value
    return value
