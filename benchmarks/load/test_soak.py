"""A server that is asked thousands of times: nothing piles up. `scripts/soak.py` is the same at full size."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "soak.py"
REQUESTS, SESSIONS = 1_500, 150
# Caches and pools still find their size in so short a time; a session that stays is some 50 kB.
MOST_MIB = 12


@pytest.mark.timeout(600)
def test_thousands_of_requests_and_hundreds_of_sessions_leave_nothing_behind(scale: int) -> None:
    options = [f"--requests={scale * REQUESTS}", f"--sessions={scale * SESSIONS}"]

    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=True, timeout=590)

    found: dict[str, Any] = json.loads(done.stdout)
    before, after = found["before"], found["after"]
    assert found["sessions"] >= scale * SESSIONS
    assert set(found["statuses"]) <= {"200", "202", "400", "404"}
    assert after["sessions"] == 0
    assert abs(after["tasks"] - before["tasks"]) <= 2
    assert after["descriptors"] <= before["descriptors"] + 4
    assert after["rss"] - before["rss"] <= MOST_MIB
    assert done.stderr == ""
