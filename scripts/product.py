"""The server as users run it, with `--http` on the offline exchange, for scripts that measure it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

COMMAND = (sys.executable, "-m", "mcp_binance_server")
PATIENCE_SECS = 30


@dataclass
class Product:
    """A running server and its port."""

    process: subprocess.Popen[str]
    port: int
    exit_code: int | None = None

    def stop(self) -> int:
        """Stop the server with SIGTERM and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        self.exit_code = self.process.wait(PATIENCE_SECS)
        return self.exit_code


@contextmanager
def running_product(**settings: str) -> Generator[Product]:
    """Start an exchange and a server, each in its own process. Stop both at the end."""
    with _started("simulator", {}, stdout=subprocess.PIPE) as simulator:
        exchange = json.loads(simulator.stdout.readline() if simulator.stdout else "")
        environment = {
            "BINANCE_API_KEY": exchange["api_key"],
            "BINANCE_SECRET_KEY": exchange["secret_key"],
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
            **settings,
        }
        with _started("--http", environment, "--port", "0", stderr=subprocess.PIPE) as server:
            yield Product(server, _announced_port(server))


def _announced_port(server: subprocess.Popen[str]) -> int:
    for line in server.stderr or ():
        if line.startswith("MCP at "):
            # Keep reading the output, because a full pipe would block the server.
            threading.Thread(target=shutil.copyfileobj, args=(server.stderr, sys.stderr), daemon=True).start()
            return int(line.split()[2].removesuffix("/mcp").rpartition(":")[2])
        sys.stderr.write(line)
    raise SystemExit("the server did not start")


@contextmanager
def _started(
    first: str, settings: dict[str, str], *more: str, stdout: int | None = None, stderr: int | None = None
) -> Generator[subprocess.Popen[str]]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("BINANCE_", "MCP_BINANCE_"))}  # noqa: TID251
    command = [*COMMAND, first, *more]
    environment = {**inherited, "XDG_CONFIG_HOME": "/nonexistent", "MCP_BINANCE_STATE_DIR": "off", **settings}
    with subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True, env=environment) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.kill()
