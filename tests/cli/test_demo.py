"""The demo: over HTTP for a browser or another client, and what it says to whoever starts it."""

import os
import pty
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client

from mcp_binance_server.cli.demo import BANNER, GREETING, LIMITS_FILE, demo_settings, own_folder
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.trading.journal.schema import NEWEST
from support.process import PATIENCE_SECS, Process, clean_environment
from support.raw import request
from support.warm import WarmProcess

pytestmark = pytest.mark.flood


async def announced(demo: Process) -> str:
    """Return the address of the demo once it says it."""
    clock = SystemClock()
    for _ in range(int(PATIENCE_SECS * 20)):
        said = demo.errors.read_text(encoding="utf-8")
        if "Ctrl-C stops it." in said:
            return said.partition("MCP at ")[2].split("/mcp")[0]
        await clock.sleep_ms(50)
    raise AssertionError(demo.errors.read_text(encoding="utf-8"))


async def test_a_demo_over_http_answers_a_client_and_a_browser_and_its_prices_move() -> None:
    with Process("demo", "--http", "--port", "0", warm=True) as demo:
        address = await announced(demo)
        async with httpx2.AsyncClient() as browser:
            page = await browser.get(f"{address}/", headers={"accept": "text/html"})
        async with Client(f"{address}/mcp", cache=None) as client:
            prices = {await price(client)}
            with anyio.fail_after(PATIENCE_SECS):
                while len(prices) < 2:
                    await SystemClock().sleep_ms(50)
                    prices.add(await price(client))
        said = demo.errors.read_text(encoding="utf-8")

        assert demo.terminate() == 0

    assert GREETING in page.text
    assert "The market now" in page.text
    assert f"claude mcp add --transport http binance-demo {address}/mcp" in said
    assert f"{address}/mcp" in page.text


async def price(client: Client) -> str:
    result = await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
    assert result.structured_content is not None
    return str(result.structured_content["last_price"])


class Counted:
    """A client that counts what is asked of the server."""

    def __init__(self, client: Client) -> None:
        self.client, self.calls = client, 0

    async def call(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        self.calls += 1
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return result.structured_content


@pytest.mark.night
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_first_order_on_paper_takes_two_calls_and_no_key(mode: Literal["auto", "legacy"]) -> None:
    with Process("demo", "--http", "--port", "0", warm=True) as demo:
        address = await announced(demo)
        async with Client(f"{address}/mcp", cache=None, mode=mode) as client:
            counted = Counted(client)
            order = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "100"}
            preview = await counted.call("preview_order", order)
            placed = await counted.call("place_order", {"preview_id": preview["preview_id"]})
            first_order = counted.calls
            again = await counted.call("place_order", {"preview_id": preview["preview_id"]})
            status = await counted.call("get_trading_status", {})
        demo.terminate()

    assert first_order == 2
    assert (placed["outcome"], placed["status"], placed["mode"]) == ("placed", "FILLED", "paper")
    assert again["client_order_id"] == placed["client_order_id"]
    held = {each["asset"]: Decimal(each["free"]) for each in status["balances"]}
    assert Decimal(9_890) < held["USDT"] < Decimal(9_910)
    assert held["BTC"] == Decimal("0.25") + Decimal(placed["executed"]) - Decimal(placed["fees"]["BTC"])


@pytest.mark.night
def test_a_demo_without_the_tools_of_trading_shows_the_simulated_account() -> None:
    with Process("demo", "--quiet", environment={"MCP_BINANCE_TOOLSETS": "market,account"}) as demo:
        demo.shake_hands()
        demo.say(request(2, "tools/call", {"name": "get_account_info", "arguments": {}}))
        assert demo.answer()["result"]["structuredContent"]["host"] == "simulator.invalid"


@pytest.mark.night
def test_a_demo_leaves_no_folder_behind(tmp_path: Path) -> None:
    with Process("demo", "--quiet", environment={"TMPDIR": str(tmp_path)}) as demo:
        demo.shake_hands()
        demo.say(request(2, "tools/call", {"name": "get_trading_status", "arguments": {}}))
        demo.answer()
        assert len([*tmp_path.glob("mcp-binance-demo-*/trading.db")]) == 1
        demo.close_input()
        assert demo.wait() == 0

    assert [*tmp_path.iterdir()] == []


@pytest.mark.night
def test_a_demo_on_a_pipe_says_nothing_of_its_own() -> None:
    with Process("demo", "--quiet") as demo:
        assert demo.shake_hands()["result"]["serverInfo"]["name"] == "mcp-binance-server"
        demo.say(request(2, "tools/call", {"name": "get_ticker", "arguments": {"symbol": "ethusdt"}}))
        assert demo.answer()["result"]["structuredContent"]["host"] == "simulator.invalid"
        demo.close_input()
        assert demo.wait() == 0

    assert demo.errors.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize(("flags", "said"), [((), BANNER), (("--quiet",), "")], ids=["plain", "quiet"])
def test_a_demo_at_a_terminal_says_what_to_try_unless_it_is_to_be_quiet(
    flags: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    with (tmp_path / "errors").open("wb") as errors, Path(os.devnull).open("wb") as nothing:
        streams = (theirs, nothing.fileno(), errors.fileno())
        demo = WarmProcess(["demo", *flags], None, streams, clean_environment({}))
        os.close(theirs)
        os.write(ours, b"\x04")  # Ctrl-D: the end of what is typed
        assert demo.wait(PATIENCE_SECS) == 0
    os.close(ours)

    assert (tmp_path / "errors").read_text(encoding="utf-8") == said


def newer_journal(folder: Path) -> Path:
    """Make a folder with a journal that a newer version has written."""
    folder.mkdir(mode=0o700, parents=True)
    with closing(sqlite3.connect(folder / "trading.db")) as journal:
        journal.execute(f"PRAGMA user_version={NEWEST + 1}")
        journal.commit()
    return folder


@pytest.mark.parametrize("place", ["demo", f"demo-{NEWEST + 1}"])
def test_a_demo_starts_beside_one_of_a_newer_version(tmp_path: Path, place: str) -> None:
    newer_journal(tmp_path / place)

    with Process("demo", environment={"MCP_BINANCE_STATE_DIR": str(tmp_path)}, warm=True) as demo:
        demo.shake_hands()
        answer = demo.ask(2, "tools/call", {"name": "get_trading_status", "arguments": {}})
        demo.close_input()

    assert answer["result"]["structuredContent"]["success"] is True


def test_a_demo_never_shows_half_of_its_limits_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_BINANCE_STATE_DIR", str(tmp_path))
    folder = own_folder({"MCP_BINANCE_STATE_DIR": str(tmp_path)})
    assert folder is not None
    limits = folder / LIMITS_FILE
    found: list[tuple[int, str]] = []

    for fresh in (False, False, True):
        with demo_settings(trades=True, fresh=fresh):
            found.append((limits.stat().st_ino, limits.read_text(encoding="utf-8")))
    limits.write_text("[paper]", encoding="utf-8")
    with limits.open(encoding="utf-8") as read_by_another, demo_settings(trades=True):
        seen = read_by_another.read()

    assert found[0] == found[1] == found[2]
    assert seen == "[paper]"
    assert limits.read_text(encoding="utf-8") == found[0][1]
    assert limits.stat().st_mode & 0o777 == 0o600
