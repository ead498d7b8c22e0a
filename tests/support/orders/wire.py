"""A server that trades at the simulated exchange, with play money or as if with money, and what the exchange saw."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from binance_simulator.account import KeyRights
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.visits import ReceivedRequest
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.exchange.endpoints import Network
from support.paper_market import PaperMarket, World, paper_market

WireMode = Literal["practice", "live"]

# Nothing listens at this address, because the exchange is in this process.
_HOST = "127.0.0.1:9"
NETWORKS = {
    mode: Network(
        name,
        f"http://{_HOST}",
        "https://testnet.binance.vision/",
        stream_url=f"ws://{_HOST}",
        ws_api_url=f"ws://{_HOST}/ws-api/v3",
    )
    for mode, name in (("practice", "testnet"), ("live", "mainnet"))
}
# What a key must be able to do; one that may withdraw does not trade at all.
TRADES = KeyRights(trading=True)


def keys_of(exchange: SimulatedExchange) -> dict[str, str]:
    """Return the settings that name the first account's key."""
    return {"BINANCE_API_KEY": exchange.account.api_key, "BINANCE_SECRET_KEY": exchange.account.secret_key}


def live_key(exchange: SimulatedExchange) -> str:
    """Return the lines by which an operator lets this key trade with money."""
    return f'[keys."{key_id(exchange.account.api_key)}"]\nmode = "live"\n'


@asynccontextmanager
async def wire_market(
    folder: Path,
    policy: str,
    mode: WireMode,
    on: World,
    *,
    environment: dict[str, str] | None = None,
    **more: Any,  # noqa: ANN401 - options of the market
) -> AsyncGenerator[PaperMarket]:
    """Serve a client that trades at this exchange, by an operator's rules."""
    exchange = on.exchange
    exchange.rights = TRADES
    settings = {"MCP_BINANCE_TRADING": mode, "BINANCE_NETWORK": NETWORKS[mode].name, **keys_of(exchange)}
    written = policy + (live_key(exchange) if mode == "live" else "")
    chosen = {**settings, **(environment or {})}
    async with paper_market(folder, written, environment=chosen, network=NETWORKS[mode], on=on, **more) as market:
        yield market


def writes(exchange: SimulatedExchange) -> list[ReceivedRequest]:
    """Return every request that was no read."""
    return [each for each in exchange.requests if each.method != "GET"]
