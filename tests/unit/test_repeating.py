"""A failure prints one command that repeats it, with every seed that it drew from."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.process import clean_environment
from support.repeating import command_of, print_run_command

ROOT = Path(__file__).parents[2]


def test_a_failed_test_is_repeated_by_its_id_and_its_scale(pytestconfig: pytest.Config) -> None:
    told = command_of(pytestconfig, "tests/a test.py::test_it[1-'x']")

    assert told.startswith("""scripts/test 'tests/a test.py::test_it[1-'"'"'x'"'"']'""")
    assert ("--scale" in told) is (pytestconfig.getoption("scale") != 1)


@pytest.mark.night
def test_a_failure_says_how_to_repeat_it_with_its_seed(tmp_path: Path) -> None:
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_it(): raise ValueError\n")
    seeds = ("--randomly-seed=7", "--hypothesis-seed=5", "--scale=3")

    found = subprocess.run(
        [*f"{sys.executable} -m pytest -p conftest --rootdir {ROOT} -c {ROOT}/pyproject.toml".split(), failing, *seeds],
        cwd=ROOT,
        env=clean_environment({"PYTHONPATH": str(ROOT / "tests")}),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert re.search(r"Repeat with.*\nscripts/test \S*::test_it " + " ".join(seeds), found.stdout), found.stdout


def test_a_failed_run_prints_its_seed_and_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    print_run_command(7, "scripts/chaos", 30, "two words")

    assert capsys.readouterr().err == "seed 7; repeat with: scripts/chaos 30 'two words'\n"
