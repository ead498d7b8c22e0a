"""What had a name in 0.1 has it still, or the page that leads from there says what to do."""

import json
import re
from typing import Any

from mcp_binance_server.settings import ANALYTICS_PREFIX, VARIABLES
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.pages import ROOT
from support.process import run_warm
from support.upgrade import LEFT

PAGE = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
NAMES: dict[str, Any] = json.loads((LEFT / "names.json").read_text(encoding="utf-8"))


def settings_now() -> set[str]:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([A-Z_]+)`", text, re.MULTILINE))


def gone() -> list[str]:
    return sorted({*NAMES["settings"]} - settings_now())


def test_the_page_names_every_setting_that_is_gone_and_no_other() -> None:
    section = PAGE.partition("### Thresholds that are gone")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    named = [f"{ANALYTICS_PREFIX}{name}" for row in rows for name in re.findall(r"`([A-Z_]+)`", row)]

    assert len(gone()) > 30
    assert sorted(named) == gone()


def test_settings_that_are_gone_end_the_start_and_each_is_named() -> None:
    done = run_warm(environment=dict.fromkeys(gone(), "1"))

    assert done.returncode == 2
    assert re.findall(r"^  (\w+): there is no such", done.stderr.decode(), re.MULTILINE) == gone()


def test_no_tool_prompt_page_error_metric_or_flag_of_before_is_gone() -> None:
    tools = {spec.name: spec.wire.input_schema["properties"] for spec in CATALOGUE.tools}
    prompts = {spec.name: {each.name for each in spec.wire.arguments or ()} for spec in CATALOGUE.prompts}
    reference = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").iterdir()}
    errors = {
        name: int(code) for code, name in re.findall(r"^\| `(-\d+)` \| `(\w+)`", reference["errors"], re.MULTILINE)
    }

    for name, arguments in NAMES["tools"].items():
        assert {*arguments} <= {*tools[name]}, name
    for name, arguments in NAMES["prompts"].items():
        assert {*arguments} <= prompts[name], name
    assert {name: errors.get(name) for name in NAMES["errors"]} == NAMES["errors"]
    assert [each for each in NAMES["resources"] if f"`{each}`" not in reference["resources"]] == []
    assert [each for each in NAMES["metrics"] if f"`{each}`" not in reference["metrics"]] == []
    assert [each for each in NAMES["flags"] if f"`{each}" not in reference["cli"]] == []


def test_what_the_page_names_as_it_is_now_exists() -> None:
    words = set(re.findall(r"`(\w+)`", PAGE))
    tools = {word for word in words if word.startswith(("get_", "detect_", "generate_", "estimate_"))}
    variables = {word for word in words if word.startswith("MCP_BINANCE_")} - {ANALYTICS_PREFIX}

    assert len(tools) > 5
    assert tools <= {spec.name for spec in CATALOGUE.tools}
    assert variables <= {*VARIABLES} | settings_now()
    for row in re.findall(
        r"^\| `\w+`.* \| (.+) \|$", PAGE.partition("### Thresholds")[2].partition("\n## ")[0], re.MULTILINE
    ):
        for name in re.findall(r"`([A-Z_]+)`", row):
            assert f"{ANALYTICS_PREFIX}{name}" in settings_now()
