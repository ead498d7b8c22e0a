"""The symbols of the simulated chart-img: the pairs of the simulated exchange, and a few of other places."""

import re
from collections.abc import Iterator

from mcp_binance_server.domain.assets import ASSET_NAMES
from mcp_binance_server.simulator.chartimg_facts import Facts
from mcp_binance_server.simulator.listing import Listing

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
