"""Prices, trades and symbols as Markdown."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from functools import wraps
from typing import TypeVar

from mcp_binance_server.domain.market import (
    AveragePrice,
    ClockCheck,
    MarketView,
    Observation,
    Origin,
    Sourced,
    TickerBoard,
)
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import (
    DOLLAR_LIKE,
    amount,
    average,
    counted,
    doubt_lines,
    doubts,
    exact,
    instant,
    percent,
    plain,
    price,
    span,
    time_of_day,
    with_more,
)

NOTHING = "n/a"
SOURCES: dict[Origin, str] = {
    "configured": "Binance API v3",
    "streamed": "Binance market stream",
    "simulated": "simulated exchange, no real market",
    "simulated_stream": "simulated exchange, no real market (live stream)",
}

MOST_RENDERED = 64
ShownT = TypeVar("ShownT")
Rule = str | int | bool | list[str] | None
HEAD = ("symbol", "base", "quote", "status")
NO_SYMBOL = "No symbol matches. Try the code of an asset (BTC), its name (bitcoin), or another quote asset."
_WORD = re.compile(r"[A-Za-z0-9_ ]*")


def once_a_moment(render: Callable[[MarketView], ShownT]) -> Callable[[MarketView], ShownT]:
    """Decorate a renderer with a cache. It keeps one text per ticker while the view and its warnings do not change."""
    made: dict[int, tuple[MarketView, list[str], ShownT]] = {}

    @wraps(render)
    def rendered(view: MarketView) -> ShownT:
        warned = doubts(view)
        before = made.get(id(view.ticker))
        if before is not None and is_same(before[0], view) and before[1] == warned:
            return before[2]
        while len(made) >= MOST_RENDERED:
            del made[next(iter(made))]
        shown = render(view)
        made[id(view.ticker)] = (view, warned, shown)
        return shown

    def is_same(one: MarketView, other: MarketView) -> bool:
        same = one.ticker is other.ticker and one.rules is other.rules and one.reading is other.reading
        return same and (one.host, one.origin) == (other.host, other.origin)

    return rendered


@once_a_moment
def market_page(view: MarketView) -> str:
    """Render the 24-hour statistics of a symbol, in the fixed format of this resource."""
    ticker = view.ticker
    symbol = plain(ticker.symbol)
    lines = [
        f"# {symbol} Market Data",
        "",
        f"**Symbol**: {symbol}",
        f"**Last Price**: {shown_price(view, ticker.last_price)}",
        f"**24h Change**: {_change(view)}",
        f"**24h High**: {shown_price(view, ticker.high)}",
        f"**24h Low**: {shown_price(view, ticker.low)}",
        f"**24h Volume**: {amount(ticker.volume)} {plain(view.rules.base)}",
        f"**Quote Volume**: {_quote_volume(view)}",
        "",
        f"**Weighted Average Price**: {shown_average(view, ticker.weighted_average)}",
        f"**Price Change Count**: {ticker.trade_count:,}",
        "",
        *doubt_lines(doubts(view)),
        f"*Last updated: {instant(ticker.close_time_ms)}*",
        f"*Data source: {source(view.origin, view.host)}*",
    ]
    return "\n".join(lines)


@once_a_moment
def ticker_page(view: MarketView) -> str:
    """Render the 24-hour statistics of a symbol in the fixed format, followed by additional lines."""
    ticker = view.ticker
    lines = [
        market_page(view),
        "",
        f"**Status**: {plain(view.rules.status)}",
        f"**24h Open**: {shown_price(view, ticker.open_price)}",
        f"**Bid**: {shown_price(view, ticker.bid)}",
        f"**Ask**: {shown_price(view, ticker.ask)}",
        f"*Host: {plain(view.host)}*",
    ]
    return "\n".join(lines)


def ticker_table(board: TickerBoard, limit: int | None = None) -> str:
    """Render the 24-hour statistics of several symbols, one line each."""
    head = ("Symbol", "Status", "Last Price", "24h Change", "Change Percent", "High", "Low", "Bid", "Ask", "Volume",
            "Quote Volume", "As of")  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    # The blank line ends the table. Otherwise the next line would become a row.
    lines += [*(_ticker_line(view) for view in board.views), ""]
    lines += doubt_lines(board_doubts(board))
    if board.missing:
        lines.append(f"*No ticker from the exchange: {', '.join(map(plain, board.missing))}*")
    lines += [] if limit is None else [counted(len(board.views), limit)]
    newest_ms = max((view.ticker.close_time_ms for view in board.views), default=None)
    return "\n".join([*lines, footer(newest_ms, board.origin, board.host)])


def board_doubts(board: TickerBoard) -> list[str]:
    """Return the warnings about each ticker in a table."""
    return [f"{plain(view.ticker.symbol)}: {each}" for view in board.views for each in doubts(view)]


def average_page(seen: Observation[AveragePrice]) -> str:
    """Render the exchange's average price."""
    rules = seen.rules
    shown = average(seen.value.price, rules.quote, rules.tick)
    line = f"**{plain(rules.symbol)} average price** over the last {seen.value.minutes} minutes: {shown}"
    return f"{line}\n{footer(seen.at_ms, seen.origin, seen.host)}"


