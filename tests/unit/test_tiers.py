"""Tiers: a commit leaves out what is marked for the night, and nothing that a public clone counts."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.process import clean_environment

ROOT = Path(__file__).parents[2]
SOURCE = """
import pytest

def test_plain(): pass

@pytest.mark.night
def test_long(): pass

@pytest.mark.alone
def test_by_the_clock(): pass

@pytest.mark.flood
@pytest.mark.parametrize("case", [1, 2])
def test_flood(case): pass

@pytest.mark.flood
@pytest.mark.needs("the recorded market")
@pytest.mark.parametrize("case", [1, 2])
def test_needing(case): pass
"""
COMMIT = ["test_plain", "test_flood[1]", "test_needing[1]", "test_needing[2]"]
NIGHT = ["test_plain", "test_long", "test_by_the_clock", "test_flood[1]", "test_flood[2]", *COMMIT[2:]]


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        ("--tier commit", COMMIT),
        ("", COMMIT),
        ("--tier night", NIGHT),
        ("--scale 2", NIGHT),
        ("--tier quick", []),
    ],
)
def test_a_tier_holds_its_tests(tmp_path: Path, arguments: str, chosen: list[str]) -> None:
    assert collected(tmp_path, "", *arguments.split()) == chosen


def test_a_test_that_is_named_runs_in_every_tier(tmp_path: Path) -> None:
    assert collected(tmp_path, "::test_long") == ["test_long"]
    assert collected(tmp_path, "::test_flood[2]") == ["test_flood[2]"]


def collected(folder: Path, name: str, *arguments: str) -> list[str]:
    file = folder / "test_tiered.py"
    file.write_text(SOURCE)
    command = f"{sys.executable} -m pytest -p conftest -p no:randomly --rootdir {ROOT} -c {ROOT}/pyproject.toml".split()
    found = subprocess.run(
        [*command, "--collect-only", "-q", f"{file}{name}", *arguments],
        cwd=ROOT,
        env=clean_environment({"PYTHONPATH": str(ROOT / "tests")}),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    return [line.partition("::")[2] for line in found.stdout.splitlines() if "::" in line]
