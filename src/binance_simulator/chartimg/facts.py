"""Catalog of the simulated chart-img.com, and its documentation page."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from types import MappingProxyType
from typing import TypeGuard

import msgspec

from binance_simulator.market.listing import Listing

Value = bool | int | float | str

TICKER = re.compile(r"([A-Z0-9_]+):([A-Z0-9_.!]+)")
# Exchange, symbol, description, type and currency.
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

EXAMPLE: dict[str, object] = {
    "symbol": "BINANCE:ETHUSDT",
    "interval": "4h",
    "theme": "dark",
    "studies": [{"name": "Relative Strength Index", "input": {"length": 21}}],
}


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Rule for the value of a key: type, default, bounds and options."""

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
    """The whole catalog, indexed by the names in requests."""

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
    """Read the data file in the package. It shares no code with the chart-img client."""
    path = files("mcp_binance_server").joinpath("charts", "chartimg_catalog.json")
    return msgspec.json.decode(path.read_bytes(), type=Facts)


def rows_of(exchange_id: str, listing: Listing, search: str, kind: str) -> list[Row]:
    """Return the symbols of an exchange whose name contains `search`. An empty `kind` includes all types."""
    rows = _binance(listing) if exchange_id == "BINANCE" else _elsewhere(exchange_id)
    wanted = search.upper()
    return [row for row in rows if wanted in str(row["symbol"]) and kind in {"", row["type"]}]


def is_known(symbol: str, facts: Facts, listing: Listing) -> bool:
    """Return whether every ticker of a symbol or formula can be drawn."""
    return all(_is_listed(place, name, facts, listing) for place, name in TICKER.findall(symbol))


def _is_listed(place: str, name: str, facts: Facts, listing: Listing) -> bool:
    if place != "BINANCE":
        return place in facts.exchange_ids
    # A perpetual's name is that of its pair plus `.P`. A coin-margined one uses its dollar pair, such as BTCUSD.P.
    pair = name.removesuffix(".P")
    return pair in listing.symbols or (pair != name and f"{pair}T" in listing.symbols)


# Names as TradingView writes them. Other assets go by their code.
ASSET_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "ADA": "Cardano",
        "ATOM": "Cosmos",
        "AVAX": "Avalanche",
        "BNB": "Binance Coin",
        "BTC": "Bitcoin",
        "BUSD": "Binance USD",
        "DOGE": "Dogecoin",
        "DOT": "Polkadot",
        "ETH": "Ethereum",
        "FDUSD": "First Digital USD",
        "LINK": "Chainlink",
        "LTC": "Litecoin",
        "PEPE": "Pepe",
        "SHIB": "Shiba Inu",
        "SOL": "Solana",
        "TRX": "TRON",
        "TUSD": "TrueUSD",
        "USDC": "USD Coin",
        "USDT": "TetherUS",
        "XLM": "Stellar",
    }
)


def _binance(listing: Listing) -> Iterator[Row]:
    for symbol in listing.symbols.values():
        quote = ASSET_NAMES.get(symbol.quote, symbol.quote)
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


def documentation(facts: Facts) -> str:
    """Return the documentation page, with one heading per item and tables with named columns."""
    parts = [
        *_limits(facts),
        _heading(1, "TradingView Snapshot v2"),
        *_body(facts),
        _heading(1, "TradingView Chart Styles"),
        *(part for each in facts.styles for part in _style(each.display_name, each.override)),
        _heading(1, "TradingView Chart Indicators"),
        *(part for each in facts.indicators for part in _study(each)),
        _heading(1, "TradingView Chart Drawings"),
        *(part for each in facts.drawings for part in _drawing(each)),
        _heading(1, "Errors"),
    ]
    content = "\n".join(parts)
    return f'<!doctype html>\n<html><body><div class="content">\n{content}\n</div></body></html>\n'


