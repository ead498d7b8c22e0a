"""Money of a paper account: funds locked by orders, and changes by fills. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.domain.account import Balance, Commission
from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Side
from mcp_binance_server.trading.errors import InsufficientBalance
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.trading.paper.order import NONE, PaperFill, PaperOrder

OWN = "paper"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two assets of a symbol."""

    base: str
    quote: str


@dataclass(eq=False)
class PaperAccount:
    """Balances by asset. Every change follows the rules of the exchange."""

    free: dict[str, Quantity] = field(default_factory=dict[str, Quantity])
    locked: dict[str, Quantity] = field(default_factory=dict[str, Quantity])

    @classmethod
    def starting_with(cls, balances: Mapping[str, Decimal]) -> "PaperAccount":
        return cls({asset: Quantity(amount) for asset, amount in balances.items()})

    @property
    def balances(self) -> tuple[Balance, ...]:
        assets = sorted(self.free.keys() | self.locked.keys())
        return tuple(Balance(each, self.free.get(each, NONE), self.locked.get(each, NONE)) for each in assets)

    def hold(self, pair: Pair, *orders: PaperOrder) -> None:
        """Lock the funds that the orders can need. If only one of several orders can fill, lock the largest need.

        Raises:
            InsufficientBalance: the funds are not free; nothing is locked.
        """
        if not orders:
            return
        asset, needed = _held_by(orders[0].side, pair), self._held(orders)
        free = self.free.get(asset, NONE)
        if needed > free:
            raise InsufficientBalance(
                asset=asset,
                required_amount=written(needed),
                available_amount=written(free),
                shortfall=written(needed - free),
            )
        self._move(asset, free=-needed, locked=needed)

    def settle(self, order: PaperOrder, fill: PaperFill, pair: Pair, rates: Commission) -> Quantity:
        """Apply a fill to the balances. Return the commission, which is taken from the received asset."""
        spent = Quantity(fill.price * fill.quantity)
        held = self._needed(order, fill.quantity)
        received = fill.quantity if order.side == "BUY" else spent
        commission = Quantity(received * (rates.maker if fill.is_maker else rates.taker))
        paid_with, got = _held_by(order.side, pair), pair.base if order.side == "BUY" else pair.quote
        given = spent if order.side == "BUY" else fill.quantity
        # A buy that fills below its limit releases the difference at once.
        self._move(paid_with, free=Quantity(held - given), locked=-held)
        self._move(got, free=Quantity(received - commission), locked=NONE)
        return commission

    def release(self, pair: Pair, *orders: PaperOrder) -> None:
        """Release the funds that the orders still lock. Orders of which only one can fill share one lock."""
        if orders:
            held = self._held(orders)
            self._move(_held_by(orders[0].side, pair), free=held, locked=-held)

    def set_aside(self, asset: str, amount: Quantity) -> None:
        """Lock an amount that an entry received, for exits that have not started."""
        self._move(asset, free=-amount, locked=amount)

    def free_again(self, asset: str, amount: Quantity) -> None:
        """Release an amount that `set_aside` locked."""
        self._move(asset, free=amount, locked=-amount)

    def _held(self, orders: Iterable[PaperOrder]) -> Quantity:
        return max(self._needed(each, each.left) for each in orders)

    def _needed(self, order: PaperOrder, quantity: Quantity) -> Quantity:
        return Quantity(order.price * quantity) if order.side == "BUY" else quantity

    def _move(self, asset: str, *, free: Decimal, locked: Decimal) -> None:
        self.free[asset] = Quantity(self.free.get(asset, NONE) + free)
        self.locked[asset] = Quantity(self.locked.get(asset, NONE) + locked)


def account_of(visitor: Visitor) -> str:
    """Return the name of a visitor's paper account. Without authentication, it is the account of the process."""
    return f"{OWN}-{sha256(visitor.name.encode()).hexdigest()[:16]}" if visitor.is_known else OWN


def _held_by(side: Side, pair: Pair) -> str:
    return pair.quote if side == "BUY" else pair.base
