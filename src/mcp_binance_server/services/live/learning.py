"""Symbols that are streamed without a reader, so that the first question about them finds a history."""

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import uuid4

import anyio

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import AppError, EngineUnavailable, InvalidSymbol
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.live.service import LiveService
from mcp_binance_server.state.engine import Lease, Leases

LOG = logging.getLogger(__name__)

LOOK_MS = 20_000
LEASE_MS = 3 * LOOK_MS


@dataclass(eq=False)
class LearningService:
    """Streams of configured symbols, open while the server runs.

    Of all processes on one engine, only the lease holder streams. If it dies, another process takes over. The learned
    history is stored where all processes can read it. A symbol is retried if the exchange refuses it, or if there is no
    free place.
    """

    live: LiveService
    engine: Leases
    symbols: tuple[str, ...]
    _held: dict[str, tuple[SymbolFeed, AsyncExitStack]] = field(
        default_factory=dict[str, tuple[SymbolFeed, AsyncExitStack]]
    )
    _told: set[str] = field(default_factory=set[str])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator["LearningService"]:
        """Stream the symbols while the context is open."""
        if self.live.hub is None or not self.symbols:
            yield self
            return
        async with anyio.create_task_group() as tasks:
            with acting_for(""):  # for this process, not for a client
                tasks.start_soon(self._learn, self.live.hub)
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def _learn(self, hub: Hub) -> None:
        name, owner, clock = f"learning:{hub.url}", uuid4().hex, hub.clock
        lease: Lease | None = None
        try:
            while True:
                with suppress(EngineUnavailable):  # the leader continues; a new leader starts after the engine recovers
                    lease = await self.engine.lease(name, owner, ttl_ms=LEASE_MS)
                if lease is None:
                    await self._let_go()
                else:
                    await self._hold_all(hub)
                await clock.sleep_until_ms(clock.monotonic_ms() + LOOK_MS)
        finally:
            with anyio.CancelScope(shield=True), suppress(EngineUnavailable):
                await self._let_go()
                if lease is not None:
                    await self.engine.release(lease)

    async def _hold_all(self, hub: Hub) -> None:
        for text in self.symbols:
            if text in self._held and self._held[text][0].state == "closed":
                await self._held.pop(text)[1].aclose()
            if text not in self._held:
                try:
                    await self._hold(hub, text)
                except InvalidSymbol as error:
                    self._say(text, str(error))
                except AppError as error:
                    LOG.info("%s is not learned yet: %s", text.upper(), error)

    async def _hold(self, hub: Hub, text: str) -> None:
        async with AsyncExitStack() as entered:
            watch = await entered.enter_async_context(self.live.watching(text))
            feed = hub.peek(watch.rules.symbol)
            if feed is None:
                idle = f"it does not trade now ({watch.rules.status})"
                full = f"{hub.most} symbols are streamed already"
                self._say(text, full if watch.rules.is_trading else idle)
            else:
                self._held[text] = feed, entered.pop_all()

    async def _let_go(self) -> None:
        for _, held in self._held.values():
            await held.aclose()
        self._held.clear()

    def _say(self, text: str, reason: str) -> None:
        if text not in self._told:
            self._told.add(text)
            LOG.warning("MCP_BINANCE_LEARN_SYMBOLS: %s is skipped: %s", text.upper(), reason)
