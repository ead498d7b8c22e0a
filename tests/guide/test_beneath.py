"""Opening below a root: regular files only, no link at any level, no waiting, no descriptor left behind."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_binance_server.guide import safe_files as beneath
from mcp_binance_server.guide.safe_files import UnreadableFile, read_beneath, walk_beneath

LIMIT = 1_000


@pytest.fixture(params=["descriptors", "paths"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run everything with descriptors, and as systems without them do it."""
    monkeypatch.setattr(beneath, "HAS_DESCRIPTORS", request.param == "descriptors")
    return str(request.param)


@pytest.fixture(autouse=True)
def no_descriptor_is_left_behind() -> Iterator[None]:
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are all we want
    yield
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.md").write_text("outside")
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "deep.md").write_text("deep")
    (root / "top.md").write_text("top")
    return root


def found(root: Path, folder: tuple[str, ...]) -> list[str]:
    return sorted(file.path for held in walk_beneath(root, folder) for file in held if file)


def test_a_regular_file_is_read_at_any_depth(root: Path) -> None:
    assert read_beneath(root, ("top.md",), LIMIT) == b"top"
    assert read_beneath(root, ("a", "b", "deep.md"), LIMIT) == b"deep"


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)

    assert read_beneath(tmp_path / "link", ("top.md",), LIMIT) == b"top"


def test_a_file_of_exactly_the_limit_is_read_and_one_more_byte_is_not(root: Path) -> None:
    (root / "full.md").write_bytes(b"x" * LIMIT)
    (root / "more.md").write_bytes(b"x" * (LIMIT + 1))

    assert len(read_beneath(root, ("full.md",), LIMIT)) == LIMIT
    with pytest.raises(UnreadableFile, match="larger than 1,000 bytes"):
        read_beneath(root, ("more.md",), LIMIT)


@pytest.mark.parametrize(
    "parts",
    [(), ("",), (".",), ("..", "outside.md"), ("a", "..", "top.md"), ("/etc/passwd",), ("a/b/deep.md",), ("a\\b",)],
)
def test_names_that_are_paths_are_refused_before_anything_is_opened(root: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(UnreadableFile, match="no such document"):
        read_beneath(root, parts, LIMIT)


def test_what_is_no_regular_file_is_refused_without_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    (root / "link.md").symlink_to(root.parent / "outside.md")
    (root / "inside.md").symlink_to("top.md")
    (root / "linked").symlink_to(root / "a")
    (root / "zero.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket.md"))

    for parts in (
        ("pipe.md",),
        ("folder.md",),
        ("link.md",),
        ("inside.md",),
        ("linked", "b", "deep.md"),
        ("zero.md",),
        ("socket.md",),
        ("top.md", "x"),
        ("missing.md",),
        ("x" * 300,),
        ("nul\x00.md",),
    ):
        with pytest.raises(UnreadableFile) as caught:
            read_beneath(root, parts, LIMIT)
        assert str(root) not in str(caught.value)


def test_a_walk_finds_regular_files_in_order_and_follows_no_link(root: Path) -> None:
    (root / "linked").symlink_to(root.parent)
    (root / "link.md").symlink_to(root.parent / "outside.md")
    (root / ".git").mkdir()
    (root / ".git" / "config.md").write_text("hidden")
    os.mkfifo(root / "pipe.md")

    assert found(root, ()) == ["a/b/deep.md", "top.md"]
    assert found(root, ("a",)) == ["b/deep.md"]
    assert list(walk_beneath(root, ("linked",))) == []
    assert list(walk_beneath(root / "missing", ())) == []


def test_a_walk_goes_eight_folders_deep(root: Path) -> None:
    place = root
    for _ in range(10):
        place /= "d"
        place.mkdir()
        (place / "x.md").write_text("x")

    assert max(path.count("/") for path in found(root, ("d",))) == beneath.DEEPEST


def test_a_walk_that_is_left_early_closes_what_it_opened(root: Path) -> None:
    walk = walk_beneath(root, ())

    next(walk)
    next(walk)
