"""The official conformance suite as a process, and its findings as records."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from support.process import clean_environment

VARIABLE = "MCP_TEST_CONFORMANCE"
PROGRAM = Path("node_modules/@modelcontextprotocol/conformance/dist/index.js")
PATIENCE_SECS = 110.0
# Servers under the suite are not measured for coverage: they would start several times slower, and others measure them.
UNMEASURED = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}
# Every scenario is also searched for messages that break the schema; that alone does not mean that it was played.
EVERYWHERE = "wire-schema-valid"
_FOLDER = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


class Check(msgspec.Struct, rename="camel"):
    """One thing the suite looked at."""

    id: str
    status: str
    error_message: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """What came out of one scenario."""

    name: str
    checks: tuple[Check, ...]

    def having(self, status: str) -> list[Check]:
        return [check for check in self.checks if check.status == status]

    @property
    def has_passed(self) -> bool:
        """Whether it was played, and nothing went wrong."""
        played = any(check.id != EVERYWHERE for check in self.having("SUCCESS"))
        return played and not self.having("FAILURE")

    def __str__(self) -> str:
        wrong = [f"{check.id}: {check.error_message}" for check in self.having("FAILURE")]
        return f"{self.name}: {'; '.join(wrong) or 'nothing was checked'}"


@dataclass(frozen=True, slots=True)
class Suite:
    """The installed suite."""

    home: Path

    def play(self, url: str, results: Path, *chosen: str) -> dict[str, Scenario]:
        """Play the chosen scenarios against a server and return what came out, by name."""
        command = [self._node(), str(self.home / PROGRAM), "server", "--url", url, *chosen, "-o", str(results)]
        # Its exit code speaks of the scenarios that it counts itself; they are all counted here.
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECS,
            check=False,
            env=clean_environment({}),
        )
        found = [*results.glob("*/checks.json")] if results.is_dir() else []
        assert found, f"the suite came to nothing:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        played = [_scenario(path) for path in found]
        return {scenario.name: scenario for scenario in played}

    def _node(self) -> str:
        own = self.home / "node_modules/.bin/node"
        return str(own) if own.exists() else shutil.which("node") or "node"


def installed() -> Suite:
    """Return the suite, or skip the test that asks for it and say how to have it."""
    home = os.environ.get(VARIABLE)  # noqa: TID251 - a test run has an environment too
    if not home:
        pytest.skip(f"no conformance suite: run scripts/conformance DIR, then set {VARIABLE}=DIR")
    assert (Path(home) / PROGRAM).is_file(), f"{VARIABLE}={home} holds no conformance suite"
    return Suite(Path(home))


def said(capsys: pytest.CaptureFixture[str], title: str, scenarios: Sequence[Scenario], others: str) -> None:
    """Print the counts past the capture; standard error is what a worker of a parallel run shares with its parent."""
    checks = Counter(check.status for scenario in scenarios for check in scenario.checks)
    counts = f"{checks['SUCCESS']} checks passed, {checks['FAILURE']} failed, {checks['WARNING']} warned"
    with capsys.disabled():
        sys.stderr.write(f"\n{title}: {len(scenarios)} scenarios, {counts}; {others}\n")


def _scenario(path: Path) -> Scenario:
    named = _FOLDER.fullmatch(path.parent.name)
    assert named is not None, path
    return Scenario(named[1], tuple(msgspec.json.decode(path.read_bytes(), type=list[Check])))
