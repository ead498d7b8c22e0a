"""Count the outcomes in pytest's JUnit files; fail on a failure, and on a skip whose reason is not expected here.

Usage: python scripts/outcomes.py FILE.xml ...
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

BESIDE = Path(__file__).resolve().parents[2] / "shared"
# What may be skipped in a run that installs everything, and why; anything else is a test that silently proves nothing.
EXPECTED = {
    r"root may write everywhere": "a refused write cannot be shown to root; who runs CI as another user sees the test",
    r"this machine has no IPv6": "containers often have none, and it cannot be installed",
}
# The contract documents and recorded markets are not ours to publish: a public clone has none.
EXPECTED_IN_A_CLONE = {r"not beside this checkout": "the contract documents and recorded markets are not published"}


def outcomes(files: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield every test's name, outcome and, for a skipped one, its reason."""
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314 - written by our own test run
            kinds = {child.tag: child for child in case}
            name = f"{case.get('classname')}::{case.get('name')}"
            if "failure" in kinds or "error" in kinds:
                yield name, "failed", ""
            elif "skipped" in kinds:
                yield name, "skipped", kinds["skipped"].get("message") or ""
            else:
                yield name, "passed", ""


def main(files: list[str]) -> int:
    """Print what went wrong and, as the last line, the counts."""
    expected = EXPECTED if BESIDE.is_dir() else EXPECTED | EXPECTED_IN_A_CLONE
    seen = list(outcomes(map(Path, files)))
    unexpected = [
        (name, reason)
        for name, outcome, reason in seen
        if outcome == "skipped" and not any(re.search(pattern, reason) for pattern in expected)
    ]
    for name, reason in unexpected:
        print(f"unexpected skip: {name}: {reason}")
    counts = Counter(outcome for _, outcome, _ in seen)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if unexpected or counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
