"""Listed symbols: the exchangeInfo document, and the integer units of each market."""

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files
from math import gcd

import msgspec

UNIT = 10**8  # prices and quantities are integers in units of 0.00000001
CROWD_MODEL = "ADAUSDT"  # symbol with the rules that all additional symbols have
CROWD_BASE = "CROWD"  # base assets of the additional symbols are this and a number
DEFAULT_TICK = 10**4  # used for a zero tickSize, which disables the filter and makes any price legal; 0.0001


class SymbolRecord(msgspec.Struct, rename="camel"):
    symbol: str
    status: str
    base_asset: str
    quote_asset: str
    base_asset_precision: int
    filters: list[dict[str, str | int | bool]]
    permission_sets: list[list[str]]


class Described(msgspec.Struct):
    symbols: list[SymbolRecord]


@dataclass(frozen=True, slots=True)
class Symbol:
    """One market with its status. Its units are multiples of 0.00000001."""

    name: str
    status: str
    base: str
    quote: str
    tick: int
    lot: int
    quantity_decimals: int
    lowest_tick: int
    highest_tick: int
    permission_sets: tuple[frozenset[str], ...]

    @property
    def trading(self) -> bool:
        return self.status == "TRADING"

    def price(self, ticks: int) -> str:
        """Format a price given in ticks."""
        return decimal_string(ticks * self.tick)

    def quantity(self, lots: int) -> str:
        """Format a quantity given in lots. Assets of low precision have fewer decimals."""
        text = decimal_string(lots * self.lot)
        return text[: len(text) - 8 + self.quantity_decimals]

    def value(self, ticks_times_lots: int) -> str:
        """Format an amount of the quote asset given in ticks times lots."""
        return decimal_string(ticks_times_lots * self.tick * self.lot // UNIT)

    def average(self, ticks_times_lots: int, lots: int) -> str:
        """Format value / quantity, rounded half up at the eighth decimal."""
        return decimal_string((2 * ticks_times_lots * self.tick + lots) // (2 * lots))


class Listing:
    """The exchangeInfo document and its markets."""

    def __init__(self) -> None:
        self.document: dict[str, object] = msgspec.json.decode(_information(), type=dict[str, object])
        self.records: list[dict[str, object]] = msgspec.convert(self.document["symbols"], list[dict[str, object]])
        self.rate_limits = msgspec.convert(self.document["rateLimits"], list[dict[str, str | int]])
        self.symbols: dict[str, Symbol] = dict(_symbols())
        self._crowd: list[str] = []

    def set_crowd(self, count: int) -> list[Symbol]:
        """List CROWD000USDT and so on after the other symbols, instead of the previous additional symbols."""
        for name in self._crowd:
            del self.symbols[name]
        del self.records[len(self.records) - len(self._crowd) :]
        model = next(record for record in self.records if record["symbol"] == CROWD_MODEL)
        members = self.crowd_symbols(count)
        self.records += [model | {"symbol": symbol.name, "baseAsset": symbol.base} for symbol in members]
        self.symbols.update((symbol.name, symbol) for symbol in members)
        self._crowd = [symbol.name for symbol in members]
        return members

    @property
    def model(self) -> Symbol:
        """The symbol with the rules that all additional symbols have."""
        return self.symbols[CROWD_MODEL]

    def crowd_symbols(self, count: int) -> list[Symbol]:
        """Return the first `count` additional symbols, listed or not."""
        model = self.model
        bases = [f"{CROWD_BASE}{number:03}" for number in range(count)]
        return [replace(model, name=f"{base}USDT", base=base) for base in bases]


@cache
def _information() -> bytes:
    return (files("binance_simulator") / "data" / "exchange_info.json").read_bytes()


@cache
def _symbols() -> dict[str, Symbol]:
    described = msgspec.json.decode(_information(), type=Described).symbols
    return {record.symbol: _symbol(record) for record in described}


def decimal_string(units: int) -> str:
    """Format a multiple of 0.00000001 with eight decimals."""
    if units < 0:
        return f"-{decimal_string(-units)}"
    return "%d.%08d" % divmod(units, UNIT)  # noqa: UP031 - twice as fast as an f-string; a test makes a million calls


def _symbol(record: SymbolRecord) -> Symbol:
    filters = {str(entry["filterType"]): entry for entry in record.filters}
    tick = _units(filters["PRICE_FILTER"]["tickSize"]) or DEFAULT_TICK
    step = _units(filters["LOT_SIZE"]["stepSize"])
    # A lot is the smallest multiple of the step that makes every value exact in eight decimals.
    lot = step * (UNIT // gcd(UNIT, tick * step))
    return Symbol(
        name=record.symbol,
        status=record.status,
        base=record.base_asset,
        quote=record.quote_asset,
        tick=tick,
        lot=lot,
        quantity_decimals=record.base_asset_precision,
        lowest_tick=max(1, _units(filters["PRICE_FILTER"]["minPrice"]) // tick),
        highest_tick=(_units(filters["PRICE_FILTER"]["maxPrice"]) or 10**7 * UNIT) // tick,
        permission_sets=tuple(frozenset(names) for names in record.permission_sets),
    )


def _units(text: str | float) -> int:
    return int(Decimal(text) * UNIT)
