"""Subscriptions of clients to pages, and change notifications."""

import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
from mcp import types
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent

from mcp_binance_server.errors import AppError, InvalidArguments, ResourceNotFound, echo
from mcp_binance_server.feeds.errors import StreamsFull, stream_evicted
from mcp_binance_server.services.live.updates import ObservablePage, Release, UpdateService
from mcp_binance_server.surface.caller import Caller, caller_of, connection_of
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import RequestContext, to_mcp
from mcp_binance_server.surface.resources import JOURNAL, OPEN_ORDERS
from mcp_binance_server.surface.spec import scope_of
from mcp_binance_server.surface.uris import CHARTS, GUIDE, MARKET, ResourceUri, parse

LOG = logging.getLogger(__name__)

MOST_PAGES = 50

BOOK = "/orderbook"
# Pages that change with each order, if trading is on.
ORDER_PAGES = (parse(OPEN_ORDERS.uri), parse(JOURNAL.uri))
# Limit of unread notifications. A client with more no longer reads, so its stream ends; the client can open a new
# stream.
MOST_BEHIND = 4 * MOST_PAGES
_KEPT = "mcp_binance_server.subscriber"


def too_many_pages() -> StreamsFull:
    return StreamsFull(what="Too many pages for one client", most=MOST_PAGES)


class Subscriber:
    """A subscribed client with its queue of changed pages. A page is in the queue at most once."""

    def __init__(self, updates: UpdateService, send: Callable[[str], Awaitable[None]]) -> None:
        self._updates = updates
        self._send = send
        self._held: dict[str, Release] = {}
        self._changed: dict[str, None] = {}
        self._woken = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def add(self, uri: str, page: ObservablePage) -> None:
        """Watch a page and notify the client under this URI.

        Raises:
            NotStreamed: the page has no live market.
            StreamsFull: this client or the server has reached its limit.
        """
        if uri in self._held:
            return
        if len(self._held) >= MOST_PAGES:
            raise too_many_pages()
        self._held[uri] = self._updates.watch(page, partial(self._note, uri), partial(self._lose, uri))
        if self._scope is None:
            self._scope = anyio.CancelScope()
            self._updates.start(partial(self._carry, self._scope))

    def remove(self, uri: str) -> None:
        """Stop watching a page. Do nothing if the page is not watched."""
        if (release := self._held.pop(uri, None)) is not None:
            release()
        self._changed.pop(uri, None)
        if not self._held and self._scope is not None:
            self._scope.cancel()
            self._scope = None

    def close(self) -> None:
        for uri in tuple(self._held):
            self.remove(uri)

    def _note(self, uri: str) -> None:
        self._changed[uri] = None
        self._woken.set()

    def _lose(self, uri: str, reason: AppError) -> None:
        """Send a last notification about a page, so that the client reads its final state."""
        LOG.info("subscription ended: %s", reason.message)
        if (release := self._held.pop(uri, None)) is not None:
            release()
            self._note(uri)

    async def _carry(self, scope: anyio.CancelScope) -> None:
        with scope:
            while True:
                while self._changed:
                    uri = next(iter(self._changed))
                    del self._changed[uri]
                    try:
                        await self._send(uri)
                    except OSError:  # the client has closed the pipe
                        self.close()
                    except Exception:  # an error of one connection must not affect other clients
                        LOG.exception("a client's subscriptions ended: a notification failed")
                        self.close()
                if not self._held:
                    self._scope = None
                    return
                self._woken = anyio.Event()
                await self._woken.wait()


class Subscriptions:
    """Handlers of the three subscription methods. Subscriptions end with the client's connection."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._ask = dispatcher
        self._updates = dispatcher.context.updates

    async def subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        page = await self._observable_page(caller_of(ctx), params.uri)
        self._subscriber(ctx).add(params.uri, page)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._subscriber(ctx).remove(params.uri)
        return types.EmptyResult()

    async def listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Send notifications until the client disconnects or the server shuts down."""
        uris = tuple(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        if len(uris) > MOST_PAGES:
            raise too_many_pages()
        pages: dict[str, ObservablePage] = {}
        for uri in uris:
            with self._naming(ctx, uri):
                pages[uri] = await self._observable_page(caller_of(ctx), uri)
        bus = _Bus()
        handler = ListenHandler(bus, max_buffered_events=MOST_BEHIND)
        # Lists never change, so confirm only the page subscriptions of the requested filter.
        honoured = types.SubscriptionFilter(resource_subscriptions=[*uris])
        ending = _Ending(stream_evicted(self._updates.places.most))
        with ExitStack() as held, self._updates.streaming(handler.close, ending.scope.cancel), ending.scope:
            for uri, page in pages.items():
                with self._naming(ctx, uri):
                    held.callback(self._updates.watch(page, partial(bus.tell, uri), ending.end))
            return await handler(ctx, params.model_copy(update={"notifications": honoured}))
        raise ending.reason

    @contextmanager
    def _naming(self, ctx: RequestContext, uri: str) -> Generator[None]:
        """Add the page's URI to errors inside the block, because one stream covers many pages."""
        try:
            yield
        except AppError as error:
            raise to_mcp(error, ctx.protocol_version, uri, has_guides=self._ask.catalogue.has_guides) from None

    async def _observable_page(self, caller: Caller | None, uri: str) -> ObservablePage:
        address = parse(uri)
        if address.category not in self._ask.catalogue.readers:
            raise ResourceNotFound(provided_uri=uri)
        context = self._ask.context_for(caller, scope_of(address.category))
        if address.category == MARKET and address.identifier and not address.identifier.lower().endswith(BOOK):
            return self._updates.market_page(await context.market.rules(address.identifier))
        if address in ORDER_PAGES and context.trading is not None:
            return await (await context.trading.opened()).page()
        if address.category in (GUIDE, CHARTS, MARKET) or self._is_listed(address):
            told = " and ".join(", ".join(self._ask.observable_pages).rsplit(", ", 1))
            said = f"{echo(uri)} sends no updates: only {told} can be subscribed to"
            raise InvalidArguments(summary=said)
        raise ResourceNotFound(provided_uri=uri)

    def _is_listed(self, address: ResourceUri) -> bool:
        return any(parse(spec.uri) == address for spec in self._ask.catalogue.resources)

    def _subscriber(self, ctx: RequestContext) -> Subscriber:
        connection = connection_of(ctx)
        found: Subscriber | None = connection.state.get(_KEPT)
        if found is None:
            found = connection.state[_KEPT] = Subscriber(self._updates, ctx.session.send_resource_updated)
            connection.exit_stack.callback(found.close)
        return found


@dataclass(eq=False, slots=True)
class _Ending:
    """Eviction of a stream in favour of another party (caller).

    The stream is cancelled, because a slow reader could delay closing it forever.
    """

    reason: AppError
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def end(self, reason: AppError) -> None:
        self.reason = reason
        self.scope.cancel()


class _Bus:
    """Event bus between the pages of one stream and the SDK's listener for this stream."""

    def __init__(self) -> None:
        self._listener: Callable[[ServerEvent], None] | None = None

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._listener = listener
        return self._part

    def _part(self) -> None:
        self._listener = None

    def tell(self, uri: str) -> None:
        if self._listener is not None:
            self._listener(ResourceUpdated(uri=uri))

    async def publish(self, event: ServerEvent) -> None:
        """Raise NotImplementedError. Pages notify the listener directly."""
        raise NotImplementedError(event)
