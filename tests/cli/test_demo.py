"""The demo: over HTTP for a browser or another client, and what it says to whoever starts it."""

import os
import pty
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client

from mcp_binance_server.cli.demo import BANNER, GREETING
from mcp_binance_server.clock import SystemClock
from support.process import PATIENCE_SECS, Process, clean_environment
from support.raw import request
from support.warm import WarmProcess

pytestmark = pytest.mark.flood


async def announced(demo: Process) -> str:
    """Return the address of the demo once it says it."""
    clock = SystemClock()
    for _ in range(int(PATIENCE_SECS * 20)):
        said = demo.errors.read_text(encoding="utf-8")
        if "Ctrl-C ends it." in said:
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
