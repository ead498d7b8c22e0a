"""Amounts of a requested order: shares of what it spends, distances from a price, and the quantity for a risk."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from mcp_binance_server.domain.account import Account, Balance
from mcp_binance_server.domain.amounts import HUNDRED, SIGN, Amount
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity, floor_to_step, written
from mcp_binance_server.domain.order_requests import Kind, Side
from mcp_binance_server.domain.reference_price import NO_REFERENCE
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import InvalidArguments
from mcp_binance_server.services.account.equity import equity_in
from mcp_binance_server.services.account.preview import (
    MarketLook,
    PreviewService,
    refuse,
    require_amounts,
    require_open,
)
from mcp_binance_server.services.account.profit import AverageCost
from mcp_binance_server.trading.judgement.filters import check, grid_of
from mcp_binance_server.trading.judgement.guards import worst_price
from mcp_binance_server.trading.judgement.intent import MARKET, Argument, OrderIntent
from mcp_binance_server.trading.judgement.policy import Policy
from mcp_binance_server.trading.judgement.preview import NOTHING, USUAL, FillWalk, ReadAmount, preview
from mcp_binance_server.trading.judgement.sizing import away_from, largest_within, loss_at, on_grid, stop_limit

CostReader = Callable[[SymbolRules, Quantity], Awaitable[AverageCost | None]]
"""Reader of the average cost of a held quantity; None if no trade of the pair explains it."""
ForSaleReader = Callable[[SymbolRules], Awaitable[Quantity]]
"""Reader of the quantity that a sale can take, with the coins that open sales placed here reserve."""

# Larger distances need a sign: "98%" can mean 98% of a price.
MOST_UNSIGNED = Decimal(50)
EMPTY = "no price to measure from: that side of the order book is empty"
ENTRY_KINDS = ("LIMIT", "LIMIT_MAKER", MARKET)


@dataclass(frozen=True, slots=True)
class RequestedOrder:
    """An order whose amounts can depend on the market and on the account. A pair's stop is its `stop_loss`."""

    side: Side
    kind: Kind
    quantity: Amount | None = None
    quote_quantity: Amount | None = None
    price: Amount | None = None
    stop_price: Amount | None = None
    take_profit: Amount | None = None
    stop_loss: Amount | None = None
    risk: Amount | None = None
    is_pair: bool = False
    trailing: Decimal | None = None
    """Distance of a trailing stop in percent; of a stop alone, not of an exit."""

    @property
    def amounts(self) -> dict[str, Amount]:
        """The given amounts by the names of their arguments."""
        given = {
            "price": self.price,
            "stop_price": self.stop_loss if self.is_pair else self.stop_price,
            "quantity": self.quantity,
            "quote_quantity": self.quote_quantity,
            "take_profit": self.take_profit,
            "stop_loss": None if self.is_pair else self.stop_loss,
            "risk": self.risk,
        }
        return {name: amount for name, amount in given.items() if amount is not None}

    @property
    def is_plain(self) -> bool:
        """Whether all amounts are numbers, so that neither the market nor the account is needed."""
        return all(each.unit == "number" for each in self.amounts.values()) and self.risk is None

    @property
    def needs_account(self) -> bool:
        return self.risk is not None or any(each.unit == "share" for each in self.amounts.values())

    def problems(self) -> dict[str, str]:
        """Return the amounts that have no meaning in this order, each with the reason."""
        found: dict[str, str] = {}
        spends: Argument = "quantity" if self.side == "SELL" else "quote_quantity"
        for name, amount in self.amounts.items():
            if amount.unit == "share" and name not in (spends, "risk"):
                found[name] = f'a share is of the amount that the order spends: use {spends}, as "50%" or "all"'
            if amount.unit == "offset" and not amount.is_signed:
                is_exit = name in ("take_profit", "stop_loss") and not self.is_pair
                if not is_exit or amount.value > MOST_UNSIGNED:
                    found[name] = SIGN
        return found | (self._risk_problems() if self.risk is not None else {})

    def _risk_problems(self) -> dict[str, str]:
        if self.side != "BUY" or self.kind not in ENTRY_KINDS:
            return {"risk": "only for a BUY of type LIMIT, LIMIT_MAKER or MARKET"}
        if self.quantity is not None or self.quote_quantity is not None:
            return {"risk": "give either risk or a quantity"}
        return {} if self.stop_loss is not None else {"risk": "needs stop_loss, the price that limits the loss"}

    @property
    def with_numbers(self) -> OrderIntent:
        """The order with its numbers. Any other amount is replaced by 1."""

        def number(amount: Amount | None) -> Decimal | None:
            return None if amount is None else amount.value if amount.unit == "number" else Decimal(1)

        quantity = Decimal(1) if self.risk is not None else number(self.quantity)
        made = intent_of(
            self.side, self.kind, quantity, number(self.quote_quantity), number(self.price), number(self.stop_price)
        )
        return replace(made, trailing=self.trailing)


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """An order with numbers alone, how each was read, and the market and account that they were read from."""

    intent: OrderIntent
    take_profit: Price | None = None
    stop_loss: Price | None = None
    amounts: tuple[ReadAmount, ...] = ()
    look: MarketLook | None = None


