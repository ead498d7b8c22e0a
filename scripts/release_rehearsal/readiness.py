"""Checks before a release: versions, changelog, workflow and RELEASING.md must agree. Pure."""

import fnmatch
import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

VERSION = re.compile(r"\d+\.\d+\.\d+")
PACKAGE = "src/mcp_binance_server/__init__.py"
PLUGINS = ("plugin/plugin.json", "plugin/.claude-plugin/plugin.json")


class StepFailed(Exception):
    """A failed step. The text describes the problem in one or more lines."""


def versions(root: Path) -> dict[str, str]:
    """Return the version number at each place that has one."""
    server, manifest = (json.loads((root / name).read_text()) for name in ("server.json", "mcpb/manifest.json"))
    plugins = {name: json.loads((root / name).read_text()) for name in PLUGINS}
    own = re.search(r'^__version__ = "(.+)"$', (root / PACKAGE).read_text(encoding="utf-8"), re.MULTILINE)
    return {
        PACKAGE: own[1] if own else "none",
        "server.json": server["version"],
        **{f"server.json, package {at}": each["version"] for at, each in enumerate(server["packages"], 1)},
        "mcpb/manifest.json": manifest["version"],
        **{name: plugin["version"] for name, plugin in plugins.items()},
    }


def one_version(found: Mapping[str, str]) -> str:
    """Return the version that all places share.

    Raises:
        StepFailed: the places differ, or it is not a release version.
    """
    if len(set(found.values())) != 1:
        raise StepFailed("; ".join(f"{where} has {version}" for where, version in found.items()))
    version = next(iter(found.values()))
    if not VERSION.fullmatch(version):
        raise StepFailed(f"{version} is not of the form X.Y.Z")
    return version


def changelog_entry(text: str, version: str) -> str:
    """Check the changelog's section for a version and return a summary.

    Raises:
        StepFailed: its section, date or entries are missing, or [Unreleased] still has entries.
    """
    heads = re.findall(r"^## \[([^\]]+)\](?: - (\S+))?$", text, re.MULTILINE)
    bodies = re.split(r"^## \[.*$", text, flags=re.MULTILINE)[1:]
    entries = {head: len(re.findall(r"^- ", body, re.MULTILINE)) for (head, _), body in zip(heads, bodies, strict=True)}
    days = dict(heads)
    if entries.get("Unreleased", 0):
        raise StepFailed(f"{entries['Unreleased']} entries are still under [Unreleased]")
    if "Unreleased" not in entries:
        raise StepFailed("the section [Unreleased] is missing")
    if not entries.get(version, 0):
        raise StepFailed(f"no section [{version}] with entries")
    try:
        date.fromisoformat(days[version])
    except ValueError:
        raise StepFailed(f"[{version}] has no date, as in: ## [{version}] - 2026-01-31") from None
    if next(head for head, _ in heads if head != "Unreleased") != version:
        raise StepFailed(f"[{version}] is not the newest section")
    return f"[{version}] of {days[version]} has {entries[version]} entries, [Unreleased] none"


def agreed_jobs(workflow: Mapping[str, Any], releasing: str) -> str:
    """Check that the workflow and RELEASING.md name the same jobs and build commands, and return a summary.

    Raises:
        StepFailed: they differ.
    """
    jobs = [*workflow["jobs"]]
    listed = re.findall(r"^\| `(\w+)` \|", releasing, re.MULTILINE)
    if sorted(jobs) != sorted(listed):
        raise StepFailed(f"the workflow has the jobs {', '.join(jobs)}, RELEASING.md lists {', '.join(listed)}")
    by_hand = " ".join(re.findall(r"`([^`]+)`", releasing))
    missing = [
        each for each in built_by(workflow) if each.partition(" dist/")[0].partition(" --out-dir")[0] not in by_hand
    ]
    if missing:
        raise StepFailed(f"RELEASING.md lacks commands of the workflow: {'; '.join(missing)}")
    return f"{len(jobs)} jobs and {len(built_by(workflow))} build commands, the same in both"


def built_by(workflow: Mapping[str, Any]) -> list[str]:
    """Return the commands that build the release files, in order."""
    steps = [step.get("run", "") for step in workflow["jobs"]["build"]["steps"]]
    return [run for run in steps if run.startswith(("uv build", "scripts/")) and "--check" not in run]


def unmade(workflow: Mapping[str, Any], made: Iterable[str]) -> list[str]:
    """Return the files that the workflow takes from dist/ and that are missing in `made`."""
    runs = (step.get("run", "") for job in workflow["jobs"].values() for step in job.get("steps", ()))
    named = {name for run in runs for name in re.findall(r"\bdist/(\S+)", run)}
    return sorted(name for name in named if not fnmatch.filter(made, name))


def expected_files(version: str) -> set[str]:
    """Return the names of the published files of a release."""
    stem = f"mcp_binance_server-{version}"
    return {f"{stem}-py3-none-any.whl", f"{stem}.tar.gz", "mcp-binance-server.mcpb", "sbom.cdx.json"}
