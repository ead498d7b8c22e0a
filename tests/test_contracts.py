"""The import contracts of trading, each broken once on a copy: what they forbid is found, and told with its place."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mcp_binance_server"
# By the contract it breaks: where a line is added, and which.
PLANTED = {
    "Judgement of orders is pure": ("trading/guards.py", "import sqlite3"),
    "The journal alone knows SQLite": ("services/trading/counting.py", "import sqlite3"),
    "The surface cannot send": ("surface/answers.py", "from mcp_binance_server.trading.desk import Desk"),
    "gRPC does not trade": (
        "transports/grpc/errors.py",
        "from mcp_binance_server.services.trading.service import TradingService",
    ),
}


def test_each_contract_of_trading_finds_what_it_forbids(tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "mcp_binance_server", ignore=shutil.ignore_patterns("__pycache__"))
    for place, line in PLANTED.values():
        with (copy / place).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")

    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--config", ROOT / "pyproject.toml"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},  # noqa: TID251 - the same environment, another package
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    told = " ".join(found.split())
    for contract, (place, line) in PLANTED.items():
        assert f"{contract} BROKEN" in told
        importer = "mcp_binance_server." + place.removesuffix(".py").replace("/", ".")
        imported = line.split()[1]
        assert f"{importer} -> {imported}" in told
