"""Pages that clients subscribe to, and how they are told of changes."""

import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
from mcp import types
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent

from mcp_binance_server.errors import AppError, InvalidArguments, ResourceNotFound, echo
from mcp_binance_server.feeds.errors import StreamsFull, given_away
from mcp_binance_server.services.live.updates import Release, ToldPage, UpdateService
from mcp_binance_server.surface.caller import Caller, caller_of, connection_of
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import RequestContext, to_mcp
from mcp_binance_server.surface.resources import JOURNAL, OPEN_ORDERS
from mcp_binance_server.surface.spec import scope_of
from mcp_binance_server.surface.uris import CHARTS, GUIDE, MARKET, ResourceUri, parse

LOG = logging.getLogger(__name__)

MOST_PAGES = 50

BOOK = "/orderbook"
# What an order changes, where orders are placed.
ORDER_PAGES = (parse(OPEN_ORDERS.uri), parse(JOURNAL.uri))
# A client this far behind has stopped reading; its stream is ended, and it can open another.
MOST_BEHIND = 4 * MOST_PAGES
_KEPT = "mcp_binance_server.subscriber"


def too_many_pages() -> StreamsFull:
    return StreamsFull(what="Too many pages for one client", most=MOST_PAGES)


class Subscriber:
    """A client that subscribed; however slow it reads, a page waits for it at most once."""

    def __init__(self, updates: UpdateService, send: Callable[[str], Awaitable[None]]) -> None:
        self._updates = updates
        self._send = send
        self._held: dict[str, Release] = {}
        self._changed: dict[str, None] = {}
        self._woken = anyio.Event()
        self._scope: anyio.CancelScope | None = None

    def add(self, uri: str, page: ToldPage) -> None:
        """Watch a page under the address it was asked for by.

        Raises:
            NotStreamed: it has no live market.
            StreamsFull: this client, or the server, watches as much as it may.
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
        """Stop watching a page; one that was not watched stays so."""
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
        """Tell of a page once more and never again: who reads it then sees what it has become."""
        LOG.info("a subscription ends: %s", reason.message)
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
                    except OSError:  # a pipe that nobody reads any more
                        self.close()
                    except Exception:  # whatever else this client's connection does is this client's alone
                        LOG.exception("a client's subscriptions end: it could not be told")
                        self.close()
                if not self._held:
                    self._scope = None
                    return
                self._woken = anyio.Event()
                await self._woken.wait()


class Subscriptions:
    """The three methods of the protocol; what they hold ends with whoever asked for it."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._ask = dispatcher
        self._updates = dispatcher.context.updates

    async def subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        page = await self._told_page(caller_of(ctx), params.uri)
        self._subscriber(ctx).add(params.uri, page)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._subscriber(ctx).remove(params.uri)
        return types.EmptyResult()

    async def listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Tell of changes until the client leaves or the server winds down."""
        uris = tuple(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        if len(uris) > MOST_PAGES:
            raise too_many_pages()
        pages: dict[str, ToldPage] = {}
        for uri in uris:
            with self._naming(ctx, uri):
                pages[uri] = await self._told_page(caller_of(ctx), uri)
        bus = _Bus()
        handler = ListenHandler(bus, max_buffered_events=MOST_BEHIND)
        # Of all that can be wished for, only these pages ever change; the answer says so.
        honoured = types.SubscriptionFilter(resource_subscriptions=[*uris])
        ending = _Ending(given_away(self._updates.places.most))
        with ExitStack() as held, self._updates.streaming(handler.close, ending.scope.cancel), ending.scope:
            for uri, page in pages.items():
                with self._naming(ctx, uri):
                    held.callback(self._updates.watch(page, partial(bus.tell, uri), ending.end))
            return await handler(ctx, params.model_copy(update={"notifications": honoured}))
        raise ending.reason

    @contextmanager
    def _naming(self, ctx: RequestContext, uri: str) -> Generator[None]:
        """Say of which page an error is: a stream is asked for with many."""
        try:
            yield
        except AppError as error:
            raise to_mcp(error, ctx.protocol_version, uri, has_guides=self._ask.catalogue.has_guides) from None

    async def _told_page(self, caller: Caller | None, uri: str) -> ToldPage:
        address = parse(uri)
        if address.category not in self._ask.catalogue.readers:
            raise ResourceNotFound(provided_uri=uri)
        context = self._ask.context_for(caller, scope_of(address.category))
        if address.category == MARKET and address.identifier and not address.identifier.lower().endswith(BOOK):
            return self._updates.market_page(await context.market.rules(address.identifier))
        if address in ORDER_PAGES and context.trading is not None:
            return await (await context.trading.opened()).page()
        if address.category in (GUIDE, CHARTS, MARKET) or self._is_listed(address):
            told = " and ".join(", ".join(self._ask.told_pages).rsplit(", ", 1))
            said = f"{echo(uri)} does not tell when it changes: only {told} can be subscribed to"
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
    """The end of a stream whose place another needs: cancelled, not closed, for one who does not read would keep it."""

    reason: AppError
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def end(self, reason: AppError) -> None:
        self.reason = reason
        self.scope.cancel()


class _Bus:
    """The way from the pages of one stream to that stream, as the SDK has it."""

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
        """Nobody publishes here: each page tells for itself."""
        raise NotImplementedError(event)
