"""Methods of the gRPC service, with their answers and events as protobuf messages."""

from base64 import b64decode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import anyio
import msgspec
from mcp import types

from mcp_binance_server import __version__
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LentPlaces
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.feeds.errors import StreamsFull, stream_evicted
from mcp_binance_server.services.live.following import (
    BookNews,
    FeedNews,
    Kind,
    News,
    TickerNews,
    TradeNews,
    Wish,
    following,
)
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.catalogue import Catalogue
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import in_time
from mcp_binance_server.surface.greeting import NAME
from mcp_binance_server.surface.spec import PromptSpec, ToolSpec
from mcp_binance_server.surface.tools.market.prices import ticker_answer
from mcp_binance_server.surface.views.book.levels import BookSummary, aggressor, level_pairs
from mcp_binance_server.surface.views.markdown import exact, instant
from mcp_binance_server.transports.grpc.errors import ServerStopping
from mcp_binance_server.transports.proto import provider_pb2 as pb

TICKER, BOOK, TRADE, FEED = (f"provider.v1.{name}" for name in ("ticker", "book", "trade", "feed"))

MOST_STREAMS = 100
MOST_SYMBOLS = 50
USUAL_LEVELS, MOST_LEVELS = 10, 1_000
LONGEST_PAUSE_MS = 60_000
KINDS: dict[int, Kind] = {
    pb.EVENT_KIND_TICKER: "ticker",
    pb.EVENT_KIND_BOOK: "book",
    pb.EVENT_KIND_TRADES: "trades",
}

