"""Exact terms for an order with exits, for a pair, and for a replacement."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from mcp_binance_server.domain.money import BPS_OF_PERCENT, EXACT_DIGITS, Price, Quantity, floor_to_step, written
from mcp_binance_server.domain.order_requests import ListShape, TermsKind, TimeInForce
from mcp_binance_server.domain.symbols import ANY_PRICE, Ability, SymbolRules
from mcp_binance_server.services.account.amounts import ReadOrder
from mcp_binance_server.services.account.preview import PreviewService, kept_to, refuse
from mcp_binance_server.services.errors import OrderRuleBroken
from mcp_binance_server.services.trading.drafting import NONE, Drafter, OrderPlan
from mcp_binance_server.services.trading.refusals import unknown_order
from mcp_binance_server.services.trading.reserved import HeldCoins, coins_of, require_rests
from mcp_binance_server.services.trading.situation import usual_minute
from mcp_binance_server.trading.errors import REPLACES, InsufficientBalance, OrderDenied, OrderUnresolved
from mcp_binance_server.trading.journal.records import STANDING, Intent
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.filters import check
from mcp_binance_server.trading.judgement.guards import collar_edge, first_trigger, is_near
from mcp_binance_server.trading.judgement.intent import OrderIntent, Touch
from mcp_binance_server.trading.judgement.preview import USUAL, Preview, PreviewedOrder
from mcp_binance_server.trading.judgement.released import Released, freed_by
from mcp_binance_server.trading.judgement.sizing import on_grid, stop_limit
from mcp_binance_server.trading.judgement.terms import Terms
from mcp_binance_server.trading.ledger import OrderLedger

WHOLE_BPS = 100 * BPS_OF_PERCENT
FLAGS: Mapping[Ability, str] = {
    "oco": "ocoAllowed",
    "oto": "otoAllowed",
    "opo": "opoAllowed",
    "amend": "amendAllowed",
    "replace": "cancelReplaceAllowed",
    "trail": "allowTrailingStop",
}


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """Options of an order: exits, a pair, or a replacement. `trailing` is the distance of an exit's stop in percent."""

    is_pair: bool = False
    take_profit: Price | None = None
    stop_loss: Price | None = None
    replaces: str | None = None
    trailing: Decimal | None = None

    @property
    def has_stop(self) -> bool:
        return self.stop_loss is not None or self.trailing is not None

    @property
    def has_exits(self) -> bool:
        return self.take_profit is not None or self.has_stop


PLAIN = OrderOptions()


@dataclass(frozen=True, slots=True)
class Planned:
    """A previewed order, and everything that would be sent with it."""

    tried: PreviewedOrder
    terms: Terms