def clock_page(reading: Sourced[ClockCheck]) -> str:
    """Render the exchange's time, and how far this server's clock differs from it."""
    check = reading.value
    return "\n".join(
        [
            f"**Exchange time**: {instant(check.exchange_ms)} ({check.exchange_ms})",
            f"**Our clock**: {clock_words(check)}",
            f"**Round trip**: {check.round_trip_ms} ms",
            footer(None, reading.origin, reading.host),
        ]
    )


def clock_words(check: ClockCheck) -> str:
    """Format the difference between this server's clock and the exchange's."""
    ahead = check.difference_ms
    ours = f"{abs(ahead)} ms {'ahead of' if ahead > 0 else 'behind'}" if ahead else "equal to"
    return f"{ours} the exchange's, give or take {check.round_trip_ms / 2:g} ms"


def footer(at_ms: int | None, origin: Origin, host: str) -> str:
    """Return the time and source of the data in one line."""
    when = "" if at_ms is None else f"As of {instant(at_ms)}; "
    return f"*{when}source: {source(origin, host)}; host {plain(host)}*"


def source(origin: Origin, host: str) -> str:
    """Return the source of the data in words."""
    if origin == "rerouted":
        return f"Binance API v3, public data host {host} (the main host does not serve this location)"
    return SOURCES[origin]


def _ticker_line(view: MarketView) -> str:
    ticker = view.ticker
    cells = [
        plain(ticker.symbol),
        plain(view.rules.status),
        shown_price(view, ticker.last_price),
        shown_price(view, ticker.change, signed=True),
        percent(ticker.change_percent) if ticker.has_traded else NOTHING,
        *(shown_price(view, each) for each in (ticker.high, ticker.low, ticker.bid, ticker.ask)),
        f"{amount(ticker.volume)} {plain(view.rules.base)}",
        _quote_volume(view),
        instant(ticker.close_time_ms),
    ]
    return f"| {' | '.join(cells)} |"


def shown_price(view: MarketView, value: Decimal, *, signed: bool = False) -> str:
    """Format a price of this market; `n/a` if there were no trades."""
    if not value and not view.ticker.has_traded:
        return NOTHING  # without trades the exchange sends zeros, which are no prices
    return price(value, view.rules.quote, view.rules.tick, signed=signed)


def current_price(view: MarketView) -> str:
    """Format the reference price of a page; `n/a` if there is none."""
    if view.reading is None:
        return shown_price(view, view.ticker.last_price)
    return reading_words(view.rules, view.reading)


