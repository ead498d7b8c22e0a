"""Run all steps in order and list the manual ones: `scripts/rehearse_release [FOLDER]`."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from release_rehearsal.commands import AROUND, ROOT, last_line, run
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

NOTE = "is not published yet"
WORKFLOW = ".github/workflows/release.yml"
# Manual steps of RELEASING.md, by their numbers.
BY_A_PERSON = (
    "step 4: scripts/nightly, scripts/upstream_mutants 1000000, scripts/kill_matrix and scripts/fleet_kills on a quiet "
    "machine; demo --http in a browser, doctor with a real key that may only read",
    "step 5: push, wait for CI, then git tag -s {tag} && git push origin {tag}",
    "step 6: approve the environment pypi when the workflow asks",
    "step 7: uvx mcp-binance-server@{version} --version; open the bundle in Claude Desktop; check the registry",
)


class LeftByHand(Exception):
    """A step that cannot run on this machine. The text says where it can."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a step."""

    step: str
    what: Literal["done", "FAILED", "left"]
    told: str


class Rehearsal:
    """One rehearsal: the steps in order, and their outcomes."""

    def __init__(self, folder: Path) -> None:
        self.outcomes: list[Outcome] = []
        self._tools, self._dist, self._clean = folder / "tools", folder / "dist", folder / "clean"
        self._workflow = yaml.safe_load((ROOT / WORKFLOW).read_text(encoding="utf-8"))
        self._version = "0.0.0"

    def run(self) -> int:
        """Run all steps and return the exit code."""
        steps: dict[str, Callable[[], str]] = {
            "version": self._one_version,
            "changelog": lambda: changelog_entry(_text("CHANGELOG.md"), self._version),
            "tag": self._tag,
            "workflow": lambda: agreed_jobs(self._workflow, _text("RELEASING.md")),
            "notes": self._notes,
            "base image": lambda: _or_left(["scripts/base_image", "--check"], "scripts/base_image, where Docker is"),
            "tools": self._install_tools,
            **{_short(each): self._as_released(each) for each in built_by(self._workflow)},
            "twine check": lambda: last_line(
                run([sys.executable, "-m", "twine", "check", "--strict", *self._packages()])
            ),
            "footprint": lambda: self._with_tools(
                ["scripts/footprint", str(self._wheel()), str(self._clean)], all_lines=True
            ),
            "--version": self._says_version,
            "first answer": self._first_answer,
            "files": self._files,
        }
        for name, step in steps.items():
            try:
                outcome = Outcome(name, "done", step())
            except StepFailed as problem:
                outcome = Outcome(name, "FAILED", str(problem))
            except LeftByHand as reason:
                outcome = Outcome(name, "left", str(reason))
            self.outcomes.append(outcome)
            print(as_line(outcome), flush=True)
        return self._report()

    def _report(self) -> int:
        left = [f"{each.step}: {each.told.splitlines()[0]}" for each in self.outcomes if each.what == "left"]
        asked = [each.format(version=self._version, tag=f"v{self._version}") for each in BY_A_PERSON]
        print("\n  ".join(("\nManual steps:", *left, *asked)))
        failed = [each.step for each in self.outcomes if each.what == "FAILED"]
        print(f"\n{'Failed: ' + ', '.join(failed) if failed else 'Nothing failed.'}")
        return 1 if failed else 0

    def _one_version(self) -> str:
        found = versions(ROOT)
        self._version = one_version(found)
        return f"{self._version} in {len(found)} places"

    def _tag(self) -> str:
        tag = f"v{self._version}"
        if run(["git", "tag", "--list", tag], cwd=ROOT).strip():
            raise StepFailed(f"{tag} already exists; a version is never published twice")
        (check,) = (
            step["run"]
            for step in self._workflow["jobs"]["build"]["steps"]
            if step.get("name") == "The tag is the version"
        )
        run(["bash", "-c", check], around={"GITHUB_REF_NAME": tag})
        return f"{tag} is free, and passes the workflow's check"

    def _notes(self) -> str:
        told = [name for name in ("README.md", "docs/quickstart.md") if NOTE in _text(name)]
        if told:
            raise LeftByHand(f"step 2: remove “{NOTE}” from {' and '.join(told)} in the tagged commit")
        return "no page has the note that it is not published"

    def _install_tools(self) -> str:
        for program in ("node", "npm"):
            if shutil.which(program) is None:
                raise StepFailed(f"{program} is not installed; the live chart page and the bundle need it")
        run([sys.executable, "-m", "venv", str(self._tools)])
        run(
            [str(self._tools / "bin" / "pip"), "install", "--quiet", "--require-hashes", "-r", "requirements/build.txt"]
        )
        return run([str(self._tools / "bin" / "uv"), "--version"]).strip()

    def _as_released(self, command: str) -> Callable[[], str]:
        words = re.sub(r"\bdist\b", str(self._dist), command)
        return lambda: self._with_tools(["bash", "-c", words], CHART_PAGE="required")

    def _with_tools(self, command: list[str], *, all_lines: bool = False, **more: str) -> str:
        path = f"{self._tools / 'bin'}{os.pathsep}{AROUND['PATH']}"
        said = run(command, around={"PATH": path, **more})
        return "; ".join(" ".join(line.split()) for line in said.splitlines()) if all_lines else last_line(said)

    def _packages(self) -> list[str]:
        return [str(each) for each in sorted(self._dist.glob("mcp_binance_server-*"))]

    def _wheel(self) -> Path:
        found = [*self._dist.glob("*.whl")]
        if len(found) != 1:
            raise StepFailed("no wheel was built")
        return found[0]

    def _says_version(self) -> str:
        said = run([str(self._clean / "bin" / "mcp-binance-server"), "--version"], cwd=self._dist).strip()
        if said != f"mcp-binance-server {self._version}":
            raise StepFailed(f"the installed command prints {said}")
        return said

    def _first_answer(self) -> str:
        command = str(self._clean / "bin" / "mcp-binance-server")
        ask = [str(self._clean / "bin" / "python"), str(ROOT / "scripts" / "ask_demo.py"), command, "demo"]
        said = run(ask, cwd=self._dist).strip()
        if not said.startswith(f"mcp-binance-server {self._version}: BTCUSDT "):
            raise StepFailed(said)
        return said

    def _files(self) -> str:
        found = (
            {each.name for each in self._dist.iterdir() if each.name != ".gitignore"}
            if self._dist.is_dir()
            else set[str]()
        )
        if found != expected_files(self._version):
            raise StepFailed(f"expected {sorted(expected_files(self._version))}, found {sorted(found)}")
        if lacking := unmade(self._workflow, found):
            raise StepFailed(f"the workflow uses {', '.join(lacking)}, which no command builds")
        return ", ".join(sorted(found))


def as_line(outcome: Outcome) -> str:
    """Return an outcome as one line. A failure has its details below."""
    first, *more = outcome.told.splitlines() or [""]
    return "\n".join((f"{outcome.what:<7} {outcome.step:<20} {first}", *(f"        {line}" for line in more)))


def _short(command: str) -> str:
    return command.partition(" --")[0].partition(" dist/")[0]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _or_left(command: list[str], otherwise: str) -> str:
    try:
        return last_line(run(command))
    except StepFailed as missing:
        raise LeftByHand(f"step 3: {otherwise}\n{missing}") from None


if __name__ == "__main__":
    sys.exit(Rehearsal(Path(sys.argv[1])).run())
