"""The exchange's list of futures contracts, and the funding rules of contracts with unusual funding."""

import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio.to_thread
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.derivatives import Contract, ContractTable, FundingRule
from mcp_binance_server.domain.symbols import LONGEST_SYMBOL, Symbol, fold
from mcp_binance_server.errors import ExchangeUnavailable, InvalidSymbol, RateLimited
from mcp_binance_server.exchange.board_part import read_rows
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import RestCall, host_of
from mcp_binance_server.exchange.futures.endpoints import CONTRACTS, FUNDING_RULES
from mcp_binance_server.exchange.futures.wire import ContractListWire, FundingRuleWire
from mcp_binance_server.exchange.shared_reads import ReadCount
from mcp_binance_server.exchange.wire import UNREADABLE
from mcp_binance_server.state.engine import Values
from mcp_binance_server.state.flight import Flights

LOG = logging.getLogger(__name__)

FRESH_MS = 60 * 60 * 1000
# Pause before the next request after a failed one.
PAUSE_MS = 60 * 1000
MOST_SUGGESTED = 3
LEAST_LIKENESS = 0.8
EXAMPLE_CONTRACTS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")

T = TypeVar("T")


class _KeptContracts(msgspec.Struct, array_like=True):
    weight_limit: int
    contracts: list[Contract]


@dataclass
class HourlyRead(Generic[T]):
    """A value loaded at most once an hour for all callers; after a failed load the old value stays in use."""

    clock: Clock
    key: str
    lock_ms: int
    load: Callable[[], Awaitable[T]]
    flights: Flights[T] = field(init=False, repr=False)
    kept: T | None = field(default=None, init=False, repr=False)
    _good_until_ms: float = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.flights = Flights(self.clock)

    async def get(self) -> T:
        if self.kept is not None and self.clock.monotonic_ms() < self._good_until_ms:
            return self.kept
        return await self.flights.join(self.key, self._renew, lock_ms=self.lock_ms)

    async def _renew(self) -> T:
        now_ms = self.clock.monotonic_ms()
        try:
            found = self.kept = await self.load()
        except (ExchangeUnavailable, RateLimited):
            if self.kept is None:
                raise
            self._good_until_ms = now_ms + PAUSE_MS
            return self.kept
        self._good_until_ms = now_ms + FRESH_MS
        return found


