"""A server that is told to end in the middle of an order: the order stays whole, and the next start knows of it."""

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from mcp_binance_server.clock import SystemClock
from support.process import Process

pytestmark = pytest.mark.flood

ORDER = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "100"}
# An order on paper that is on its way for a minute: longer than any end waits.
SLOW = {"MCP_BINANCE_PAPER_LATENCY_MS": "60000"}


def states(folder: Path) -> list[str]:
    path = folder / "trading.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as rows:
        return [state for (state,) in rows.execute("SELECT state FROM intent")]


async def until(folder: Path, state: str) -> None:
    for _ in range(600):
        if states(folder) == [state]:
            return
        await SystemClock().sleep_ms(50)
    raise AssertionError(f"{states(folder)}, not {state}")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_order_in_hand_is_written_down_before_a_server_ends(tmp_path: Path) -> None:
    folder = tmp_path / "trading"
    with Process("simulator", warm=True) as simulator:
        told = json.loads(simulator.line())
        environment = {
            "BINANCE_REST_URL": told["rest"],
            "BINANCE_STREAM_URL": told["streams"],
            "MCP_BINANCE_TRADING": "paper",
            "MCP_BINANCE_TRADING_DIR": str(folder),
        }
        with Process("--stdio", environment={**environment, **SLOW}, warm=True) as server:
            server.shake_hands()
            preview = server.ask(1, "tools/call", {"name": "preview_order", "arguments": ORDER})
            preview_id = preview["result"]["structuredContent"]["preview_id"]
            called = {"name": "place_order", "arguments": {"preview_id": preview_id}}
            server.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called})
            await until(folder, "SENT")
            began_ms = SystemClock().monotonic_ms()
            os.kill(server.pid, signal.SIGTERM)
            code = server.wait()
            took_ms = SystemClock().monotonic_ms() - began_ms
        left = states(folder)
        with Process("--stdio", environment=environment, warm=True) as server:
            server.shake_hands()
            server.ask(1, "tools/list", {})
            await until(folder, "ACKED")
            again = server.ask(2, "tools/call", called)
            server.close_input()
            server.wait()
        simulator.terminate()

    assert (code, left) == (0, ["UNKNOWN"])
    assert took_ms < 30_000  # fifteen seconds for the order, and what a busy machine adds
    assert again["result"]["structuredContent"]["client_order_id"] == f"mbp-{preview_id}"
    assert states(folder) == ["ACKED"]
