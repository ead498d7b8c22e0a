"""Balances of an account, permissions of its key, and the venue that reported them."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Quantity

TESTNET = "testnet"
WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class Venue:
    """Network and host that answered a request about an account."""

    network: str
    host: str
    simulated: bool = False
    note: str = ""
    """Remark on accounts of this venue; empty if there is none."""

    @property
    def is_testnet(self) -> bool:
        return self.network == TESTNET


@dataclass(frozen=True, slots=True)
class Balance:
    """One asset of an account: the free amount, and the amount locked by open orders."""

    asset: str
    free: Quantity
    locked: Quantity

    @property
    def total(self) -> Quantity:
        return Quantity(self.free + self.locked)


@dataclass(frozen=True, slots=True)
class Commission:
    """Trading fees as fractions: 0.001 is a tenth of a percent."""

    maker: Decimal
    taker: Decimal


@dataclass(frozen=True, slots=True)
class Account:
    """The balances of an account, and the permissions that the exchange reports for it."""

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
    """An account, the venue that answered, and the time of the answer."""

    account: Account
    venue: Venue
    as_of_ms: int


@dataclass(frozen=True, slots=True)
class KeyRights:
    """Permissions of a key. None means not reported. The account has permissions of its own."""

    reading: bool
    spot_trading: bool
    withdrawals: bool
    ip_restricted: bool
    internal_transfer: bool | None = None
    universal_transfer: bool | None = None
    margin: bool = False
    futures: bool = False
    options: bool = False
    portfolio_margin: bool = False

    @property
    def other_trading(self) -> bool:
        return self.margin or self.futures or self.options or self.portfolio_margin

    @property
    def transfers(self) -> bool:
        return bool(self.internal_transfer or self.universal_transfer)

    @property
    def beyond_reading(self) -> tuple[str, ...]:
        """Permissions of the key beyond reading, in words."""
        more = (
            ("trade", self.spot_trading),
            ("trade margin or futures", self.other_trading),
            ("transfer", self.transfers),
            (WITHDRAW, self.withdrawals),
        )
        return tuple(name for name, is_ticked in more if is_ticked)

    @property
    def dangers(self) -> tuple[str, ...]:
        """Warnings for the owner of the key, most severe first."""
        said = (
            (
                "THIS KEY CAN WITHDRAW YOUR MONEY: 'Enable Withdrawals' is ticked, and this server never needs it. "
                "Untick it, or make a read-only key",
                self.withdrawals,
            ),
            (
                "This key works from any IP address: restrict it to the address of this machine",
                not self.ip_restricted,
            ),
        )
        return tuple(sentence for sentence, is_so in said if is_so)