Who = Caller | None
Write = Callable[[pb.CloudEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A type of event, and the name by which clients subscribe to it."""

    type: str
    kind: pb.EventKind
    description: str


EVENTS = (
    EventSpec(TICKER, pb.EVENT_KIND_TICKER, "The last 24 hours of a pair, once a second; the fields of get_ticker"),
    EventSpec(
        BOOK,
        pb.EVENT_KIND_BOOK,
        "The best levels of a synced book after each change; a slow reader gets only the newest",
    ),
    EventSpec(
        TRADE,
        pb.EVENT_KIND_TRADES,
        "Every aggregate trade in order; missed counts the trades before it that a slow reader did not get",
    ),
    EventSpec(
        FEED,
        pb.EVENT_KIND_UNSPECIFIED,
        "State of the pair's book: live; or connecting or syncing, without book events",
    ),
)


def cloud_event(news: News, source: str) -> pb.CloudEvent:
    """Return one event as a CloudEvent.

    The event has the exchange's own ID if there is one, so that clients can drop duplicates.
    """
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


def json_text(value: object) -> str:
    """Return a value as JSON text; None becomes an empty text."""
    return "" if value is None else msgspec.json.encode(value).decode()


def capabilities(catalogue: Catalogue) -> pb.ListCapabilitiesResponse:
    """List the capabilities that a caller can use, in the order of the catalogue."""
    return pb.ListCapabilitiesResponse(
        server_name=NAME,
        server_version=__version__,
        tools=[_tool(spec) for spec in catalogue.tools],
        resources=[
            pb.Resource(uri=each.uri, name=each.name, description=each.description, mime_type=each.wire.mime_type)
            for each in catalogue.resources
        ],
        templates=[
            pb.ResourceTemplate(
                uri_template=each.uri_template,
                name=each.name,
                description=each.description,
                mime_type=each.wire.mime_type,
            )
            for each in catalogue.templates
        ],
        prompts=[_prompt(spec) for spec in catalogue.prompts],
        events=[pb.EventType(type=each.type, kind=each.kind, description=each.description) for each in EVENTS],
    )


def _tool(spec: ToolSpec[Any]) -> pb.Tool:
    return pb.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema_json=json_text(spec.wire.input_schema),
        output_schema_json=json_text(spec.wire.output_schema),
        read_only=spec.read_only,
        scope=spec.scope,
    )


def _prompt(spec: PromptSpec[Any]) -> pb.Prompt:
    listed = [
        pb.PromptArgument(name=each.name, description=each.description, required=each.required)
        for each in spec.wire.arguments or ()
    ]
    return pb.Prompt(name=spec.name, description=spec.description, arguments=listed, scope=spec.scope)


def invoked(result: types.CallToolResult) -> pb.InvokeResponse:
    """Return a tool's answer: its text, its structured data, and other content as attachments."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return pb.InvokeResponse(
        text="\n\n".join(texts),
        structured_json=json_text(result.structured_content),
        is_error=bool(result.is_error),
        attachments=[_attachment(block) for block in result.content if not isinstance(block, types.TextContent)],
    )


def _attachment(block: types.ContentBlock) -> pb.Attachment:
    match block:
        case types.ImageContent():
            return pb.Attachment(mime_type=block.mime_type, data=b64decode(block.data))
        case types.ResourceLink():
            return pb.Attachment(mime_type=block.mime_type, uri=block.uri)
        case _:
            raise TypeError(f"no tool attaches {type(block).__name__}")


def page(result: types.ReadResourceResult) -> pb.ReadResourceResponse:
    return pb.ReadResourceResponse(
        contents=[_contents(each) for each in result.contents],
        keep_ms=result.ttl_ms,
        shareable=result.cache_scope == "public",
    )


def _contents(contents: types.TextResourceContents | types.BlobResourceContents) -> pb.ResourceContents:
    meta = json_text(contents.meta) if contents.meta else ""
    if isinstance(contents, types.BlobResourceContents):
        data = b64decode(contents.blob)
        return pb.ResourceContents(uri=contents.uri, mime_type=contents.mime_type, data=data, meta_json=meta)
    return pb.ResourceContents(uri=contents.uri, mime_type=contents.mime_type, text=contents.text, meta_json=meta)


def prompt(result: types.GetPromptResult) -> pb.GetPromptResponse:
    messages = [
        pb.PromptMessage(role=each.role, text=each.content.text)
        for each in result.messages
        if isinstance(each.content, types.TextContent)
    ]
    return pb.GetPromptResponse(description=result.description, messages=messages)


class ProviderService:
    """Methods of the gRPC service: the capabilities of MCP, and a stream of live market events."""

    def __init__(self, dispatcher: Dispatcher, *, most_streams: int | None = None) -> None:
        # Trading is excluded, because a user must confirm each order and gRPC has no way to ask.
        self._ask = replace(dispatcher, catalogue=dispatcher.catalogue.without_trading())
        self._places = LentPlaces(most_streams or MOST_STREAMS)
        self._streams: set[anyio.CancelScope] = set()
        self._is_stopping = False

    async def list_capabilities(self, _request: pb.ListCapabilitiesRequest, _who: Who) -> pb.ListCapabilitiesResponse:
        return capabilities(self._ask.catalogue)

    async def invoke(self, request: pb.InvokeRequest, who: Who) -> pb.InvokeResponse:
        return invoked(await self._ask.call_tool(who, request.tool, _arguments(request.arguments_json)))

    async def read_resource(self, request: pb.ReadResourceRequest, who: Who) -> pb.ReadResourceResponse:
        with in_time(self._ask.longest_secs):
            return page(await self._ask.read_resource(who, request.uri))

    async def get_prompt(self, request: pb.GetPromptRequest, who: Who) -> pb.GetPromptResponse:
        return prompt(await self._ask.get_prompt(who, request.name, dict(request.arguments)))

    async def stream(self, request: pb.StreamRequest, who: Who, write: Write) -> None:
        """Send events until the caller disconnects or the server stops."""
        live = self._ask.context_for(who, "market:read").live
        wish = _wish(request)
        if self._is_stopping:
            raise ServerStopping
        source = live.network.stream_url or live.network.rest_url
        scope = anyio.CancelScope()
        release = self._places.take(PARTY.get(), scope.cancel)
        if release is None:
            raise StreamsFull(what="Too many streams are open", most=self._places.most)
        self._streams.add(scope)
        try:
            with scope:
                async with following(live, request.symbols, wish) as followed:
                    while True:
                        for news in followed.news():
                            await write(cloud_event(news, source))
                        await followed.wait()
        finally:
            release()
            self._streams.discard(scope)
        raise ServerStopping if self._is_stopping else stream_evicted(self._places.most)

    def stop_streams(self) -> None:
        """End all streams now and refuse new streams, because a stream never ends on its own."""
        self._is_stopping = True
        for scope in self._streams:
            scope.cancel()


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidArguments(summary="arguments_json must be a JSON object") from None


def _wish(request: pb.StreamRequest) -> Wish:
    limits = request.limits
    if not 1 <= len(request.symbols) <= MOST_SYMBOLS:
        raise InvalidArguments(summary=f"symbols: name 1 to {MOST_SYMBOLS} of them, not {len(request.symbols)}")
    if unknown := set(request.kinds) - KINDS.keys():
        raise InvalidArguments(summary=f"kinds: unknown kind {min(unknown)}")
    if limits.book_levels > MOST_LEVELS:
        raise InvalidArguments(summary=f"limits.book_levels: at most {MOST_LEVELS}")
    if limits.min_interval_ms > LONGEST_PAUSE_MS:
        raise InvalidArguments(summary=f"limits.min_interval_ms: at most {LONGEST_PAUSE_MS}")
    kinds: frozenset[Kind] = frozenset(KINDS[kind] for kind in request.kinds or KINDS)
    return Wish(kinds, limits.book_levels or USUAL_LEVELS, limits.min_interval_ms)
