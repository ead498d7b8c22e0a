"""Many live books in one process, over real sockets; `scripts/live_load.py` is the same at full size."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "live_load.py"
PATIENCE_SECS = 170


def test_forty_books_are_carried_without_a_gap(scale: int) -> None:
    symbols, seconds = min(400, 40 * scale), min(120, 4 * scale)
    command = [sys.executable, str(SCRIPT), "--symbols", str(symbols), "--seconds", str(seconds)]

    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_SECS + 60 * scale)

    figures = json.loads(done.stdout)
    assert (figures["gaps"], figures["resyncs"], figures["malformed"]) == (0, 0, 0)
    assert figures["depth_events_a_second"] > 8 * symbols
    # 5 % of a core on a quiet machine; a book that had to wait for seconds would show here too.
    assert figures["cpu_percent"] < 60
    assert figures["lag_ms"]["p50"] < 1_000
