"""Orders at Binance as their pages tell it, from nothing to an order and back, on the offline exchange."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from cli.trading.trading_folder import PASSPHRASE
from cli.trading.typist import Typist
from support.asking import willing
from support.pages import ROOT, Block, blocks
from support.process import PATIENCE_SECS, Process, clean_environment
from support.warm_command import warm_command

HOW_TO = ROOT / "docs" / "how-to"
TESTNET, LIVE, APPROVE = (HOW_TO / f"{name}.md" for name in ("testnet", "live", "approve"))
ORDER = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET"}

pytestmark = pytest.mark.flood


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Have an exchange whose key may trade, and an empty home; terminals have the same environment."""
    with (
        TemporaryDirectory() as folder,
        warm_command(Path(folder)) as warm,
        Process("simulator", warm=True) as simulator,
    ):
        path = os.pathsep.join((str(warm), str(Path(sys.executable).parent), os.defpath))
        told = json.loads(simulator.line())
        request = urllib.request.Request(f"{told['control']}/key", b'{"trading":true}', method="POST")  # noqa: S310 - ours
        urllib.request.urlopen(request, timeout=PATIENCE_SECS).close()  # noqa: S310 - likewise
        made = clean_environment(
            {
                "BINANCE_REST_URL": told["rest"],
                "BINANCE_STREAM_URL": told["streams"],
                "BINANCE_WS_API_URL": told["ws_api"],
                "BINANCE_API_KEY": told["api_key"],
                "BINANCE_SECRET_KEY": told["secret_key"],
                "PATH": path,
                "HOME": str(tmp_path),
                "XDG_CONFIG_HOME": "",
                "MCP_BINANCE_APPROVAL_PAGE": "off",  # this reader goes by terminals; the page is tests/apps' own
            }
        )
        for name, value in made.items():
            monkeypatch.setenv(name, value)
        yield made
        simulator.terminate()


def entry(page: Path) -> dict[str, Any]:
    """Return the entry of a client as a page tells it."""
    (configuration,) = blocks(page, "json")
    (told,) = json.loads(configuration.text)["mcpServers"].values()
    return told


def command(page: Path, part: str) -> str:
    """Return the one command of a page that has this word, as its last if several have it."""
    told = [each for block in blocks(page, "sh") for each in block.commands if part in each.split()]
    (found,) = [each for each in told if len(told) == 1 or each.endswith(part)]
    return found


def typed(page: Path, part: str) -> Typist:
    """Start a command of a page at a terminal."""
    return Typist(*command(page, part).split()[1:])