@dataclass
class ContractList:
    """The exchange's contracts and their funding rules; the whole fleet reads each of them once an hour."""

    caller: ExchangeCaller
    engine: Values
    clock: Clock
    reads: ReadCount
    _table: HourlyRead[ContractTable] = field(init=False, repr=False)
    _rules: HourlyRead[Mapping[Symbol, FundingRule]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._table = self._hourly("contracts", CONTRACTS, self._load_table)
        self._rules = self._hourly("funding-rules", FUNDING_RULES, self._load_rules)

    async def table(self) -> ContractTable:
        """Return all contracts; the list is at most an hour old unless the exchange does not answer."""
        table = await self._table.get()
        self.caller.budget.learn_limit(table.weight_limit)
        return table

    async def rules(self) -> Mapping[Symbol, FundingRule]:
        """Return the funding rules by contract; a contract without an entry has the usual funding."""
        return await self._rules.get()

    async def find(self, text: str) -> Contract:
        """Return the perpetual contract that a text names, in any usual spelling.

        Raises:
            InvalidSymbol: there is no such contract, or it does not trade; the error contains suggestions.
        """
        folded = fold(text)
        table = await self.table() if 0 < len(folded) <= LONGEST_SYMBOL else None
        contract = table.find(folded) if table else None
        if contract is not None and contract.is_perpetual and contract.is_trading:
            return contract
        raise InvalidSymbol(
            provided_symbol=folded if contract is None else contract.symbol,
            valid_examples=EXAMPLE_CONTRACTS,
            did_you_mean=suggest_contracts(folded, table or self._table.kept),
            market="perpetual",
            status=None if contract is None or contract.is_trading else contract.status,
        )

    async def spelled(self, text: str) -> Symbol | None:
        """Return the one perpetual that another spelling means, or None; an exact name is not another spelling."""
        if len(text) > LONGEST_SYMBOL or not fold(text):
            return None
        table = await self.table()
        found = None if table.find(text) else table.spelled(text)
        return found.symbol if found else None

    @property
    def loaded(self) -> ContractTable | None:
        """The list if it is already loaded, without a request."""
        return self._table.kept

    async def close(self) -> None:
        """Cancel the reads in flight."""
        await self._table.flights.close()
        await self._rules.flights.close()

    def _hourly(self, name: str, call: RestCall, load: Callable[[], Awaitable[T]]) -> HourlyRead[T]:
        return HourlyRead(self.clock, self._key(name), self.caller.longest_ms(call), load)

    def _key(self, name: str) -> str:
        return f"cache:{host_of(self.caller.network.rest_url)}:{name}"

    async def _load_table(self) -> ContractTable:
        packed = await self._shared("contracts", CONTRACTS, self._produce_table)
        return await anyio.to_thread.run_sync(_unpacked, packed)

    async def _produce_table(self) -> bytes:
        body = await self.caller.read(CONTRACTS, {}, ContractListWire)
        try:
            packed, dropped = await anyio.to_thread.run_sync(_packed, body.value, self.caller.budget.limit)
        except UNREADABLE:
            raise ExchangeUnavailable(reason="the answer could not be read") from None
        self._left_out("contracts of the exchange's list", dropped)
        return packed

    async def _load_rules(self) -> Mapping[Symbol, FundingRule]:
        packed = await self._shared("funding-rules", FUNDING_RULES, self._produce_rules)
        rules = msgspec.msgpack.decode(zlib.decompress(packed), type=list[FundingRule])
        return {each.symbol: each for each in rules}

    async def _produce_rules(self) -> bytes:
        body = await self.caller.read(FUNDING_RULES, {}, list[msgspec.Raw])
        read = read_rows(body.value, FundingRuleWire)
        self._left_out("funding rules", read.dropped)
        return zlib.compress(msgspec.msgpack.encode([each.to_domain() for each in read.rows]))

    def _left_out(self, what: str, dropped: int) -> None:
        self.reads.dropped += dropped
        if dropped:
            LOG.warning("%d %s are invalid and were left out", dropped, what)

    async def _shared(self, name: str, call: RestCall, produce: Callable[[], Awaitable[bytes]]) -> bytes:
        return await self.engine.single_flight(
            self._key(name), produce, ttl_ms=FRESH_MS, lock_ms=self.caller.longest_ms(call)
        )


def _packed(listed: ContractListWire, limit: int) -> tuple[bytes, int]:
    table, dropped = listed.to_domain(otherwise=limit)
    kept = _KeptContracts(table.weight_limit, list(table.contracts.values()))
    return zlib.compress(msgspec.msgpack.encode(kept)), dropped


def _unpacked(packed: bytes) -> ContractTable:
    kept = msgspec.msgpack.decode(zlib.decompress(packed), type=_KeptContracts)
    return ContractTable.of(kept.contracts, kept.weight_limit)


def suggest_contracts(text: str, table: ContractTable | None) -> tuple[str, ...]:
    """Return up to three trading perpetuals for an unknown name.

    Contracts on the asset or a multiple of it (1000PEPE for PEPE) come first, then similar names.
    """
    folded = fold(text[:LONGEST_SYMBOL])
    if table is None or not folded:
        return ()
    # Imported late: only unknown contracts need it, and an import at the top would slow down every start.
    from difflib import get_close_matches  # noqa: PLC0415

    meant = [symbol for symbol in table.perpetuals if _is_multiple(table.contracts[symbol], folded)]
    alike = get_close_matches(folded, table.perpetuals, MOST_SUGGESTED, LEAST_LIKENESS)
    return tuple(dict.fromkeys([*meant, *alike]))[:MOST_SUGGESTED]


def _is_multiple(contract: Contract, folded: str) -> bool:
    of = contract.multiplied
    return folded == contract.base or (of is not None and folded in {of[0], f"{of[0]}{contract.quote}"})
