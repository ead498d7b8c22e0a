"""Records of own pasts in real files: whole or not at all, nobody else's to read, and never too many."""

import os
import resource
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.feeds import score_store
from mcp_binance_server.feeds.score_record import KEPT_MS, MOST_BYTES
from mcp_binance_server.feeds.score_store import DiskScoreStore
from support.clock import FakeClock
from support.requirement import requirement
from support.symbol_scores import BTC, MARKET


def shelf(folder: Path, market: str = MARKET) -> DiskScoreStore:
    return DiskScoreStore(folder / "state", market, FakeClock())


def dated(folder: Path, name: str, age_ms: float, size: int = 1) -> Path:
    """Leave a file of that age by the clock of the shelf."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(bytes(size))
    seconds = (FakeClock().now_ms() - age_ms) / 1000
    os.utime(path, (seconds, seconds))
    return path


@requirement("ruling/48")
async def test_a_record_lies_in_a_folder_and_a_file_that_nobody_else_can_read(tmp_path: Path) -> None:
    ours = shelf(tmp_path)

    await ours.write(BTC, b"scores")

    (file,) = ours.folder.iterdir()
    assert file.name.startswith("BTCUSDT-")
    assert [path.stat().st_mode & 0o777 for path in (ours.state_folder, ours.folder, file)] == [0o700, 0o700, 0o600]
    assert await ours.read(BTC) == b"scores"


async def test_nothing_is_made_on_disk_by_looking(tmp_path: Path) -> None:
    ours = shelf(tmp_path)

    assert await ours.read(BTC) is None
    await ours.tidy()

    assert not ours.state_folder.exists()


async def test_markets_and_symbols_of_any_letters_have_files_of_their_own(tmp_path: Path) -> None:
    symbols = [BTC, Symbol("币安人生USDT"), Symbol("字" * 40), Symbol("../../ETHUSDT"), Symbol("A" * 40)]
    for market in (MARKET, "wss://testnet.test"):
        for symbol in symbols:
            await shelf(tmp_path, market).write(symbol, f"{market} {symbol}".encode())

    assert len(list(shelf(tmp_path).folder.iterdir())) == 2 * len(symbols)
    for symbol in symbols:
        assert await shelf(tmp_path).read(symbol) == f"{MARKET} {symbol}".encode()


async def test_processes_that_write_at_once_leave_one_whole_record(tmp_path: Path) -> None:
    records = [bytes([each]) * 50_000 for each in range(8)]

    async with anyio.create_task_group() as tasks:
        for record in records:
            tasks.start_soon(shelf(tmp_path).write, BTC, record)

    assert await shelf(tmp_path).read(BTC) in records
    assert len(list(shelf(tmp_path).folder.iterdir())) == 1


async def test_a_folder_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    ours = shelf(tmp_path)
    ours.folder.mkdir(parents=True)
    ours.folder.chmod(0o755)

    await ours.write(BTC, b"scores")

    assert ours.folder.stat().st_mode & 0o777 == 0o700


async def test_a_link_in_the_place_of_the_folder_or_a_file_is_not_followed(tmp_path: Path) -> None:
    ours, elsewhere = shelf(tmp_path), tmp_path / "elsewhere"
    await ours.write(BTC, b"scores")
    (file,) = ours.folder.iterdir()
    file.unlink()
    elsewhere.write_bytes(b"of somebody else")
    file.symlink_to(elsewhere)

    with pytest.raises(OSError, match="symbolic link"):
        await ours.read(BTC)
    await ours.write(BTC, b"scores")
    assert elsewhere.read_bytes() == b"of somebody else"
    assert not file.is_symlink()

    file.unlink()
    ours.folder.rmdir()
    (tmp_path / "folder").mkdir()
    ours.folder.symlink_to(tmp_path / "folder")
    with pytest.raises(PermissionError, match="not a folder of this user"):
        await ours.write(BTC, b"scores")


async def test_what_is_no_file_is_not_read_and_a_large_one_not_to_its_end(tmp_path: Path) -> None:
    ours = shelf(tmp_path)
    await ours.write(BTC, bytes(2 * MOST_BYTES))
    assert len(await ours.read(BTC) or b"") == MOST_BYTES + 1

    (file,) = ours.folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(OSError, match="not a regular file"):
        await ours.read(BTC)


async def test_a_write_that_fails_leaves_the_record_before_it_and_no_half(tmp_path: Path) -> None:
    ours = shelf(tmp_path)
    await ours.write(BTC, b"before")
    (file,) = ours.folder.iterdir()
    file.rename(tmp_path / "before")
    file.mkdir()

    with pytest.raises(IsADirectoryError):
        await ours.write(BTC, b"after")

    assert [each.name for each in ours.folder.iterdir()] == [file.name]


@pytest.fixture
def full_disk() -> Generator[None]:
    """Let no file grow beyond a thousand bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("full_disk")
async def test_on_a_full_disk_the_record_before_stays(tmp_path: Path) -> None:
    ours = shelf(tmp_path)
    await ours.write(BTC, b"before")

    with pytest.raises(OSError, match="File too large"):
        await ours.write(BTC, bytes(2_000))

    assert await ours.read(BTC) == b"before"
    assert len(list(ours.folder.iterdir())) == 1


async def test_old_records_and_what_was_left_half_written_go_and_nothing_else(tmp_path: Path) -> None:
    ours = shelf(tmp_path)
    young = dated(ours.folder, "BTCUSDT-1.past1", KEPT_MS - 1_000)
    kept = [young, dated(ours.folder, "x-9.half", 60_000), dated(ours.folder, "notes.txt", 2 * KEPT_MS)]
    dated(ours.folder, "ETHUSDT-1.past1", KEPT_MS)
    dated(ours.folder, "ETHUSDT-1.past0", KEPT_MS)
    dated(ours.folder, "x-8.half", 3_600_000)

    await ours.tidy()

    assert set(ours.folder.iterdir()) == set(kept)


@pytest.mark.parametrize(("most_files", "most_bytes"), [(3, 10_000), (100, 350)])
async def test_the_oldest_records_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_files: int, most_bytes: int
) -> None:
    monkeypatch.setattr(score_store, "MOST_FILES", most_files)
    monkeypatch.setattr(score_store, "MOST_SHELF_BYTES", most_bytes)
    ours = shelf(tmp_path)
    for age in range(6):
        dated(ours.folder, f"S{age}-1.past1", age * 1_000, size=100)

    await ours.tidy()

    assert {each.name for each in ours.folder.iterdir()} == {"S0-1.past1", "S1-1.past1", "S2-1.past1"}
