"""The five methods of provider.v1: a message and who sent it in, the dispatcher's answer out."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec

from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.domain.holdings import LentPlaces
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.feeds.errors import StreamsFull, given_away
from mcp_binance_server.services.live.following import Kind, Wish, following
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.transports.grpc.answers import capabilities, invoked, page, prompt
from mcp_binance_server.transports.grpc.errors import ServerStopping
from mcp_binance_server.transports.grpc.events import cloud_event
from mcp_binance_server.transports.proto import provider_pb2 as pb

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


class ProviderService:
    """Asks the dispatcher; only the live market event by event, which MCP has no way to tell, is followed here."""

    def __init__(self, dispatcher: Dispatcher, *, most_streams: int | None = None) -> None:
        self._ask = dispatcher
        self._places = LentPlaces(most_streams or MOST_STREAMS)
        self._streams: set[anyio.CancelScope] = set()
        self._is_stopping = False

    async def list_capabilities(self, _request: pb.ListCapabilitiesRequest, _who: Who) -> pb.ListCapabilitiesResponse:
        return capabilities(self._ask.catalogue)

    async def invoke(self, request: pb.InvokeRequest, who: Who) -> pb.InvokeResponse:
        return invoked(await self._ask.call_tool(who, request.tool, _arguments(request.arguments_json)))

    async def read_resource(self, request: pb.ReadResourceRequest, who: Who) -> pb.ReadResourceResponse:
        return page(await self._ask.read_resource(who, request.uri))

    async def get_prompt(self, request: pb.GetPromptRequest, who: Who) -> pb.GetPromptResponse:
        return prompt(await self._ask.get_prompt(who, request.name, dict(request.arguments)))

    async def stream(self, request: pb.StreamRequest, who: Who, write: Write) -> None:
        """Tell what is new until the caller leaves or the server stops."""
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
        raise ServerStopping if self._is_stopping else given_away(self._places.most)

    def stop_streams(self) -> None:
        """End every stream now, and let no other begin: a stream has no end that could be waited for."""
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
        raise InvalidArguments(summary=f"kinds: there is no kind {min(unknown)}")
    if limits.book_levels > MOST_LEVELS:
        raise InvalidArguments(summary=f"limits.book_levels: at most {MOST_LEVELS}")
    if limits.min_interval_ms > LONGEST_PAUSE_MS:
        raise InvalidArguments(summary=f"limits.min_interval_ms: at most {LONGEST_PAUSE_MS}")
    kinds: frozenset[Kind] = frozenset(KINDS[kind] for kind in request.kinds or KINDS)
    return Wish(kinds, limits.book_levels or USUAL_LEVELS, limits.min_interval_ms)
