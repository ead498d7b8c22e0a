"""Trading for one visitor within the operator's limits: preview, confirmation, one placement, tracking."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain

import anyio

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.market import PriceLevel
from mcp_binance_server.domain.money import Quantity, percent_of
from mcp_binance_server.domain.order_requests import TimeInForce
from mcp_binance_server.domain.orders import Fill
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.errors import AppError
from mcp_binance_server.services.account.amounts import AmountReader, CostReader, ReadOrder, RequestedOrder
from mcp_binance_server.services.account.preview import PreviewService
from mcp_binance_server.services.trading.answers import (
    Agreement,
    LimitUse,
    OrderJournal,
    OrderRecord,
    OrderTally,
    PlacedOrder,
    ReleasedOrder,
    TradablePreview,
    TradingStatus,
)
from mcp_binance_server.services.trading.approval_pages import ApprovalPages
from mcp_binance_server.services.trading.exit_results import result_of
from mcp_binance_server.services.trading.figures import TradingFigures
from mcp_binance_server.services.trading.planning import PLAIN, OrderOptions, Planner
from mcp_binance_server.services.trading.previews import Previews
from mcp_binance_server.services.trading.refusals import left_of, refusal, stopped_error
from mcp_binance_server.services.trading.reserved import coins_of
from mcp_binance_server.services.trading.situation import LEVELS, Seen, SituationReader
from mcp_binance_server.services.trading.trader import OWNER, OpenAccounts, Trader
from mcp_binance_server.services.trading.updates import OrderPage, OrderUpdates
from mcp_binance_server.trading.approvals import is_approved
from mcp_binance_server.trading.broker import Broker
from mcp_binance_server.trading.desk import Desk, Placed
from mcp_binance_server.trading.errors import (
    BINANCE_APP,
    RESUME_FIRST,
    ApprovalImpossible,
    AskedTooOften,
    KeyDoesNotTrade,
    OrderDeclined,
    PreviewNotFound,
)
from mcp_binance_server.trading.journal.agreements import Agreements, PreviewIsDeclined
from mcp_binance_server.trading.journal.ledger import GuardDenied
from mcp_binance_server.trading.journal.limits import LimitPassed
from mcp_binance_server.trading.journal.records import Intent, NewIntent
from mcp_binance_server.trading.journal.stops import TradingIsStopped
from mcp_binance_server.trading.judgement.charges import DAY_MS, standing
from mcp_binance_server.trading.judgement.guards import BROUGHT, Denied, denials, denied_by
from mcp_binance_server.trading.judgement.intent import OrderIntent, Touch
from mcp_binance_server.trading.judgement.policy import Policy, Way
from mcp_binance_server.trading.judgement.preview import walk
from mcp_binance_server.trading.judgement.steps import STEPS, step_id
from mcp_binance_server.trading.judgement.terms import (
    PreviewId,
    StoredPreview,
    Terms,
    TradingMode,
    client_order_id,
    preview_of,
)
from mcp_binance_server.trading.reconciling import NOBODY

MOST_DECLINED, DECLINED_MS = 3, 600_000
# Longest wait of a preview while the server starts, in seconds.
START_SECS = 2.0
MOST_OPEN, MOST_FILLS = 50, 1000
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class TradingService:
    """Trading of one visitor. Previews come from the market, and confirmed orders go to the desk."""

    situation_reader: SituationReader
    previews: Previews
    trying: PreviewService
    agreements: Agreements
    begin_feed: Callable[[Symbol], None]
    """Callback that starts the live feed of a symbol when it is previewed."""
    updates: OrderUpdates
    figures: TradingFigures
    trader: Trader = OWNER
    pages: ApprovalPages | None = None
    accounts: OpenAccounts | None = None
    """Accounts that open when their callers call; None if all accounts are open already."""

    async def opened(self) -> "TradingService":
        """Return the service for this caller's account. If the caller's key cannot trade, every order is refused.

        Raises:
            TradingNotReady: the account could not be opened yet.
            AppError: the exchange rejects the key, or is unavailable.
        """
        try:
            found = None if self.accounts is None else await self.accounts.of(self.trader)
        except KeyDoesNotTrade as error:
            return replace(self, trader=replace(self.trader, refusal=error.reason or ""))
        if found is None:
            return self
        trader = self.trader.trading_on(found.name) if self.trader.is_refused else self.trader
        return replace(self, situation_reader=found.situation_reader, agreements=found.agreements, trader=trader)

    @property
    def mode(self) -> TradingMode:
        return self.situation_reader.drafter.mode

    @property
    def policy(self) -> Policy:
        return self.situation_reader.drafter.policy

    @property
    def desk(self) -> Desk:
        return self.situation_reader.desk

    @property
    def venue(self) -> Venue:
        """Venue of all callers' orders."""
        return self.desk.broker_of(self.trader.key_account or "").venue

    @property
    def broker(self) -> Broker:
        return self.desk.broker_of(self.trader.account)

    def now_ms(self) -> int:
        return self.situation_reader.time.now_ms()

    async def preview(  # noqa: PLR0917 - an order, its options, and its amounts as they were read
        self,
        text: str,
        intent: OrderIntent,
        time_in_force: TimeInForce = "GTC",
        wish: OrderOptions = PLAIN,
        read: ReadOrder | None = None,
        cost: CostReader | None = None,
    ) -> TradablePreview:
        """Preview an order with its options. Store the preview for placing if no guard denies it."""
        await self._started()
        account = BROUGHT if self.trader.is_refused else self.trader.account
        planner = Planner(self.situation_reader.drafter, self.desk.ledger)
        planned = await planner.planned(self.trying, text, intent, time_in_force, wish, account, read)
        tried, terms, shown = planned.tried, planned.terms, planned.tried.preview
        base = shown.rules.base
        way = await self.situation_reader.way(terms, base)
        seen = Seen(shown.touch, shown.fill, tried.as_of_ms, await self._levels(terms) if terms.is_market else ())
        found = await self.situation_reader.situation(
            await self.situation_reader.around(terms, seen, base, way, self.trying.account)
        )
        denied = denials(found)
        self.figures.count_denials(denied)
        kept = None
        if not denied:
            self.begin_feed(terms.symbol)
            kept = await self.previews.keep(terms, self.trader.visitor, base, self.now_ms())
        counting = self.policy.counting_asset
        result = await result_of(tried, terms, self.trying.account, cost)
        return TradablePreview(tried, terms, kept, way, left_of(found), denied, counting, found.purpose, result)

    async def read(self, text: str, wanted: RequestedOrder, cost: CostReader) -> ReadOrder:
        """Return a requested order with numbers alone.

        Raises:
            InvalidArguments: an amount has no meaning in this order, or gives no order.
        """
        return await AmountReader(self.trying, cost, self.policy, self._for_sale).read(text, wanted)

    async def _for_sale(self, rules: SymbolRules) -> Quantity:
        account = BROUGHT if self.trader.is_refused else self.trader.account
        return (await coins_of(self.trying.account, self.desk.ledger, account, rules)).for_sale

    async def agreement(self, preview_id: PreviewId) -> Agreement | PlacedOrder:
        """Return the confirmation that a preview still needs. If it was placed, return the result.

        Raises:
            PreviewNotFound: this visitor has no such preview, or it has expired.
            OrderDeclined: the user has declined it.
            AskedTooOften: the user has declined too often recently to be asked again.
            ApprovalImpossible: it needs an approver, and there is none.
        """
        if (claimed := await self._claimed(preview_id)) is not None:
            return claimed
        now_ms = self.now_ms()
        kept = await self.previews.find(preview_id, self.trader.visitor, now_ms)
        if kept is None or kept.terms.account != self.trader.account:
            raise PreviewNotFound
        self._require_open(kept)
        way = await self.situation_reader.way(kept.terms, kept.asset)
        if way == "policy":
            return self._agreement(kept, way, is_given=True)
        if await self.agreements.is_declined(kept.preview_id):
            raise OrderDeclined
        if await self._is_signed(kept, now_ms):
            return self._agreement(kept, "apart", is_given=True)
        if way == "apart" and self.policy.confirm.approver is None:
            raise await self.without_yes(kept.terms)
        if way == "client":
            await self.require_question_allowed(kept.terms)
        return self._agreement(kept, way, is_given=False)

    async def place(self, kept: StoredPreview, way: Way) -> PlacedOrder:
        """Place a confirmed order. A repeated call returns the same order.

        Raises:
            PreviewNotFound: the preview has expired; nothing was sent.
            OrderDeclined: the user has declined it in the meantime; nothing was sent.
            OrderDenied: a guard or a limit does not allow it; nothing was sent.
            PreviewStale: the market has moved away from the preview; nothing was sent.
            OrderUnresolved: another order of its symbol and side may be open; nothing was sent.
            TradingNotReady: the server is still starting; nothing was sent.
            TradingStopped: no new order is taken; nothing was sent.
        """
        await self._started()
        self._require_open(kept)
        terms = kept.terms
        seen = await self._seen(kept)
        around = await self.situation_reader.around(terms, seen, kept.asset, way, self.trying.account)
        name = client_order_id(terms, kept.preview_id)
        new = NewIntent(kept.preview_id, name, self.trader.visitor, kept.asset, way, terms)
        try:
            placed = await self.desk.place(new, around.charges, around.room, around.judge, around.holding)
            await self.previews.forget(kept)
            return await self.told(placed)
        except GuardDenied as error:
            await self.situation_reader.stop_at(around.lost, terms.account)
            raise await self._refused(kept, error.denied) from None
        except LimitPassed as error:
            raise await self._refused(kept, denied_by(error.charge, error.used, self.now_ms())) from None
        except TradingIsStopped as error:
            self.figures.denials["stop"] += 1
            raise stopped_error(error.stopped, terms.network) from None
        except PreviewIsDeclined:
            raise OrderDeclined from None

    async def without_yes(self, terms: Terms, why: str | None = None) -> ApprovalImpossible:
        """Return the error for an order that no person can confirm here, with the ways that are left to the user."""
        is_stopped = await self.desk.ledger.stopped(terms.account) is not None
        left = [RESUME_FIRST] * is_stopped + [BINANCE_APP] * (self.mode == "live")
        error = ApprovalImpossible(instead=". ".join(left) or None)
        return error if why is None else replace(error, why=why)

    async def decline(self, kept: StoredPreview) -> None:
        """Record that the user declined, so that the user is not asked again."""
        await self.agreements.decline(kept.preview_id, self._asked_as(kept.terms), self.now_ms())

    async def wait(self, kept: StoredPreview) -> None:
        """Record that the preview waits for a person's signature."""
        await self.agreements.wait(kept.preview_id, self.trader.visitor, kept.terms, self.now_ms())

    async def require_question_allowed(self, terms: Terms | None = None) -> None:
        """Check that the user has not just declined several questions. Sales are counted apart.

        Raises:
            AskedTooOften: several were declined; no question is asked for a while.
        """
        now_ms = self.now_ms()
        declined = await self.agreements.declined_since(self._asked_as(terms), self.declined_since_ms())
        if len(declined) >= MOST_DECLINED:
            raise AskedTooOften(retry_after_secs=max(1, (declined[-MOST_DECLINED] + DECLINED_MS - now_ms) // 1000))

    def _asked_as(self, terms: Terms | None) -> str:
        visitor = self.trader.visitor
        return f"{visitor} sells" if terms is not None and terms.side == "SELL" else visitor

    def declined_since_ms(self) -> int:
        """Return the time from which declines count, in ms."""
        return self.now_ms() - DECLINED_MS

    async def tally(self) -> OrderTally:
        """Count the orders of this machine, of all visitors, for monitoring.

        Raises:
            JournalUnavailable: the journal cannot be read.
        """
        by_state = await self.situation_reader.reader.tally()
        return OrderTally(by_state, is_stopped=bool(await self.situation_reader.reader.stops()))

    async def status(self) -> TradingStatus:
        """Return the rules of trading, the usage of each limit, and the waiting or unresolved orders."""
        ledger, now_ms = self.desk.ledger, self.now_ms()
        account = self.trader.account
        await self.desk.catch_up((account,))
        limited = tuple(each for each in standing(self.policy, self.mode) if each.most is not None)
        used = await ledger.used(account, limited, now_ms)
        lost, holdings, unread = None, (), ""
        try:
            lost = await self.situation_reader.lost_today(account, self.trying.account)
            holdings = (await self.trying.account.account()).value.holdings
        except AppError as error:  # report a stop even if the exchange is unavailable
            unread = error.message
        return TradingStatus(
            mode=self.mode,
            venue=self.broker.venue,
            policy=self.policy,
            stopped=await ledger.stopped(account),
            waits_for=self.desk.waits_for,
            limits=tuple(LimitUse.of(each, used[each.name]) for each in limited),
            lost_today=lost,
            open_intents=tuple(await self.open_intents()),
            unresolved=tuple(await ledger.unresolved(account)),
            waiting=tuple(await self.agreements.waiting(now_ms, self.trader.visitor)),
            balances=holdings,
            unread=unread,
            key_notes=self.desk.key_notes,
            following=self.desk.following(),
            adopted=tuple(await self.situation_reader.reader.adopted(account, now_ms - DAY_MS)),
            as_of_ms=now_ms,
        )

    async def open_intents(self) -> list[Intent]:
        """Return the orders of this visitor's account that are not final, oldest first."""
        return [*await self.desk.watch.open_intents((self.trader.account,))]

    async def stop(self, reason: str) -> TradingStatus:
        """Stop all new orders of this account."""
        by, account = f"an assistant for {self.trader.visitor}", self.trader.account
        await self.desk.ledger.stop(reason, by, self.now_ms(), account)
        return await self.status()

    async def journal(self, limit: int, before_ms: int | None = None) -> OrderJournal:
        """Return the newest intents, newest first."""
        account = self.trader.account
        await self.desk.catch_up((account,))
        found = await self.situation_reader.reader.newest(limit + 1, account, before_ms)
        shown = tuple(found[:limit])
        older = shown[-1].prepared_ms if len(found) > limit else None
        stopped = await self.desk.ledger.stopped(account)
        return OrderJournal(shown, limit, older, self.mode, self.broker.venue, stopped, self.now_ms())

    async def page(self) -> OrderPage:
        """Return the pages of this visitor's orders, for notifications of changes.

        Raises:
            KeyDoesNotTrade: this caller has an account of its own, which is unknown here.
        """
        return await self.updates.page(self.trader.account)

    async def record(self, client_order_id: str) -> OrderRecord | None:
        """Return the journal's record of an order of this visitor's account, or None for any other order."""
        if self.trader.is_refused:
            return None
        intent = await self.desk.ledger.named(self.trader.account, client_order_id)
        if intent is None:
            return None
        made = preview_of(client_order_id, self.mode, self.venue.network)
        found = None if made in (None, intent.preview_id) else await self.desk.ledger.find(made)
        change = found if found is not None and found.exchange_id == intent.client_order_id else None
        return OrderRecord(intent, tuple(await self.situation_reader.reader.history(intent.preview_id)), change)

    async def told(self, placed: Placed) -> PlacedOrder:
        """Return the current state of an intent, with its fees."""
        intent = placed.intent
        if intent.terms.amends and (changed := await self.desk.ledger.named(intent.terms.account, intent.exchange_id)):
            intent = replace(intent, executed=changed.executed, spent=changed.spent)
        rules = await self.trying.directory.find(intent.terms.symbol)
        fees: dict[str, Quantity] = {}
        with suppress(AppError):  # report a placed order as placed, even if its fills cannot be read
            for each in await self._fills(intent):
                paid = fees.get(each.commission_asset, NOTHING)
                fees[each.commission_asset] = Quantity(paid + each.commission)
        venue, is_unknown = self.broker.venue, placed.cancel == "CANCEL_UNKNOWN"
        gone = await self._gone(intent)
        kept = None if gone is None else await self._as_before(gone)
        steps = tuple([await self._step(intent, number) for number in range(len(intent.terms.releases))])
        return PlacedOrder(
            intent, rules, self.mode, venue, self.now_ms(), placed.reason, fees, is_unknown, gone, kept, steps
        )

    async def _step(self, intent: Intent, number: int) -> ReleasedOrder:
        """Return what became of an order that a sale was to cancel, and the last exits placed again for it."""
        planned, ledger = intent.terms.releases[number], self.desk.ledger
        old = await ledger.named(intent.terms.account, planned.client_order_id)
        tried = [await ledger.find(step_id(intent.preview_id, each, number)) for each in STEPS]
        return ReleasedOrder(planned, old, next((each for each in reversed(tried) if each is not None), None))

    async def _gone(self, intent: Intent) -> Intent | None:
        """Return the cancelled order if its replacement was rejected. Then neither order is open."""
        if intent.terms.replaces is None or intent.state != "REJECTED":
            return None
        old = await self.desk.ledger.named(intent.terms.account, intent.terms.replaces)
        is_gone = old is not None and old.status == "CANCELED" and old.updated_ms >= intent.prepared_ms
        return old if is_gone else None

    async def _as_before(self, gone: Intent) -> StoredPreview | None:
        """Store a preview of the rest of a cancelled order, so that its user can place it again."""
        terms = gone.terms
        if terms.kind == "OCO":
            return None  # a list is never replaced
        left = Quantity(gone.quantity - gone.executed)
        again = OrderIntent(terms.side, terms.kind, left, price=terms.price, stop_price=terms.stop_price)
        if terms.trailing_bps is not None:
            again = OrderIntent(terms.side, terms.kind, left, trailing=percent_of(terms.trailing_bps))
        with suppress(AppError):  # report the result even if no preview can be made
            return (await self.preview(terms.symbol, again, terms.time_in_force)).kept
        return None

    async def _fills(self, intent: Intent) -> tuple[Fill, ...]:
        numbers = [each.order_id for each in intent.legs if each.executed] or [intent.order_id]
        fills = self.trying.account.fills
        wanted = [each for each in numbers if each is not None] if intent.executed else []
        found = [(await fills(intent.terms.symbol, MOST_FILLS, each)).value for each in wanted]
        return tuple(chain.from_iterable(found))

    def _agreement(self, kept: StoredPreview, way: Way, *, is_given: bool) -> Agreement:
        return Agreement(kept, way, is_given, self.policy.counting_asset)

    async def _claimed(self, preview_id: PreviewId) -> PlacedOrder | None:
        intent = await self.desk.ledger.find(preview_id)
        if intent is None:
            return None
        # An order that was found at the exchange has no known visitor, so it belongs to the account.
        if intent.visitor not in (NOBODY, self.trader.visitor) or intent.terms.account != self.trader.account:
            raise PreviewNotFound
        return await self.told(await self.desk.told(preview_id))

    async def _started(self) -> None:
        """Wait a limited time for the start, so that early calls are not refused."""
        with anyio.move_on_after(START_SECS):
            await self.desk.ready()

    def _require_open(self, kept: StoredPreview) -> None:
        if self.now_ms() >= kept.terms.expires_ms:
            raise PreviewNotFound

    async def _is_signed(self, kept: StoredPreview, now_ms: int) -> bool:
        approver = self.policy.confirm.approver
        signature = await self.agreements.signature(kept.preview_id)
        return bool(approver and signature) and is_approved(
            approver or "", kept.terms, kept.preview_id, signature or "", now_ms
        )

    async def _seen(self, kept: StoredPreview) -> Seen:
        terms = kept.terms
        book = await self.situation_reader.market.depth(terms.symbol, LEVELS)
        levels = book.value.asks if terms.side == "BUY" else book.value.bids
        fill = walk(levels, terms.quantity) if terms.is_market else None
        return Seen(Touch.of(book.value), fill, book.at_ms, levels)

    async def _levels(self, terms: Terms) -> tuple[PriceLevel, ...]:
        book = (await self.situation_reader.market.depth(terms.symbol, LEVELS)).value
        return book.asks if terms.side == "BUY" else book.bids

    async def _refused(self, kept: StoredPreview, denied: Denied) -> AppError:
        await self.desk.deny(kept.preview_id, denied)
        self.figures.count_denials((denied,))
        stopped = await self.desk.ledger.stopped(kept.terms.account)
        return refusal(denied, self.desk.waits_for, stopped, kept.terms.network)
