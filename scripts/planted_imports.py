#!/usr/bin/env python3
"""Check the import contracts: break each one in a copy of the package, and expect import-linter to report it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PACKAGES = ("mcp_binance_server", "binance_simulator")
PURE = "Domain, analytics, views and judgement are pure"
SENDER = "from mcp_binance_server.exchange.spot.orders import OrderClient"
# (contract, file, import statement)
PLANTED = (
    (
        "Dependencies point down",
        "mcp_binance_server/services/market/service.py",
        "from mcp_binance_server.transports import stdio",
    ),
    (
        "Dependencies point down",
        "mcp_binance_server/feeds/tape.py",
        "from mcp_binance_server.guide.document import Document",
    ),
    (
        "Dependencies point down",
        "mcp_binance_server/surface/catalogue.py",
        "from mcp_binance_server.settings import Settings",
    ),
    (PURE, "mcp_binance_server/surface/views/market.py", "import socket"),
    (PURE, "mcp_binance_server/trading/judgement/guards.py", "import sqlite3"),
    ("The journal alone knows SQLite", "mcp_binance_server/services/trading/counting.py", "import sqlite3"),
    ("Orders leave through one door", "mcp_binance_server/services/trading/counting.py", SENDER),
    ("Orders leave through one door", "mcp_binance_server/trading/desk.py", SENDER),
    (
        "The surface cannot send",
        "mcp_binance_server/surface/answers.py",
        "from mcp_binance_server.trading.desk import Desk",
    ),
    (
        "The surface cannot send",
        "mcp_binance_server/surface/confirm.py",
        "from mcp_binance_server.trading.spot import SpotBroker",
    ),
    ("The surface cannot send", "mcp_binance_server/transports/http/app.py", SENDER),
    (
        "gRPC does not trade",
        "mcp_binance_server/transports/grpc/errors.py",
        "from mcp_binance_server.services.trading.service import TradingService",
    ),
    (
        "The simulator does not import the product that it tests",
        "binance_simulator/orders/counts.py",
        "from mcp_binance_server.trading.journal.records import FINAL_STATUS",
    ),
)


def main() -> int:
    with TemporaryDirectory() as folder:
        for package in PACKAGES:
            shutil.copytree(
                ROOT / "src" / package, Path(folder) / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        for _, place, line in PLANTED:
            with Path(folder, place).open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
        found = subprocess.run(  # noqa: S603 - our own tool
            ["lint-imports", "--no-cache", "--config", str(ROOT / "pyproject.toml")],  # noqa: S607 - of this environment
            env={**os.environ, "PYTHONPATH": folder},  # noqa: TID251 - a copy with another package path
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    report = " ".join(found.stdout.split())
    missed: list[str] = []
    for contract, place, line in PLANTED:
        importer = place.removesuffix(".py").replace("/", ".")
        if f"{contract} BROKEN" not in report or f"{importer} -> {line.split()[1]}" not in report:
            missed.append(f"{contract}: {importer}")
    for each in missed:
        print(f"{each}: the planted import was not reported", file=sys.stderr)
    if not missed:
        broken = {contract for contract, _, _ in PLANTED}
        print(f"{len(broken)} contracts reported all {len(PLANTED)} planted imports")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
