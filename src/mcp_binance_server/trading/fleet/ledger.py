"""Claims and limits of an account with several workers. The shared state decides, and each worker records.

An order is reserved in the shared state, then recorded in this worker's journal. It is sent only if both still allow
it. If the state or the journal is lost, the exchange is queried by the order's ID.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_binance_server.domain.orders import Order
from mcp_binance_server.errors import AppError, EngineUnavailable
from mcp_binance_server.state.claims import AccountBook, AccountStop, Reservation
from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.trading.errors import TradingNotReady
from mcp_binance_server.trading.fleet.agreements import declined_shelf
from mcp_binance_server.trading.fleet.records import SharedIntent, shared_room
from mcp_binance_server.trading.journal.agreements import PreviewIsDeclined
from mcp_binance_server.trading.journal.ledger import (
    Admitted,
    HostLedger,
    Judge,
    LimitPassed,
    TradingIsStopped,
    admitted,
)
from mcp_binance_server.trading.journal.limits import PositionRoom
from mcp_binance_server.trading.journal.reading import JournalReader, OrderPast
from mcp_binance_server.trading.journal.records import Intent, IntentState, NewIntent, Stopped
from mcp_binance_server.trading.journal.stops import passes_stop
from mcp_binance_server.trading.journal.store import Store
from mcp_binance_server.trading.judgement.charges import MINUTE_MS, Charge, charges, not_counted
from mcp_binance_server.trading.judgement.exposure import Holding, OpenOrder, Purpose
from mcp_binance_server.trading.judgement.guards import DUPLICATE_MS, RecentOrder
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms

LOG = logging.getLogger(__name__)

FORGOTTEN = "the shared state has today's usage of the limits again"
TAKEN_OVER = "its claim by another server is settled"
# Most attempts to claim an order while similar orders arrive.
TRIES = 3
# A time later than every claim. With this time, a query returns only claims that are not final.
OPEN_ONLY = 2**52


@dataclass(eq=False)
class FleetLedger:
    """Journal of one worker, together with the claims of all workers."""

    host: HostLedger
    engine: StateEngine
    account: str
    policy: Policy
    claiming: set[PreviewId] = field(default_factory=set[PreviewId])
    """Intents of this process that are reserved and not yet in its journal."""
    _here: set[PreviewId] = field(default_factory=set[PreviewId])
    _released: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    @property
    def store(self) -> Store:
        return self.host.store

    @property
    def owner(self) -> str:
        return self.host.owner

    async def claim(  # noqa: PLR0917 - all inputs of a claim
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None = None,
        judge: Judge | None = None,
        holding: Holding | None = None,
    ) -> tuple[Intent, bool]:
        """Reserve an intent for all workers, then record it.

        A second caller on any worker gets the result of the first.

        Raises:
            EngineUnavailable: the shared state is unavailable, so nothing can be sent.
            TradingNotReady: the shared state was emptied and does not know the usage of limits yet.
        """
        if (found := await self.find(new.preview_id)) is not None:
            return found, False
        if await self.engine.shelved(declined_shelf(self.account), new.preview_id) is not None:
            raise PreviewIsDeclined
        self.claiming.add(new.preview_id)
        try:
            shared = SharedIntent(prepared(new, self.owner, now_ms), new.asset)
            reserved = await self._reserved(shared, charges, room, judge, holding)
            if isinstance(reserved, Intent):
                return reserved, False
            # The limits were charged in the shared state: here they are only counted.
            counted = replace(reserved, charges=tuple(replace(each, most=None) for each in reserved.charges))
            try:
                return await self.host.claim(new, (), now_ms, judge=lambda _: counted)
            except BaseException:
                await self._unsent(_with_purpose(shared, reserved.purpose), now_ms)
                raise
        finally:
            self.claiming.discard(new.preview_id)

    async def adopt(self, new: NewIntent, charges: tuple[Charge, ...], order: Order, now_ms: int) -> Intent | None:
        """Record an order that exists at the exchange. Return None if a worker had already claimed it."""
        value = await self.engine.find_claim(self.account, new.preview_id)
        if value is not None:
            shared = SharedIntent.from_bytes(value).intent
            new = replace(new, visitor=shared.visitor, way=shared.way, terms=shared.terms)
        adopted = await self.host.adopt(new, charges, order, now_ms)
        if adopted is not None:
            await self.tell(SharedIntent(adopted, new.asset))
        return adopted if value is None else None

    async def mark_sent(self, preview_id: PreviewId, now_ms: int) -> None:
        """Mark the intent as sent, first in the shared state.

        The mark is refused if any worker has stopped trading or settled the intent.
        """
        intent = await self.host.find(preview_id)
        if intent is None:
            raise KeyError(preview_id)
        leaving = SharedIntent(replace(intent, state="SENT", updated_ms=now_ms), "")
        value = await self.engine.find_claim(self.account, preview_id)
        if value is not None:
            leaving = replace(leaving, asset=SharedIntent.from_bytes(value).asset)
        self._require(await self.engine.depart(self.account, leaving.news))
        await self.host.mark_sent(preview_id, now_ms)

    async def move(
        self,
        preview_id: PreviewId,
        state: IntentState,
        facts: Mapping[str, Any],
        now_ms: int,
        *orders: Order,
        target: Order | None = None,
    ) -> Intent:
        """Record the result in the journal, then share it. The journal decides. A failed share is repeated later."""
        moved = await self.host.move(preview_id, state, facts, now_ms, *orders, target=target)
        replaced = moved.terms.replaces
        old = None if replaced is None else await self.host.named(self.account, replaced)
        with suppress(EngineUnavailable):
            await self.agree_on(moved, str(facts.get("reason", "")))
            if old is not None:
                await self.agree_on(old, "")
        return moved

    async def note_once(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str) -> None:
        await self.host.note_once(state, facts, now_ms, about)

    async def find(self, preview_id: PreviewId) -> Intent | None:
        """Return the intent from this journal, or from the shared state if another worker has it."""
        return await self.host.find(preview_id) or await self._elsewhere(preview_id)

    async def named(self, account: str, client_order_id: str) -> Intent | None:
        """Return an order by its ID at the exchange. An order of another worker is first recorded in this journal."""
        found = await self.host.named(account, client_order_id)
        if found is None and account == self.account:
            await self.agree()
            found = await self.host.named(account, client_order_id)
        return found

    async def past(
        self,
        terms: Terms,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None,
        holding: Holding | None = None,
    ) -> OrderPast:
        """Return the inputs of the guards from the claims of all workers.

        The stop is also read from this worker's journal.
        """
        since_ms = min([now_ms, *(each.read_ms for each in (room, holding) if each is not None)])
        book = await self.book(now_ms, since_ms)
        orders = () if holding is None else tuple(_orders(book, holding))
        known = [each.intent for each in read_values(book.values)]
        own = [each for each in known if (each.terms.symbol, each.terms.side) == (terms.symbol, terms.side)]
        bought = 0
        if room is not None:
            bought = sum(
                each.intent.counted
                for each in read_values(book.values)
                if (each.asset, each.intent.terms.side) == (room.asset, "BUY")
                and (each.intent.final_ms is None or each.intent.final_ms >= room.read_ms)
            )
        recent = (
            RecentOrder(each.client_order_id, each.terms, each.prepared_ms, each.is_unresolved)
            for each in own
            if each.is_unresolved or each.prepared_ms > now_ms - DUPLICATE_MS
        )
        stops = [await self.host.stopped(terms.account), self._stopped_by(book.stop)]
        stopped = min((each for each in stops if each is not None), key=lambda each: each.allows_exits, default=None)
        minutes = (each for each in charges if each.span == "minute")
        begun = {each.name: [one.prepared_ms for one in _in_minute(known, each, now_ms)] for each in minutes}
        oldest_ms = {name: min(times) for name, times in begun.items() if times}
        return OrderPast(stopped, _used(book, known, charges, now_ms), bought, tuple(recent), orders, oldest_ms)

    async def reason_of(self, intent: Intent) -> str:
        if await self.host.find(intent.preview_id) is not None:
            return await self.host.reason_of(intent)
        value = await self.engine.find_claim(self.account, intent.preview_id)
        return "" if value is None else SharedIntent.from_bytes(value).reason

    async def used(self, account: str, charges: tuple[Charge, ...], now_ms: int) -> dict[str, int]:
        if account != self.account:
            return await self.host.used(account, charges, now_ms)
        book = await self.book(now_ms, now_ms)
        return _used(book, [each.intent for each in read_values(book.values)], charges, now_ms)

    async def unresolved(self, account: str | None = None) -> list[Intent]:
        """Return the intents with an unknown outcome. For this ledger's account, include those of other workers."""
        own = await self.host.unresolved(account)
        if account != self.account:
            return own
        with suppress(EngineUnavailable):
            book = await self.book(OPEN_ONLY, OPEN_ONLY)
            known = {each.preview_id for each in own}
            told = [each.intent for each in read_values(book.values) if each.intent.is_unresolved]
            own += [each for each in told if each.preview_id not in known and not await self._is_here(each)]
        return own

    async def agree(self) -> None:
        """Record the orders of other workers in this journal. Only orders in the journal can be cancelled."""
        with suppress(EngineUnavailable):
            await self.take_in((await self.book(0, 0)).values)

    async def agree_on(self, intent: Intent, reason: str) -> None:
        """Share the state of an intent of this journal with all workers.

        Raises:
            EngineUnavailable: it could not be shared.
        """
        asset = await JournalReader(self.store).asset_of(intent.preview_id)
        await self.tell(SharedIntent(intent, asset, reason))

    async def tell(self, *known: SharedIntent) -> None:
        """Store the state of all these intents. Intents that are new to the shared state are charged to the limits.

        Raises:
            EngineUnavailable: they could not be shared.
        """
        await self.engine.recount(self.account, [(each.claim(self.charged(each)), each.news) for each in known])

    async def stop(self, why: str, by: str, now_ms: int, account: str, *, allows_exits: bool = True) -> Stopped:
        """Stop the account on all workers. If the shared state is unavailable, the stop is shared later."""
        stopped = await self.host.stop(why, by, now_ms, account, allows_exits=allows_exits)
        if account == self.account:
            with suppress(EngineUnavailable):
                await self.engine.stop_account(
                    account, stopped.why, since_ms=stopped.since_ms, allows_exits=stopped.allows_exits
                )
        return stopped

    async def stopped(self, account: str) -> Stopped | None:
        own = await self.host.stopped(account)
        if own is None and account == self.account:
            with suppress(EngineUnavailable):
                own = self._stopped_by((await self.book(OPEN_ONLY, OPEN_ONLY)).stop)
        return own

    async def book(self, now_ms: int, since_ms: int) -> AccountBook:
        return await self.engine.account_book(self.account, now_ms=now_ms, since_ms=since_ms)

    def charged(self, shared: SharedIntent) -> tuple[Charge, ...]:
        return charges(shared.intent.terms, self.policy, shared.intent.way, shared.intent.purpose)

    async def take_in(self, values: tuple[bytes, ...]) -> None:
        """Record orders of other workers that are open or executed and not yet in this journal."""
        for each in read_values(values):
            intent = each.intent
            await self._take_in_plan(intent)
            if not each.orders or intent.preview_id in self._here:
                continue
            if await self._is_here(intent):
                continue
            name = intent.client_order_id
            new = NewIntent(intent.preview_id, name, intent.visitor, each.asset, intent.way, intent.terms)
            first, *others = each.orders
            await self.host.adopt(new, self.charged(each), first, intent.updated_ms)
            for order in others:
                await self.host.follow(intent.preview_id, order, intent.updated_ms)

    async def _take_in_plan(self, intent: Intent) -> None:
        """Record which orders a worker has cancelled for this one: their coins may be without an exit."""
        replaced = () if intent.terms.replaces is None or intent.terms.amends else (intent.terms.replaces,)
        for name in (*replaced, *(each.client_order_id for each in intent.terms.releases)):
            if (name, intent.preview_id) in self._released:
                continue
            old = await self.host.named(self.account, name)
            if old is not None and old.is_cancelled and (old.final_ms or 0) >= intent.prepared_ms:
                await self.host.release(old.preview_id, intent.preview_id)
                self._released.add((name, intent.preview_id))

    def _stopped_by(self, stop: AccountStop | None) -> Stopped | None:
        return None if stop is None else Stopped(stop.why, stop.since_ms, self.account, stop.allows_exits)

    async def _is_here(self, intent: Intent) -> bool:
        if await self.host.find(intent.preview_id) is None:
            return False
        self._here.add(intent.preview_id)
        return True

    async def _elsewhere(self, preview_id: PreviewId) -> Intent | None:
        value = await self.engine.find_claim(self.account, preview_id)
        return None if value is None else SharedIntent.from_bytes(value).intent

    async def _reserved(
        self,
        shared: SharedIntent,
        charges: tuple[Charge, ...],
        room: PositionRoom | None,
        judge: Judge | None,
        holding: Holding | None,
    ) -> Intent | Admitted:
        """Reserve the intent and return its admission, or return the intent that another process has reserved."""
        terms, way, now_ms = shared.intent.terms, shared.intent.way, shared.intent.prepared_ms
        for _ in range(TRIES):
            past = await self.past(terms, charges, now_ms, room, holding)
            found = Admitted("entry", charges) if judge is None else admitted(judge(past))
            if past.stopped is not None and not passes_stop(past.stopped, found.purpose, way):
                raise TradingIsStopped(past.stopped)
            own_room = room if found.purpose == "entry" else None
            made = await self.engine.reserve(
                self.account,
                _with_purpose(shared, found.purpose).claim(found.charges),
                room=shared_room(own_room),
                alike_ms=DUPLICATE_MS,
            )
            match made.verdict:
                case "claimed":
                    return found
                case "held":
                    return SharedIntent.from_bytes(made.value).intent
                case "full":
                    raise _passed(made, found.charges, own_room, terms.taken)
                case "alike" | "unsettled":
                    continue  # A similar order has just arrived. On the next attempt the guards see it and name it.
                case _:
                    self._require(made)
        raise TradingNotReady(step="another order of the same symbol and side is placed")

    def _require(self, made: Reservation) -> None:
        match made.verdict:
            case "claimed":
                return
            case "stopped" if made.stop is not None:
                raise TradingIsStopped(Stopped(made.stop.why, made.stop.since_ms, self.account, made.stop.allows_exits))
            case "gone" if made.value:
                raise TradingNotReady(step=TAKEN_OVER)
            case _:
                raise TradingNotReady(step=FORGOTTEN)

    async def _unsent(self, shared: SharedIntent, now_ms: int) -> None:
        unsent = replace(shared.intent, state="NOT_SENT", updated_ms=now_ms, final_ms=now_ms)
        try:
            await self.engine.tell(self.account, replace(shared, intent=unsent, reason="it was not recorded").news)
        except AppError as error:  # the keeper releases it later, because it is in no journal
            LOG.warning("claim of order %s not released yet: %s", unsent.client_order_id, error.message)


