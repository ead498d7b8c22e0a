"""Background task of a worker. It shares the state of its orders and settles the orders of dead workers."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import AppError
from mcp_binance_server.state.claims import KEEP_MS
from mcp_binance_server.state.engine import Fenced
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.fleet.agreements import FleetAgreements
from mcp_binance_server.trading.fleet.ledger import FleetLedger, read_values
from mcp_binance_server.trading.fleet.records import SharedIntent
from mcp_binance_server.trading.fleet.stops import GlobalStop, SharedStop, resumings
from mcp_binance_server.trading.journal.agreements import APPROVED, DECLINED
from mcp_binance_server.trading.journal.reading import JournalReader
from mcp_binance_server.trading.journal.records import IntentState, NewIntent
from mcp_binance_server.trading.journal.stops import ALL_ACCOUNTS
from mcp_binance_server.trading.journal.watching import WATCHED_MS
from mcp_binance_server.trading.judgement.terms import PreviewId
from mcp_binance_server.trading.reconciling import NEVER_PLACED
from mcp_binance_server.trading.settling import asked_for

LOG = logging.getLogger(__name__)

# Query interval for an order that was not found, in ms.
ASK_LATE_MS = 60_000
OPENING_MS = 30_000
AT_ONCE = 100
JOINING_MS = 250
AGREED = "all servers of this account have the same usage of today's limits"


@dataclass(frozen=True, slots=True)
class KeeperPace:
    """Intervals and timeouts of a keeper."""

    tick_ms: int = 250
    alive_ms: int = 3_000
    """Heartbeat timeout in ms."""
    silent_ms: int = 1_000
    """Additional time before a worker counts as dead, in ms. The shared state may have lost the last heartbeat."""
    unwritten_ms: int = 5_000
    """Age in ms at which a reservation that is in no journal counts as never recorded."""
    ask_ms: int = 1_000
    """Query interval for an order of a dead worker, in ms."""


@dataclass(eq=False)
class FleetKeeper:
    """Synchronisation of one worker with the shared state, by default four times a second."""

    ledger: FleetLedger
    agreements: FleetAgreements
    broker: Broker
    clock: Clock
    now_ms: Callable[[], int]
    count_again: Callable[[], Awaitable[None]]
    """Callback that records today's orders that are at the exchange but not in the journal."""
    settle_ms: int
    """Wait before an emptied state is reopened, in ms. Sent orders arrive, and other workers share their data."""
    pace: KeeperPace = KeeperPace()
    may_open: bool = False
    shares_global_stop: bool = False
    """Whether this keeper also shares the stop of the whole machine. Exactly one keeper per machine does."""
    _is_joined: bool = False
    _seq: int = 0
    _epoch: str | None = None
    _seen_ms: int = 0
    _closed_since_ms: float | None = None
    _silent_since_ms: dict[str, float] = field(default_factory=dict[str, float])
    _asked_ms: dict[PreviewId, float] = field(default_factory=dict[PreviewId, float])

    def __post_init__(self) -> None:
        self._reader = JournalReader(self.ledger.store)
        host, engine = self.ledger.host, self.ledger.engine
        self._stop = SharedStop(host, engine, self.ledger.account, self.now_ms)
        everybody = SharedStop(host, engine, ALL_ACCOUNTS, self.now_ms)
        self.everybody = GlobalStop(everybody) if self.shares_global_stop else None

    async def run(self) -> None:
        """Synchronise until this task is cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._live)
            if self.everybody is not None:  # separate, so that a slow exchange does not delay it
                tasks.start_soon(self._over_and_over, self.everybody.tick)
            await self._over_and_over(self.tick)

    async def joined(self) -> None:
        """Wait until the account is open and the shared state has this journal's intents.

        This is the last start step.
        """
        self.may_open = True
        while not self._is_joined:
            await self.clock.sleep_until_ms(self.clock.monotonic_ms() + self._pause_ms)

    async def tick(self) -> None:
        """Run one synchronisation.

        Raises:
            AppError: the state or the exchange is unavailable; the next tick continues.
        """
        engine, now_ms = self.ledger.engine, self.now_ms()
        await self._publish_news()
        book = await self.ledger.book(now_ms, max(0, self._seen_ms - self.pace.alive_ms))
        await self._stop.share(book)
        if engine.epoch != self._epoch:
            await self._restate(engine.epoch)
        if book.is_open:
            self._closed_since_ms = None
            self._is_joined = self._epoch is not None
        elif self.may_open:
            await self._open()
        await self.ledger.take_in(book.values)
        await self.agreements.take_in()
        for each in read_values(book.values):
            await self._settle_orphan(each)
        self._seen_ms = now_ms

    async def _over_and_over(self, tick: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await tick()
            except AppError as error:  # no order is sent in the meantime
                LOG.debug("no update sent to other servers: %s", error.message)
            except (ValueError, KeyError, TypeError):
                LOG.exception("invalid update from another server")
            await self.clock.sleep_until_ms(self.clock.monotonic_ms() + self._pause_ms)

    @property
    def _pause_ms(self) -> int:
        """Time until the next tick, in ms.

        It is shorter while the account is closed, because a caller may be waiting.
        """
        return self.pace.tick_ms if self._is_joined else min(self.pace.tick_ms, JOINING_MS)

    async def _live(self) -> None:
        """Send heartbeats of this worker, even while it waits for the exchange."""
        while True:
            with suppress(AppError):
                await self.ledger.engine.put(_alive(self.ledger.owner), b"1", ttl_ms=self.pace.alive_ms)
            await self.clock.sleep_until_ms(self.clock.monotonic_ms() + self.pace.tick_ms)

    async def _publish_news(self) -> None:
        """Share the new events of this journal, to which all processes of this host write."""
        if self._epoch is None:
            return
        events = await self._reader.events_since(self._seq)
        about: dict[PreviewId, str] = {}
        for each in events:
            if each.state == APPROVED:
                await self.agreements.publish_signed(PreviewId(each.about), str(each.told["signature"]))
            elif each.state == DECLINED:
                await self.agreements.publish_declined(PreviewId(each.about), str(each.told["visitor"]), each.at_ms)
            elif each.about:
                about[PreviewId(each.about)] = str(each.told.get("reason", ""))
        for each in resumings(events):
            await self._stop.publish_resumed(each)
        for preview_id, reason in about.items():
            intent = await self.ledger.host.find(preview_id)
            if intent is not None and intent.terms.account == self.ledger.account:
                await self.ledger.agree_on(intent, reason)
        if events:
            self._seq = events[-1].seq

    async def _restate(self, epoch: str) -> None:
        """Share the recent intents of this journal with a new shared state. The state counts each intent once."""
        self._seq = (await self._reader.changed_since(self._seq))[0]
        account, since_ms = self.ledger.account, max(0, self.now_ms() - KEEP_MS)
        known = [
            SharedIntent(each, await self._reader.asset_of(each.preview_id), await self.ledger.host.reason_of(each))
            for each in await self._reader.since_or_open(account, since_ms)
        ]
        for first in range(0, len(known), AT_ONCE):
            await self.ledger.tell(*known[first : first + AT_ONCE])
        self._epoch = epoch

    async def _open(self) -> None:
        """Open the account in an empty shared state.

        One worker does this, after workers with more data have shared it.
        """
        if self._is_joined:
            LOG.error("the shared state was emptied: no order is sent until today's usage of the limits is restored")
        self._is_joined = False
        now = self.clock.monotonic_ms()
        if self._closed_since_ms is None:
            self._closed_since_ms = now
        if now - self._closed_since_ms < self.settle_ms:
            return
        engine, name = self.ledger.engine, f"trade:{self.ledger.account}"
        lease = await engine.lease(name, self.ledger.owner, ttl_ms=OPENING_MS)
        if lease is None:
            return
        epoch = engine.epoch
        await self.count_again()
        await self._restate(epoch)
        if await engine.recount(self.ledger.account, (), lease=lease) is Fenced.WRITTEN:
            LOG.info("the shared state has today's usage of account %s", self.ledger.account)
        await engine.release(lease)

    async def _settle_orphan(self, shared: SharedIntent) -> None:
        """Settle an order whose worker has died. Query the order; never send it."""
        intent, now_ms = shared.intent, self.now_ms()
        if intent.final_ms is not None or not (intent.is_unresolved or intent.state == "NOT_PLACED"):
            return
        if await self.ledger.host.find(intent.preview_id) is not None:
            return  # it is in this journal, so the desk settles it
        if intent.owner == self.ledger.owner:
            age_ms = now_ms - intent.prepared_ms
            is_left = intent.preview_id not in self.ledger.claiming and age_ms > self.pace.unwritten_ms
            if is_left and intent.state == "PREPARED":
                await self._tell(shared, "NOT_SENT", "it was not recorded")
        elif await self._is_gone(intent.owner):
            await self._take_over(shared)

    async def _is_gone(self, owner: str) -> bool:
        if await self.ledger.engine.get(_alive(owner)) is not None:
            self._silent_since_ms.pop(owner, None)
            return False
        now = self.clock.monotonic_ms()
        return now - self._silent_since_ms.setdefault(owner, now) >= self.pace.silent_ms

    async def _take_over(self, shared: SharedIntent) -> None:
        intent = shared.intent
        if intent.state == "PREPARED":
            # If the order's owner wakes up, it cannot send the order: the shared state has the order as final.
            await self._tell(shared, "NOT_SENT", "the server stopped before it sent this order")
            return
        pause_ms = ASK_LATE_MS if intent.state == "NOT_PLACED" else self.pace.ask_ms
        now = self.clock.monotonic_ms()
        if now - self._asked_ms.get(intent.preview_id, -pause_ms) < pause_ms:
            return
        self._asked_ms[intent.preview_id] = now
        over_ms = intent.updated_ms + (WATCHED_MS if intent.state == "NOT_PLACED" else self.broker.horizon_ms)
        is_over = self.now_ms() >= over_ms  # read before the query, not after the answer
        order = await asked_for(intent, self.broker)
        if order is not None and intent.terms.amends:
            await self._tell(shared, "ACKED", "", is_over=True)
        elif order is not None:
            new = NewIntent(
                intent.preview_id, intent.client_order_id, intent.visitor, shared.asset, intent.way, intent.terms
            )
            await self.ledger.adopt(new, self.ledger.charged(shared), order, self.now_ms())
            if intent.state == "NOT_PLACED":
                why = NEVER_PLACED.format(name=intent.client_order_id, state=intent.state)
                await self.ledger.stop(why, "the fleet", self.now_ms(), self.ledger.account, allows_exits=False)
        elif is_over:
            reason = "its server has stopped, and the exchange does not have it"
            await self._tell(shared, "NOT_PLACED", reason, is_over=intent.state == "NOT_PLACED")

    async def _tell(self, shared: SharedIntent, state: IntentState, reason: str, *, is_over: bool = False) -> None:
        now_ms = self.now_ms()
        final_ms = now_ms if is_over or state == "NOT_SENT" else None
        updated_ms = shared.intent.updated_ms if is_over else now_ms
        stands = replace(shared.intent, state=state, updated_ms=updated_ms, final_ms=final_ms)
        await self.ledger.engine.tell(self.ledger.account, replace(shared, intent=stands, reason=reason).news)


def _alive(owner: str) -> str:
    return f"trading-worker:{owner}"