@dataclass(frozen=True, slots=True)
class Planner:
    """Conversion of a requested order to terms, by the rules of the symbol and of the operator."""

    drafter: Drafter
    ledger: OrderLedger

    async def planned(  # noqa: PLR0917 - an order, its options and its account
        self,
        trying: PreviewService,
        text: str,
        intent: OrderIntent,
        stays: TimeInForce,
        wish: OrderOptions,
        account: str,
        read: ReadOrder | None = None,
    ) -> Planned:
        """Preview an order with its options, and return its terms.

        Raises:
            InvalidArguments: the options contradict each other.
            OrderRuleBroken: the exchange would refuse a part of the order, or does not allow the order on this symbol.
            OrderDenied: the order to be replaced cannot be replaced.
            InsufficientBalance: a market order needs more than the free balance at its worst price.
        """
        _require_sense(intent, wish)
        old = None if wish.replaces is None else await self._replaced(wish.replaces, account)
        first = None
        if old is not None and intent.side == "SELL" and _needs_release(old, intent, wish):
            first, old, wish = old.client_order_id, None, replace(wish, replaces=None)
        if old is not None and old.terms.exits is not None:
            limit = "single open orders placed by this server, not those of a bracket"
            raise OrderDenied(guard=REPLACES, received="that order cannot be replaced on its own", limit=limit)
        rules = await trying.directory.find(text)
        if old is not None:
            _require_same(old, rules, intent)
        if intent.trailing is not None:
            intent = await self._trailing(trying, rules, intent, old)
        coins = None
        if intent.side == "SELL" and old is None and trying.account.has_key:
            coins = await coins_of(trying.account, self.ledger, account, rules)
        tried = await _tried(trying, text, intent, coins, {} if old is None else released(old, rules), read=read)
        plan = OrderPlan(stays)
        if coins is not None:
            plan = replace(plan, releases=_releases(coins, tried, first))
        if wish.is_pair:
            plan = replace(plan, kind="OCO", exits=await self._pair(tried, wish))
        elif wish.has_exits:
            plan = replace(plan, exits=await self._exits(trying, tried, wish))
        elif old is not None:
            plan = replace(plan, replaces=old.client_order_id, amends=_amends(old, tried, stays))
        terms = await self.drafter.terms(tried, plan, account)
        _require_reserve(tried.preview, terms)
        return Planned(tried, terms)

    async def _replaced(self, name: str, account: str) -> Intent:
        found = await self.ledger.named(account, name)
        if found is not None and found.is_unresolved:
            raise OrderUnresolved(client_order_id=found.client_order_id)
        if found is None or found.final_ms is not None or found.state not in STANDING:
            raise await unknown_order(self.ledger.store, account)
        return found

    async def _trailing(
        self, trying: PreviewService, rules: SymbolRules, intent: OrderIntent, old: Intent | None
    ) -> OrderIntent:
        """Return a trailing stop with its first trigger and its limit. A smaller one keeps the limit of the old one."""
        _require(rules, "trail")
        trailing = _bps(intent.trailing) or 0
        if old is not None and old.terms.trailing_bps == trailing and _is_smaller(old, intent):
            return replace(intent, price=old.terms.price, stop_price=old.terms.stop_price)
        stop, limit = await self._trailing_prices(rules, trailing, await trying.touch(rules.symbol))
        return replace(intent, price=limit, stop_price=stop)

    async def _pair(self, tried: PreviewedOrder, wish: OrderOptions) -> Exits:
        order, rules = tried.preview.order, tried.preview.rules
        _require(rules, "oco")
        below = await self._stop(rules, wish, _amount(order), tried.preview.touch)
        return Exits("OCO", _amount(below), order.price, below.stop_price, below.price, _bps(below.trailing))

    async def _exits(self, trying: PreviewService, tried: PreviewedOrder, wish: OrderOptions) -> Exits:
        shown = tried.preview
        rules, order = shown.rules, shown.order
        then = _touch_at_entry(shown)
        bought = order.quantity or (shown.fill.base if shown.fill else Quantity(Decimal(0)))
        _require_around(then, wish)
        has_both = wish.take_profit is not None and wish.has_stop
        if has_both:
            _require(rules, "oco")
        takes_what_came = "opo" in rules.allows
        if not takes_what_came:
            _require(rules, "oto")
            bought = await self._without_fee(trying, rules, bought)
        above = None if wish.take_profit is None else _above(rules, wish.take_profit, bought, then)
        below = await self._stop(rules, wish, bought, then) if wish.has_stop else None
        return Exits(
            _shape(takes_what_came=takes_what_came, has_both=has_both),
            bought,
            None if above is None else above.price,
            None if below is None else below.stop_price,
            None if below is None else below.price,
            None if below is None else _bps(below.trailing),
        )

    async def _without_fee(self, trying: PreviewService, rules: SymbolRules, bought: Quantity) -> Quantity:
        """Return the quantity that is certain to arrive.

        If the fee is not paid in BNB, a buy receives less than it bought.
        """
        has_key = trying.account.has_key
        rates = ((await trying.account.account()).value.commission if has_key else None) or USUAL
        with localcontext(prec=EXACT_DIGITS):
            return floor_to_step(Quantity(bought * (1 - max(rates.maker, rates.taker))), rules.step)

    async def _stop(self, rules: SymbolRules, wish: OrderOptions, quantity: Quantity, touch: Touch) -> OrderIntent:
        """Return the stop of a pair or of an entry; `touch` has the best prices at its start."""
        if wish.trailing is None:
            stop = wish.stop_loss or Price(NONE)
            order = OrderIntent("SELL", "STOP_LOSS_LIMIT", quantity, price=self._limit(rules, stop), stop_price=stop)
            return _kept("stop_loss", rules, order, touch)
        _require(rules, "trail")
        stop, limit = await self._trailing_prices(rules, _bps(wish.trailing) or 0, touch)
        order = OrderIntent("SELL", "STOP_LOSS_LIMIT", quantity, None, limit, stop, wish.trailing)
        return _kept("trailing", rules, order, touch)

    def _limit(self, rules: SymbolRules, stop: Price, least: Price = ANY_PRICE) -> Price:
        """Return the lowest price that a stop accepts after its trigger."""
        return stop_limit(self.drafter.policy.limits, stop, rules.tick, least)

    async def _trailing_prices(self, rules: SymbolRules, trailing_bps: int, touch: Touch) -> tuple[Price, Price]:
        """Return the first trigger of a trailing stop that starts at these prices, and its limit."""
        if touch.bid is None or touch.mid is None:
            raise OrderDenied(guard="book", received="an order book with an empty side", limit="bids and asks")
        # A distance that the exchange refuses has no prices; the check of its rules names the nearest one.
        shortest, longest = rules.trailing_below_bps
        trailing_bps = max(shortest, min(trailing_bps, longest or trailing_bps, WHOLE_BPS - 1))
        trigger = on_grid("SELL", first_trigger(touch.bid, trailing_bps), rules.tick)
        minute, least = await usual_minute(self.drafter.market, rules.symbol), ANY_PRICE
        # The collar judges a stop that a usual minute can trigger as a market sale.
        if is_near(trigger, touch.bid, minute):
            least = collar_edge(self.drafter.policy, "SELL", touch.mid) or least
        return trigger, min(trigger, self._limit(rules, trigger, least))


