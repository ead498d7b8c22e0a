"""The exchange's symbols with their trading rules, from exchangeInfo."""

import logging
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeVar, TypeVarTuple, Unpack

import anyio
import anyio.to_thread
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.symbols import (
    OrderLimit,
    Symbol,
    SymbolRules,
    SymbolTable,
    fold,
    is_like_pair,
    is_plausible,
    is_spelled,
    spelled_pair,
    suggest,
)
from mcp_binance_server.errors import EngineUnavailable, ExchangeUnavailable, InvalidSymbol, RateLimited
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, host_of
from mcp_binance_server.exchange.spot.wire import ExchangeListWire
from mcp_binance_server.exchange.wire import UNREADABLE
from mcp_binance_server.state.engine import Values
from mcp_binance_server.state.flight import Flights

LOG = logging.getLogger(__name__)

FRESH_MS = 60 * 60 * 1000
# Pause before the table is requested again, after a failed request or after the exchange denied a listed symbol.
PAUSE_MS = 60 * 1000


# Smaller tables are decoded within 5 ms, without a thread.
LARGE_BYTES = 64 * 2**10
USUAL_PACKING = 20

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Kept(msgspec.Struct, array_like=True):
    weight_limit: int
    rules: list[SymbolRules]
    order_limits: tuple[OrderLimit, ...] = ()


class _KeptRows(msgspec.Struct, array_like=True):
    weight_limit: int
    rules: list[msgspec.Raw]
    order_limits: tuple[OrderLimit, ...] = ()


