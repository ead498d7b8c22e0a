"""What is new on the live market as CloudEvents 1.0. Pure.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from mcp_binance_server.services.live.following import BookNews, FeedNews, News, TickerNews, TradeNews
from mcp_binance_server.surface.tools.market.prices import ticker_answer
from mcp_binance_server.surface.views.book.levels import BookSummary, aggressor, level_pairs
from mcp_binance_server.surface.views.markdown import exact, instant
from mcp_binance_server.transports.proto import provider_pb2 as pb

TICKER, BOOK, TRADE, FEED = (f"provider.v1.{name}" for name in ("ticker", "book", "trade", "feed"))


@dataclass(frozen=True, slots=True)
class EventSpec:
    """One type of event, and the kind that asks for it."""

    type: str
    kind: pb.EventKind
    description: str


EVENTS = (
    EventSpec(TICKER, pb.EVENT_KIND_TICKER, "The last 24 hours of a pair, once a second; the fields of get_ticker"),
    EventSpec(
        BOOK,
        pb.EVENT_KIND_BOOK,
        "The best levels of a book that is in step, after each change of it; a slow reader gets the newest one only",
    ),
    EventSpec(
        TRADE,
        pb.EVENT_KIND_TRADES,
        "An aggregate trade, each of them in turn; missed says how many before it a reader was too slow for",
    ),
    EventSpec(
        FEED,
        pb.EVENT_KIND_UNSPECIFIED,
        "Whether the pair's book can be relied on: live, or connecting or syncing, and then no book is told",
    ),
)


def cloud_event(news: News, source: str) -> pb.CloudEvent:
    """Return one event; its id is the exchange's own where there is one, so that nothing is taken for new twice."""
    told = _told(news)
    return pb.CloudEvent(
        id=told.id,
        source=source,
        specversion="1.0",
        type=told.type,
        subject=told.symbol,
        time=instant(told.at_ms),
        datacontenttype="application/json",
        data=msgspec.json.encode(told.data).decode(),
    )


class _Told(NamedTuple):
    type: str
    id: str
    symbol: str
    at_ms: int
    data: dict[str, Any]


def _told(news: News) -> _Told:
    match news:
        case TickerNews(view):
            symbol, at_ms = view.ticker.symbol, view.ticker.close_time_ms
            data = ticker_answer(view).model_dump(mode="json", exclude={"success"})
            return _Told(TICKER, f"ticker-{symbol}-{at_ms}", symbol, at_ms, data)
        case BookNews(rules, book, levels, at_ms):
            event_id = f"book-{rules.symbol}-{book.last_update_id}-{levels}"
            return _Told(BOOK, event_id, rules.symbol, at_ms, _book(news))
        case TradeNews(rules, trade):
            return _Told(TRADE, f"trade-{rules.symbol}-{trade.trade_id}", rules.symbol, trade.time_ms, _trade(news))
        case FeedNews(rules, state, gaps, at_ms):
            data = {"symbol": rules.symbol, "state": state, "gaps": gaps}
            return _Told(FEED, f"feed-{rules.symbol}-{at_ms}-{state}", rules.symbol, at_ms, data)


def _book(news: BookNews) -> dict[str, Any]:
    rules, book = news.rules, news.book
    summary = BookSummary.of(book)
    return {
        "symbol": rules.symbol,
        "last_update_id": book.last_update_id,
        "bids": level_pairs(rules, book.bids),
        "asks": level_pairs(rules, book.asks),
        "spread": None if summary.spread is None else exact(summary.spread, rules.tick),
        "mid": None if summary.mid is None else exact(summary.mid, rules.tick),
        "as_of": instant(news.at_ms),
    }


def _trade(news: TradeNews) -> dict[str, Any]:
    rules, trade = news.rules, news.trade
    return {
        "symbol": rules.symbol,
        "trade_id": trade.trade_id,
        "price": exact(trade.price, rules.tick),
        "quantity": exact(trade.quantity),
        "aggressor": aggressor(trade),
        "time": instant(trade.time_ms),
        "missed": news.missed,
    }
