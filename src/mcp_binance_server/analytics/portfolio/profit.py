"""Profit from the account's own trades, and the balances that trades do not explain. Pure functions.

The currency is USDT, and stablecoins count at par. If neither side of a trade is USDT or a stablecoin, or its fee is in
a third asset, the price of that minute is used. Without such a price the received asset has no cost and the given asset
earns nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from mcp_binance_server.analytics.portfolio.lots import EXACT, NOTHING, Lot, Position, in_units
from mcp_binance_server.domain.money import STABLECOINS, Price
from mcp_binance_server.domain.orders import Fill
from mcp_binance_server.domain.symbols import Symbol, SymbolRules

CASH = frozenset(STABLECOINS)
PriceAt = Callable[[str, int], Price | None]
"""Price of one unit of an asset in USDT at a moment; None if unknown."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Cost and profit by one method. `unrealised` is None without a current price."""

    cost: Decimal
    realised: Decimal
    unrealised: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetProfit:
    """One asset: the quantity that its trades explain, with its cost, and the unexplained quantity."""

    asset: str
    quantity: Decimal
    lots: tuple[Lot, ...]
    fifo: Gain
    average: Gain
    held_unexplained: Decimal
    sold_unexplained: Decimal
    proceeds_unexplained: Decimal
    gone: Decimal

    @property
    def is_counted(self) -> bool:
        """Whether there is a cost or a profit to report."""
        return bool(self.quantity or self.fifo.realised or self.average.realised)

    @property
    def is_explained(self) -> bool:
        return not (self.held_unexplained or self.sold_unexplained or self.gone)

    @property
    def average_price(self) -> Decimal | None:
        """Average cost of one unit, or None if no quantity with a cost is left."""
        return in_units(EXACT.divide(self.average.cost, self.quantity)) if self.quantity else None

    def break_even(self, fee: Decimal) -> Decimal | None:
        """Return the price whose proceeds, after the fee of the sale, cover the average cost of a unit."""
        cost = self.average_price
        return None if cost is None else in_units(EXACT.divide(cost, 1 - fee))


@dataclass(slots=True)
class ProfitLedger:
    """Positions and fees that result from trades."""

    positions: dict[str, Position] = field(default_factory=dict[str, Position])
    fees: Decimal = NOTHING
    """The value of all fees that have a price. Cost and profit already include it."""
    unvalued_fees: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    unpriced_trades: int = 0

    def position(self, asset: str) -> Position:
        return self.positions.setdefault(asset, Position())


@dataclass(frozen=True, slots=True)
class _Legs:
    """A trade as two amounts that include fees in either asset, plus a fee in a third asset."""

    fill: Fill
    base: str
    quote: str

    @property
    def third(self) -> bool:
        return self.fill.commission_asset not in (self.base, self.quote)

    @property
    def base_amount(self) -> Decimal:
        fee = self.fill.commission if self.fill.commission_asset == self.base else NOTHING
        return EXACT.add(self.fill.quantity, -fee if self.fill.is_buyer else fee)

    @property
    def quote_amount(self) -> Decimal:
        fee = self.fill.commission if self.fill.commission_asset == self.quote else NOTHING
        return EXACT.add(self.fill.quote_quantity, fee if self.fill.is_buyer else -fee)

    def value(self, price_at: PriceAt) -> Decimal | None:
        if self.quote in CASH:
            return self.quote_amount
        if self.base in CASH:
            return self.base_amount
        return valued(self.quote, self.quote_amount, self.fill.time_ms, price_at)

    def fee(self, price_at: PriceAt) -> Decimal | None:
        """Return the value of the fee. A fee in base or quote asset is converted at the price of the trade."""
        fill = self.fill
        if fill.commission_asset == self.base and self.base not in CASH:
            in_quote = in_units(EXACT.multiply(fill.commission, fill.price))
            return valued(self.quote, in_quote, fill.time_ms, price_at)
        if fill.commission_asset == self.quote and self.quote not in CASH and self.base in CASH:
            return in_units(EXACT.divide(fill.commission, fill.price))
        return valued(fill.commission_asset, fill.commission, fill.time_ms, price_at)


