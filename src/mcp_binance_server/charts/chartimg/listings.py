"""Exchanges and symbols of chart-img.com, fetched once an hour, cached, and sorted for display."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from mcp_binance_server.charts.catalogue import Exchange, Held, bundled_catalogue
from mcp_binance_server.charts.chartimg.client import ChartImgClient, ListedSymbolWire
from mcp_binance_server.charts.chartimg.docs import BUNDLED_AT_MS
from mcp_binance_server.charts.chartimg.fact_cache import FactCache
from mcp_binance_server.charts.errors import ChartServiceError
from mcp_binance_server.clock import Clock
from mcp_binance_server.state.engine import Values

FRESH_MS: Final = 60 * 60 * 1000
LONGEST_FETCH_MS: Final = 90_000
NO_KEY: Final = "CHART_IMG_API_KEY is not set, so this is the server's built-in list"


@dataclass
class Listings:
    """Lists of exchanges and of symbols. Only the exchanges have a bundled fallback."""

    client: ChartImgClient
    engine: Values = field(repr=False)
    clock: Clock

    def __post_init__(self) -> None:
        parts = (self.engine, self.clock, FRESH_MS, LONGEST_FETCH_MS)
        self._ids = FactCache(*parts, _decoded_ids)
        self._symbols = FactCache(*parts, _decoded_symbols)
        self._prefix = f"charts:{self.client.caller.address}"

    async def exchanges(self) -> Held[tuple[Exchange, ...]]:
        """Return the exchanges by type and name. Details that the service omits come from the bundled catalogue."""
        if not self.client.has_key:
            return Held(_sorted(bundled_catalogue().exchanges), "bundled", BUNDLED_AT_MS, NO_KEY)
        try:
            held = await self._ids.read(f"{self._prefix}:exchanges", self._fetch_ids)
        except ChartServiceError as failure:
            warning = f"could not be fetched: {failure.message}"
            return Held(_sorted(bundled_catalogue().exchanges), "bundled", BUNDLED_AT_MS, warning)
        return Held(_sorted([described(each) for each in held.value]), held.source, held.at_ms, held.warning)

    async def symbols(self, exchange: str, search: str = "") -> Held[tuple[ListedSymbolWire, ...]]:
        """Return the symbols of an exchange whose names contain a text.

        Raises:
            ChartServiceError: the cache is empty, and the service did not answer or does not know the exchange.
        """

        async def fetch() -> bytes:
            return msgspec.json.encode(await self.client.symbols(exchange, search))

        return await self._symbols.read(f"{self._prefix}:symbols:{exchange}:{search}", fetch)

    async def _fetch_ids(self) -> bytes:
        return msgspec.json.encode(await self.client.exchanges())


def described(exchange_id: str) -> Exchange:
    """Return the bundled facts about an exchange. An unknown exchange has only its ID."""
    known = bundled_catalogue().exchange(exchange_id)
    return known or Exchange(id=exchange_id, name=exchange_id, type="unknown", description="")


def _sorted(exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    return tuple(sorted(exchanges, key=lambda each: (each.type, each.name.casefold(), each.id)))


def _decoded_ids(content: bytes) -> tuple[str, ...]:
    return msgspec.json.decode(content, type=tuple[str, ...])


def _decoded_symbols(content: bytes) -> tuple[ListedSymbolWire, ...]:
    return msgspec.json.decode(content, type=tuple[ListedSymbolWire, ...])
