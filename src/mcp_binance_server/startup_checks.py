"""Checks at startup, and objects that are built from settings. An unusable setting stops the start."""

import hmac
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.endpoints import Network, network_at
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.proxies.environment import unread_variables
from mcp_binance_server.settings import ANALYTICS_PREFIX, Settings, Toolset, surroundings
from mcp_binance_server.state.engine_factory import MEMORY, open_engine
from mcp_binance_server.surface.apps.page import is_built
from mcp_binance_server.tls.trust_store import check_trust_store

if TYPE_CHECKING:
    from mcp_binance_server.analytics.thresholds import Thresholds
    from mcp_binance_server.state.engine import Reserves, StateEngine

LOG = logging.getLogger(__name__)

DERIVATIVES: Toolset = "derivatives"
LEAST_KEY_BYTES, MOST_KEY_BYTES = 32, 4_096


def check(settings: Settings, clock: Clock) -> None:
    """Check the settings before the first client is served. All objects that need no request are built.

    Raises:
        SettingsError: a key, certificate file, address, folder or threshold cannot be used, or trading lacks a
            setting.
    """
    check_trust_store(surroundings())
    principal = principal_of(settings)
    round_key_of(settings, "previews")
    if settings.analytics:
        thresholds_of(settings)
    if settings.trading != "off":
        from mcp_binance_server.trading_checks import checked_rules  # noqa: PLC0415 - imported only for trading

        network = network_of(settings)
        checked_rules(settings, network, principal)
        if settings.trading == "paper" and not streams_markets(settings, network):
            raise no_live_market()
    if settings.state_dir is not None and settings.state_dir.exists() and not settings.state_dir.is_dir():
        raise SettingsError(problems=(f"MCP_BINANCE_STATE_DIR: {settings.state_dir}: not a folder",))
    if not is_alone(settings):
        engine_of(settings, clock)
    if unread := unread_variables(surroundings()):
        LOG.warning("%s: ignored; set the proxy of all connections in HTTPS_PROXY or ALL_PROXY", ", ".join(unread))
    path = settings.private_key_file
    if path is not None and path.stat().st_mode & 0o077:
        LOG.warning("BINANCE_PRIVATE_KEY_FILE can be read by other users: chmod 600 %s", path)


def principal_of(settings: Settings) -> Principal | None:
    credentials = credentials_of(settings)
    return Principal.of(credentials) if credentials else None


def thresholds_of(settings: Settings) -> "Thresholds":
    from mcp_binance_server.analytics.tuning import tuned  # noqa: PLC0415 - rarely needed before a greeting

    return tuned(settings.analytics, prefix=ANALYTICS_PREFIX)


def network_of(settings: Settings) -> Network:
    return network_at(
        settings.network,
        settings.rest_url,
        settings.stream_url,
        settings.futures_rest_url,
        settings.futures_stream_url,
        ws_api_url=settings.ws_api_url,
    )


def missing_for_futures(settings: Settings, network: Network) -> str | None:
    """Return the setting that a futures host needs and that is missing; None if futures are available."""
    if DERIVATIVES not in settings.groups:
        return f"MCP_BINANCE_TOOLSETS with {DERIVATIVES} in its list"
    return "BINANCE_FUTURES_REST_URL" if network.futures is None else None


def streams_markets(settings: Settings, network: Network) -> bool:
    """Return True if the server has live markets. Without them, clients cannot be notified of changes."""
    return settings.orderbook_analytics and network.stream_url is not None


def no_live_market() -> SettingsError:
    """Return the error for paper trading without a live market, because paper orders are matched on it."""
    needed = "MCP_BINANCE_ORDERBOOK_ANALYTICS, and BINANCE_STREAM_URL if you set another host"
    return SettingsError(problems=(f"MCP_BINANCE_TRADING=paper needs a live market: {needed}",))


def shows_live_chart(settings: Settings) -> bool:
    """Return True if the live chart is enabled and its page is installed."""
    return settings.chart_app and is_built()


def is_alone(settings: Settings) -> bool:
    """Return True if the state is in memory, so that no other process shares it."""
    return settings.state_url.get_secret_value() == MEMORY


def engine_of(settings: Settings, clock: Clock, reserves: "Reserves | None" = None) -> "StateEngine":
    return open_engine(settings.state_url.get_secret_value(), clock, reserves=reserves)


def round_key_of(settings: Settings, use: Literal["previews", "rounds"]) -> bytes | None:
    """Derive a key for one purpose from the key file that all servers of a fleet share. Return None if no file is set.

    Raises:
        SettingsError: the file cannot be used.
    """
    path = settings.round_key_file
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            mode, key = os.fstat(file.fileno()).st_mode, file.read(MOST_KEY_BYTES)
    except OSError as error:
        raise _unfit_key(path, error.strerror or "it cannot be read") from None
    if os.name == "posix" and mode & 0o077:
        raise _unfit_key(path, f"other users can read it; fix it with: chmod 600 '{path}'")
    if len(key) < LEAST_KEY_BYTES:
        raise _unfit_key(path, f"it has only {len(key)} bytes; create it with: head -c 32 /dev/urandom > '{path}'")
    return hmac.digest(key, f"mcp-binance-server {use} v1".encode(), "sha256")


def _unfit_key(path: Path, problem: str) -> SettingsError:
    return SettingsError(problems=(f"MCP_BINANCE_ROUND_KEY_FILE: {path}: {problem}",))


def credentials_of(settings: Settings) -> Credentials | None:
    """Return the API key of the settings. Its secret can come from a file."""
    if settings.api_key is None:
        return None
    if settings.secret_key is not None:
        secret = settings.secret_key.get_secret_value()
    else:
        secret = _read_private_key(settings.private_key_file or Path())
    return Credentials(settings.api_key.get_secret_value().strip(), secret.strip())


def _read_private_key(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise SettingsError(problems=(f"BINANCE_PRIVATE_KEY_FILE: {path}: {reason}",)) from None