def prepared(new: NewIntent, owner: str, now_ms: int) -> Intent:
    """Return the intent of a new claim."""
    nothing = new.terms.quantity - new.terms.quantity
    return Intent(
        preview_id=new.preview_id,
        client_order_id=new.client_order_id,
        visitor=new.visitor,
        owner=owner,
        state="PREPARED",
        status="",
        order_id=None,
        executed=nothing,  # type: ignore[arg-type] # a quantity minus itself
        spent=nothing,  # type: ignore[arg-type] # as above
        counted=new.terms.taken,
        way=new.way,
        terms=new.terms,
        prepared_ms=now_ms,
        updated_ms=now_ms,
        final_ms=None,
    )


def read_values(values: tuple[bytes, ...]) -> list[SharedIntent]:
    """Parse the intents that workers shared. Log and skip invalid ones."""
    found: list[SharedIntent] = []
    for value in values:
        try:
            found.append(SharedIntent.from_bytes(value))
        except ValueError:
            LOG.error("invalid claim in the shared state: ignored")  # noqa: TRY400 - message is complete
    return found


def _with_purpose(shared: SharedIntent, purpose: Purpose) -> SharedIntent:
    return replace(shared, intent=replace(shared.intent, purpose=purpose))


def _orders(book: AccountBook, holding: Holding) -> Iterator[OpenOrder]:
    for each in read_values(book.values):
        is_open = each.intent.final_ms is None or each.intent.final_ms >= holding.read_ms
        if each.asset == holding.asset and is_open:
            yield each.intent.exposure(holding.read_ms)


def _counted_by(known: list[Intent], charge: Charge) -> Iterator[Intent]:
    return (each for each in known if each.purpose not in not_counted(charge))


def _in_minute(known: list[Intent], charge: Charge, now_ms: int) -> Iterator[Intent]:
    return (each for each in _counted_by(known, charge) if each.prepared_ms > now_ms - MINUTE_MS)


def _used(book: AccountBook, known: list[Intent], charges: tuple[Charge, ...], now_ms: int) -> dict[str, int]:
    def used(charge: Charge) -> int:
        match charge.span:
            case "day":
                return book.used.get(charge.name, 0)
            case "minute":
                return sum(1 for _ in _in_minute(known, charge, now_ms))
            case "open":
                return sum(each.final_ms is None for each in _counted_by(known, charge))

    return {each.name: used(each) for each in charges}


def _passed(made: Reservation, charges: tuple[Charge, ...], room: PositionRoom | None, counted: int) -> LimitPassed:
    if room is not None and made.name == room.name:
        return LimitPassed(Charge(room.name, "open", "money", counted, room.most), made.used)
    return LimitPassed(next(each for each in charges if each.name == made.name), made.used)