def reading_words(rules: SymbolRules, reading: PriceReading) -> str:
    """Format a reference price. A mid price is followed by the last trade and its age."""
    last = price(reading.last, rules.quote, rules.tick)
    if not reading.is_mid:
        return last
    ago = ""
    if reading.last_ms is not None:
        ago = f" at {time_of_day(reading.last_ms)}, {elapsed(reading.at_ms - reading.last_ms)} ago"
    return f"Last trade {last}{ago}; mid now {average(reading.price, rules.quote, rules.tick)}"


def measured_from(rules: SymbolRules, reading: PriceReading) -> str:
    """Format a reference price for a sentence: `price $1.42`, or `mid $1.43 (last trade $1.40, 4 min ago)`."""
    last = price(reading.last, rules.quote, rules.tick)
    if not reading.is_mid:
        return f"price {last}"
    ago = "" if reading.last_ms is None else f", {elapsed(reading.at_ms - reading.last_ms)} ago"
    return f"mid {average(reading.price, rules.quote, rules.tick)} (last trade {last}{ago})"


def elapsed(duration_ms: int) -> str:
    """Format a duration in its largest unit: `4 min`."""
    count, unit = span(max(0, duration_ms)).split(" ")[:2]
    return f"{count} {unit}"


def shown_average(view: MarketView, value: Decimal) -> str:
    """Format an average price of this market; `n/a` if there were no trades."""
    nothing = not value and not view.ticker.has_traded
    return NOTHING if nothing else average(value, view.rules.quote, view.rules.tick)


def _change(view: MarketView) -> str:
    change = shown_price(view, view.ticker.change, signed=True)
    return change if change == NOTHING else f"{change} ({percent(view.ticker.change_percent)})"


def _quote_volume(view: MarketView) -> str:
    sign = "$" if view.rules.quote in DOLLAR_LIKE else ""
    return f"{sign}{amount(view.ticker.quote_volume)} {plain(view.rules.quote)}"


def rule_values(rules: SymbolRules) -> dict[str, Rule]:
    """Return all trading rules by name. A disabled rule is None."""
    return {item.name: _rule(getattr(rules, item.name)) for item in fields(rules) if item.name not in HEAD}


def rules_page(rules: SymbolRules) -> str:
    """Render a symbol with its enabled trading rules."""
    lines = [
        f"# {plain(rules.symbol)} trading rules",
        f"**Status**: {_word(rules.status)}",
        f"**Is trading**: {_shown(rules.is_trading)}",
        f"**Assets**: {plain(rules.base)} priced in {plain(rules.quote)}",
        *(f"**{name.replace('_', ' ').capitalize()}**: {_shown(value)}" for name, value in _in_force(rules).items()),
    ]
    return "\n".join(lines)


def symbols_page(found: Sequence[SymbolRules], told: str, names: Mapping[str, str], more: str | None) -> str:
    """Render a list of symbols, one per line."""
    if not found:
        return f"{NO_SYMBOL}\n{told}"
    lines = [told, "symbol,base,quote,status,name"]
    lines += [
        ",".join(_word(cell) for cell in (each.symbol, each.base, each.quote, each.status, names.get(each.base, "")))
        for each in found
    ]
    return with_more(lines, more)


def _in_force(rules: SymbolRules) -> dict[str, Rule]:
    return {name: value for name, value in rule_values(rules).items() if value is not None}


def _rule(value: bool | int | str | Decimal | tuple[str, ...] | frozenset[str]) -> Rule:  # noqa: FBT001 - the value of any field
    if isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return exact(value) if value else None
    if isinstance(value, int):
        return value or None
    if isinstance(value, frozenset):
        return sorted(value)
    return [str(each) for each in value] if isinstance(value, tuple) else value


def _shown(value: Rule) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_word, value)) if isinstance(value, list) else _word(str(value))


def _word(text: str) -> str:
    # Not escaped, because models copy STOP_LOSS_LIMIT into calls and would copy a backslash too.
    return text if _WORD.fullmatch(text) else plain(text)
