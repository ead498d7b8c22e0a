"""The market page of one symbol."""

from decimal import Decimal

from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, amount, instant, money, percent, plain, span

# A ticker's close time is the moment of the answer; one that lags this far is not of now.
STALE_MS = 60_000
NOTHING = "n/a"


def market_page(view: MarketView) -> str:
    """Render the last 24 hours of a symbol, in the lines and order of the resources contract."""
    ticker = view.ticker
    symbol = plain(ticker.symbol)
    lines = [
        f"# {symbol} Market Data",
        "",
        f"**Symbol**: {symbol}",
        f"**Last Price**: {_price(view, ticker.last_price)}",
        f"**24h Change**: {_change(view)}",
        f"**24h High**: {_price(view, ticker.high)}",
        f"**24h Low**: {_price(view, ticker.low)}",
        f"**24h Volume**: {amount(ticker.volume)} {plain(view.rules.base)}",
        f"**Quote Volume**: {_quote_volume(view)}",
        "",
        f"**Weighted Average Price**: {_price(view, ticker.weighted_average)}",
        f"**Price Change Count**: {ticker.trade_count:,}",
        "",
        *_warnings(view),
        f"*Last updated: {instant(ticker.close_time_ms)}*",
        f"*Data source: {_source(view)}*",
    ]
    return "\n".join(lines)


def _price(view: MarketView, value: Decimal, *, signed: bool = False) -> str:
    if not value and not view.ticker.has_traded:
        return NOTHING  # the exchange sends zeros for a silent market; nobody may take them for a price
    return money(value, view.rules.quote, view.rules.tick, signed=signed)


def _change(view: MarketView) -> str:
    change = _price(view, view.ticker.change, signed=True)
    return change if change == NOTHING else f"{change} ({percent(view.ticker.change_percent)})"


def _quote_volume(view: MarketView) -> str:
    sign = "$" if view.rules.quote in DOLLAR_LIKE else ""
    return f"{sign}{amount(view.ticker.quote_volume)} {plain(view.rules.quote)}"


def _warnings(view: MarketView) -> list[str]:
    lines: list[str] = []
    if not view.rules.is_trading:
        lines.append(f"*Not trading now: status {plain(view.rules.status)}*")
    if not view.ticker.has_traded:
        lines.append("*Stale: no trades in the last 24 hours*")
    if view.age_ms > STALE_MS:
        lines.append(f"*Stale: the exchange's data is {span(view.age_ms)} old*")
    return lines


def _source(view: MarketView) -> str:
    if view.origin == "rerouted":
        return f"Binance API v3, public data host {view.host} (the main host does not serve this location)"
    return "simulated exchange, no real market" if view.origin == "simulated" else "Binance API v3"