def _needs_release(old: Intent, intent: OrderIntent, wish: OrderOptions) -> bool:
    """Return True if one request cannot replace the old order by the new one: only plain orders can.

    `cancelReplace` sends one single order, and it is not documented for an order of a list.
    """
    return old.terms.exits is not None or wish.is_pair or intent.kind == "MARKET"


async def _tried(
    trying: PreviewService,
    text: str,
    intent: OrderIntent,
    coins: HeldCoins | None,
    freed: Mapping[str, Quantity],
    *,
    read: ReadOrder | None,
) -> PreviewedOrder:
    look, amounts = (None, ()) if read is None else (read.look, read.amounts)
    if coins is None:
        return await trying.preview(text, intent, freed, look, amounts)
    freed = {coins.rules.base: freed_by(coins.own)} if coins.own else freed
    try:
        return await trying.preview(text, intent, freed, look, amounts)
    except InsufficientBalance as error:
        raise coins.short_of(error) from None


def _releases(coins: HeldCoins, tried: PreviewedOrder, first: str | None) -> tuple[Released, ...]:
    shown = tried.preview
    if first is not None and all(each.client_order_id != first for each in coins.own):
        limit = "open orders that sell, not entries that are not filled yet"
        raise OrderDenied(guard=REPLACES, received="that order cannot be replaced by a sale", limit=limit)
    quantity = shown.order.quantity or (shown.fill.base if shown.fill else Quantity(Decimal(0)))
    releases = coins.released_for(quantity, first)
    require_rests(coins, releases, shown.touch)
    return releases


def released(old: Intent, rules: SymbolRules) -> dict[str, Quantity]:
    """Return the funds that an open order releases when it is replaced."""
    left = old.quantity - old.executed
    with localcontext(prec=EXACT_DIGITS):
        return (
            {rules.base: Quantity(left)}
            if old.terms.side == "SELL"
            else {rules.quote: Quantity(left * old.terms.price)}
        )


def _require_reserve(shown: Preview, terms: Terms) -> None:
    """Check that a market buy can be paid at its worst price: it is sent as a limit order, which reserves that."""
    if not terms.is_market or terms.side != "BUY":
        return
    quote = shown.rules.quote
    free = next((each.free for each in shown.holdings if each.asset == quote), None)
    if free is not None and terms.value > free:
        raise InsufficientBalance(
            asset=quote,
            required_amount=written(terms.value),
            available_amount=written(free),
            shortfall=written(terms.value - free),
        )