@dataclass(frozen=True, slots=True)
class OpenStop:
    """An open stop that sells, and its loss if it fills at its limit price, fee included.

    `loss` is from the average cost of the coins, None if that is unknown; `fall` is from their value now.
    """

    symbol: Symbol
    quantity: Decimal
    trigger: Price
    limit: Price
    loss: Decimal | None
    fall: Decimal | None


def open_stop(  # noqa: PLR0917 - an order, its fee and its cost
    symbol: Symbol,
    quantity: Decimal,
    trigger: Price,
    limit: Price,
    fee: Decimal,
    cost: Decimal | None,
    now: Price | None,
) -> OpenStop:
    """Return the loss of a stop, from the cost of a unit and from its price now."""
    kept = EXACT.multiply(limit, 1 - fee)

    def lost(start: Decimal | None) -> Decimal | None:
        return None if start is None else in_units(EXACT.multiply(quantity, EXACT.subtract(start, kept)))

    return OpenStop(symbol, quantity, trigger, limit, lost(cost), lost(now))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountProfit:
    """Profit from an account's trades, the trades that were read, and the cost of reading them."""

    assets: tuple[AssetProfit, ...]
    ledger: ProfitLedger
    trades: int
    pairs: tuple[Symbol, ...]
    not_read: tuple[Symbol, ...]
    """Pairs of the holdings beyond the limit of reads."""
    cut: Mapping[Symbol, int]
    """Pairs with older trades that were not read, by the time of the oldest trade read."""
    prices_left: int
    """Number of price calls beyond the limit. Prices that were read are kept, so the next request continues."""
    calls: int
    weight: int
    fee: Decimal | None = None
    """Fee of a sale that takes, as a fraction; None if the open stops were not read."""
    stops: tuple[OpenStop, ...] = ()


def valued(asset: str, amount: Decimal, time_ms: int, price_at: PriceAt) -> Decimal | None:
    """Return the USDT value of an amount at a time. Stablecoins count at par."""
    if asset in CASH or not amount:
        return amount
    price = price_at(asset, time_ms)
    return None if price is None else in_units(EXACT.multiply(amount, price))


def needed_prices(fills: Iterable[Fill], rules: Mapping[Symbol, SymbolRules]) -> Iterator[tuple[str, int]]:
    """Yield the asset and the time of each price that is needed to value the trades."""
    for fill in fills:
        legs = _Legs(fill, rules[fill.symbol].base, rules[fill.symbol].quote)
        if not CASH & {legs.base, legs.quote}:
            yield legs.quote, fill.time_ms
        if legs.third and fill.commission and fill.commission_asset not in CASH:
            yield fill.commission_asset, fill.time_ms


def replay(fills: Iterable[Fill], rules: Mapping[Symbol, SymbolRules], price_at: PriceAt) -> ProfitLedger:
    """Apply trades in time order."""
    ledger = ProfitLedger()
    for fill in sorted(fills, key=lambda each: (each.time_ms, each.symbol, each.trade_id)):
        _count(ledger, _Legs(fill, rules[fill.symbol].base, rules[fill.symbol].quote), price_at)
    return ledger


def _count(ledger: ProfitLedger, legs: _Legs, price_at: PriceAt) -> None:
    value, fee = legs.value(price_at), legs.fee(price_at)
    if value is None:
        ledger.unpriced_trades += 1
    if value is None or fee is None:
        fee = _unvalued(ledger, legs)
    else:
        ledger.fees = EXACT.add(ledger.fees, fee)
    charge = (fee or NOTHING) if legs.third else NOTHING
    if legs.base in CASH and legs.quote in CASH:
        # Both assets are stablecoins at par, so only the fee is a loss.
        ledger.position(legs.base).earn(-(fee or NOTHING), -(fee or NOTHING))
    else:
        _exchange(ledger, legs, value, charge)
    if legs.third and legs.fill.commission_asset not in CASH:
        _pay(ledger.position(legs.fill.commission_asset), legs.fill, fee)


