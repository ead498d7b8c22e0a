"""Pages that a client wants to hear of: by subscribing to them one by one, or on one stream from 2026-07-28 on."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
from mcp import types
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent

from mcp_binance_server.domain.access import Scope
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import AppError, InvalidArguments, ResourceNotFound, echo
from mcp_binance_server.feeds.errors import given_away
from mcp_binance_server.surface.caller import Caller, caller_of
from mcp_binance_server.surface.connection import connection_of
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.errors import RequestContext, to_mcp
from mcp_binance_server.surface.spec import scope_of
from mcp_binance_server.surface.subscriber import MOST_PAGES, Subscriber, too_many_pages
from mcp_binance_server.surface.uris import CHARTS, GUIDE, MARKET, ResourceUri, parse

SCOPE: Scope = scope_of(MARKET)
BOOK = "/orderbook"
# A client this far behind has stopped reading; its stream is ended, and it can open another.
MOST_BEHIND = 4 * MOST_PAGES
_KEPT = "mcp_binance_server.subscriber"


class Subscriptions:
    """The three methods of the protocol; what they hold ends with whoever asked for it."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._ask = dispatcher
        self._updates = dispatcher.context.updates

    async def subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        rules = await self._live_page(caller_of(ctx), params.uri)
        self._subscriber(ctx).add(params.uri, rules)
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
        pages: dict[str, SymbolRules] = {}
        for uri in uris:
            with self._naming(ctx, uri):
                pages[uri] = await self._live_page(caller_of(ctx), uri)
        bus = _Bus()
        handler = ListenHandler(bus, max_buffered_events=MOST_BEHIND)
        # Of all that can be wished for, only these pages ever change; the answer says so.
        honoured = types.SubscriptionFilter(resource_subscriptions=[*uris])
        ending = _Ending(given_away(self._updates.places.most))
        with ExitStack() as held, self._updates.streaming(handler.close, ending.scope.cancel), ending.scope:
            for uri, rules in pages.items():
                with self._naming(ctx, uri):
                    held.callback(self._updates.watch(rules, partial(bus.tell, uri), ending.end))
            return await handler(ctx, params.model_copy(update={"notifications": honoured}))
        raise ending.reason

    @contextmanager
    def _naming(self, ctx: RequestContext, uri: str) -> Generator[None]:
        """Say of which page an error is: a stream is asked for with many."""
        try:
            yield
        except AppError as error:
            raise to_mcp(error, ctx.protocol_version, uri, has_guides=self._ask.catalogue.has_guides) from None

    async def _live_page(self, caller: Caller | None, uri: str) -> SymbolRules:
        address = parse(uri)
        if address.category not in self._ask.catalogue.readers:
            raise ResourceNotFound(provided_uri=uri)
        context = self._ask.context_for(caller, scope_of(address.category))
        if address.category == MARKET and address.identifier and not address.identifier.lower().endswith(BOOK):
            return await context.market.rules(address.identifier)
        if address.category in (GUIDE, CHARTS, MARKET) or self._is_listed(address):
            said = f"{echo(uri)} does not tell when it changes: only binance://market/{{symbol}} can be subscribed to"
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
