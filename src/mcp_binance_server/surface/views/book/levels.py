"""Order book and recent trades as rows of comma-separated values."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

from mcp_binance_server.domain.market import BookSnapshot, Observation, PriceLevel, Trade
from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import (
    average,
    bps_places,
    counted,
    doubt_lines,
    exact,
    instant,
    leveled,
    plain,
    price,
    with_more,
)
from mcp_binance_server.surface.views.market import NOTHING, footer, source

TRADE_COLUMNS = "time,price,quantity,aggressor"
BPS = 10_000
WIDE_BPS = 100
NO_SPREAD = "No spread: a side is empty"


@dataclass(frozen=True, slots=True)
class BookSummary:
    """Spread, mid price, and total quantity per side of a book. Spread and mid are None if a side is empty."""

    spread: Decimal | None
    mid: Decimal | None
    spread_bps: Decimal | None
    bid_total: Decimal
    ask_total: Decimal

    @classmethod
    def of(cls, book: BookSnapshot) -> "BookSummary":
        totals = (_total(book.bids), _total(book.asks))
        if not book.bids or not book.asks:
            return cls(None, None, None, *totals)
        bid, ask = book.bids[0].price, book.asks[0].price
        mid = (bid + ask) / 2
        distance = (ask - bid) / mid * BPS if mid else None
        spread_bps = None if distance is None else round_to_places(distance, bps_places(distance, 4))
        return cls(ask - bid, mid, spread_bps, *totals)

    @property
    def is_quiet(self) -> bool:
        """Whether the book is nearly empty.

        Then a side has no quotes, or the spread is at least a hundredth of the price.
        """
        return self.spread_bps is None or self.spread_bps > WIDE_BPS


Rows = list[list[str]]


def level_pairs(rules: SymbolRules, levels: tuple[PriceLevel, ...]) -> Rows:
    """Return price and quantity of each level as text, best price first."""
    return [[exact(level.price, rules.tick), exact(level.quantity)] for level in levels]


def book_page(
    seen: Observation[BookSnapshot], totals: BookSummary, sides: tuple[Rows, Rows], limit: int, more: str | None
) -> str:
    """Render formatted rows of bids and asks next to each other, best price first."""
    rules, book = seen.rules, seen.value
    base = plain(rules.base)
    lines = [
        f"# {plain(rules.symbol)} order book",
        _prices(rules, totals),
        f"Bids {exact(totals.bid_total)} {base} in {leveled(len(book.bids))}, "
        f"asks {exact(totals.ask_total)} {base} in {leveled(len(book.asks))}",
        f"{counted(max(len(book.bids), len(book.asks)), limit)} of each side; last update id {book.last_update_id}",
        footer(seen.at_ms, seen.origin, seen.host),
        "",
        *level_rows(*sides),
    ]
    return with_more(lines, more)


def order_book_page(seen: Observation[BookSnapshot], found: Iterable[str]) -> str:
    """Render a book as a page, with warnings about its data."""
    rules, book = seen.rules, seen.value
    symbol, base = plain(rules.symbol), plain(rules.base)
    totals = BookSummary.of(book)
    pairs = zip_longest(level_pairs(rules, book.bids), level_pairs(rules, book.asks), fillvalue=["", ""])
    table = [
        "| Bid Quantity | Bid | Ask | Ask Quantity |",
        "|--------------|-----|-----|--------------|",
        *(f"| {bid[1]} | {bid[0]} | {ask[0]} | {ask[1]} |" for bid, ask in pairs),
    ]
    lines = [
        f"# {symbol} Order Book",
        "",
        f"**Symbol**: {symbol}",
        f"**Best Bid**: {_best(rules, book.bids)}",
        f"**Best Ask**: {_best(rules, book.asks)}",
        *_middle(rules, totals),
        f"**Bids**: {exact(totals.bid_total)} {base} in {leveled(len(book.bids))}",
        f"**Asks**: {exact(totals.ask_total)} {base} in {leveled(len(book.asks))}",
        "",
        *(table if book.bids or book.asks else ["The book is empty."]),
        "",
        *doubt_lines(found),
        f"*Last updated: {instant(seen.at_ms)}*",
        f"*Data source: {source(seen.origin, seen.host)}*",
    ]
    return "\n".join(lines)


def _middle(rules: SymbolRules, totals: BookSummary) -> list[str]:
    if totals.spread is None or totals.mid is None or totals.spread_bps is None:
        return [f"**Spread**: {NOTHING}"]
    spread = price(totals.spread, rules.quote, rules.tick)
    return [
        f"**Mid**: {average(totals.mid, rules.quote, rules.tick)}",
        f"**Spread**: {spread} ({exact(totals.spread_bps)} bps)",
    ]


def _best(rules: SymbolRules, side: tuple[PriceLevel, ...]) -> str:
    return (
        f"{price(side[0].price, rules.quote, rules.tick)} ({exact(side[0].quantity)} {plain(rules.base)})"
        if side
        else NOTHING
    )


def level_rows(bids: Rows, asks: Rows) -> list[str]:
    """Return a header and rows with bids and asks next to each other, best price first."""
    pairs = zip_longest(bids, asks, fillvalue=["", ""])
    return ["bid_quantity,bid,ask,ask_quantity", *(f"{bid[1]},{bid[0]},{ask[0]},{ask[1]}" for bid, ask in pairs)]


def trade_rows(rules: SymbolRules, trades: tuple[Trade, ...]) -> Rows:
    """Return the values of TRADE_COLUMNS for each trade, newest last."""
    return [
        [instant(each.time_ms), exact(each.price, rules.tick), exact(each.quantity), aggressor(each)] for each in trades
    ]


def aggressor(trade: Trade) -> str:
    """Return the taker's side of a trade. If the buyer is the maker, the seller is the taker."""
    return "sell" if trade.buyer_is_maker else "buy"


def traded(trades: tuple[Trade, ...], side: str) -> Decimal:
    """Return the quantity that takers on one side traded."""
    return sum((each.quantity for each in trades if aggressor(each) == side), Decimal(0))


def tape_page(seen: Observation[tuple[Trade, ...]], rows: Rows, limit: int, more: str | None) -> str:
    """Render formatted rows of trades, newest last."""
    rules, trades = seen.rules, seen.value
    last = price(trades[-1].price, rules.quote, rules.tick) if trades else NOTHING
    lines = [
        f"# {plain(rules.symbol)} recent trades",
        f"{counted(len(trades), limit)}, newest last at {last}",
        f"Aggressive buyers bought {exact(traded(trades, 'buy'))} {plain(rules.base)}, "
        f"aggressive sellers sold {exact(traded(trades, 'sell'))}",
        footer(seen.at_ms, seen.origin, seen.host),
        "",
        TRADE_COLUMNS,
        *map(",".join, rows),
    ]
    return with_more(lines, more)


def _total(levels: tuple[PriceLevel, ...]) -> Decimal:
    return sum((level.quantity for level in levels), Decimal(0))


def _prices(rules: SymbolRules, totals: BookSummary) -> str:
    if totals.spread is None or totals.mid is None or totals.spread_bps is None:
        return NO_SPREAD
    mid, spread = average(totals.mid, rules.quote, rules.tick), price(totals.spread, rules.quote, rules.tick)
    return f"Mid {mid}, spread {spread} ({exact(totals.spread_bps)} bps)"
