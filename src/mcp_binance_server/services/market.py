"""The market as a caller asks for it: by a symbol in their own spelling."""

from dataclasses import dataclass

from mcp_binance_server.domain.market import MarketView, Reading, Ticker
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import InvalidSymbol
from mcp_binance_server.exchange.directory import Directory
from mcp_binance_server.exchange.rest import SpotClient
from mcp_binance_server.exchange.server_time import ServerTime


@dataclass(frozen=True, slots=True)
class MarketService:
    """Tickers and symbols."""

    client: SpotClient
    directory: Directory
    time: ServerTime

    async def ticker(self, text: str) -> MarketView:
        """Return the last 24 hours of the symbol a caller wrote."""
        rules = await self.directory.find(text)
        reading = await self._asked(rules)
        age_ms = max(0, self.time.now_ms() - reading.value.close_time_ms)
        return MarketView(reading.value, rules, reading.host, reading.origin, age_ms)

    async def symbols(self, prefix: str) -> list[Symbol]:
        """Return the symbols that begin like what a caller has typed so far."""
        return (await self.directory.table()).starting_with(prefix)

    async def _asked(self, rules: SymbolRules) -> Reading[Ticker]:
        try:
            return await self.client.ticker(rules.symbol)
        except InvalidSymbol:
            await self.directory.doubt()
            raise
