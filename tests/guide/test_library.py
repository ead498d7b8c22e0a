"""The documents on disk: whose wins, which exist, and that changes are seen without a restart."""

import os
from pathlib import Path

import pytest

from mcp_binance_server.guide.library import CHECK_MS, Library
from mcp_binance_server.guide.safe_files import UnreadableFile
from support.clock import FakeClock
from support.guides import GuideFolder

SEEN_WITHIN_MS = 2_000


@pytest.fixture
def folder(tmp_path: Path) -> GuideFolder:
    return GuideFolder(tmp_path).configure()


def test_the_users_document_stands_in_front_of_the_built_in_one(folder: GuideFolder, clock: FakeClock) -> None:
    folder.write("risk/risk-policy.md", "# My policy\n")
    library = folder.library(clock)

    snapshot = library.snapshot()

    entry = snapshot.entries["risk"]["risk-policy.md"]
    assert (entry.source, library.read(snapshot, entry).body) == ("user", "# My policy\n")
    assert snapshot.entries["risk"]["position-sizing.md"].source == "builtin"
    assert snapshot.hidden == ("risk/risk-policy.md (built in)",)


def test_the_first_of_two_roots_wins_and_one_root_twice_is_one(tmp_path: Path, clock: FakeClock) -> None:
    folder = GuideFolder(tmp_path).configure(
        "version: 1\nroots: [guides, ./guides, other, gone]\ncategories: {desk: }\n"
    )
    folder.write("desk/a.md", "first")
    folder.write("../other/desk/a.md", "second")
    folder.write("../other/desk/b.md", "only here")
    library = folder.library(clock)

    snapshot = library.snapshot()

    assert [library.read(snapshot, entry).body for entry in snapshot.entries["desk"].values()] == ["first", "only here"]
    assert snapshot.hidden == ("desk/a.md (in a later root)",)
    assert snapshot.problems == ("root 4 of the configuration is not a folder and is skipped",)


def test_only_documents_exist(folder: GuideFolder, clock: FakeClock) -> None:
    for name in ("a.md", "b.txt", "C.JSON", "ünï 币.md", "sub/c.md", "[x].md"):
        folder.write(f"desk/{name}", "x")
    for name in (
        ".hidden.md", "__init__.md", "a.md.orig", "a.md~", "a.bak", "a.swp", "a.exe", "noextension", ".git/a.md",
        "__pycache__/a.md", "bi\u202edi.md", "line\nfeed.md", "back\\slash.md",
    ):  # fmt: skip
        folder.write(f"desk/{name}", "x")
    folder.write(os.fsdecode(b"desk/\xff.md"), "x")
    (folder.root / "desk" / "link.md").symlink_to(folder.config)

    snapshot = folder.library(clock).snapshot()

    assert list(snapshot.entries["desk"]) == ["C.JSON", "[x].md", "a.md", "b.txt", "sub/c.md", "ünï 币.md"]


def test_too_large_a_document_is_a_problem_that_is_told(tmp_path: Path, clock: FakeClock) -> None:
    folder = GuideFolder(tmp_path).configure(
        "version: 1\nroots: [guides]\ncategories: {desk: }\nlimits: {document_bytes: 10}\ndisable_builtin: "
        "[start, market, risk, trading, charts, errors, data, examples]\n"
    )
    folder.write("desk/full.md", "x" * 10)
    folder.write("desk/more.md", "x" * 11)
    library = folder.library(clock)

    snapshot = library.snapshot()

    assert snapshot.problems == ("guide://category/desk/more.md is larger than 10 bytes",)
    assert library.read(snapshot, snapshot.entries["desk"]["full.md"]).body == "x" * 10
    with pytest.raises(UnreadableFile, match="larger than 10 bytes"):
        library.read(snapshot, snapshot.entries["desk"]["more.md"])


def test_a_document_that_changed_its_mind_is_not_read(folder: GuideFolder, clock: FakeClock) -> None:
    file = folder.write("desk/a.md", "x")
    library = folder.library(clock)
    snapshot = library.snapshot()
    file.unlink()
    os.mkfifo(file)

    with pytest.raises(UnreadableFile, match="not a regular file"):
        library.read(snapshot, snapshot.entries["desk"]["a.md"])