def _limits(facts: Facts) -> Iterator[str]:
    plans = facts.plans.items()
    yield _heading(1, "Request Limit ⚠️")
    yield _heading(2, "Rate Limit")
    rates = [
        [name, _open(plan.requests_per_second, more=plan.open_ended), _open(plan.burst, more=plan.open_ended),
         _open(plan.daily_max, more=plan.open_ended)]
        for name, plan in plans
    ]  # fmt: skip
    yield _table(["Plan", "req/sec", "Burst", "Daily max"], rates)
    yield _heading(2, "Resolution Limit")
    sizes = [
        [name, str(plan.max_width), str(plan.max_height), _yes(said=plan.forced_watermark),
         _yes(said=plan.custom_watermark)]
        for name, plan in plans
    ]  # fmt: skip
    yield _table(["Plan", "Max width", "Max height", "Watermark", "Custom Watermark"], sizes)
    yield _heading(2, "Storage Limit")
    yield _table(["Plan", "Expire days"], [[name, str(plan.storage_days)] for name, plan in plans])
    yield _heading(2, "Parameter Limit")
    yield _table(["Plan", "Max studies[] + drawings[]"], [[name, str(plan.max_studies)] for name, plan in plans])


def _body(facts: Facts) -> Iterator[str]:
    yield _heading(2, "Advanced Chart &nbsp;")
    yield _example(EXAMPLE)
    yield _heading(3, "Request Body (Optional)")
    zones = facts.parameters["timezone"]
    listed = {**facts.parameters, "timezone": msgspec.structs.replace(zones, options=())}
    yield _keys(listed)
    yield _heading(3, "Parameter override")
    yield _keys(facts.parameters["override"].fields)
    yield _heading(3, "Supported Timezone")
    yield _table(["Timezone"], [[str(zone)] for zone in zones.options])


def _style(name: str, override: Mapping[str, Fact]) -> Iterator[str]:
    yield _heading(2, name)
    yield _heading(3, "Parameter style")
    yield _keys(override)


def _study(study: StudyFact) -> Iterator[str]:
    pane = {} if study.overlay else {"forceOverlay": False}
    yield _heading(2, study.api_name)
    yield _example({"symbol": "BINANCE:BNBUSDT", "studies": [{"name": study.api_name, **pane}]})
    if study.input:
        yield _heading(3, "Parameter input")
        yield _keys(study.input)
    yield _heading(3, "Parameter override")
    yield _keys(study.override)


def _drawing(drawing: DrawingFact) -> Iterator[str]:
    yield _heading(2, drawing.api_name)
    yield _heading(3, "Parameter input")
    yield _keys(drawing.input)
    yield _heading(3, "Parameter override")
    yield _keys(drawing.override)
    yield _heading(3, "Parameter zOrder")
    yield _keys({"zOrder": Fact(type="String", options=drawing.z_order)})


def _keys(facts: Mapping[str, Fact]) -> str:
    rows = [
        [key, fact.type.replace("|", " / "), _yes(said=fact.required), _default(fact), _described(fact)]
        for key, fact in facts.items()
    ]
    return _table(["Parameter", "Type", "Required", "Default", "Description"], rows)


def _default(fact: Fact) -> str:
    if fact.default is None:
        return "-"
    return str(fact.default).lower() if isinstance(fact.default, bool) else str(fact.default)


def _described(fact: Fact) -> str:
    limits = [f"{name}: {value}" for name, value in (("Min", fact.min), ("Max", fact.max)) if value is not None]
    parts = [
        fact.label,
        f"({', '.join(limits)})" if limits else "",
        f"[{', '.join(map(str, fact.options))}]" if fact.options else "",
    ]
    return " ".join(filter(None, parts)) or "-"


def _open(count: int, *, more: bool) -> str:
    return f"{count:,}{'+' if more else ''}"


def _yes(*, said: bool) -> str:
    return "Yes" if said else "No"


def _heading(level: int, text: str) -> str:
    return f"<h{level}>{text}</h{level}>"


def _example(config: Mapping[str, object]) -> str:
    code = escape(msgspec.json.format(msgspec.json.encode(config)).decode())
    return f"<blockquote><p>Request Example:</p></blockquote>\n<pre><code>{code}</code></pre>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
