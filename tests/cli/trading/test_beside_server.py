"""An order that a server holds back for a person, who approves it in a terminal beside it."""

import json
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from cli.trading.trading_folder import PASSPHRASE, TradingFolder
from cli.trading.typist import Typist
from support.process import COMMAND, Process, clean_environment

pytestmark = pytest.mark.flood


async def called(client: Client, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def test_what_waits_is_placed_once_it_is_approved_and_not_before(folder: TradingFolder) -> None:
    folder.approver()
    with Process("simulator", warm=True) as simulator:
        told = json.loads(simulator.line())
        environment = clean_environment(
            {
                "BINANCE_REST_URL": told["rest"],
                "BINANCE_STREAM_URL": told["streams"],
                "XDG_CONFIG_HOME": str(folder.policy.parent.parent),
                "MCP_BINANCE_TRADING": "paper",
                "MCP_BINANCE_TRADING_DIR": str(folder.path),
            }
        )
        server = StdioServerParameters(command=sys.executable, args=[*COMMAND[1:]], env=environment)
        # This client has no way to show a form, so nobody can say yes in it.
        async with Client(server, cache=None, mode="legacy") as client:
            order = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "100"}
            preview_id = (await called(client, "preview_order", order))["preview_id"]
            waits = [await called(client, "place_order", {"preview_id": preview_id}) for _ in range(2)]
            typist = Typist("approve").answers("Passphrase (Enter: no): ", PASSPHRASE)
            approved = typist.leaves()
            placed = await called(client, "place_order", {"preview_id": preview_id})
        simulator.terminate()

    assert [each["outcome"] for each in waits] == ["waiting_for_approval"] * 2
    assert f"mcp-binance-server approve {preview_id}" in str(waits[0])
    assert approved == 0
    assert "BUY" in typist.seen
    assert preview_id in typist.seen
    assert (placed["outcome"], placed["status"]) == ("placed", "FILLED")
    assert "PAPER" in placed["summary"]
