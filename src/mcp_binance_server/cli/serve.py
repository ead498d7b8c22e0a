"""`mcp-binance-server --stdio`: the server a client starts."""

import logging
import sys

import anyio

from mcp_binance_server.app import credentials_of, running_app
from mcp_binance_server.cli.manners import Manners
from mcp_binance_server.settings import Settings, read_settings, unknown_variables
from mcp_binance_server.telemetry.logs import configure_logging
from mcp_binance_server.transports.stdio import serve_stdio

LOG = logging.getLogger(__name__)

WAITING = """mcp-binance-server speaks MCP on standard input and is waiting for a client.
An MCP client starts it by itself; to look around by hand, try: mcp-binance-server demo
"""


def prepare(manners: Manners) -> Settings:
    """Read the settings and set up the logs; a name that means nothing is warned of."""
    settings = read_settings()
    prepare_logging(settings, manners)
    for name in unknown_variables():
        LOG.warning("the environment variable %s means nothing to this version", name)
    return settings


def run_stdio(manners: Manners) -> int:
    settings = prepare(manners)
    if sys.stdin.isatty():
        manners.tell(WAITING)
    anyio.run(_serve, settings)
    return 0


def prepare_logging(settings: Settings, manners: Manners) -> None:
    """Set up logs that cannot show the secrets of these settings."""
    credentials = credentials_of(settings)
    secrets = [credentials.api_key, credentials.secret] if credentials else []
    if settings.chart_key is not None:
        secrets.append(settings.chart_key.get_secret_value())
    configure_logging(manners.level(settings.log_level), secrets, as_json=settings.log_format == "json")


async def _serve(settings: Settings) -> None:
    async with running_app(settings) as app:
        await serve_stdio(app.server)