def _unvalued(ledger: ProfitLedger, legs: _Legs) -> None:
    asset, fee = legs.fill.commission_asset, legs.fill.commission
    if fee:
        ledger.unvalued_fees[asset] = EXACT.add(ledger.unvalued_fees.get(asset, NOTHING), fee)


def _exchange(ledger: ProfitLedger, legs: _Legs, value: Decimal | None, charge: Decimal) -> None:
    """Remove the asset given and add the asset received.

    A fee in a third asset changes the cost or the proceeds of the base asset. If the base asset is a stablecoin, the
    quote asset changes instead.
    """
    came, gave = (legs.base, legs.quote) if legs.fill.is_buyer else (legs.quote, legs.base)
    amounts = {legs.base: legs.base_amount, legs.quote: legs.quote_amount}
    bearer = legs.quote if legs.base in CASH else legs.base
    if gave not in CASH:
        borne = charge if gave == bearer else NOTHING
        ledger.position(gave).dispose(amounts[gave], None if value is None else EXACT.subtract(value, borne))
    if came not in CASH and value is not None:
        borne = charge if came == bearer else NOTHING
        ledger.position(came).acquire(amounts[came], EXACT.add(value, borne), legs.fill.time_ms)


def _pay(position: Position, fill: Fill, fee: Decimal | None) -> None:
    """Deduct a fee from the position in its asset. A negative fee is a rebate, which is added."""
    if fill.commission > 0:
        position.dispose(fill.commission, fee)
    elif fee is not None:
        position.acquire(-fill.commission, -fee, fill.time_ms)


def settle(
    ledger: ProfitLedger, balances: Mapping[str, Decimal], prices: Mapping[str, Price | None]
) -> tuple[AssetProfit, ...]:
    """Compare positions with balances.

    A surplus that no trade explains has no cost. A missing quantity is removed without profit.
    """
    assets = [
        each for each in dict.fromkeys((*balances, *ledger.positions)) if each not in CASH or _earned(ledger, each)
    ]
    return tuple(
        _settled(each, ledger.position(each), balances.get(each, NOTHING), prices.get(each)) for each in assets
    )


def _earned(ledger: ProfitLedger, asset: str) -> bool:
    return asset in ledger.positions and bool(ledger.positions[asset].fifo_realised)


def _settled(asset: str, position: Position, balance: Decimal, price: Price | None) -> AssetProfit:
    is_cash = asset in CASH
    if not is_cash:
        position.dispose(EXACT.subtract(position.quantity, balance), None)
    value = None if price is None else EXACT.multiply(position.quantity, price)
    return AssetProfit(
        asset=asset,
        quantity=position.quantity,
        lots=tuple(position.lots),
        fifo=_gain(position.fifo_cost, position.fifo_realised, position.quantity, value),
        average=_gain(position.average_cost, position.average_realised, position.quantity, value),
        held_unexplained=NOTHING if is_cash else EXACT.subtract(balance, position.quantity),
        sold_unexplained=position.sold_unexplained,
        proceeds_unexplained=position.proceeds_unexplained,
        gone=position.gone,
    )


def _gain(cost: Decimal, realised: Decimal, quantity: Decimal, value: Decimal | None) -> Gain:
    if not quantity:
        return Gain(cost, realised, NOTHING)
    return Gain(cost, realised, None if value is None else EXACT.subtract(value, cost))


def total(gains: Iterable[Gain]) -> Gain:
    """Sum gains. Assets without a current price add nothing to the unrealised profit."""
    cost = realised = unrealised = NOTHING
    for each in gains:
        cost, realised = EXACT.add(cost, each.cost), EXACT.add(realised, each.realised)
        unrealised = EXACT.add(unrealised, each.unrealised or NOTHING)
    return Gain(cost, realised, unrealised)
