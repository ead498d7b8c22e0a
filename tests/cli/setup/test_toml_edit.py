"""A table goes into a TOML text and comes out again, and no other line moves."""

import tomllib
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_binance_server.cli.setup.files import UnreadableConfig
from mcp_binance_server.cli.setup.toml_edit import entry_in_toml, put_in_toml, take_from_toml

ENTRY = {"command": r"C:\x y\"z", "args": ["-m", "ü\t"], "startup_timeout_sec": 60, "env": {"A.B": "c", "D": "e"}}
TABLE, NAME = "mcp_servers", "binance"

# Parts of a file, each good by itself; each at most once, in any order.
PARTS = (
    '[mcp_servers.github]\ncommand = "gh"\nargs = [\n  ["[mcp_servers.binance]"],\n]\n',
    '[mcp_servers.github.env]\nTOKEN = "[x]" # [mcp_servers.binance]\n',
    '# about binance\n[mcp_servers.binance]\ncommand = "old"\n\n',
    '[mcp_servers.binance.env]\nA = """\n[mcp_servers.other]\n\\""" """\n',
    "[mcp_servers.binance.tools.x]\non = true\n# the end of it\n",
    "[profiles.o3]\ntext = '''\n[mcp_servers.binance]\n'''\n",
    "[[projects]]\npath = 'a#b'\n",
    '[ "quoted" . key ]\nx = { a = [1, 2], b = "}" }\n\n\n',
    "# only a remark\n",
    '["mcp_servers"."dotted.name"]\ncommand = "d" # no end of line',
)
ROOT = 'model = "gpt-5" # mine\nnumbers = [\n  1,\n]\n'


@st.composite
def files(draw: st.DrawFn) -> str:
    parts = draw(st.permutations(PARTS))[: draw(st.integers(0, len(PARTS)))]
    text = draw(st.sampled_from(["", ROOT])) + "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def parsed(text: str) -> dict[str, Any]:
    document = tomllib.loads(text)
    servers = {name: entry for name, entry in document.pop(TABLE, {}).items() if name != NAME}
    return document | ({TABLE: servers} if servers else {})


@pytest.mark.night
@given(files())
def test_any_file_keeps_everything_else(text: str) -> None:
    added = put_in_toml(text, TABLE, NAME, ENTRY)
    again = put_in_toml(added, TABLE, NAME, ENTRY)
    removed = take_from_toml(added, TABLE, NAME)

    assert entry_in_toml(added, TABLE, NAME) == ENTRY
    assert parsed(added) == parsed(text)
    assert again == added
    assert entry_in_toml(removed, TABLE, NAME) is None
    assert parsed(removed) == parsed(text)
    assert [line for line in text.splitlines() if "remark" in line or "mine" in line or "about" in line] == [
        line for line in removed.splitlines() if "remark" in line or "mine" in line or "about" in line
    ]


def test_what_was_added_to_a_tidy_file_leaves_it_as_it_was() -> None:
    before = 'model = "x"\n\n[mcp_servers.github]\ncommand = "gh"\n'

    added = put_in_toml(before, TABLE, NAME, {"command": "x", "args": [], "on": True})

    assert added == f'{before}\n[mcp_servers.binance]\ncommand = "x"\nargs = []\non = true\n'
    assert take_from_toml(added, TABLE, NAME) == before


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = \n", "1:5"),
        ('x = 1\n[mcp_servers\ncommand = "x"\n', "2:13"),
        ("a = 1\na = 2\n", "2:6"),
        ("[a", "1:1"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(UnreadableConfig) as refused:
        put_in_toml(text, TABLE, NAME, ENTRY)

    assert str(refused.value).startswith(f"{place}: ")


@pytest.mark.parametrize(
    "text",
    [
        '[x]\n[y]\nmcp_servers = 1\n[mcp_servers]\nbinance = { command = "x" }\n',
        'mcp_servers = { github = { command = "gh" } }\n',
        'mcp_servers.binance.command = "x"\n',
        "mcp_servers = 3\n",
    ],
)
def test_a_form_that_cannot_be_edited_line_by_line_is_refused(text: str) -> None:
    with pytest.raises(UnreadableConfig, match=r"by hand|must be a table"):
        put_in_toml(text, TABLE, NAME, ENTRY)


LISTED = (
    '[[mcp_servers]]\nname = "github"\ncommand = "gh"\n[mcp_servers.env]\nTOKEN = "x"\n',
    '# about binance\n[[mcp_servers]]\ncommand = "old"\nname = "binance"\n\n[mcp_servers.env]\nA = "b"\n',
    "[[models]]\nname = 'binance'\n",
)


@pytest.mark.parametrize("parts", list(permutations(LISTED)), ids=["123", "132", "213", "231", "312", "321"])
def test_one_of_a_list_of_tables_is_replaced_and_removed(parts: tuple[str, ...]) -> None:
    text = "\n".join(parts)
    others = [each for each in tomllib.loads(text)["mcp_servers"] if each["name"] != NAME]

    added = put_in_toml(text, TABLE, NAME, ENTRY, in_list=True)
    again = put_in_toml(added, TABLE, NAME, ENTRY, in_list=True)
    removed = take_from_toml(added, TABLE, NAME)

    assert tomllib.loads(added)["mcp_servers"] == [*others, {"name": NAME, **ENTRY}]
    assert entry_in_toml(added, TABLE, NAME) == ENTRY
    assert again == added
    assert tomllib.loads(removed)["mcp_servers"] == others
    assert tomllib.loads(removed)["models"] == [{"name": "binance"}]


def test_a_list_starts_in_an_empty_file_and_a_table_of_that_name_is_refused() -> None:
    added = put_in_toml("", TABLE, NAME, {"command": "x"}, in_list=True)

    assert added == '[[mcp_servers]]\nname = "binance"\ncommand = "x"\n'
    assert take_from_toml(added, TABLE, NAME) == ""
    with pytest.raises(UnreadableConfig, match="by hand"):
        put_in_toml('[mcp_servers.github]\ncommand = "gh"\n', TABLE, NAME, ENTRY, in_list=True)
