"""The pages about setup and doctor name everything these commands know."""

import re
from pathlib import Path

import pytest

from mcp_binance_server.cli.arguments import Parser
from mcp_binance_server.cli.doctor.examination import LADDER, TRADING
from mcp_binance_server.cli.setup.clients import CLIENTS
from mcp_binance_server.cli.setup.command import add_setup_command
from support.setups import LINUX

DOCS = Path(__file__).parents[2] / "docs"
SETUP = (DOCS / "setup.md").read_text(encoding="utf-8")
TROUBLESHOOTING = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)
def test_every_client_stands_there_with_its_file(client: object) -> None:
    found = next(each for each in CLIENTS.values() if each is client)
    row = next(line for line in SETUP.splitlines() if line.startswith(f"| `{found.name}` |"))

    assert found.file(LINUX).name in row


def test_every_option_of_setup_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    root = Parser()
    add_setup_command(root.add_subparsers())

    with pytest.raises(SystemExit):
        root.parse_args(["setup", "--help"])

    flags = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert len(flags) > 5
    assert [flag for flag in flags if f"`{flag}" not in SETUP] == []


@pytest.mark.parametrize("rung", [rung.id for rung in (*LADDER, *TRADING)])
def test_every_rung_of_the_ladder_is_explained(rung: str) -> None:
    rows = [line for line in TROUBLESHOOTING.splitlines() if line.startswith("| `")]

    assert any(f"`{rung}`" in row.split("|")[1] for row in rows)
