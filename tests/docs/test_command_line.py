"""The page about the terminal shows what a terminal shows."""

from pathlib import Path

from mcp_binance_server.cli.arguments import SHELLS
from mcp_binance_server.cli.demo import GREETING
from mcp_binance_server.cli.terminal import LEVELS

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def test_every_shell_and_level_is_on_the_page() -> None:
    assert all(f"mcp-binance-server completion {shell} >" in PAGE for shell in SHELLS)
    assert all(f"`{level.lower()}`" in PAGE for level in LEVELS)


def test_the_page_shows_what_the_demo_says() -> None:
    assert GREETING in PAGE
