"""A trading folder of their own for the commands, and nothing of whoever runs the tests."""

import os
from pathlib import Path

import pytest

from cli.trading.trading_folder import TradingFolder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TradingFolder:
    for name in [each for each in os.environ if each.startswith(("BINANCE_", "MCP_BINANCE_"))]:  # noqa: TID251
        monkeypatch.delenv(name)
    config = tmp_path / "config" / "mcp-binance-server"
    config.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    monkeypatch.setenv("MCP_BINANCE_TRADING_DIR", str(tmp_path / "trading"))
    return TradingFolder(tmp_path / "trading", config / "trading.toml")