def said(told: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euc", told],  # noqa: S607 - a shell is what the pages are about
        capture_output=True, text=True, timeout=PATIENCE_SECS, check=False, env=environment, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def started(page: Path, environment: dict[str, str]) -> StdioServerParameters:
    told = entry(page)
    return StdioServerParameters(command=told["command"], args=told["args"], env={**environment, **told["env"]})


async def called(client: Client, tool: str, **arguments: str) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


@pytest.mark.night
def test_the_testnet_page_leads_from_nothing_to_an_order_and_its_cancel(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (program,) = blocks(TESTNET, "python")
    api_key, secret = (environment.pop(name) for name in ("BINANCE_API_KEY", "BINANCE_SECRET_KEY"))
    monkeypatch.delenv("BINANCE_API_KEY")
    monkeypatch.delenv("BINANCE_SECRET_KEY")
    for_real = [each for each in command(TESTNET, "setup").split()[1:] if each not in ("--dry-run", "--no-keys")]
    keeps = Typist(*for_real).answers("Binance API key (Enter: none): ", api_key).answers("(PEM): ", secret)
    kept = keeps.answers("chart-img.com key (Enter: none): ", "").answers("Write this? [y/N] ", "y").leaves()

    done = subprocess.run(
        [sys.executable, "-c", program.text], capture_output=True, text=True, timeout=PATIENCE_SECS, env=environment,
        check=True,
    )  # fmt: skip
    examined = said(command(TESTNET, "MCP_BINANCE_TRADING=practice"), environment)
    listed = said("mcp-binance-server journal", environment)

    lines = done.stdout.splitlines()
    assert (kept, (tmp_path / ".claude.json").is_file()) == (0, True)
    assert [line.split(": ")[0] for line in lines] == ["PRACTICE (testnet)"] * 3
    assert ["FILLED" in lines[0], "is NEW" in lines[1], "is cancelled" in lines[2]] == [True] * 3
    assert "PRACTICE (testnet): play money" in examined
    assert "accepts a test order" in examined
    assert ("FILLED" in listed, "CANCELED" in listed, "mbt-" in listed) == (True, True, True)


def test_the_entry_of_the_testnet_page_has_the_settings_of_its_program_and_its_check() -> None:
    (program,) = blocks(TESTNET, "python")
    told = entry(TESTNET)

    assert f"PRACTICE = {json.dumps(told['env'])}" in program.text
    assert command(TESTNET, "MCP_BINANCE_TRADING=practice") == " ".join(
        [*(f"{name}={value}" for name, value in told["env"].items()), told["command"], "doctor"]
    )


def limits_of(page: Block, public: str, key_id: str) -> str:
    """Return the limits of the page with the reader's own approver and key in it."""
    text = re.sub(r'approver = ".*"', f'approver = "{public}"', page.text)
    return re.sub(r"\[keys\.k-\w+\]", f"[keys.{key_id}]", text)


def key_id_told(environment: dict[str, str]) -> str:
    """Return the id of the reader's key by the one command that the page names for it, before there are limits."""
    done = subprocess.run(
        ["bash", "-euc", command(LIVE, "doctor")],  # noqa: S607 - likewise
        capture_output=True, text=True, timeout=PATIENCE_SECS, check=False, env=environment, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    (told,) = set(re.findall(r"\bk-[a-z2-7]{16}\b", done.stdout))
    return told


@pytest.mark.night
async def test_the_page_on_money_works_from_its_first_line_to_its_last(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (limits,) = blocks(LIVE, "toml")
    made = typed(APPROVE, "--new")
    assert made.answers("New passphrase: ", PASSPHRASE).answers("Repeat it: ", PASSPHRASE).leaves() == 0
    public = re.findall(r'approver = "([^"]+)"', made.seen)[0]
    file = tmp_path / ".config" / "mcp-binance-server" / "trading.toml"
    file.parent.mkdir(parents=True)
    file.write_text(limits_of(limits, public, key_id_told(environment)), encoding="utf-8")
    file.chmod(0o600)
    user = willing()

    examined = said(command(LIVE, "doctor"), environment)
    async with Client(started(LIVE, environment), cache=None, elicitation_callback=user.answer) as client:
        small = await called(client, "preview_order", **ORDER, quote_quantity="20")
        placed = await called(client, "place_order", preview_id=small["preview_id"])
        large = await called(client, "preview_order", **ORDER, quote_quantity="40")
        waits = await called(client, "place_order", preview_id=large["preview_id"])
        typist = typed(APPROVE, "approve").answers("Passphrase (Enter: no): ", PASSPHRASE)
        approved = typist.leaves()
        signed = await called(client, "place_order", preview_id=large["preview_id"])
        stopped = said(command(LIVE, "stop"), environment)
        refused = await called(client, "preview_order", **ORDER, quote_quantity="10")
        resumed = typed(LIVE, "resume").answers("stay stopped): ", PASSPHRASE).leaves()

    assert "ORDERS SPEND MONEY" in examined
    assert "accepts a test order for BTCUSDT" in examined
    assert placed["outcome"] == "placed"
    assert placed["client_order_id"].startswith("mbl-")
    assert placed["summary"].startswith("LIVE (")
    assert ["LIVE (" in each.message for each in user.read] == [True]
    assert (waits["outcome"], approved, signed["outcome"]) == ("waiting_for_approval", 0, "placed")
    assert "something is odd" in stopped
    assert "something is odd" in str(refused["refused_by"])
    assert resumed == 0
