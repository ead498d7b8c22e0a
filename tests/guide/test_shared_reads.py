"""Playbooks for a crowd: read once for all who ask at the same time, and anew for whoever comes later."""

from pathlib import Path

import anyio

from support.clock import FakeClock
from support.guides import GuideFolder

CROWD = 40
ASKED = "guide://category/desk"


async def test_a_crowd_shares_one_reading_and_later_ones_see_what_is_on_disk_then(
    tmp_path: Path, clock: FakeClock
) -> None:
    folder = GuideFolder(tmp_path).configure()
    folder.write("desk/a.md", "# Before\n")
    service = folder.service(clock)
    found: list[tuple[int, str]] = []

    async def ask() -> None:
        content = await service.read(ASKED)
        found.append((id(content), content.framed.text))

    async with anyio.create_task_group() as crowd:
        for _ in range(CROWD):
            crowd.start_soon(ask)
    folder.write("desk/a.md", "# After\n")
    later = await service.read(ASKED)
    await service.flights.close()

    assert len(found) == CROWD
    assert {*found} == {found[0]}
    assert "# Before" in found[0][1]
    assert "# After" in later.framed.text
