"""guide://help: written once for what is on disk, and anew when that is different."""

from pathlib import Path

from mcp_binance_server.guide.library import CHECK_MS
from support.clock import FakeClock
from support.guides import GuideFolder


async def test_the_page_stays_while_the_files_do_and_follows_them_when_they_change(
    tmp_path: Path, clock: FakeClock
) -> None:
    folder = GuideFolder(tmp_path).configure()
    folder.write("desk/a.md", "# A\n")
    service = folder.service(clock)

    first = await service.read("guide://help")
    clock.advance(CHECK_MS)
    second = await service.read("guide://help")
    folder.write("desk/b.md", "# B\n")
    clock.advance(CHECK_MS)
    third = await service.read("guide://help")

    assert second is first
    assert "2 of them the user's" in third.framed.text
    assert "2 of them the user's" not in first.framed.text
