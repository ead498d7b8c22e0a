"""Count the outcomes in pytest's JUnit files. Fail on a failed test and on an unexpected skip.

A test that is expected to fail is reported. A test that failed and passed when it ran again alone is flaky: it is
reported and counts as passed. A test about money, keys or tenants must pass the first time.

Usage: python scripts/outcomes.py FILE.xml ...
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.fixtures import UNPUBLISHED, reason
from support.tiers import is_protected

# Allowed skips when everything is installed, with their reasons. Other skipped tests would silently prove nothing.
EXPECTED = {
    r"root may write everywhere": "root is never refused a write; the test runs as another user in CI",
    r"the night's clients run once, on Python 3\.11": "they do not run on the product's Python",
    r"this machine has no IPv6": "containers often have none, and tests cannot install it",
}
ABSENT = {reason(name): each.tests for name, each in UNPUBLISHED.items()}


def outcomes(files: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield the name and outcome of each test, and the reason of a skipped one."""
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314 - written by our own test run
            kinds = {child.tag: child for child in case}
            name = f"{case.get('classname')}::{case.get('name')}"
            if "failure" in kinds or "error" in kinds:
                yield name, "failed", ""
            elif "skipped" in kinds and kinds["skipped"].get("type") == "pytest.xfail":
                yield name, "expected", kinds["skipped"].get("message") or ""
            elif "skipped" in kinds:
                yield name, "skipped", kinds["skipped"].get("message") or ""
            else:
                yield name, "passed", ""


def main(files: list[str]) -> int:
    """Print the problems, and the counts as the last line."""
    found = [*outcomes(map(Path, files))]
    seen = {name: (outcome, why) for name, outcome, why in found}
    flaky = sorted({name for name, outcome, _ in found if outcome == "failed" and seen[name][0] == "passed"})
    for name in flaky:
        print(f"FLAKY: {name}")
    for name, (outcome, why) in seen.items():
        if outcome == "expected":
            print(f"EXPECTED TO FAIL: {name}: {why}")
    protected = [name for name in flaky if is_protected(name)]
    wrong = [f"failed once, and is protected: {name}" for name in protected]
    wrong += [
        f"unexpected skip: {name}: {why}"
        for name, (outcome, why) in seen.items()
        if outcome == "skipped" and why not in ABSENT and not any(re.search(pattern, why) for pattern in EXPECTED)
    ]
    skipped = Counter(why for outcome, why in seen.values() if outcome == "skipped")
    # If unpublished files are missing, all tests that need them are skipped. A different number is an error.
    wrong += [
        f"{skipped[why]} tests were skipped, {tests} are registered: {why}"
        for why, tests in ABSENT.items()
        if skipped[why] not in (0, tests)
    ]
    for line in wrong:
        print(line)
    counts = Counter("failed" if name in protected else outcome for name, (outcome, _) in seen.items())
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if wrong or counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
