"""What the holders of the accounts have, to the last hundred-millionth."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.simulator.market.listing import UNIT, decimal_string
from mcp_binance_server.simulator.market.portfolio import Balance, Portfolio
from mcp_binance_server.simulator.orders.execution import Holding


@dataclass(slots=True)
class Purse:
    """One asset, in multiples of 0.00000001."""

    free: int = 0
    locked: int = 0


class Account:
    """One holder's balances; they begin as the portfolio says."""

    def __init__(self, holder: str, portfolio: Portfolio) -> None:
        self.holder = holder
        self.portfolio = portfolio
        self._purses = {one.asset: Purse(units(one.free), units(one.locked)) for one in portfolio.balances}
        self._touched: dict[str, None] = {}

    def __repr__(self) -> str:
        return "Account(key hidden)"

    def free(self, asset: str) -> int:
        """Return what may be spent."""
        return self._purse(asset).free

    def total(self, asset: str) -> int:
        """Return what is held, locked or not."""
        purse = self._purse(asset)
        return purse.free + purse.locked

    def lock(self, asset: str, amount: int) -> None:
        """Set an amount aside for an order."""
        purse = self._touch(asset)
        purse.free -= amount
        purse.locked += amount

    def release(self, asset: str, amount: int) -> None:
        """Give back what was set aside."""
        self.lock(asset, -amount)

    def spend(self, asset: str, amount: int) -> None:
        """Take from what is free."""
        self._touch(asset).free -= amount

    def receive(self, asset: str, amount: int) -> None:
        """Add to what is free."""
        self._touch(asset).free += amount

    def changed(self) -> tuple[Holding, ...]:
        """Return what changed since somebody asked last."""
        touched, self._touched = self._touched, {}
        purses = ((asset, self._purse(asset)) for asset in touched)
        return tuple(Holding(asset, decimal_string(one.free), decimal_string(one.locked)) for asset, one in purses)

    def balances(self) -> tuple[Balance, ...]:
        """Return everything that is held."""
        return tuple(
            Balance(asset, decimal_string(one.free), decimal_string(one.locked)) for asset, one in self._purses.items()
        )

    def _purse(self, asset: str) -> Purse:
        return self._purses.get(asset) or Purse()

    def _touch(self, asset: str) -> Purse:
        self._touched[asset] = None
        return self._purses.setdefault(asset, Purse())


def units(text: str) -> int:
    """Read an amount as a whole number of 0.00000001."""
    return int(Decimal(text) * UNIT)
