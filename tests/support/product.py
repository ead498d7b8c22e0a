"""Our whole HTTP application on a simulated exchange, run as a program: a server of its own with short patience.

    python tests/support/product.py '{"head_secs": 0.3, "body_secs": 0.3, "reading_secs": 0.3, "idle_secs": 1}'

The first line on stdout is the port.
"""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import anyio

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from mcp_binance_server.telemetry.logs import configure_logging
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.assembly import HttpOptions, assemble
from mcp_binance_server.transports.http.auth.authenticator import Open
from mcp_binance_server.transports.http.server.connection import ConnectionLimits
from mcp_binance_server.transports.http.server.serving import serve_http
from support.desk import NETWORK, Loop
from support.process import PATIENCE_SECS, Process

BEGIN = """import runpy, sys
sys.argv[1:] = [{options!r}]
sys.path.insert(0, {tests!r})
runpy.run_path({path!r}, run_name='__main__')"""


def product_code(**options: float) -> str:
    """Return a program that runs this server."""
    return BEGIN.format(options=json.dumps(options), path=__file__, tests=__file__.rpartition("/support/")[0])


@dataclass(frozen=True, slots=True)
class Running:
    """The command `--http` as a process, the exchange it is on, and where it listens."""

    process: Process
    exchange: dict[str, str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


@contextmanager
def running_product(**settings: str) -> Generator[Running]:
    """Start an exchange and our command on it, as users do; end both."""
    with Process("simulator") as simulator:
        exchange: dict[str, str] = json.loads(simulator.line())
        environment = {
            "BINANCE_API_KEY": exchange["api_key"],
            "BINANCE_SECRET_KEY": exchange["secret_key"],
            "BINANCE_REST_URL": exchange["rest"],
            "BINANCE_STREAM_URL": exchange["streams"],
            "MCP_BINANCE_LOG_LEVEL": "WARNING",
            **settings,
        }
        with Process("--http", "--port", "0", environment=environment) as product:
            yield Running(product, exchange, anyio.run(announced, product).removesuffix("/mcp"))
            if product.is_running:
                product.terminate()
        simulator.terminate()


async def announced(product: Process) -> str:
    """Return the address that the command writes when it is ready."""
    clock = SystemClock()
    for _ in range(int(PATIENCE_SECS * 20)):
        for line in product.errors.read_text(encoding="utf-8").splitlines():
            if line.startswith("MCP at "):
                return line.split()[2]
        await clock.sleep_ms(50)
    raise AssertionError(product.errors.read_text(encoding="utf-8"))


async def run(options: dict[str, float]) -> None:
    clock = SystemClock()
    exchange = SimulatedExchange(clock)
    own = {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}
    limits = ConnectionLimits()
    limits = replace(
        limits,
        head_secs=options.get("head_secs", limits.head_secs),
        reading_secs=options.get("reading_secs", limits.reading_secs),
        idle_secs=int(options.get("idle_secs", limits.idle_secs)),
    )

    def ready(port: int) -> None:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()

    async with running_app(read_settings(own), clock=clock, network=NETWORK, transport=Loop(exchange)) as app:
        chosen = HttpOptions(
            authentication=Authentication(Open()), allowed=allow(), shares_server_key=True, session_idle_secs=1
        )
        http = assemble(app.server, app.dispatcher, clock, chosen)
        async with http.heart.running():
            await serve_http(
                http.asgi, host="127.0.0.1", port=0, ready=ready, drain=http.heart.drain, limits=limits, grace_secs=5
            )


if __name__ == "__main__":
    configure_logging("WARNING", ())
    anyio.run(run, json.loads("".join(sys.argv[1:]) or "{}"))
