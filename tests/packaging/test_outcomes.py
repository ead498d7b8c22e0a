"""The count at the end of a run: a skip that nobody expected fails it as a failure does."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.fixtures import RECORDED_MARKET, UNPUBLISHED, reason
from support.tiers import is_protected

SCRIPT = Path(__file__).parents[2] / "scripts" / "outcomes.py"
PASSED = '<testcase classname="a" name="one"/>'
EXPECTED = '<testcase classname="a" name="two"><skipped message="root may write everywhere"/></testcase>'
UNEXPECTED = '<testcase classname="a" name="three"><skipped message="fish is not installed"/></testcase>'
KNOWN = '<testcase classname="a" name="six"><skipped type="pytest.xfail" message="a known defect"/></testcase>'
FAILED = '<testcase classname="a" name="four"><failure message="no"/></testcase>'
MENDED = '<testcase classname="a" name="four"/>'
REGISTERED = UNPUBLISHED[RECORDED_MARKET].tests


def unpublished(count: int) -> str:
    skipped = f'<skipped message="{reason(RECORDED_MARKET)}"/>'
    return "".join(f'<testcase classname="b" name="{number}">{skipped}</testcase>' for number in range(count))


def outcomes_of(*files: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, SCRIPT, *files], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def written(file: Path, cases: str) -> Path:
    file.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("cases", "code", "last_line"),
    [
        (PASSED, 0, "1 passed, 0 failed, 0 skipped"),
        (PASSED + EXPECTED, 0, "1 passed, 0 failed, 1 skipped"),
        (PASSED + UNEXPECTED, 1, "1 passed, 0 failed, 1 skipped"),
        (PASSED + KNOWN, 0, "1 passed, 0 failed, 0 skipped"),
        (PASSED + FAILED, 1, "1 passed, 1 failed, 0 skipped"),
        (PASSED + unpublished(REGISTERED), 0, f"1 passed, 0 failed, {REGISTERED} skipped"),
        (PASSED + unpublished(REGISTERED - 1), 1, f"1 passed, 0 failed, {REGISTERED - 1} skipped"),
        ("", 1, "0 passed, 0 failed, 0 skipped"),
    ],
)
def test_a_run_is_as_good_as_its_worst_outcome(tmp_path: Path, cases: str, code: int, last_line: str) -> None:
    returned, said = outcomes_of(written(tmp_path / "junit.xml", cases))

    assert (returned, said.splitlines()[-1]) == (code, last_line)
    assert ("three: fish is not installed" in said) == (UNEXPECTED in cases)
    assert ("EXPECTED TO FAIL: a::six: a known defect" in said) == (KNOWN in cases)


@pytest.mark.parametrize(("first", "again", "code"), [(FAILED, MENDED, 0), (FAILED, FAILED, 1), (MENDED, FAILED, 1)])
def test_of_a_test_that_ran_again_the_later_outcome_counts(tmp_path: Path, first: str, again: str, code: int) -> None:
    files = (written(tmp_path / "first.xml", PASSED + first), written(tmp_path / "again.xml", again))

    returned, said = outcomes_of(*files)

    assert (returned, said.splitlines()[-1]) == (code, f"{2 - code} passed, {code} failed, 0 skipped")


ORDER = '<testcase classname="tests.trading.test_guards" name="five">{}</testcase>'
BROKEN = ORDER.format('<failure message="no"/>')


def test_a_test_that_passes_when_it_runs_again_is_named_as_flaky(tmp_path: Path) -> None:
    files = (written(tmp_path / "first.xml", PASSED + FAILED), written(tmp_path / "again.xml", MENDED))

    assert outcomes_of(*files) == (0, "FLAKY: a::four\n2 passed, 0 failed, 0 skipped\n")


def test_a_test_about_money_that_failed_once_fails_the_run(tmp_path: Path) -> None:
    files = (written(tmp_path / "first.xml", PASSED + BROKEN), written(tmp_path / "again.xml", ORDER.format("")))

    returned, said = outcomes_of(*files)

    assert (returned, said.splitlines()[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert "FLAKY: tests.trading.test_guards::five" in said


@pytest.mark.parametrize(
    "name",
    [
        "tests.trading.journal.test_store",
        "tests.wire.test_signing",
        "tests.state.test_claims_contract",
        "tests.surface.test_confirm_rounds",
        "tests.transports.http.mcp.test_isolation",
        "tests.transports.http.auth.test_whose_account",
        "tests.cli.trading.test_refused_starts",
        "tests.faults.test_denied_orders",
        "tests.wire.test_budget",
    ],
)
def test_orders_limits_signing_and_tenants_are_protected(name: str) -> None:
    assert is_protected(f"{name}::test_it")
    assert is_protected(f"{name.replace('.', '/')}.py::test_it[one]")
    assert Path(SCRIPT.parents[1], *name.split(".")).with_suffix(".py").is_file()
