"""Trading at a simulated Binance: the same tools as on paper, with a key, and orders that leave."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from binance_simulator.account import DemoAccount, KeyRights
from mcp_binance_server.exchange.endpoints import Network
from support.asking import Connect, User
from support.paper import SYMBOL, PaperTrader, policy_file
from support.stepped import live_market

SEED = 7
# On this machine, as trading wants it; without a socket the port does not matter.
PRACTICE = Network(
    "testnet",
    "http://127.0.0.1:8080",
    "https://testnet.binance.vision/",
    stream_url="ws://127.0.0.1:8080",
    ws_api_url="ws://127.0.0.1:8080/ws-api/v3",
)
TRADES = KeyRights(trading=True)


@asynccontextmanager
async def spot_trader(
    folder: Path, policy: str = "", *, era: str = "auto", connect: Connect | None = None, user: User | None = None
) -> AsyncGenerator[PaperTrader]:
    """Trade with play money under a policy; with a user who is asked, over the connection that is named."""
    key = DemoAccount(SEED)
    environment = {
        "MCP_BINANCE_TRADING": "practice",
        "MCP_BINANCE_TRADING_DIR": str(folder / "trading"),
        "BINANCE_NETWORK": "testnet",
        "BINANCE_API_KEY": key.api_key,
        "BINANCE_SECRET_KEY": key.secret_key,
    } | policy_file(folder, policy)
    async with (
        live_market(era=era, seed=SEED, network=PRACTICE, environment=environment) as market,
        AsyncExitStack() as stack,
    ):
        market.exchange.rights = TRADES
        client = market.client
        if connect is not None:
            client = await stack.enter_async_context(connect(market.app, user))
        await market.watch(SYMBOL, 5)
        yield PaperTrader(market, client)
