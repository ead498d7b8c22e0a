"""Trading on paper as its page tells it: the program, the entry of the client, and the commands beside the server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from support.pages import ROOT, blocks
from support.process import PATIENCE_SECS, Process, clean_environment

PAGE = ROOT / "docs" / "how-to" / "paper.md"
ORDER = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": "100"}

pytestmark = pytest.mark.flood


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    with Process("simulator", warm=True) as simulator:
        told = json.loads(simulator.line())
        exchange = {"BINANCE_REST_URL": told["rest"], "BINANCE_STREAM_URL": told["streams"]}
        yield clean_environment({**exchange, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""})
        simulator.terminate()


@pytest.mark.night
def test_the_program_places_an_order_on_the_demo() -> None:
    (program,) = blocks(PAGE, "python")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"

    done = subprocess.run(
        [sys.executable, "-c", program.text], capture_output=True, text=True, timeout=PATIENCE_SECS, check=True,
        env=clean_environment({"PATH": path}),
    )  # fmt: skip

    assert done.stdout.startswith("PAPER: order mbp-")
    assert "FILLED" in done.stdout


@pytest.mark.night
async def test_the_page_works_from_its_first_line_to_its_last(environment: dict[str, str], tmp_path: Path) -> None:
    (configuration,) = blocks(PAGE, "json")
    entry = json.loads(configuration.text)["mcpServers"]["binance"]
    look, stop = (block.commands for block in blocks(PAGE, "sh"))
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env={**environment, **entry["env"]}, cwd=tmp_path
    )

    async with Client(server, cache=None) as client:
        placed = await called(client, "place_order", {"preview_id": await previewed(client)})
        account, journal = (said(command, environment) for command in look)
        stopped = said(stop[0], environment)
        refused = await called(client, "preview_order", ORDER)
        resumed = said(stop[1], environment)
        again = await called(client, "place_order", {"preview_id": await previewed(client, "200")})
        (balances,) = blocks(PAGE, "toml")
        limits = tmp_path / ".config" / "mcp-binance-server" / "trading.toml"
        limits.parent.mkdir(parents=True)
        limits.write_text(balances.text, encoding="utf-8")
        limits.chmod(0o600)
        reset = said("mcp-binance-server paper reset --yes", environment)
        anew = said("mcp-binance-server paper", environment)

    assert (placed["outcome"], placed["status"]) == ("placed", "FILLED")
    assert placed["summary"].startswith("PAPER")
    assert re.search(r"\b9,90[01]\.", account)  # a step of the quantity is worth more than a dollar
    assert placed["client_order_id"][:12] in journal
    assert "enough for today" in stopped
    assert refused["preview_id"] is None
    assert "enough for today" in str(refused["refused_by"])
    assert "enough for today" in resumed
    assert again["outcome"] == "placed"
    assert "was reset" in reset
    assert "2,500" in anew


async def called(client: Client, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def previewed(client: Client, amount: str = "100") -> str:
    shown = await called(client, "preview_order", {**ORDER, "quote_quantity": amount})
    assert shown["preview_id"], shown["refused_by"]
    return shown["preview_id"]


def said(command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euc", command],  # noqa: S607 - a shell is what the page is about
        capture_output=True, text=True, timeout=PATIENCE_SECS, check=False, env=environment, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
