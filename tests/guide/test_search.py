"""Search: the page that is about it comes first, with the passage and the heading above it."""

import gc
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_binance_server.guide.errors import GuideContextNotFound
from mcp_binance_server.guide.library import CHECK_MS
from mcp_binance_server.services.guide import GuideService
from support.clock import FakeClock
from support.guides import GuideFolder

ONLY_OWN = "disable_builtin: [start, market, risk, trading, charts, errors, data, examples]\n"


@pytest.fixture
def folder(tmp_path: Path) -> GuideFolder:
    return GuideFolder(tmp_path).configure("version: 1\nroots: [guides]\ncategories: {desk: , lab: }\n" + ONLY_OWN)


@pytest.fixture
async def service(folder: GuideFolder, clock: FakeClock) -> AsyncGenerator[GuideService]:
    service = folder.service(clock)
    yield service
    await service.close()


async def found(service: GuideService, query: str, context: str | None = None) -> list[str]:
    return [hit.entry.doc_id for hit in await service.search(query, context, 20)]


async def test_title_heading_and_tag_count_more_than_the_body(folder: GuideFolder, service: GuideService) -> None:
    filler = "Nothing of note happens here. " * 5
    folder.write("desk/body.md", f"# Other\n{filler}\nkangaroo\n")
    folder.write("desk/heading.md", f"# Other\n{filler}\n## About the kangaroo\n")
    folder.write("desk/tag.md", f"---\ntags: [kangaroo]\n---\n# Other\n{filler}\n")
    folder.write("desk/title.md", f"---\ntitle: Kangaroo\n---\n{filler}\n")
    folder.write("desk/none.md", filler)

    ranked = await found(service, "kangaroos")

    assert ranked[0] == "title.md"
    assert ranked[-1] == "body.md"
    assert sorted(ranked) == ["body.md", "heading.md", "tag.md", "title.md"]


async def test_a_hit_shows_the_passage_and_the_heading_above_it(folder: GuideFolder, service: GuideService) -> None:
    folder.write(
        "desk/a.md",
        "# A\n\n" + "Filler words. " * 60 + "\n\n## Stops\n\nPut the *stop* beyond the swing.\n\n## Fees\nnone\n",
    )
    folder.write("desk/b.md", "# B\n")
    folder.write("desk/c.md", "# C\n")

    (hit,) = await service.search("swing", None, 5)

    assert hit.heading == "Stops"
    assert "Put the stop beyond the swing." in hit.snippet
    assert len(hit.snippet) <= 240
    assert "\n" not in hit.snippet
    assert hit.score > 0


async def test_any_word_is_enough_and_more_words_are_better(folder: GuideFolder, service: GuideService) -> None:
    folder.write("desk/one.md", "walls of bids and other things that are said here at some length")
    folder.write("desk/two.md", "walls of bids and vacuums that are said here at some length too")

    assert await found(service, "vacuums walls zebra") == ["two.md", "one.md"]


async def test_a_context_narrows_the_search(folder: GuideFolder, service: GuideService) -> None:
    folder.write("desk/a.md", "needle")
    folder.write("lab/b.md", "needle")

    assert await found(service, "needle") == ["a.md", "b.md"]
    assert await found(service, "needle", "lab") == ["b.md"]
    assert await found(service, "needle", "all") == ["a.md", "b.md"]
    with pytest.raises(GuideContextNotFound):
        await found(service, "needle", "nowhere")


async def test_the_index_follows_the_files(folder: GuideFolder, clock: FakeClock, service: GuideService) -> None:
    first = folder.write("desk/a.md", "needle")
    folder.write("desk/b.md", "other")
    before = [hit.entry.doc_id for hit in await service.search("needle", None, 5)]

    first.write_text("nothing any more")
    folder.write("desk/c.md", "a needle again")
    (folder.root / "desk" / "b.md").unlink()
    clock.advance(CHECK_MS)
    after = [hit.entry.doc_id for hit in await service.search("needle", None, 5)]

    assert (before, after) == (["a.md"], ["c.md"])
    assert await service.search("other", None, 5) == []


async def test_a_document_that_cannot_be_read_is_not_found_by_its_text(
    folder: GuideFolder, service: GuideService
) -> None:
    folder.write("desk/a.md", b"needle \xff")

    assert await found(service, "needle") == []


@pytest.mark.parametrize(
    "query",
    ['"', 'a" OR "b', "NEAR(a b)", "title:x", "* *", "a*", "()", "^a", "-a", "AND", "'; DROP x", "币", "\x00\x00"],
)
async def test_a_query_is_words_and_never_a_language(folder: GuideFolder, service: GuideService, query: str) -> None:
    folder.write("desk/page.md", "needle")

    assert await service.search(query, None, 5) == []
    assert len(await service.search("needle", None, 5)) == 1


@pytest.mark.night
async def test_a_closed_service_leaves_no_database_open(folder: GuideFolder, service: GuideService) -> None:
    folder.write("desk/page.md", "needle")
    before = open_databases()
    assert await found(service, "needle") == ["page.md"]
    assert open_databases() == before + 1

    await service.close()

    assert open_databases() == before


def open_databases() -> int:
    return sum(is_open(each) for each in gc.get_objects() if isinstance(each, sqlite3.Connection))


def is_open(database: sqlite3.Connection) -> bool:
    try:
        return database.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False
