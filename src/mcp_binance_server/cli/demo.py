"""`mcp-binance-server demo`: an offline exchange and a server in one process, over stdio or HTTP."""

import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import anyio

from mcp_binance_server.cli.interruption import ExitWatchdog, run
from mcp_binance_server.cli.serve import prepare_logging, serve_early
from mcp_binance_server.cli.terminal import Verbosity
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.endpoints import OFFLINE
from mcp_binance_server.loading import gc_paused
from mcp_binance_server.own_folders import state_folder
from mcp_binance_server.settings import Settings, read_settings, refuse_unknown_variables, surroundings
from mcp_binance_server.transports.stdio import SideThread

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp_binance_server.app import App

GREETING = "A simulated Binance with moving prices: no key, no network, no real money."
HOST = "127.0.0.1"
# Starting balances, so that there is something to sell or to protect with a stop.
LIMITS = """[paper]
balances = { USDT = "10000", BTC = "0.25", ETH = "2" }
"""
LIMITS_FILE = "trading.toml"
# Environment variables that also apply to a demo. All other settings are fixed.
HEEDED = ("MCP_BINANCE_LOG_LEVEL", "MCP_BINANCE_LOG_FORMAT", "MCP_BINANCE_TOOLSETS", "MCP_BINANCE_CHART_IMAGES")
STATE_DIR = "MCP_BINANCE_STATE_DIR"
ASK = """Then ask:  What is the price of Bitcoin, and how deep is its order book?
           Draw ETHUSDT of the last four weeks with Bollinger Bands and RSI.
           What would 5 BTC, sold at once, do to the price?
           Preview buying Bitcoin for 100 USDT, and place it on paper.

Ctrl-C stops it.
"""
BANNER = f"""Offline demo. {GREETING}
It speaks MCP on standard input and is waiting for a client.

To open it in a browser or another client, stop it and start:

  mcp-binance-server demo --http

To try it by hand, in another terminal (needs Node):

  npx @modelcontextprotocol/inspector --cli mcp-binance-server demo --method resources/read --uri binance://market/btcusdt
  npx @modelcontextprotocol/inspector --cli mcp-binance-server demo --method tools/call --tool-name get_ticker --tool-arg symbol=ethusdt

To use it in an assistant, add this to your MCP client's configuration:

  {{"mcpServers": {{"binance-demo": {{"command": "mcp-binance-server", "args": ["demo"]}}}}}}

{ASK}"""  # noqa: E501 - a command must stand on one line to be copied
HTTP_BANNER = """MCP at {address}/mcp
Offline demo. {greeting}

To look:      open {address}/ in a browser
To connect:   claude mcp add --transport http binance-demo {address}/mcp
By hand:      npx @modelcontextprotocol/inspector --cli {address}/mcp --transport http --method tools/list

{ask}"""


def run_demo(verbosity: Verbosity, *, seed: int, port: int | None = None, fresh: bool = False) -> int:
    """Serve until the client disconnects. With a port, serve over HTTP until a signal."""
    if port is not None:
        anyio.run(_serve_http, verbosity, seed, port, ExitWatchdog(0), fresh)
        return 0
    if sys.stdin.isatty():
        verbosity.tell(BANNER)
    run(_serve_stdio, verbosity, seed, fresh)
    return 0


async def _serve_stdio(verbosity: Verbosity, seed: int, fresh: bool) -> None:  # noqa: FBT001 - called by name above
    with demo_settings(trades=True, fresh=fresh) as settings:
        prepare_logging(settings, verbosity)
        await serve_early(settings, OFFLINE, partial(_app, settings, seed))


@asynccontextmanager
async def _app(settings: Settings, seed: int, loading: SideThread) -> "AsyncGenerator[App]":
    offline_app = await loading.run(_load)
    async with offline_app(settings, seed=seed) as app:
        yield app


def _load() -> "Callable[..., AbstractAsyncContextManager[App]]":
    with gc_paused():
        from mcp_binance_server.cli.offline import offline_app  # noqa: PLC0415 - not needed for a greeting

    return offline_app


