"""Balances of the accounts, exact to 0.00000001."""

from dataclasses import dataclass
from decimal import Decimal

from binance_simulator.market.listing import UNIT, decimal_string
from binance_simulator.market.portfolio import Balance, Portfolio
from binance_simulator.orders.execution import Holding


@dataclass(slots=True)
class Purse:
    """Balance of one asset, in units of 0.00000001."""

    free: int = 0
    locked: int = 0


class Account:
    """Balances of one account. The portfolio gives the initial values."""

    def __init__(self, holder: str, portfolio: Portfolio) -> None:
        self.holder = holder
        self.portfolio = portfolio
        self._purses = {one.asset: Purse(units(one.free), units(one.locked)) for one in portfolio.balances}
        self._touched: dict[str, None] = {}

    def __repr__(self) -> str:
        return "Account(key hidden)"

    def free(self, asset: str) -> int:
        """Return the free amount."""
        return self._purse(asset).free

    def total(self, asset: str) -> int:
        """Return the sum of the free and the locked amount."""
        purse = self._purse(asset)
        return purse.free + purse.locked

    def lock(self, asset: str, amount: int) -> None:
        """Lock an amount for an order."""
        purse = self._touch(asset)
        purse.free -= amount
        purse.locked += amount

    def release(self, asset: str, amount: int) -> None:
        """Release a locked amount."""
        self.lock(asset, -amount)

    def spend(self, asset: str, amount: int) -> None:
        """Subtract from the free amount."""
        self._touch(asset).free -= amount

    def receive(self, asset: str, amount: int) -> None:
        """Add to the free amount."""
        self._touch(asset).free += amount

    def changed(self) -> tuple[Holding, ...]:
        """Return the balances that changed since the last call."""
        touched, self._touched = self._touched, {}
        purses = ((asset, self._purse(asset)) for asset in touched)
        return tuple(Holding(asset, decimal_string(one.free), decimal_string(one.locked)) for asset, one in purses)

    def balances(self) -> tuple[Balance, ...]:
        """Return all balances."""
        return tuple(
            Balance(asset, decimal_string(one.free), decimal_string(one.locked)) for asset, one in self._purses.items()
        )

    def _purse(self, asset: str) -> Purse:
        return self._purses.get(asset) or Purse()

    def _touch(self, asset: str) -> Purse:
        self._touched[asset] = None
        return self._purses.setdefault(asset, Purse())


def units(text: str) -> int:
    """Parse an amount as a multiple of 0.00000001."""
    return int(Decimal(text) * UNIT)
