"""The rehearsal of a release: what it reads of this checkout agrees, and it sees what does not."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_binance_server import __version__
from release_rehearsal.readiness import (
    StepFailed,
    agreed_jobs,
    built_by,
    changelog_entry,
    expected_files,
    one_version,
    unmade,
    versions,
)

ROOT = Path(__file__).parents[2]
CARRIERS = (
    "src/mcp_binance_server/__init__.py", "server.json", "mcpb/manifest.json", "plugin/plugin.json",
    "plugin/.claude-plugin/plugin.json",
)  # fmt: skip
RELEASING = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
CHANGES = "## [Unreleased]\n\n## [0.2.0] - 2026-11-18\n\n### Added\n\n- A thing,\n  in two lines.\n- Another.\n"


@pytest.fixture
def workflow() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in CARRIERS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_place_that_releasing_names_is_asked_for_its_version(checkout: Path) -> None:
    assert all(f"`{name}`" in RELEASING for name in CARRIERS)
    assert one_version(versions(checkout)) == __version__
    assert len(versions(checkout)) == 6


@pytest.mark.parametrize("name", CARRIERS)
def test_a_place_with_another_version_is_named(name: str, checkout: Path) -> None:
    path = checkout / name
    path.write_text(path.read_text(encoding="utf-8").replace(__version__, "9.9.9"), encoding="utf-8")

    with pytest.raises(StepFailed, match=r"9\.9\.9"):
        one_version(versions(checkout))


@pytest.mark.parametrize("version", ["0.2", "0.2.0rc1", "v0.2.0", ""])
def test_what_is_no_version_of_a_release_is_refused(version: str) -> None:
    with pytest.raises(StepFailed):
        one_version({"here": version, "there": version})


def test_the_entries_of_a_version_are_counted() -> None:
    assert changelog_entry(CHANGES, "0.2.0") == "[0.2.0] of 2026-11-18 has 2 entries, [Unreleased] none"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("## [Unreleased]\n", "## [Unreleased]\n\n- Something new.\n", "1 entries are still under"),
        ("## [Unreleased]\n", "", r"\[Unreleased\] is missing"),
        ("## [0.2.0] - 2026-11-18", "## [0.3.0] - 2026-11-18", r"no section \[0\.2\.0\]"),
        (" - 2026-11-18", "", "has no date"),
        (" - 2026-11-18", " - 2026-11-31", "has no date"),
        ("## [0.2.0]", "## [0.3.0] - 2026-12-01\n\n- Later.\n\n## [0.2.0]", "is not the newest"),
        ("- A thing,\n  in two lines.\n- Another.\n", "", r"no section \[0\.2\.0\] with entries"),
    ],
)
def test_a_changelog_that_is_not_ready_is_refused(before: str, after: str, told: str) -> None:
    assert before in CHANGES

    with pytest.raises(StepFailed, match=told):
        changelog_entry(CHANGES.replace(before, after, 1), "0.2.0")


def test_the_workflow_and_the_page_name_the_same_jobs_and_commands(workflow: dict[str, Any]) -> None:
    assert agreed_jobs(workflow, RELEASING) == "6 jobs and 3 build commands, the same in both"


def test_a_job_or_a_command_that_the_page_lacks_is_named(workflow: dict[str, Any]) -> None:
    another = workflow | {"jobs": workflow["jobs"] | {"mirror": {}}}

    with pytest.raises(StepFailed, match="mirror"):
        agreed_jobs(another, RELEASING)
    with pytest.raises(StepFailed, match="scripts/sbom"):
        agreed_jobs(workflow, RELEASING.replace("scripts/sbom", "scripts/list"))


def test_the_files_of_a_release_are_those_that_the_page_and_the_workflow_name(workflow: dict[str, Any]) -> None:
    commands = " ".join(built_by(workflow))
    fixed = {name for name in expected_files(__version__) if __version__ not in name}

    assert {name for name in fixed if f"dist/{name}" in commands and f"`{name}`" in RELEASING} == fixed
    assert len(expected_files(__version__)) == 4


def test_a_file_that_a_job_takes_and_nobody_made_is_named(workflow: dict[str, Any]) -> None:
    made = expected_files(__version__)

    assert unmade(workflow, made) == []
    assert unmade(workflow, made - {"sbom.cdx.json"}) == ["sbom.cdx.json"]
    assert unmade(workflow, {each for each in made if not each.endswith(".whl")}) == ["*.whl"]


def test_the_rehearsal_itself_is_a_step_of_the_page_and_in_the_table_of_commands() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert "`scripts/rehearse_release`" in RELEASING
    assert "| `scripts/rehearse_release` |" in table


def test_the_newest_version_of_the_changelog_is_that_of_this_checkout() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", text, re.MULTILINE)[0] == __version__
