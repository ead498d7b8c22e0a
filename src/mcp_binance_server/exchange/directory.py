"""The exchange's own list of symbols: the authority on which exist and how they round."""

import zlib
from dataclasses import dataclass, field

import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.suggestions import suggest
from mcp_binance_server.domain.symbols import SymbolRules, SymbolTable, fold, is_plausible
from mcp_binance_server.errors import ExchangeUnavailable, InvalidSymbol, RateLimited
from mcp_binance_server.exchange.caller import Caller
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO
from mcp_binance_server.exchange.networks import host_of
from mcp_binance_server.exchange.wire import ExchangeInfoWire
from mcp_binance_server.state.engine import StateEngine

FRESH_MS = 60 * 60 * 1000
# After the exchange has denied a symbol that we list, or could not be asked: no new question sooner than this.
PAUSE_MS = 60 * 1000


class _Kept(msgspec.Struct, array_like=True):
    weight_limit: int
    rules: list[SymbolRules]


@dataclass
class Directory:
    """Fetches the table once an hour for everybody, keeps it decoded, and lives with an old one in need."""

    caller: Caller
    engine: StateEngine
    clock: Clock
    _table: SymbolTable | None = field(default=None, init=False)
    _good_until_ms: float = field(default=0, init=False)

    async def find(self, text: str) -> SymbolRules:
        """Return the rules of the symbol a caller wrote.

        Raises:
            InvalidSymbol: it cannot be a symbol (found out without any request), or the exchange has no such symbol.
        """
        folded = fold(text)
        if is_plausible(folded):
            rules = (await self.table()).find(folded)
            if rules is not None:
                return rules
        raise InvalidSymbol(provided_symbol=folded, did_you_mean=suggest(text, self._table))

    async def table(self) -> SymbolTable:
        """Return the symbol table, at most an hour old unless the exchange does not answer."""
        now = self.clock.monotonic_ms()
        if self._table is not None and now < self._good_until_ms:
            return self._table
        try:
            self._table = await self._load()
            self._good_until_ms = now + FRESH_MS
        except (ExchangeUnavailable, RateLimited):
            if self._table is None:
                raise
            self._good_until_ms = now + PAUSE_MS
        self.caller.budget.limit = self._table.weight_limit
        return self._table

    @property
    def loaded(self) -> SymbolTable | None:
        """The table as far as it is known already; nothing is asked for it."""
        return self._table

    async def doubt(self) -> None:
        """Fetch the table anew soon: the exchange denied a symbol that we list."""
        if self.clock.monotonic_ms() > self._good_until_ms - FRESH_MS + PAUSE_MS:
            self._good_until_ms = 0
            await self.engine.delete(self._key)

    @property
    def _key(self) -> str:
        return f"cache:{host_of(self.caller.network.rest_url)}:symbols"

    async def _load(self) -> SymbolTable:
        packed = await self.engine.single_flight(
            self._key, self._produce, ttl_ms=FRESH_MS, lock_ms=self.caller.longest_ms(EXCHANGE_INFO)
        )
        kept = msgspec.msgpack.decode(zlib.decompress(packed), type=_Kept)
        return SymbolTable.of(kept.rules, kept.weight_limit)

    async def _produce(self) -> bytes:
        # Permission sets are half of the answer and nothing to us.
        body = await self.caller.read(EXCHANGE_INFO, {"showPermissionSets": "false"}, ExchangeInfoWire)
        info = msgspec.json.decode(body.content, type=ExchangeInfoWire)
        table = info.to_domain(otherwise=self.caller.budget.limit)
        kept = _Kept(table.weight_limit, list(table.rules.values()))
        # Packed, the table of a whole exchange is a tenth of what the engine takes as one value.
        return zlib.compress(msgspec.msgpack.encode(kept))