def _shape(*, takes_what_came: bool, has_both: bool) -> ListShape:
    if has_both:
        return "OPOCO" if takes_what_came else "OTOCO"
    return "OPO" if takes_what_came else "OTO"


def _above(rules: SymbolRules, price: Price, quantity: Quantity, touch: Touch) -> OrderIntent:
    return _kept("take_profit", rules, OrderIntent("SELL", "LIMIT_MAKER", quantity, price=price), touch)


def _kept(name: str, rules: SymbolRules, order: OrderIntent, touch: Touch) -> OrderIntent:
    try:
        return kept_to(rules, order, check(rules, order, touch)).order
    except OrderRuleBroken as error:
        raise OrderRuleBroken(
            rule=error.rule, received=f"{name}: {error.received}", limit=error.limit, reason=error.reason
        ) from None


def _amount(order: OrderIntent) -> Quantity:
    return order.quantity or Quantity(Decimal(0))


def _amends(old: Intent, tried: PreviewedOrder, stays: TimeInForce) -> bool:
    """Return True if only the quantity is reduced. Such a change keeps the order's place in the queue."""
    order, terms, rules = tried.preview.order, old.terms, tried.preview.rules
    kind: TermsKind = order.kind
    is_same = (kind, order.price, order.stop_price) == (terms.kind, terms.price, terms.stop_price)
    stays_so = kind == "LIMIT_MAKER" or stays == terms.time_in_force
    is_same = is_same and _bps(order.trailing) == terms.trailing_bps
    if is_same and _is_smaller(old, order) and stays_so and "amend" in rules.allows:
        return True
    _require(rules, "replace")
    return False


def _is_smaller(old: Intent, order: OrderIntent) -> bool:
    return order.quantity is not None and old.executed < order.quantity < old.quantity


def _bps(percent: Decimal | None) -> int | None:
    return None if percent is None else int(percent * BPS_OF_PERCENT)


def _require(rules: SymbolRules, ability: Ability) -> None:
    if ability not in rules.allows:
        raise OrderRuleBroken(rule=FLAGS[ability], received=f"this order type on {rules.symbol}", limit="plain orders")


def _require_same(old: Intent, rules: SymbolRules, intent: OrderIntent) -> None:
    if (old.terms.symbol, old.terms.side) != (rules.symbol, intent.side):
        limit = f"{old.terms.side} on {old.terms.symbol}, like the order to replace"
        raise OrderDenied(guard=REPLACES, received=f"{intent.side} on {rules.symbol}", limit=limit)


def _touch_at_entry(shown: Preview) -> Touch:
    """Return the best prices at the start of the exits, immediately after the entry was filled."""
    limit, touch = shown.order.price, shown.touch
    if limit is None or (touch.ask is not None and limit >= touch.ask):
        return touch
    return Touch(min(limit, touch.bid or limit), limit)


def _require_around(then: Touch, wish: OrderOptions) -> None:
    found: dict[str, str] = {}
    if wish.take_profit is not None and then.ask is not None and wish.take_profit <= then.ask:
        found["take_profit"] = f"must be above the entry price, {written(then.ask)}"
    if wish.stop_loss is not None and then.bid is not None and wish.stop_loss >= then.bid:
        why = "the stop would trigger at once"
        found["stop_loss"] = f"must be below the best bid at the entry, {written(then.bid)}: {why}"
    refuse(found)


def _require_sense(intent: OrderIntent, wish: OrderOptions) -> None:
    found: dict[str, str] = {}
    if wish.is_pair and intent.side != "SELL":
        found["side"] = "must be SELL: an OCO sells a held asset"
    if wish.has_exits and not wish.is_pair:
        if intent.side != "BUY":
            found["side"] = "must be BUY: take_profit and stop_loss sell the bought amount"
        if intent.kind not in ("LIMIT", "LIMIT_MAKER", "MARKET"):
            found["type"] = "must be LIMIT, LIMIT_MAKER or MARKET for an entry with exits"
    is_entry = intent.side == "BUY" and (wish.is_pair or wish.has_exits or intent.kind == "MARKET")
    if wish.replaces is not None and is_entry:
        found[REPLACES] = "only for a single order with a price and without exits"
    refuse(found)
