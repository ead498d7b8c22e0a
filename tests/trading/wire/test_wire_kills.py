"""kill -9 on the way of an order to the exchange and back: nothing is doubled or lost, and both sides agree."""

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

RUNS, RUNS_OF_A_COMMIT, FASTER = 150, 30, 20
# Each shape of a list, and both refusals of a replacement: what is gone then, and what is not.
SHAPES = ("OCO", "OTO", "OTOCO", "OPO", "OPOCO")
KINDS = {f"{act} {shape}" for act in ("list", "list cancel") for shape in SHAPES} | {
    "order", "trailing stop", "cancel", "replacement", "replacement 400", "replacement 409", "amendment",
}  # fmt: skip


ACTS = ("order", "trailing stop", "cancel", "list O", "list cancel", "replacement", "amendment")


def killed(folder: Path, desk: str, runs: int) -> dict[str, Any]:
    """Run the matrix in a process without threads or loops of its own: only such a one can be forked safely."""
    paths = os.pathsep.join(each for each in sys.path if each)
    program = "from trading.wire.wire_matrix import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), desk, str(runs), str(FASTER)],
        env={"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(3_600)
def test_a_process_killed_on_the_wire_neither_doubles_nor_loses_an_order(
    tmp_path: Path, sized: Callable[[int, int], int]
) -> None:
    runs = sized(RUNS, RUNS_OF_A_COMMIT)

    told = killed(tmp_path, "desk", runs)

    assert told["wrong"] == []
    assert told["runs"] == runs
    assert len(told["killed_at"]) > min(runs, RUNS) // 3
    met = {name.partition(":")[0] for name in told["killed_at"]}
    assert [act for act in ACTS if not any(kind.startswith(act) for kind in met)] == []
    assert runs < RUNS or met >= KINDS


@pytest.mark.parametrize(("desk", "fault"), [("late", "the exchange has it"), ("resending", "was accepted 2 times")])
def test_the_same_wire_sees_a_desk_that_is_wrong(tmp_path: Path, desk: str, fault: str) -> None:
    told = killed(tmp_path, desk, 3)

    assert any(fault in each for each in told["wrong"]), told