def test_a_new_a_changed_and_a_removed_file_are_seen_within_two_seconds(folder: GuideFolder, clock: FakeClock) -> None:
    file = folder.write("desk/a.md", "# Old\n")
    library = folder.library(clock)
    before = library.snapshot()

    file.write_text("# Quite new\n")
    folder.write("desk/b.md", "# B\n")
    clock.advance(SEEN_WITHIN_MS)
    after = library.snapshot()
    file.unlink()
    clock.advance(SEEN_WITHIN_MS)
    last = library.snapshot()

    assert [entry.facts.title for entry in before.entries["desk"].values()] == ["Old"]
    assert [entry.facts.title for entry in after.entries["desk"].values()] == ["Quite new", "B"]
    assert list(last.entries["desk"]) == ["b.md"]


def test_the_disk_is_looked_at_once_a_second_at_most_and_an_unchanged_shelf_stays(
    folder: GuideFolder, clock: FakeClock
) -> None:
    library = folder.library(clock)
    before = library.snapshot()
    folder.write("desk/a.md", "x")

    clock.advance(CHECK_MS - 1)
    within = library.snapshot()
    clock.advance(1)
    after = library.snapshot()
    clock.advance(CHECK_MS)

    assert within is before
    assert "a.md" in after.entries["desk"]
    assert library.snapshot() is after


def test_a_new_configuration_is_used_and_a_broken_one_leaves_the_last_good_standing(
    folder: GuideFolder, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write("desk/a.md", "x")
    library = folder.library(clock)
    library.snapshot()

    folder.configure("version: 1\nroots: [guides]\ncategories: {desk: {description: New}}\n")
    clock.advance(CHECK_MS)
    renewed = library.snapshot()
    folder.configure("version: 1\nroots: [guides]\ncategories: {desk: {dir: ../..}}\n")
    clock.advance(CHECK_MS)
    broken = library.snapshot()
    clock.advance(CHECK_MS)

    assert renewed.guides.categories["desk"].description == "New"
    assert broken.guides is renewed.guides
    assert broken.problems[0].startswith("guide.yaml, line 3: categories.desk.dir: ")
    assert library.snapshot() is broken
    assert caplog.text.count("guide.yaml, line 3") == 1


def test_a_broken_configuration_at_the_start_leaves_what_ships(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "guide.yaml").write_text("version: 3")

    snapshot = Library(clock, tmp_path / "guide.yaml").snapshot()

    assert "position-sizing.md" in snapshot.entries["risk"]
    assert snapshot.problems[0].startswith("guide.yaml, line 1: version")


def test_without_watching_nothing_new_is_seen(folder: GuideFolder, clock: FakeClock) -> None:
    folder.configure("version: 1\nroots: [guides]\ncategories: {desk: }\nwatch: false\n")
    library = folder.library(clock)
    before = library.snapshot()
    folder.write("desk/a.md", "x")
    clock.advance(10 * CHECK_MS)

    assert library.snapshot() is before


def test_a_root_that_comes_later_is_found(tmp_path: Path, clock: FakeClock) -> None:
    folder = GuideFolder(tmp_path).configure()
    folder.root.rmdir()
    library = folder.library(clock)
    before = library.snapshot()
    folder.write("desk/a.md", "x")
    clock.advance(CHECK_MS)

    assert before.problems == ("root 1 of the configuration is not a folder and is skipped",)
    assert "a.md" in library.snapshot().entries["desk"]


def test_files_that_take_too_long_to_look_at_are_left_out_and_told(folder: GuideFolder) -> None:
    for number in range(90):
        folder.write(f"desk/{number}.md", "x")

    snapshot = folder.library(SlowClock()).snapshot()

    assert any("the rest is left out" in problem for problem in snapshot.problems)
    assert len(snapshot.everything) < 90


class SlowClock(FakeClock):
    """A clock on a machine where every look at a file takes a second."""

    def monotonic_ms(self) -> float:
        self.advance(1_000)
        return super().monotonic_ms()


def test_broken_front_matter_is_told_with_its_line(folder: GuideFolder, clock: FakeClock) -> None:
    folder.write("desk/a.md", "---\na: 1\na: 2\n---\n# A\n")

    assert folder.library(clock).snapshot().problems == (
        "guide://category/desk/a.md: front matter, line 3: duplicate key 'a'",
    )
