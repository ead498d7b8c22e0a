"""What an account holds and what its key may do."""

from dataclasses import dataclass

from mcp_binance_server.domain.money import Quantity


@dataclass(frozen=True, slots=True)
class Balance:
    """One asset of an account: what is free, and what open orders hold back."""

    asset: str
    free: Quantity
    locked: Quantity

    @property
    def total(self) -> Quantity:
        return Quantity(self.free + self.locked)


@dataclass(frozen=True, slots=True)
class Account:
    """The balances of an account and the rights the exchange reports for it."""

    balances: tuple[Balance, ...]
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    updated_ms: int
