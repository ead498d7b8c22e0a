"""A hundred clients that drip, do not read or do not wait; `scripts/slow_clients.py` is the same at full size."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "slow_clients.py"
CONNECTIONS, DEADLINE_SECS = 100, 0.5
# A busy machine takes such turns by itself.
NOISE_MS = 500


@pytest.mark.timeout(300)
def test_bad_clients_are_done_with_in_time_and_a_good_one_hardly_feels_them(scale: int) -> None:
    options = [f"--connections={CONNECTIONS}", f"--deadline={DEADLINE_SECS}", f"--seconds={2 * scale}"]

    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=True, timeout=290)

    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("exit_code") == 0
    assert set(found) == {"head", "body", "reader", "pipeline"}
    for kind, figures in found.items():
        assert figures["slow"]["closed"] == CONNECTIONS, kind
        assert figures["slow"]["longest_secs"] < DEADLINE_SECS + 5, kind
        assert figures["good"]["p99_ms"] < 2 * figures["quiet"]["p99_ms"] + NOISE_MS, kind
    assert done.stderr == ""
