"""`approve --page` as a process: it tells where it is, ends with who started it, and leaves no trace of its address."""

import os
import select
from pathlib import Path

import pytest

from cli.trading.served_page import Hand
from cli.trading.trading_folder import TradingFolder
from mcp_binance_server.cli.main import main
from mcp_binance_server.services.trading.approval_pages import has_screen
from mcp_binance_server.trading.approvals import APPROVER_FILE
from support.process import PATIENCE_SECS, Process


def test_it_prints_its_address_and_ends_with_its_input(folder: TradingFolder) -> None:
    folder.approver()
    new = folder.waits()

    with Process("approve", "--page", new.preview_id, environment=folder.environment(), warm=True) as process:
        address = process.line().decode()
        text = Hand.of(address).get().text
        process.close_input()
        code = process.wait()

    assert (code, "BUY 0.001 BTCUSDT" in text) == (0, True)
    assert address.startswith("http://127.0.0.1:")
    secret = address.rpartition("/")[2].encode()
    assert secret not in process.errors.read_bytes()
    assert not any(secret in each.read_bytes() for each in folder.path.iterdir())
    assert folder.states() == ["WAITING"]


def test_where_there_is_a_screen_a_browser_is_opened_and_nothing_is_told(folder: TradingFolder, tmp_path: Path) -> None:
    folder.approver()
    folder.waits()
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    os.mkfifo(seen)
    reading = os.open(seen, os.O_RDONLY | os.O_NONBLOCK)
    browser.write_text(f'#!/bin/sh\necho noise of a browser\necho "$1" > {seen}\n')
    browser.chmod(0o700)
    around = folder.environment(DISPLAY=":0", BROWSER=str(browser))

    with Process("approve", "--page", environment=around, warm=True) as process:
        said = process.line()
        assert select.select([reading], [], [], PATIENCE_SECS)[0]
        opened = os.read(reading, 1_000)
        process.close_input()
        process.wait()
    os.close(reading)

    assert said.startswith(b"The page is open in your browser.")
    assert opened.startswith(b"http://127.0.0.1:")
    assert process.output.read_bytes().count(b"\n") == 1


def test_without_what_it_needs_there_is_no_page(folder: TradingFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approve", "--page"]) == 0
    folder.waits(1)
    assert main(["approve", "--page"]) == 1
    folder.approver()
    (folder.path / APPROVER_FILE).unlink()
    assert main(["approve", "--page"]) == 1
    folder.waits(2)
    assert main(["approve", "--page"]) == 0

    told = capsys.readouterr()
    assert told.out.startswith("No orders are waiting for approval.\n2 orders are waiting for approval:")
    for reason in ("names no approver", "key with: mcp-binance-server approve --new"):
        assert reason in told.err


@pytest.mark.parametrize(
    ("environment", "platform", "has"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_a_browser_is_opened_only_where_it_can_be_seen(
    environment: dict[str, str], platform: str, *, has: bool
) -> None:
    assert has_screen(environment, platform) is has
