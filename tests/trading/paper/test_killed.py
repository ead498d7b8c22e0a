"""Matchers killed at any moment: what they leave adds up to the last unit, and nothing is given twice."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.process import clean_environment
from trading.paper import killing

pytestmark = [
    pytest.mark.flood,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="processes are forked, stopped and killed by signals"),
]

RUNS = 24


def killed(folder: Path, runs: int, control: str) -> dict[str, Any]:
    folder.chmod(0o700)
    found = subprocess.run(
        [sys.executable, killing.__file__, str(folder), str(runs), "7", control],
        capture_output=True,
        text=True,
        check=True,
        timeout=60 + 10 * runs,
        env=clean_environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
    )
    return json.loads(found.stdout)


def test_balances_add_up_whenever_the_matcher_is_killed(tmp_path: Path, scale: int) -> None:
    told = killed(tmp_path, RUNS * scale, "none")

    assert told["wrong"] == []
    assert told["kills"] >= RUNS * scale
    assert min(told["orders"], told["lists"], told["makers"], told["takers"], told["tokens"]) >= RUNS / 3


@pytest.mark.parametrize("control", ["split", "unfenced", "halves"])
def test_a_matcher_that_breaks_the_rule_is_found_out(tmp_path: Path, control: str) -> None:
    told = killed(tmp_path, 3 * RUNS, control)

    assert told["wrong"]
