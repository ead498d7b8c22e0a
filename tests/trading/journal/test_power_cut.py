"""The power is cut at any moment: the journal opens, is whole, and what was told to be written is in it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.flood,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="what a program asks of the disk is recorded the way of Linux"),
]

CUTS = 25


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("recorder") / "recorded_disk.so"
    source = Path(__file__).with_name("recorded_disk.c")
    subprocess.run(
        ["/usr/bin/env", "cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl", "-lpthread"],
        check=True,
    )
    return library


def cut(folder: Path, recorder: Path, pragma: str, runs: int) -> dict[str, Any]:
    paths = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-c", "from trading.journal.power_cut import main; main()", str(folder), pragma, str(runs)],
        env={"PYTHONPATH": paths, "LD_PRELOAD": str(recorder)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(600)
def test_nothing_that_was_written_down_is_lost_with_the_power(tmp_path: Path, recorder: Path, scale: int) -> None:
    told = cut(tmp_path, recorder, "synchronous=FULL", CUTS * scale)

    assert told["wrong"] == []
    assert told["runs"] == CUTS * scale
    assert min(told["half_written"], told["cut_twice"]) >= CUTS * scale // 10


def test_the_same_cuts_lose_orders_of_a_journal_that_is_not_synced(tmp_path: Path, recorder: Path) -> None:
    told = cut(tmp_path, recorder, "synchronous=OFF", CUTS)

    assert any("SENT is missing" in each for each in told["wrong"]), told
