"""The workflows: pinned, without stored secrets, and with no more rights than they need."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / ".github" / "workflows"
TEMPLATES = FOLDER.parent / "ISSUE_TEMPLATE"
WORKFLOWS = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yml")}


def jobs(name: str) -> dict[str, dict[str, Any]]:
    return yaml.safe_load(WORKFLOWS[name])["jobs"]


def test_there_is_one_for_changes_nights_weeks_releases_and_the_site() -> None:
    assert sorted(WORKFLOWS) == ["ci.yml", "newest.yml", "nightly.yml", "release.yml", "site.yml"]


def test_every_python_that_the_package_names_is_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", (FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))

    assert jobs("ci.yml")["everything"]["strategy"]["matrix"]["python"] == named
    assert jobs("nightly.yml")["everything"]["strategy"]["matrix"]["python"] == named
    assert named[-1] == "3.14"


def test_the_site_is_built_strictly_and_published_by_a_job_that_builds_nothing() -> None:
    build, deploy = jobs("site.yml")["build"], jobs("site.yml")["deploy"]

    assert "scripts/docs build/site" in [step.get("run") for step in build["steps"]]
    assert "permissions" not in build
    assert deploy["permissions"] == {"pages": "write", "id-token": "write"}
    assert [step["uses"].split("@")[0] for step in deploy["steps"]] == ["actions/deploy-pages"]


def test_an_issue_form_asks_for_no_secret_and_every_form_is_complete() -> None:
    forms = [
        yaml.safe_load(path.read_text(encoding="utf-8")) for path in TEMPLATES.glob("*.yml") if path.stem != "config"
    ]

    assert len(forms) == 2
    for form in forms:
        assert form["name"]
        assert form["description"]
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert any(field.get("validations", {}).get("required") for field in fields)
        assert all(field["attributes"]["label"] for field in fields)
    assert not re.search(r"(?i)paste your (api )?key|your secret", str(forms))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_action_is_a_commit_with_its_version_beside_it_and_no_secret_is_named(name: str) -> None:
    used = re.findall(r"uses: (.+)", WORKFLOWS[name])

    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\$/\S+", each)] == []
    assert "secrets." not in WORKFLOWS[name]
    assert yaml.safe_load(WORKFLOWS[name])["permissions"] == {"contents": "read"}


def test_one_action_is_one_commit_everywhere() -> None:
    used = set(re.findall(r"uses: ([\w./-]+)@(.+)", "".join(WORKFLOWS.values())))

    assert len(used) == len({name for name, _ in used})


@pytest.mark.parametrize("name", WORKFLOWS)
def test_everything_that_a_workflow_installs_has_a_hash(name: str) -> None:
    text = WORKFLOWS[name]
    installs = [line for line in re.findall(r"run: (.*(?:pip install|uv build).*)", text) if "--no-deps" not in line]

    assert [line for line in installs if "--require-hashes" not in line] == []
    assert text.count("curl ") == text.count("sha256sum --check") + text.count("http://127.0.0.1")


def test_workflows_are_audited_with_every_change() -> None:
    assert "check zizmor --offline" in (FOLDER.parents[1] / "scripts" / "check").read_text(encoding="utf-8")


def test_once_a_week_the_suite_meets_the_newest_releases_within_and_beyond_our_bounds() -> None:
    suite, audit = jobs("newest.yml")["suite"], jobs("newest.yml")["audit"]
    steps = [step.get("run", "") for step in suite["steps"]]

    assert suite["strategy"]["matrix"]["bounds"] == ["within", "beyond"]
    assert steps.index('python scripts/newest.py "$BOUNDS"') < steps.index("bash .ci/run --tier night")
    assert "scripts/audit" in [step.get("run") for step in audit["steps"]]
    assert "schedule:" in WORKFLOWS["newest.yml"]


def test_a_release_asks_for_the_digest_of_its_base_before_anything_is_built() -> None:
    steps = [step.get("run", "") for step in jobs("release.yml")["build"]["steps"]]

    assert steps.index("scripts/base_image --check") < min(i for i, run in enumerate(steps) if "build" in run.split())


def test_neither_a_release_nor_a_change_is_built_without_the_live_chart() -> None:
    (build,) = (step for step in jobs("release.yml")["build"]["steps"] if "uv build" in step.get("run", ""))
    steps = (FOLDER.parents[1] / ".ci" / "run").read_text(encoding="utf-8")

    assert build["env"] == {"CHART_PAGE": "required"}
    assert steps.index("export CHART_PAGE=required") < steps.index("retry uv build")


def test_what_builds_a_release_is_pinned() -> None:
    root = FOLDER.parents[1]
    needed = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    pinned = re.findall(r"^([\w-]+)==", (root / "requirements" / "build.txt").read_text(encoding="utf-8"), re.MULTILINE)

    assert {re.split(r"[><=]", each)[0] for each in needed} | {"uv"} <= set(pinned)
    assert "--build-constraints requirements/build.txt --require-hashes" in (root / ".ci" / "run").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_job_ends(name: str) -> None:
    assert [job for job, said in jobs(name).items() if "timeout-minutes" not in said and "uses" not in said] == []


def test_changes_are_tested_by_the_same_command_as_everywhere() -> None:
    assert "bash .ci/run" in WORKFLOWS["ci.yml"]
    assert jobs("release.yml")["test"]["uses"] == "$/.github/workflows/ci.yml"


def test_the_suite_runs_on_the_python_that_a_job_has_set_up() -> None:
    steps = [step for name in ("ci.yml", "newest.yml") for job in jobs(name).values() for step in job["steps"]]

    # Without it .ci/run looks for a system's own first.
    assert [step.get("env") for step in steps if ".ci/run" in step.get("run", "")] == [{"PYTHON": "python"}] * 2


def test_only_the_job_that_publishes_may_and_it_builds_nothing() -> None:
    publish = jobs("release.yml")["pypi"]

    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert [step["uses"].split("@")[0] for step in publish["steps"] if "uses" in step] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_what_is_released_is_attested_first() -> None:
    build = [step.get("uses", "").split("@")[0] for step in jobs("release.yml")["build"]["steps"]]

    assert build.index("actions/attest-build-provenance") < build.index("actions/upload-artifact")
    assert all("build" in needed or "pypi" in needed for needed in _needs("pypi", "image", "github", "registry"))


def _needs(*names: str) -> list[list[str]]:
    needed = [jobs("release.yml")[name]["needs"] for name in names]
    return [[each] if isinstance(each, str) else each for each in needed]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_script_that_is_run_is_ours(name: str) -> None:
    named = set(re.findall(r"scripts/[\w.]+", WORKFLOWS[name]))

    assert named
    assert [each for each in named if not (FOLDER.parents[1] / each).is_file()] == []
