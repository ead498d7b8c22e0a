"""Trading on paper on a market that a test moves: a policy, a folder for the journal, and a client of the tools."""

import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import validate
from mcp import Client, types

from support.asking import Connect, User
from support.stepped import LiveMarket, live_market

SYMBOL = "BTCUSDT"
# Far enough below the market that it waits, near enough for the collar of a sale.
LOW = "116500"
SMALL = "0.0005"
RESTING = {"symbol": SYMBOL, "side": "BUY", "price": LOW, "quantity": SMALL}
AT_ONCE = {"symbol": SYMBOL, "side": "BUY", "type": "MARKET", "quote_quantity": "500"}
ASKS_ALWAYS = '[confirm]\nask = "always"\n'
_PREVIEW_ID = re.compile(r"(?<![a-z2-7])[a-z2-7]{20}(?![a-z2-7])")


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool answered."""

    text: str
    data: dict[str, Any]
    is_error: bool

    @property
    def steady_text(self) -> str:
        """The text without what is different in every run."""
        return _PREVIEW_ID.sub("<preview id>", self.text)


@dataclass(frozen=True, slots=True)
class PaperTrader:
    """A client of a server that trades on paper, and the market it stands on."""

    market: LiveMarket
    client: Client

    async def call(self, tool: str, **arguments: Any) -> Told:  # noqa: ANN401 - whatever the tool takes
        """Call a tool and let time pass until it answers; its structure fits what is listed."""
        result = await self.market.answered(lambda: self.client.call_tool(tool, arguments))
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        spec = self.market.app.dispatcher.catalogue.tool(tool)
        assert spec is not None
        validate(result.structured_content, spec.wire.output_schema or {})
        return Told(content.text, result.structured_content or {}, bool(result.is_error))

    async def previewed(self, **arguments: Any) -> str:  # noqa: ANN401 - likewise
        """Return the id of a preview that can be placed."""
        told = await self.call("preview_order", **arguments)
        assert told.data.get("preview_id"), told.text
        return told.data["preview_id"]

    async def placed(self, **arguments: Any) -> Told:  # noqa: ANN401 - likewise
        return await self.call("place_order", preview_id=await self.previewed(**arguments))

    async def page(self, uri: str) -> str:
        (content,) = (await self.market.answered(lambda: self.client.read_resource(uri))).contents
        assert isinstance(content, types.TextResourceContents)
        return _PREVIEW_ID.sub("<preview id>", content.text)

    @property
    def methods_upstream(self) -> set[str]:
        """Methods of the requests to the exchange. A server that only reads sends GET."""
        return {request.method for request in self.market.exchange.requests}


def round_key_file(folder: Path) -> dict[str, str]:
    """Write the key that servers of a fleet share, and return the setting that names it."""
    path = folder / "round.key"
    path.write_bytes(b"r" * 32)
    path.chmod(0o600)
    return {"MCP_BINANCE_ROUND_KEY_FILE": str(path)}


def policy_file(folder: Path, policy: str) -> dict[str, str]:
    """Write the operator's file if there is anything in it, and return the setting that names it."""
    if not policy:
        return {}
    written = folder / "trading.toml"
    written.write_text(policy, encoding="utf-8")
    written.chmod(0o600)
    return {"MCP_BINANCE_TRADING_POLICY": str(written)}


@asynccontextmanager
async def paper_trader(
    folder: Path, policy: str = "", *, era: str = "auto", connect: Connect | None = None, user: User | None = None
) -> AsyncGenerator[PaperTrader]:
    """Trade on paper under a policy; with a user who is asked, over the connection that is named."""
    environment = {"MCP_BINANCE_TRADING": "paper", "MCP_BINANCE_TRADING_DIR": str(folder / "trading")}
    environment |= policy_file(folder, policy)
    async with live_market(era=era, environment=environment) as market, AsyncExitStack() as stack:
        client = market.client
        if connect is not None:
            client = await stack.enter_async_context(connect(market.app, user))
        await market.watch(SYMBOL, 5)
        yield PaperTrader(market, client)
        assert {request.method for request in market.exchange.requests} <= {"GET"}