async def _serve_http(
    verbosity: Verbosity,
    seed: int,
    port: int,
    last_moment: ExitWatchdog,
    fresh: bool,  # noqa: FBT001 - as above
) -> None:
    from mcp_binance_server.cli.listening import ListenOn  # noqa: PLC0415 - stdio needs no web server
    from mcp_binance_server.cli.serve_http import serve_at  # noqa: PLC0415 - as above
    from mcp_binance_server.transports.http.admission.hosts import allow  # noqa: PLC0415 - as above
    from mcp_binance_server.transports.http.app import Authentication  # noqa: PLC0415 - as above
    from mcp_binance_server.transports.http.assembly import HttpOptions  # noqa: PLC0415 - as above
    from mcp_binance_server.transports.http.auth.authenticator import Open  # noqa: PLC0415 - as above

    options = HttpOptions(
        authentication=Authentication(Open()),
        allowed=allow(),
        shares_server_key=True,
        greeting=GREETING,
        shows_market=True,
    )
    with demo_settings(trades=True, fresh=fresh) as settings:
        prepare_logging(settings, verbosity)
        async with _load()(settings, seed=seed) as app:
            await serve_at(ListenOn(HOST, port), app, options, partial(_announce, verbosity.tell), last_moment)


def _announce(tell: Callable[[str], None], port: int) -> None:
    tell(HTTP_BANNER.format(address=f"http://{HOST}:{port}", greeting=GREETING, ask=ASK))


@contextmanager
def demo_settings(*, trades: bool = False, fresh: bool = False) -> Generator[Settings]:
    """Yield the settings of a demo.

    `trades` enables paper trading. Its folder is shared by all demos of this user.
    """
    around = surroundings()
    refuse_unknown_variables(around)
    heeded = {name: around[name] for name in HEEDED if name in around}
    # No chart-img.com key: the simulated service returns noise, while the local renderer draws the market.
    charts = {"CHART_IMG_URL": OFFLINE.rest_url, "CHART_IMG_DOCS_URL": f"{OFFLINE.rest_url}/chart-docs"}
    shown = read_settings(heeded).groups
    with ExitStack() as stack:
        is_offered = trades and {"orders", "trade"} <= shown
        folder = (own_folder(around, fresh=fresh) or _temporary(stack)) if is_offered else None
        yield read_settings({**heeded, **charts, **_paper(folder)})


def kept_settings() -> Settings:
    """Return the settings of the paper account that all demos of this user share, for the trading commands.

    Raises:
        SettingsError: demos of this user keep no folder.
    """
    folder = own_folder(surroundings())
    if folder is None:
        raise SettingsError(problems=(f"{STATE_DIR}: demos keep no folder here; set it to one",))
    return read_settings(_paper(folder))


def own_folder(around: Mapping[str, str], *, fresh: bool = False) -> Path | None:
    """Return the private folder of this user's demos, emptied if `fresh`. Return None if it cannot be used.

    Each version of the journal has a folder of its own, since an older server cannot read a newer journal.
    """
    from mcp_binance_server.trading.journal.schema import NEWEST  # noqa: PLC0415 - only demos that trade need it

    named = around.get(STATE_DIR, "").strip()
    base = Path(named) if named else state_folder(around)
    if named == "off" or base is None or not base.is_absolute():
        return None
    folder = base / f"demo-{NEWEST}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if fresh:
            _empty(folder)
    except OSError:  # a container without a writable home
        return None
    return folder


def _empty(folder: Path) -> None:
    """Remove everything but the limits, which another demo may be reading and which are always the same."""
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        elif each.name != LIMITS_FILE:
            each.unlink(missing_ok=True)  # another demo may be emptying the folder too


def _temporary(stack: ExitStack) -> Path | None:
    try:
        kept = TemporaryDirectory(prefix="mcp-binance-demo-", ignore_cleanup_errors=True)
    except OSError:  # A container can lack a writable folder. The demo then runs without a journal.
        return None
    return Path(stack.enter_context(kept))


def _paper(folder: Path | None) -> dict[str, str]:
    """Return the settings for paper trading, with the journal in the folder.

    Without a folder, return an empty mapping.
    """
    if folder is None:
        return {}
    limits = folder / LIMITS_FILE
    if not limits.is_file() or limits.read_text(encoding="utf-8") != LIMITS:
        # Replaced in one step: another demo may be reading it.
        written = folder / f"{LIMITS_FILE}.{os.getpid()}"
        written.touch(0o600)  # the server refuses a file that other users can write
        written.write_text(LIMITS, encoding="utf-8")
        written.replace(limits)
    return {
        "MCP_BINANCE_TRADING": "paper",
        "MCP_BINANCE_TRADING_DIR": str(folder),
        "MCP_BINANCE_TRADING_POLICY": str(limits),
    }
