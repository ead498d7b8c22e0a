"""A client of a server with other settings than usual: another network, another key, no key at all."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server stands: its clock, its exchange, and the era of its clients."""

    clock: FakeClock
    exchange: SimulatedExchange
    era: str

    @asynccontextmanager
    async def served(
        self, environment: Mapping[str, str] | None = None, network: Network = NETWORK
    ) -> AsyncGenerator[Client]:
        """Serve with the account's own key unless an environment is given."""
        account = self.exchange.account
        own = {"BINANCE_API_KEY": account.api_key, "BINANCE_SECRET_KEY": account.secret_key}
        settings = read_settings(own if environment is None else environment)
        async with (
            running_app(settings, clock=self.clock, network=network, transport=Loop(self.exchange)) as app,
            Client(app.server, mode=self.era, cache=None) as client,
        ):
            yield client

    def asked(self) -> list[str]:
        """Return the calls the exchange got since last time, by name."""
        names = [request.path.removeprefix("/api/v3/") for request in self.exchange.requests]
        self.exchange.requests.clear()
        return names


async def read_page(client: Client, uri: str) -> str:
    """Return the one Markdown content of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text