@dataclass(frozen=True, slots=True)
class AmountReader:
    """Reader of the amounts of one order. Without a policy, an order has no exits and no worst price."""

    trying: PreviewService
    cost: CostReader
    policy: Policy | None = None
    for_sale: ForSaleReader | None = None

    async def read(self, text: str, wanted: RequestedOrder) -> ReadOrder:
        """Return the order with numbers alone.

        Raises:
            InvalidArguments: an amount has no meaning in this order, or gives no order.
            InvalidCredentials: an amount needs an account, and there is none.
        """
        refuse(wanted.problems())
        if wanted.is_plain:
            return _plain(wanted)
        require_amounts(wanted.with_numbers)
        if wanted.needs_account:
            self.trying.account.require_key()
        rules = await self.trying.directory.find(text)
        require_open(rules, wanted.with_numbers)
        look = await self.trying.look(rules)
        if wanted.needs_account:
            look = replace(look, account=(await self.trying.account.account()).value)
        with localcontext(prec=EXACT_DIGITS):
            return await _Reading(self, wanted, look, []).order()


def intent_of(  # noqa: PLR0917 - the fields of an order
    side: Side,
    kind: Kind,
    quantity: Decimal | None,
    quote_quantity: Decimal | None,
    price: Decimal | None,
    stop_price: Decimal | None,
) -> OrderIntent:
    """Return an order of these amounts."""
    return OrderIntent(
        side,
        kind,
        None if quantity is None else Quantity(quantity),
        None if quote_quantity is None else Quantity(quote_quantity),
        None if price is None else Price(price),
        None if stop_price is None else Price(stop_price),
    )


def _plain(wanted: RequestedOrder) -> ReadOrder:
    def price(amount: Amount | None) -> Price | None:
        return None if amount is None else Price(amount.value)

    read = tuple(_grouped(name, each) for name, each in wanted.amounts.items() if not each.is_literal)
    return ReadOrder(wanted.with_numbers, price(wanted.take_profit), price(wanted.stop_loss), read)


def _grouped(name: str, amount: Amount) -> ReadAmount:
    return ReadAmount(name, amount.text, amount.value, "", "commas separate thousands")


