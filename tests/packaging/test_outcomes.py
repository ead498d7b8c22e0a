"""The count at the end of a run: a skip that nobody expected fails it as a failure does."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.fixtures import RECORDED_MARKET, UNPUBLISHED, reason

SCRIPT = Path(__file__).parents[2] / "scripts" / "outcomes.py"
PASSED = '<testcase classname="a" name="one"/>'
EXPECTED = '<testcase classname="a" name="two"><skipped message="root may write everywhere"/></testcase>'
UNEXPECTED = '<testcase classname="a" name="three"><skipped message="fish is not installed"/></testcase>'
FAILED = '<testcase classname="a" name="four"><failure message="no"/></testcase>'
UNPUBLISHED_ONE = f'<testcase classname="a" name="five"><skipped message="{reason(RECORDED_MARKET)}"/></testcase>'
REGISTERED = UNPUBLISHED[RECORDED_MARKET].tests


@pytest.mark.parametrize(
    ("cases", "code", "last_line"),
    [
        (PASSED, 0, "1 passed, 0 failed, 0 skipped"),
        (PASSED + EXPECTED, 0, "1 passed, 0 failed, 1 skipped"),
        (PASSED + UNEXPECTED, 1, "1 passed, 0 failed, 1 skipped"),
        (PASSED + FAILED, 1, "1 passed, 1 failed, 0 skipped"),
        (PASSED + REGISTERED * UNPUBLISHED_ONE, 0, f"1 passed, 0 failed, {REGISTERED} skipped"),
        (PASSED + (REGISTERED - 1) * UNPUBLISHED_ONE, 1, f"1 passed, 0 failed, {REGISTERED - 1} skipped"),
        ("", 1, "0 passed, 0 failed, 0 skipped"),
    ],
)
def test_a_run_is_as_good_as_its_worst_outcome(tmp_path: Path, cases: str, code: int, last_line: str) -> None:
    file = tmp_path / "junit.xml"
    file.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")

    done = subprocess.run([sys.executable, SCRIPT, file], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, last_line)
    assert ("three: fish is not installed" in done.stdout) == (UNEXPECTED in cases)
