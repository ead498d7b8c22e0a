"""More files than anyone reads."""

from pathlib import Path

import pytest

from mcp_binance_server.guide.safe_files import MOST_ENTRIES
from support.clock import FakeClock
from support.guides import GuideFolder

pytestmark = pytest.mark.flood


@pytest.mark.night
def test_more_files_than_anyone_reads_are_left_out_and_told(tmp_path: Path, clock: FakeClock) -> None:
    folder = GuideFolder(tmp_path).configure("version: 1\nroots: [guides]\ncategories: {desk: }\n")
    crowd = folder.root / "desk"
    crowd.mkdir()
    for number in range(MOST_ENTRIES + 5):
        (crowd / f"{number}.log").touch()

    snapshot = folder.library(clock).snapshot()

    assert any("more than 20,000 files" in problem for problem in snapshot.problems)
