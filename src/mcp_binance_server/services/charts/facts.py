"""Facts about charts: the documentation of chart-img.com, its exchanges, and the symbols of each exchange."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcp_binance_server.charts.catalogue import Documentation, Exchange, Held, ListedSymbol, SymbolList
from mcp_binance_server.charts.chartimg.client import ListedSymbolWire
from mcp_binance_server.charts.chartimg.docs import DocumentationSource
from mcp_binance_server.charts.chartimg.listings import Listings, described
from mcp_binance_server.charts.errors import ChartKeyRefused, ChartServiceError
from mcp_binance_server.domain.money import ASSET_NAMES
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import InvalidArguments, echo
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory

BINANCE: Final = "BINANCE"
_EXCHANGE_ID: Final = re.compile(r"[A-Z0-9_]{1,40}")
# Names used by TradingView.
_QUOTE_NAMES: Final = {"USDT": "TetherUS"}


@dataclass(frozen=True, slots=True)
class ChartFactsService:
    """Cached chart facts. Facts about Binance need no key."""

    docs: DocumentationSource
    listings: Listings
    directory: Directory
    time: ServerTime

    async def documentation(self, *, force: bool = False) -> Held[Documentation]:
        """Return the documentation of chart-img.com."""
        return await self.docs.read(force=force)

    async def exchanges(self) -> Held[tuple[Exchange, ...]]:
        """Return the exchanges whose symbols can be drawn."""
        return await self.listings.exchanges()

    async def symbols(self, exchange: str, search: str = "") -> Held[SymbolList]:
        """Return the symbols of an exchange that contain a text in their name or description.

        Raises:
            InvalidArguments: the text is not a valid exchange id.
            ChartServiceError: only chart-img.com has the list, and it did not answer.
        """
        place, wanted = exchange.strip().upper(), search.strip()
        if not _EXCHANGE_ID.fullmatch(place):
            raise _no_exchange(exchange)
        if place == BINANCE and not self.listings.client.has_key:
            return await self._binance(wanted, None)
        if not self.listings.client.has_key:
            raise ChartKeyRefused
        try:
            return await self._listed(place, wanted)
        except ChartServiceError as failure:
            if place != BINANCE:
                raise
            return await self._binance(wanted, f"chart-img.com did not list them: {failure.message}")

    async def _listed(self, place: str, wanted: str) -> Held[SymbolList]:
        kind = described(place).type
        held = await self.listings.symbols(place, wanted.upper())
        found = _closest((_symbol(each, kind) for each in held.value), wanted)
        if wanted and not found:
            # The service searches names only. Descriptions are searched in the whole list.
            held = await self.listings.symbols(place)
            found = _closest((_symbol(each, kind) for each in held.value), wanted)
        return Held(SymbolList(place, found), held.source, held.at_ms, held.warning)

    async def _binance(self, wanted: str, warning: str | None) -> Held[SymbolList]:
        table = await self.directory.table()
        trading = (table.rules[symbol] for symbol in table.ordered if table.rules[symbol].is_trading)
        found = _closest((_pair(each) for each in trading), wanted)
        return Held(SymbolList(BINANCE, found), "binance", self.time.now_ms(), warning)


def _closest(symbols: Iterable[ListedSymbol], wanted: str) -> tuple[ListedSymbol, ...]:
    folded = wanted.casefold()
    ranked = [(rank, each) for each in symbols if (rank := _rank(each, folded)) is not None]
    return tuple(each for _, each in sorted(ranked, key=lambda pair: pair[0]))  # stable sort keeps their order


def _rank(symbol: ListedSymbol, folded: str) -> int | None:
    name = symbol.symbol.casefold()
    fits = ((name.startswith(folded), 0), (folded in name, 1), (folded in symbol.description.casefold(), 2))
    return next((rank for fit, rank in fits if fit), None)


def _symbol(wire: ListedSymbolWire, exchange_type: str) -> ListedSymbol:
    if exchange_type == "crypto" or "crypto" in wire.typespecs:
        kind = "crypto"
    elif exchange_type == "forex" and wire.type in {"", "spot"}:
        kind = "forex"
    else:
        kind = wire.type or exchange_type
    return ListedSymbol(wire.symbol, wire.description, kind)


def _pair(rules: SymbolRules) -> ListedSymbol:
    quote = _QUOTE_NAMES.get(rules.quote) or ASSET_NAMES.get(rules.quote, rules.quote)
    return ListedSymbol(rules.symbol, f"{ASSET_NAMES.get(rules.base, rules.base)} / {quote}", "crypto")


def _no_exchange(text: str) -> InvalidArguments:
    problem = f"'{echo(text)}' is not an exchange id; get_exchanges lists them, such as BINANCE or NASDAQ"
    return InvalidArguments(
        summary=f"Invalid exchange: {problem}", errors=({"argument": "exchange", "problem": problem},)
    )
