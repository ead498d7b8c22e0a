"""Coins that open sales reserve, and the plan that releases them for another sale."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.money import Price, Quantity, floor_to_step, written
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.errors import OrderRuleBroken
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.journal.records import STANDING, Intent
from mcp_binance_server.trading.judgement.exits import ABOVE, BELOW
from mcp_binance_server.trading.judgement.filters import check
from mcp_binance_server.trading.judgement.intent import LIMIT_MAKER, OrderIntent, Touch
from mcp_binance_server.trading.judgement.released import Released, freed_by
from mcp_binance_server.trading.ledger import OrderLedger

NOTHING = Quantity(Decimal(0))
# Status of an exit that waits for its entry: it reserves nothing.
WAITS = "PENDING_NEW"
# Orders placed elsewhere that an error names at most.
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class HeldCoins:
    """Balance of a base asset: free, reserved by open sales placed here, and reserved by other orders."""

    rules: SymbolRules
    free: Quantity
    reserved: Quantity
    own: tuple[Released, ...] = ()
    elsewhere: tuple[Order, ...] = ()

    @property
    def for_sale(self) -> Quantity:
        """Everything that a sale can take: free coins, and those that orders placed here reserve."""
        return floor_to_step(Quantity(self.free + freed_by(self.own)), self.rules.step)

    def released_for(self, quantity: Quantity, first: str | None = None) -> tuple[Released, ...]:
        """Return the orders to cancel before a sale of this quantity; none if enough is free.

        The smallest order that is enough comes alone, otherwise the largest orders. `first` is cancelled in any case.
        """
        named = [each for each in self.own if each.client_order_id == first]
        found = [replace(each, rest=Quantity(max(NOTHING, each.quantity - quantity))) for each in named]
        needed = quantity - freed_by(named) - floor_to_step(self.free, self.rules.step)
        others = sorted((each for each in self.own if each not in named), key=lambda each: each.quantity)
        single = [each for each in others if each.quantity >= needed][:1]
        for each in single or reversed(others):
            if needed > 0:
                found.append(replace(each, rest=Quantity(max(NOTHING, each.quantity - needed))))
                needed -= each.quantity
        return tuple(found)

    def short_of(self, error: InsufficientBalance) -> InsufficientBalance:
        """Return the error for a sale of more than is for sale, with the orders placed elsewhere that reserve coins."""
        if not self.elsewhere:
            return error
        return replace(error, reserved_by=tuple(_brief(each) for each in self.elsewhere[:MOST_NAMED]))


async def coins_of(account: AccountReader, ledger: OrderLedger, name: str, rules: SymbolRules) -> HeldCoins:
    """Read what a sale on this symbol can take. Open orders are read only if some of the asset is reserved.

    Raises:
        AppError: the account could not be read.
    """
    balances = (await account.account()).value.balances
    held = next((each for each in balances if each.asset == rules.base), None)
    if held is None or not held.locked:
        return HeldCoins(rules, NOTHING if held is None else held.free, NOTHING)
    sales = [each for each in (await account.open_orders(rules.symbol)).value if each.side == "SELL"]
    known: dict[str, tuple[Intent, list[Order]]] = {}
    elsewhere: list[Order] = []
    for order in (each for each in sales if each.status != WAITS):
        intent = await ledger.named(name, order.client_order_id)
        if intent is None or intent.state not in STANDING or order.client_order_id not in intent.order_ids:
            elsewhere.append(order)
        else:
            known.setdefault(intent.preview_id, (intent, []))[1].append(order)
    own = tuple(_released(intent, orders) for intent, orders in known.values())
    return HeldCoins(rules, held.free, held.locked, own, tuple(elsewhere))


def require_rests(coins: HeldCoins, releases: Iterable[Released], touch: Touch) -> None:
    """Check that the exchange accepts the exits for what remains.

    Raises:
        OrderRuleBroken: it would refuse them, because too little remains or because the price has passed them.
    """
    rules = coins.rules
    for each in releases:
        for name, order in _orders(each) if each.rest else ():
            for broken in check(rules, order, touch).broken:
                is_small = broken.side == "at least" and broken.rule in ("LOT_SIZE", rules.notional_rule)
                if not is_small:
                    raise OrderRuleBroken(
                        rule=broken.rule,
                        received=f"{name} of {each.client_order_id}, placed again: {written(broken.received)}",
                        limit=f"{broken.side} {written(broken.limit)}",
                    )
                unit = rules.quote if broken.rule == rules.notional_rule else rules.base
                raise OrderRuleBroken(
                    rule=broken.rule,
                    received=f"a rest of {written(each.rest)} {rules.base}, {written(broken.received)} {unit}",
                    limit=f"at least {written(broken.limit)} {unit} for an exit",
                    reason="the rest would stay without an exit",
                    nearest={"quantity": written(coins.for_sale)},
                    nearest_note="all of it",
                )


def _orders(released: Released) -> Iterator[tuple[str, OrderIntent]]:
    """Return the orders placed again. The trigger of a trailing stop follows the price: only its amount is checked."""
    is_pair = released.kind == "OCO"
    if is_pair:
        yield "take profit", OrderIntent("SELL", LIMIT_MAKER, released.rest, price=released.price)
    limit = released.stop_limit if is_pair else released.price
    if released.trailing_bps is not None:
        yield "stop", OrderIntent("SELL", "LIMIT", released.rest, price=limit)
    elif is_pair:
        stop = released.stop_price
        yield "stop", OrderIntent("SELL", "STOP_LOSS_LIMIT", released.rest, price=limit, stop_price=stop)
    elif released.kind != "OCO":
        yield (
            released.kind,
            OrderIntent("SELL", released.kind, released.rest, price=limit, stop_price=released.stop_price),
        )


def _released(intent: Intent, orders: list[Order]) -> Released:
    by_part: Mapping[str, Order] = {each.client_order_id[-2:]: each for each in orders}
    above, below, terms = by_part.get(ABOVE), by_part.get(BELOW), intent.terms
    first = orders[0] if terms.exits is None else below or above or orders[0]
    is_pair = terms.exits is not None and above is not None and below is not None
    kind = "OCO" if is_pair else terms.kind
    if terms.exits is not None and not is_pair:
        kind = LIMIT_MAKER if below is None else "STOP_LOSS_LIMIT"
    left = max(Quantity(each.quantity - each.executed) for each in orders)
    open_ids = {each.client_order_id for each in orders}
    over = [each.executed for each in intent.legs if not each.is_entry and each.client_order_id not in open_ids]
    return Released(
        client_order_id=intent.client_order_id,
        kind=kind,
        time_in_force="GTC" if terms.exits is not None else terms.time_in_force,
        quantity=left,
        sold=Quantity(sum([*over, *(each.executed for each in orders)], NOTHING)),
        rest=left,
        price=above.price if is_pair and above is not None else first.price,
        stop_price=_some(first.stop_price) or (terms.stop_price if terms.exits is None else terms.exits.stop),
        stop_limit=below.price if is_pair and below is not None else None,
        counted=intent.counted,
        trailing_bps=terms.trailing_bps if terms.exits is None else terms.exits.trailing_bps,
    )


def _some(price: Price) -> Price | None:
    return price or None


def _brief(order: Order) -> str:
    left, stop = (
        written(order.quantity - order.executed),
        "" if not order.stop_price else f", stop {written(order.stop_price)}",
    )
    return f"{order.client_order_id} ({order.side} {left} {order.symbol} at {written(order.price)}{stop})"
