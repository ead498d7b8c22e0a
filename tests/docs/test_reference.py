"""The reference agrees with the code and is complete: every tool, page, setting, error, command and metric."""

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from mcp_binance_server import errors
from mcp_binance_server.cli.arguments import parser
from mcp_binance_server.settings import VARIABLES
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.spec import ToolSpec
from mcp_binance_server.surface.tools.trading.toolset import TRADE_TOOLS
from mcp_binance_server.telemetry.metrics import Gauges, Metrics
from reference_pages.pages import PAGES
from support.pages import ROOT

FOLDER = ROOT / "docs" / "reference"


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_the_code_would_write_it(name: str) -> None:
    assert text_of(name) == PAGES[name](), "run scripts/reference"


def test_no_page_is_left_of_something_that_is_gone() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(PAGES)


def test_the_command_writes_every_page(tmp_path: Path) -> None:
    subprocess.run([str(ROOT / "scripts" / "reference"), str(tmp_path / "new")], check=True, timeout=60)

    assert {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "new").iterdir()} == {
        name: text_of(name) for name in PAGES
    }


@pytest.mark.parametrize("found", [*CATALOGUE.tools, *TRADE_TOOLS], ids=lambda spec: spec.name)
def test_a_tool_is_there_with_arguments_answer_scope_and_cost(found: ToolSpec[Any]) -> None:
    section = text_of("tools.md").split(f"\n### {found.name}\n")[1].split("\n### ")[0]

    assert found.description in section
    assert f"*Scope `{found.scope}`" in section
    assert (" · Cost " in section) == found.read_only or found in TRADE_TOOLS
    for name in found.input_schema.get("properties", {}):
        assert f"| `{name}` |" in section
    if found.answer is None:
        assert ("Answers with bars" if found.for_view_only else "Answers with a picture") in section
        return
    for name in found.answer.model_json_schema(by_alias=True)["properties"].keys() - {"success"}:
        assert f"`{name}`" in section


def test_every_resource_template_and_prompt_is_there() -> None:
    addresses = [each.uri for each in CATALOGUE.resources] + [each.uri_template for each in CATALOGUE.templates]

    assert [each for each in addresses if f"| `{each}` |" not in text_of("resources.md")] == []
    assert [each.name for each in CATALOGUE.prompts if f"\n## {each.name}\n" not in text_of("prompts.md")] == []


@pytest.mark.parametrize("name", VARIABLES)
def test_every_setting_is_there(name: str) -> None:
    assert f"| `{name}` |" in text_of("settings.md")


def test_every_error_is_there_with_its_code() -> None:
    def below(kind: type[errors.AppError]) -> list[type[errors.AppError]]:
        return [each for child in kind.__subclasses__() for each in (child, *below(child))]

    for kind in below(errors.AppError):
        if kind.__subclasses__() or kind is errors.SettingsError:
            continue
        assert f"| `{kind.code}` | `{kind.error_type}` |" in text_of("errors.md"), kind.__name__


def commands_below(command: argparse.ArgumentParser, name: str = "") -> Iterator[str]:
    for action in command._actions:
        if action.nargs == argparse.PARSER:
            for word, child in cast("dict[str, argparse.ArgumentParser]", action.choices).items():
                yield from commands_below(child, f"{name} {word}".strip())
            return
    yield name


@pytest.mark.parametrize("command", ["", *commands_below(parser())])
def test_every_flag_that_help_shows_is_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([*command.split(), "--help"])

    shown = capsys.readouterr().out
    section = text_of("cli.md").split(f"\n## mcp-binance-server {command}".rstrip() + "\n")[1].split("\n## ")[0]
    flags = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", shown, re.MULTILINE)) - {"--help"}
    assert [flag for flag in flags if not re.search(rf"^\| `(-\w, )?{flag}\b", section, re.MULTILINE)] == []


def test_every_metric_is_there() -> None:
    counted = Metrics()
    shown = counted.text(Gauges.zeros()).decode()
    names = re.findall(r"^# TYPE (\S+)", shown, re.MULTILINE)

    assert len(names) >= 9
    assert [name for name in names if f"| `{name}` |" not in text_of("metrics.md")] == []
    hosting = (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}" not in hosting] == []
