"""What an account holds, what its key may do, and which Binance said so."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Quantity

TESTNET = "testnet"


@dataclass(frozen=True, slots=True)
class Venue:
    """Which network and which host really answered a question about an account."""

    network: str
    host: str
    simulated: bool = False

    @property
    def is_testnet(self) -> bool:
        return self.network == TESTNET


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
class Commission:
    """What the exchange takes of a trade, as fractions: 0.001 is a tenth of a percent."""

    maker: Decimal
    taker: Decimal


@dataclass(frozen=True, slots=True)
class Account:
    """The balances of an account and the rights the exchange reports for it."""

    balances: tuple[Balance, ...]
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    updated_ms: int
    kind: str = "SPOT"
    permissions: tuple[str, ...] = ()
    commission: Commission | None = None

    @property
    def holdings(self) -> tuple[Balance, ...]:
        """The balances that are not zero, in the exchange's order."""
        return tuple(each for each in self.balances if each.total)


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account, who answered, and when."""

    account: Account
    venue: Venue
    as_of_ms: int
