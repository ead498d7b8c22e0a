"""Four workers on a real state: limits are exact, nothing is doubled or lost, and a stop is everybody's at once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.state_server import BINARY

pytestmark = [
    pytest.mark.flood,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that their start costs little"),
    pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed"),
]

RACES, KILLS, KINDS = 1, 3, 5


def found(folder: Path, ledger: str, races: int, kills: int) -> dict[str, Any]:
    """Run the matrix in a process without threads or loops of its own: only such a one can be forked safely."""
    paths = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-m", "trading.fleet.fleet_matrix", str(folder), str(races), str(kills), ledger],
        env={"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(7_200)
def test_four_workers_keep_limits_and_stops_and_place_each_order_once(tmp_path: Path, scale: int) -> None:
    told = found(tmp_path, "shared", RACES * scale, KILLS * scale)

    assert told["wrong"] == []
    assert told["runs"] + told["missed"] == (RACES * KINDS + KILLS) * scale
    assert told["killed_at"]


def test_the_same_race_sees_workers_that_share_nothing(tmp_path: Path) -> None:
    told = found(tmp_path, "unshared", 1, 0)

    assert any("10 fit" in each for each in told["wrong"]), told
