"""README names everything a user can meet, and nothing that does not exist."""

import re
from pathlib import Path

import pytest

from mcp_binance_server import errors
from mcp_binance_server.settings import VARIABLES
from mcp_binance_server.surface.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return README.split(f"\n## {heading}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", VARIABLES)
def test_every_setting_has_its_row(name: str) -> None:
    assert f"| `{name}` |" in section("Settings")


def test_no_row_is_about_a_setting_that_does_not_exist() -> None:
    rows = re.findall(r"^\| `([A-Z_]+\*?)` \|", section("Settings"), re.MULTILINE)

    assert sorted(rows) == sorted(VARIABLES)


def test_every_tool_stands_in_the_row_of_its_toolset() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section("What a client sees"), re.MULTILINE))

    for spec in CATALOGUE.tools:
        assert f"`{spec.name}`" in rows[spec.toolset]
    named = {
        name
        for row in rows.values()
        for name in re.findall(
            r"`((?:get|scan|search|preview|estimate|detect|fetch|construct|validate|generate|list)_\w+)`", row
        )
    }
    assert named == {spec.name for spec in CATALOGUE.tools}


def test_every_resource_and_prompt_is_named() -> None:
    seen = section("What a client sees")

    for spec in (*CATALOGUE.resources, *CATALOGUE.templates):
        address = getattr(spec, "uri", None) or getattr(spec, "uri_template", "")
        assert address in seen or f"…/{address.rpartition('/')[2]}" in seen
    for prompt in CATALOGUE.prompts:
        assert f"`{prompt.name}`" in seen


def test_every_error_a_client_can_get_has_its_row() -> None:
    def below(kind: type[errors.AppError]) -> list[type[errors.AppError]]:
        return [each for child in kind.__subclasses__() for each in (child, *below(child))]

    for kind in below(errors.AppError):
        if kind.__subclasses__() or kind is errors.SettingsError:
            continue
        assert f"`{kind.error_type}`" in section("Errors"), kind.__name__


def test_what_was_measured_of_orders_can_be_measured_again() -> None:
    table = section("Measured").split("\n### Orders\n")[1]
    commands = re.findall(r"\| `(scripts/[^`]+)` \|$", table, re.MULTILINE)
    files = [word for command in commands for word in command.split() if "/" in word]

    assert len(commands) == len(re.findall(r"^\| (?!What|---)", table, re.MULTILINE)) == 5
    assert [file for file in files if not (ROOT / file).is_file()] == []
