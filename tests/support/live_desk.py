"""A live server at a simulated Binance, whose orders need a person's signature, and clients that can open pages."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, types

from binance_simulator.account import KeyRights
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import key_id
from mcp_binance_server.settings import Settings, read_settings
from mcp_binance_server.trading.approvals import APPROVER_FILE, new_approver, sign
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.journal.chain import all_events
from mcp_binance_server.trading.journal.store import opened_store
from support.asking import Action
from support.exchange_socket import ServedExchange, served_exchange

PASSPHRASE = "CaNaRy correct horse"  # noqa: S105 - of these tests alone
LIMITS = '[limits]\nsymbols = ["BTCUSDT"]\nper_order = "5000"\nper_day = "9000"\ndaily_loss = "900"\n'


@dataclass
class PageOpener:
    """A user's client that can open addresses, and remembers which it was given."""

    action: Action = "accept"
    opened: Callable[[str], None] | None = None
    offers: list[types.ElicitRequestURLParams] = field(default_factory=list[types.ElicitRequestURLParams])

    async def answer(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert context is not None
        assert isinstance(params, types.ElicitRequestURLParams)
        self.offers.append(params)
        if self.opened is not None:
            self.opened(params.url)
        return types.ElicitResult(action=self.action)


@dataclass(frozen=True, slots=True)
class LiveDesk:
    """The server, the exchange that it trades at, and where its journal lies."""

    app: App
    served: ServedExchange
    settings: Settings
    folder: Path

    def client(self, user: PageOpener | None, era: str = "legacy") -> Client:
        return Client(self.app.server, mode=era, cache=None, elicitation_callback=user and user.answer)

    async def previewed(self, client: Client, amount: int = 500) -> str:
        """Return the id of a preview that only a signature lets pass."""
        order = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quote_quantity": str(amount)}
        told = await called(client, "preview_order", order)
        assert told["preview_id"], told
        return told["preview_id"]

    async def signed(self, preview_id: str) -> None:
        """Approve an order as the command does."""
        async with opened_store(self.folder) as store:
            [one] = [each for each in await Agreements(store).waiting(0) if each.preview_id == preview_id]
            signature = sign((self.folder / APPROVER_FILE).read_bytes(), PASSPHRASE, one.terms, one.preview_id)
            assert await Agreements(store).approve(one.preview_id, signature, 1)

    async def states(self) -> list[str]:
        async with opened_store(self.folder) as store:
            return await store.read(lambda rows: [each.state for each in all_events(rows)])


async def called(client: Client, tool: str, arguments: dict[str, str]) -> dict[str, Any]:
    """Call a tool and return what it says, of a refusal too."""
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None
    return result.structured_content


@asynccontextmanager
async def live_desk(folder: Path, **settings: str) -> AsyncGenerator[LiveDesk]:
    """Trade live, at an exchange of this process, with an approver whose key is on this machine."""
    made, policy, journal = new_approver(PASSPHRASE), folder / "trading.toml", folder / "trading"
    journal.mkdir(mode=0o700)
    (journal / APPROVER_FILE).write_bytes(made.sealed)
    with served_exchange() as served:
        served.exchange.rights = KeyRights(trading=True)
        confirm = f'[confirm]\nclient_per_order = "0"\napprover = "{made.public}"\n'
        key = f'[keys."{key_id(served.exchange.account.api_key)}"]\nmode = "live"\n'
        policy.write_text(f"{LIMITS}{confirm}{key}")
        policy.chmod(0o600)
        environment = {
            **served.environment(),
            "BINANCE_NETWORK": "mainnet",
            "MCP_BINANCE_TRADING": "live",
            "MCP_BINANCE_TRADING_DIR": str(journal),
            "MCP_BINANCE_TRADING_POLICY": str(policy),
            "MCP_BINANCE_STATE_DIR": "off",
            "MCP_BINANCE_ORDERBOOK_ANALYTICS": "false",
            **settings,
        }
        read = read_settings(environment)
        async with running_app(read) as app:
            yield LiveDesk(app, served, read, journal)