@dataclass(frozen=True, slots=True)
class _Reading:
    """Amounts of one order while they are read, from one look at the market."""

    by: AmountReader
    wanted: RequestedOrder
    look: MarketLook
    found: list[ReadAmount]

    async def order(self) -> ReadOrder:
        wanted = self.wanted
        price = await self._price("price", wanted.price)
        stop_price = await self._price("stop_price", wanted.stop_price)
        intent = replace(wanted.with_numbers, price=price, stop_price=stop_price)
        intent = replace(intent, quantity=await self._quantity(intent), quote_quantity=self._quote_quantity(intent))
        if wanted.is_pair:
            return self._made(intent, None, await self._price("stop_price", wanted.stop_loss))
        if wanted.risk is not None and wanted.stop_loss is not None and self.by.policy is not None:
            intent = replace(intent, quantity=await self._sized(intent, wanted.risk, wanted.stop_loss, self.by.policy))
        entry = self._entry(intent) if wanted.take_profit or wanted.stop_loss else Price(NOTHING)
        take_profit = self._exit("take_profit", wanted.take_profit, entry)
        return self._made(intent, take_profit, self._exit("stop_loss", wanted.stop_loss, entry))

    def _made(self, intent: OrderIntent, take_profit: Price | None, stop: Price | None) -> ReadOrder:
        return ReadOrder(intent, take_profit, stop, tuple(self.found), self.look)

    @property
    def rules(self) -> SymbolRules:
        return self.look.rules

    @property
    def account(self) -> Account:
        if self.look.account is None:
            raise LookupError("the account was not read")
        return self.look.account

    @property
    def fee(self) -> Decimal:
        """Fee of a trade that takes, as a fraction."""
        return (self.account.commission or USUAL).taker

    def _balance(self, asset: str) -> Balance:
        nothing = Quantity(NOTHING)
        held = (each for each in self.account.balances if each.asset == asset)
        return next(held, Balance(asset, nothing, nothing))

    def _say(  # noqa: PLR0917 - an amount and how it was read
        self,
        name: str,
        amount: Amount,
        used: Decimal,
        asset: str,
        basis: str,
        base: Decimal | None = None,
        note: str = "",
    ) -> None:
        self.found.append(ReadAmount(name, amount.text, used, asset, basis, base, note))

    async def _price(self, name: str, amount: Amount | None) -> Price | None:
        """Read a price: a percentage is of the best price on the order's side, `entry` is the average cost."""
        if amount is None:
            return None
        if amount.unit == "number":
            return self._number(name, amount)
        if amount.unit == "entry":
            cost = await self._cost(name)
            bought = f"{written(floor_to_step(Quantity(cost.quantity), self.rules.step))} {self.rules.base}"
            note = "older trades were not read" if cost.is_cut else ""
            return self._away(
                name, amount, cost.price, f"the average cost of {bought} bought on {cost.symbol} with fees", note=note
            )
        is_buy = self.wanted.side == "BUY"
        base = self.look.touch.bid if is_buy else self.look.touch.ask
        if base is None:
            raise _refusal(name, EMPTY)
        return self._away(name, amount, base, f"the best {'bid' if is_buy else 'ask'}")

    def _number(self, name: str, amount: Amount) -> Price:
        if not amount.is_literal:
            self.found.append(_grouped(name, amount))
        return Price(amount.value)

    async def _cost(self, name: str) -> AverageCost:
        self.by.trying.account.require_key()
        account = (await self.by.trying.account.account()).value
        held = sum((each.total for each in account.balances if each.asset == self.rules.base), NOTHING)
        found = await self.by.cost(self.rules, Quantity(held)) if held else None
        if found is None:
            known = f"no trade on {self.rules.symbol} says the cost of the held {self.rules.base}"
            raise _refusal(name, f'{known}: write "1,234.5" or "+1%"')
        return found

    def _away(  # noqa: PLR0917 - a price and its distance
        self, name: str, amount: Amount, base: Decimal, basis: str, side: Side | None = None, note: str = ""
    ) -> Price:
        price = on_grid(side or self.wanted.side, Price(away_from(base, amount.value)), self._tick)
        if price <= 0:
            raise _refusal(name, "gives no price above zero")
        size, way = written(amount.value.copy_abs()), "below" if amount.value < 0 else "above"
        where = f"{size}% {way} {basis}" if amount.value else basis
        self._say(name, amount, price, self.rules.quote, where, base, note)
        return price

    @property
    def _tick(self) -> Price:
        return Price(grid_of(self.rules, self.wanted.with_numbers, "price")[0])

    def _exit(self, name: str, amount: Amount | None, entry: Price) -> Price | None:
        if amount is None:
            return None
        if amount.unit == "number":
            return self._number(name, amount)
        basis = "the average price of the expected fill" if self.wanted.kind == MARKET else "the entry's limit price"
        return self._away(name, self._signed(name, amount), entry, basis, "SELL")

    def _signed(self, name: str, amount: Amount) -> Amount:
        """Return an exit's distance with its sign: a stop loss is below the entry, a take profit above."""
        is_below = name == "stop_loss" and not amount.is_signed
        return replace(amount, value=amount.value.copy_negate()) if is_below else amount

    def _entry(self, intent: OrderIntent) -> Price:
        """Return the price of the entry: its limit, or the average price of the expected fill."""
        if intent.price is not None:
            return on_grid("BUY", intent.price, self._tick)
        fill = self._fill(intent)
        if fill is None or fill.average is None:
            raise _refusal("type", EMPTY)
        return fill.average

    def _fill(self, intent: OrderIntent) -> FillWalk | None:
        aligned = check(self.rules, intent, self.look.touch).order
        reference = self.look.reference or NO_REFERENCE
        return preview(self.rules, aligned, self.look.depth.value, None, reference).fill

    async def _quantity(self, intent: OrderIntent) -> Quantity | None:
        amount = self.wanted.quantity
        if amount is None or amount.unit == "number":
            if amount is not None:
                self._number("quantity", amount)
            return intent.quantity
        held = self._balance(self.rules.base)
        step, _ = grid_of(self.rules, intent, "quantity")
        used = floor_to_step(Quantity(held.total * amount.value / HUNDRED), Quantity(step))
        if amount.value == HUNDRED and held.locked and self.by.for_sale is not None:
            # Coins reserved by orders placed elsewhere stay. If nothing else is held, the preview names these orders.
            used = await self.by.for_sale(self.rules) or used
        if not used:
            held_words = f"{_share(amount)} of the {written(held.total)} {self.rules.base} held"
            raise _refusal("quantity", f"{held_words} is less than the lot step, {written(step)}")
        reserved = f"{written(held.locked)} of it is reserved by open orders" if held.locked else ""
        note = "; ".join(filter(None, (reserved, self._dust(amount, Quantity(held.total - used)))))
        self._say(
            "quantity",
            amount,
            used,
            self.rules.base,
            f"{_share(amount)} of the held {self.rules.base}",
            held.total,
            note,
        )
        return used

    def _dust(self, amount: Amount, rest: Quantity) -> str:
        bid, least = self.look.touch.bid, self.rules.min_notional
        if amount.value == HUNDRED or bid is None or not 0 < rest * bid < least:
            return ""
        left = f"the rest of {written(rest)} {self.rules.base} is worth less than the minimum order"
        return f'{left} of {written(least)} {self.rules.quote}; "all" sells it too'

    def _quote_quantity(self, intent: OrderIntent) -> Quantity | None:
        amount = self.wanted.quote_quantity
        if amount is None or amount.unit == "number":
            if amount is not None:
                self._number("quote_quantity", amount)
            return intent.quote_quantity
        free, quote = self._balance(self.rules.quote).free, self.rules.quote
        grid, _ = grid_of(self.rules, intent, "quote_quantity")
        used = floor_to_step(Quantity(free * amount.value / HUNDRED * (1 - self.fee)), Quantity(grid))
        affordable = self._affordable(intent, used, free)
        note = f"less the fee of {written(self.fee * HUNDRED)}%"
        if affordable < used:
            used, note = floor_to_step(affordable, Quantity(grid)), "less a reserve for the worst price"
        if not used:
            raise _refusal("quote_quantity", f"no {quote} is free")
        self._say("quote_quantity", amount, used, quote, f"{_share(amount)} of the free {quote}", free, note)
        return used

    def _affordable(self, intent: OrderIntent, used: Quantity, free: Quantity) -> Quantity:
        """Return the part of an amount whose quantity can be paid at the worst price, which the exchange reserves."""
        while used and (needed := self._reserved(replace(intent, quote_quantity=used))) > free:
            used = Quantity(min(used * free / needed, used * Decimal("0.9999")))
        return used

    def _reserved(self, intent: OrderIntent) -> Decimal:
        """Return the amount that the exchange reserves for a buy: its quantity at the worst price."""
        middle, fill = self.look.touch.mid, self._fill(intent)
        if self.by.policy is None or middle is None or fill is None or not fill.base:
            return NOTHING
        return fill.base * on_grid("BUY", worst_price(self.by.policy, intent, fill, middle), self._tick)

    async def _at_risk(self, amount: Amount) -> tuple[Decimal, str, Decimal | None]:
        """Return the money at risk, the words for its source, and the equity that it is a share of."""
        if amount.unit == "number":
            return amount.value, "most to lose at the stop", None
        quote = self.rules.quote
        equity = await equity_in(quote, self.account, self.by.trying.client)
        if equity is None:
            raise _refusal("risk", f'the account has no value in {quote}: write an amount, as "100"')
        return equity * amount.value / HUNDRED, f"{_share(amount)} of the equity, all balances at the bid", equity

    async def _sized(self, intent: OrderIntent, amount: Amount, stop: Amount, policy: Policy) -> Quantity:
        """Return the largest quantity whose loss at the stop's limit price is within the risk."""
        money, basis, equity = await self._at_risk(amount)
        rates, quote = self.account.commission or USUAL, self.rules.quote
        fee = max(rates.maker, rates.taker)

        def loss(quantity: Quantity) -> Decimal:
            entry = self._entry(replace(intent, quantity=quantity))
            at = stop.value if stop.unit == "number" else away_from(entry, self._signed("stop_loss", stop).value)
            trigger = on_grid("SELL", Price(at), self._tick)
            if trigger >= entry:
                raise _refusal("stop_loss", "must be below the entry price")
            return loss_at(entry, stop_limit(policy.limits, trigger, self._tick), quantity, fee)

        step, free = Quantity(grid_of(self.rules, intent, "quantity")[0]), self._balance(quote).free
        start = intent.price or self.look.touch.ask
        if start is None:
            raise _refusal("type", EMPTY)
        is_afforded = self._bound(intent, free, policy)
        size = largest_within(step, Quantity(free / start), lambda each: is_afforded(each) and loss(each) <= money)
        if not size:
            is_small = is_afforded(step)
            small = f"is less than one step of {written(step)} {self.rules.base} loses at the stop"
            raise _refusal("risk", small if is_small else f"not enough {quote} is free for any quantity")
        is_bounded = not is_afforded(Quantity(size + step))
        note = f"the free {quote} or the order book allows only {written(size)} {self.rules.base}" if is_bounded else ""
        self._say("risk", amount, money, quote, basis, equity, note)
        return size

    def _bound(self, intent: OrderIntent, free: Quantity, policy: Policy) -> Callable[[Quantity], bool]:
        """Return whether a quantity can be paid and, at the market, be bought within the operator's slippage."""

        def is_within(quantity: Quantity) -> bool:
            order = replace(intent, quantity=quantity)
            if order.price is not None:
                return quantity * on_grid("BUY", order.price, self._tick) <= free
            fill = self._fill(order)
            if fill is None or not fill.complete:
                return False
            slip = fill.slippage_bps("BUY", fill.touch)
            return self._reserved(order) <= free and (slip is None or slip <= policy.limits.slippage_bps)

        return is_within


def _share(amount: Amount) -> str:
    return "all" if amount.value == HUNDRED else f"{written(amount.value)}%"


def _refusal(name: str, problem: str) -> InvalidArguments:
    return InvalidArguments(
        summary=f"Invalid arguments for preview_order: {name}: {problem}",
        errors=({"argument": name, "problem": problem},),
    )
