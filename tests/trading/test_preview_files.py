"""Previews of a local visitor outlive their process: a file each, which gives no right."""

import os
import stat
from pathlib import Path

import pytest

from mcp_binance_server.services.trading.preview_files import MOST_FILE_BYTES, MOST_FILES, PreviewFiles
from mcp_binance_server.services.trading.previews import Previews
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.process import Process
from support.terms import NOW_MS, terms

LATER_MS = 1_900_000_000_000
NAMES = ["a" * 19 + letter for letter in "abcdefgh"]

posix_only = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


@pytest.fixture
def files(tmp_path: Path) -> PreviewFiles:
    made = PreviewFiles.beside(tmp_path)
    assert made is not None
    return made


def test_a_preview_is_read_by_another_process_until_it_expires(files: PreviewFiles, tmp_path: Path) -> None:
    files.save(NAMES[0], b"terms", LATER_MS, NOW_MS)

    other = PreviewFiles.beside(tmp_path)

    assert other is not None
    assert other.key == files.key
    assert other.load(NAMES[0], NOW_MS) == b"terms"
    assert other.load(NAMES[0], LATER_MS) is None
    assert other.load(NAMES[1], NOW_MS) is None


def test_a_removed_preview_and_an_expired_one_leave_no_file(files: PreviewFiles) -> None:
    files.save(NAMES[0], b"first", NOW_MS + 1, NOW_MS)
    files.save(NAMES[1], b"second", LATER_MS, NOW_MS + 2)

    files.remove(NAMES[1])

    assert [*files.folder.iterdir()] == []


@pytest.mark.parametrize("name", ["../" + "a" * 17, "a" * 19 + "/", "", "A" * 20, "a" * 40])
def test_an_id_is_never_a_path(files: PreviewFiles, name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.1784592999999").write_bytes(b"secret")

    assert files.load(name, NOW_MS) is None


def test_files_are_limited_in_number_and_bytes(files: PreviewFiles) -> None:
    for number in range(MOST_FILES + 5):
        files.save(f"{'a' * 17}{chr(97 + number // 26)}{chr(97 + number % 26)}b", b"x", LATER_MS + number, NOW_MS)
    many = len([*files.folder.iterdir()])
    files.save(NAMES[0], b"y" * (MOST_FILE_BYTES - 3), LATER_MS + 999, NOW_MS)

    left = [*files.folder.iterdir()]
    assert many == MOST_FILES
    assert sum(path.stat().st_size for path in left) <= MOST_FILE_BYTES
    assert files.load(NAMES[0], NOW_MS) is not None


def test_a_preview_larger_than_all_room_is_not_kept(files: PreviewFiles) -> None:
    files.save(NAMES[0], b"y" * (MOST_FILE_BYTES + 1), LATER_MS, NOW_MS)

    assert files.load(NAMES[0], NOW_MS) is None


@posix_only
def test_folder_key_and_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        files = PreviewFiles.beside(tmp_path)
        assert files is not None
        files.save(NAMES[0], b"terms", LATER_MS, NOW_MS)
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes.pop("previews") == 0o700
    assert set(modes.values()) == {0o600}


@posix_only
@pytest.mark.parametrize("name", ["preview.key", "previews"])
def test_a_key_or_folder_that_others_can_read_is_not_used(files: PreviewFiles, name: str, tmp_path: Path) -> None:
    (tmp_path / name).chmod(0o755)

    assert files.folder.exists()
    assert PreviewFiles.beside(tmp_path) is None


@posix_only
def test_a_file_of_others_a_link_and_a_pipe_count_as_missing(files: PreviewFiles, tmp_path: Path) -> None:
    for name in NAMES[:3]:
        files.save(name, b"terms", LATER_MS, NOW_MS)
    paths = {name: files.folder / f"{name}.{LATER_MS}" for name in NAMES[:3]}
    paths[NAMES[0]].chmod(0o644)
    for name in NAMES[1:3]:
        paths[name].unlink()
    (tmp_path / "elsewhere").write_bytes(b"terms")
    paths[NAMES[1]].symlink_to(tmp_path / "elsewhere")
    os.mkfifo(paths[NAMES[2]], 0o600)

    assert [files.load(name, NOW_MS) for name in NAMES[:3]] == [None] * 3


async def test_a_changed_file_is_no_preview_and_another_visitor_has_none(files: PreviewFiles) -> None:
    first = Previews(MemoryEngine(FakeClock(NOW_MS)), files.key, files)
    kept = await first.keep(terms(), "local", "BTC", NOW_MS)
    theirs = await first.keep(terms(nonce="other"), "someone", "BTC", NOW_MS)

    def second() -> Previews:
        return Previews(MemoryEngine(FakeClock(NOW_MS)), files.key, files)

    assert await second().find(kept.preview_id, "local", NOW_MS) == kept
    assert await second().find(kept.preview_id, "someone", NOW_MS) is None
    assert await second().find(theirs.preview_id, "someone", NOW_MS) is None
    (path,) = files.folder.iterdir()
    path.write_bytes(path.read_bytes().replace(b"BTC", b"ETH"))
    assert await second().find(kept.preview_id, "local", NOW_MS) is None


@pytest.mark.flood  # three processes
def test_an_order_is_previewed_placed_and_placed_again_by_three_processes(tmp_path: Path) -> None:
    wanted = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "100"}

    def called(name: str, arguments: dict[str, str]) -> dict[str, object]:
        with Process("demo", environment={"MCP_BINANCE_STATE_DIR": str(tmp_path)}, warm=True) as process:
            process.shake_hands()
            return process.ask(1, "tools/call", {"name": name, "arguments": arguments})["result"]["structuredContent"]

    preview = called("preview_order", wanted)
    placed = called("place_order", {"preview_id": str(preview["preview_id"])})
    again = called("place_order", {"preview_id": str(preview["preview_id"])})

    assert (placed["outcome"], placed["status"]) == ("placed", "FILLED")
    assert again | {"as_of": ""} == placed | {"as_of": ""}
    assert [*tmp_path.glob("demo-*/previews/*")] == []
