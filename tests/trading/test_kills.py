"""kill -9 at every label on the way of an order: nothing is doubled, lost, or other than the exchange says."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.flood,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that their start costs little"),
]

RUNS, RUNS_OF_A_COMMIT, WRONG_RUNS = 150, 40, 40
RUNS_OF_SALES, SALES_OF_A_COMMIT = 400, 110


def killed(folder: Path, desk: str, runs: int, group: str = "") -> dict[str, Any]:
    """Run the matrix in a process without threads or loops of its own: only such a one can be forked safely."""
    paths = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-c", "from trading.kill_matrix import main; main()", str(folder), desk, str(runs), group],
        env={"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(3_600)
def test_a_process_killed_at_any_label_neither_doubles_nor_loses_an_order(
    tmp_path: Path, sized: Callable[[int, int], int]
) -> None:
    runs = sized(RUNS, RUNS_OF_A_COMMIT)

    told = killed(tmp_path, "desk", runs)

    assert told["wrong"] == []
    assert told["runs"] == runs
    assert told["killed"] == min(runs, told["labels"])


@pytest.mark.timeout(3_600)
def test_a_sale_of_reserved_coins_killed_at_any_label_leaves_no_coins_without_exit_or_warning(
    tmp_path: Path, sized: Callable[[int, int], int]
) -> None:
    runs = sized(RUNS_OF_SALES, SALES_OF_A_COMMIT)

    told = killed(tmp_path, "desk", runs, "sale")

    assert told["wrong"] == []
    assert told["killed"] == min(runs, told["labels"])


@pytest.mark.parametrize(("desk", "fault"), [("late", "the exchange has it"), ("resending", "was sent 2 times")])
def test_the_same_matrix_sees_a_desk_that_is_wrong(tmp_path: Path, desk: str, fault: str) -> None:
    told = killed(tmp_path, desk, WRONG_RUNS)

    assert any(fault in each for each in told["wrong"]), told
