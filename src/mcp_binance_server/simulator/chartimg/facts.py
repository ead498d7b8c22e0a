"""Studies, exchanges, symbols and plans."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import TypeGuard

import msgspec

from mcp_binance_server.domain.money import ASSET_NAMES
from mcp_binance_server.simulator.market.listing import Listing

Value = bool | int | float | str

TICKER = re.compile(r"([A-Z0-9_]+):([A-Z0-9_.!]+)")
# Exchange, symbol, description, type, currency.
ELSEWHERE = (
    ("COINBASE", "BTCUSD", "Bitcoin / US Dollar", "spot", "USD"),
    ("COINBASE", "ETHUSD", "Ethereum / US Dollar", "spot", "USD"),
    ("FX", "EURUSD", "Euro / U.S. Dollar", "spot", "USD"),
    ("FX", "USDJPY", "U.S. Dollar / Japanese Yen", "spot", "JPY"),
    ("NASDAQ", "AAPL", "Apple Inc.", "stock", "USD"),
    ("NASDAQ", "MSFT", "Microsoft Corporation", "stock", "USD"),
    ("NASDAQ", "QQQ", "Invesco QQQ Trust", "fund", "USD"),
    ("CME", "ES1!", "E-mini S&P 500 Futures", "futures", "USD"),
    ("TVC", "DXY", "U.S. Dollar Index", "index", "USD"),
)
Row = dict[str, object]


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one key may hold."""

    type: str
    label: str = ""
    default: Value | None = None
    min: float | int | None = None
    max: float | int | None = None
    options: tuple[Value, ...] = ()
    required: bool = False
    fields: "Mapping[str, Fact]" = {}


class PlanFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    requests_per_second: int
    burst: int
    daily_max: int
    max_width: int
    max_height: int
    max_studies: int
    storage_days: int
    forced_watermark: bool
    custom_watermark: bool
    open_ended: bool


class StudyFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_name: str
    overlay: bool
    input: Mapping[str, Fact]
    override: Mapping[str, Fact]


class LevelsFact(msgspec.Struct, frozen=True, kw_only=True):
    fields: Mapping[str, str]


class DrawingFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_name: str
    input: Mapping[str, Fact]
    override: Mapping[str, Fact]
    z_order: tuple[str, ...]
    levels: LevelsFact | None = None


class StyleFact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    value: str
    display_name: str
    override: Mapping[str, Fact]


class ExchangeFact(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    type: str


class Facts(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All of it, with look-ups by the names of the wire."""

    parameters: Mapping[str, Fact]
    plans: Mapping[str, PlanFact]
    indicators: tuple[StudyFact, ...]
    drawings: tuple[DrawingFact, ...]
    styles: tuple[StyleFact, ...]
    exchanges: tuple[ExchangeFact, ...]

    @cached_property
    def study(self) -> Mapping[str, StudyFact]:
        return {each.api_name: each for each in self.indicators}

    @cached_property
    def drawing(self) -> Mapping[str, DrawingFact]:
        return {each.api_name: each for each in self.drawings}

    @cached_property
    def style(self) -> Mapping[str, StyleFact]:
        return {each.value: each for each in self.styles}

    @cached_property
    def exchange_ids(self) -> list[str]:
        return sorted(each.id for each in self.exchanges)


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list)


@cache
def read_facts() -> Facts:
    """Read the data file that ships with the package; no code is shared with the client of the service."""
    path = files("mcp_binance_server").joinpath("charts", "chartimg_catalog.json")
    return msgspec.json.decode(path.read_bytes(), type=Facts)


def rows_of(exchange_id: str, listing: Listing, search: str, kind: str) -> list[Row]:
    """Return the symbols of an exchange whose name holds a text, of one type or of all."""
    rows = _binance(listing) if exchange_id == "BINANCE" else _elsewhere(exchange_id)
    wanted = search.upper()
    return [row for row in rows if wanted in str(row["symbol"]) and kind in {"", row["type"]}]


def is_known(symbol: str, facts: Facts, listing: Listing) -> bool:
    """Tell whether every ticker of a symbol or a formula can be drawn."""
    return all(_is_listed(place, name, facts, listing) for place, name in TICKER.findall(symbol))


def _is_listed(place: str, name: str, facts: Facts, listing: Listing) -> bool:
    if place != "BINANCE":
        return place in facts.exchange_ids
    # Perpetuals are named after the pair; those settled in the coin after the dollar.
    pair = name.removesuffix(".P")
    return pair in listing.symbols or (pair != name and f"{pair}T" in listing.symbols)


def _binance(listing: Listing) -> Iterator[Row]:
    for symbol in listing.symbols.values():
        quote = "TetherUS" if symbol.quote == "USDT" else ASSET_NAMES.get(symbol.quote, symbol.quote)
        described = f"{ASSET_NAMES.get(symbol.base, symbol.base)} / {quote}"
        yield _row("BINANCE", symbol.name, described, "spot", symbol.quote) | {"typespecs": ["crypto"]}
        if symbol.quote == "USDT":
            perpetual = _row("BINANCE", f"{symbol.name}.P", f"{described} PERPETUAL CONTRACT", "swap", symbol.quote)
            yield perpetual | {"typespecs": ["crypto", "perpetual"]}


def _elsewhere(exchange_id: str) -> Iterator[Row]:
    return (_row(*each) for each in ELSEWHERE if each[0] == exchange_id)


def _row(place: str, symbol: str, description: str, kind: str, currency: str) -> Row:
    return {
        "symbol": symbol,
        "description": description,
        "type": kind,
        "exchange": place,
        "currency_code": currency,
    }