@dataclass
class Directory:
    """Symbol table: fetched once an hour for all callers and cached decoded; after a failed fetch the old one stays."""

    caller: ExchangeCaller
    engine: Values
    clock: Clock
    _table: SymbolTable | None = field(default=None, init=False)
    _good_until_ms: float = field(default=0, init=False)
    _first_load: Literal["to come", "under way", "over"] = field(default="to come", init=False)
    _made: tuple[bytes, SymbolTable] | None = field(default=None, init=False, repr=False)
    flights: Flights[SymbolTable] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    async def find(self, text: str) -> SymbolRules:
        """Return the rules of the symbol in a caller's text.

        Raises:
            InvalidSymbol: the exchange has no such symbol, or the text cannot be a symbol. In the second case no
                request is sent.
        """
        folded = fold(text)
        if is_plausible(folded):
            rules = (await self.table()).find(folded)
            if rules is not None:
                return rules
        raise InvalidSymbol(provided_symbol=folded, did_you_mean=suggest(text, self._table))

    async def expect(self, text: str) -> Symbol:
        """Return the symbol in a caller's text; while the first table is loading, it is not checked.

        The exchange checks the symbol of a read as well, so a read need not wait for the table. The caller must also
        run `find` in parallel.

        Raises:
            InvalidSymbol: the text cannot be a symbol, or is not in the table.
        """
        folded = fold(text)
        if self.is_arriving and is_plausible(folded):
            return Symbol(folded)
        return (await self.find(text)).symbol

    async def spelled(self, text: str) -> Symbol | None:
        """Return the one trading pair that another spelling means: `btc`, `bitcoin`, `BTC/USDT`, `BINANCE:BTCUSDT`.

        Return None for an exact symbol, and for a text that means no pair or several. A text that ends like a pair does
        not wait for the first table.
        """
        if (self._table is None and is_like_pair(text)) or not is_spelled(text):
            return None
        table = await self.table()
        if table.find(fold(text)):
            return None
        found = spelled_pair(text, (each for each in table.rules.values() if each.is_trading))
        return found.symbol if found else None

    def begin(self) -> None:
        """Start loading the first table in the background."""
        if self._first_load == "to come":
            self._first_load = "under way"
            self.flights.begin(self._key, self._renew, lock_ms=self.caller.longest_ms(EXCHANGE_INFO))

    @property
    def is_arriving(self) -> bool:
        """Return True while the first table is loading; False after a failure."""
        return self._first_load == "under way"

    async def table(self) -> SymbolTable:
        """Return the symbol table; it is at most an hour old unless the exchange does not answer."""
        if self._table is not None and self.clock.monotonic_ms() < self._good_until_ms:
            return self._table
        # Building the table takes tens of milliseconds, so concurrent callers share one load.
        return await self.flights.join(self._key, self._renew, lock_ms=self.caller.longest_ms(EXCHANGE_INFO))

    async def _renew(self) -> SymbolTable:
        now = self.clock.monotonic_ms()
        if self._first_load == "to come":
            self._first_load = "under way"
        try:
            self._table = await self._load()
            self._good_until_ms = now + FRESH_MS
        except (ExchangeUnavailable, RateLimited, EngineUnavailable):
            if self._table is None:
                raise
            self._good_until_ms = now + PAUSE_MS
        finally:
            self._first_load = "over"
        self.caller.budget.learn_limit(self._table.weight_limit)
        return self._table

    @property
    def loaded(self) -> SymbolTable | None:
        """The table if it is already loaded, without a request."""
        return self._table

    @property
    def order_limits(self) -> tuple[OrderLimit, ...]:
        """The exchange's limits on new orders; empty until the table is loaded."""
        return self._table.order_limits if self._table is not None else ()

    async def doubt(self) -> None:
        """Make the next caller fetch the table again, because the exchange has denied a listed symbol.

        Does nothing if the table is less than a minute old.
        """
        if self.clock.monotonic_ms() > self._good_until_ms - FRESH_MS + PAUSE_MS:
            self._good_until_ms = 0
            with suppress(EngineUnavailable):
                await self.engine.delete(self._key)

    @property
    def _key(self) -> str:
        return f"cache:{host_of(self.caller.network.rest_url)}:symbols"

    async def _load(self) -> SymbolTable:
        packed = await self.engine.single_flight(
            self._key, self._produce, ttl_ms=FRESH_MS, lock_ms=self.caller.longest_ms(EXCHANGE_INFO)
        )
        if self._made is not None and self._made[0] == packed:
            table = self._made[1]
        else:
            table = await _beside(len(packed) * USUAL_PACKING, _unpacked, packed)
        self._made = None
        return table

    async def _produce(self) -> bytes:
        # Permission sets would double the answer, and are not used here.
        body = await self.caller.read(EXCHANGE_INFO, {"showPermissionSets": "false"}, ExchangeListWire)
        try:
            self._made = await _beside(len(body.content), _packed, body.value, self.caller.budget.limit)
        except UNREADABLE:
            raise ExchangeUnavailable(reason="the answer could not be read") from None
        if left_out := len(body.value.symbols) - len(self._made[1].rules):
            LOG.warning("%d symbols of the exchange's list are invalid and were left out", left_out)
        return self._made[0]


async def _beside(size: int, work: Callable[[Unpack[Ts]], T], *arguments: *Ts) -> T:
    """Run work over `size` bytes, in a thread if it could block the event loop for long."""
    return work(*arguments) if size < LARGE_BYTES else await anyio.to_thread.run_sync(work, *arguments)


def _packed(info: ExchangeListWire, limit: int) -> tuple[bytes, SymbolTable]:
    table = info.to_domain(otherwise=limit)
    kept = _Kept(table.weight_limit, list(table.rules.values()), table.order_limits)
    # Compressed, the table of all symbols takes a tenth of the engine's largest value.
    return zlib.compress(msgspec.msgpack.encode(kept)), table


def _unpacked(packed: bytes) -> SymbolTable:
    # Decoding holds the GIL. Rows are decoded one by one, so that other threads can run in between.
    kept = msgspec.msgpack.decode(zlib.decompress(packed), type=_KeptRows)
    rules = [msgspec.msgpack.decode(each, type=SymbolRules) for each in kept.rules]
    return SymbolTable.of(rules, kept.weight_limit, kept.order_limits)
