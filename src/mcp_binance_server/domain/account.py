"""What an account holds, what its key may do, and which Binance said so."""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Quantity

TESTNET = "testnet"
WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class Venue:
    """Which network and which host really answered a question about an account."""

    network: str
    host: str
    simulated: bool = False
    note: str = ""
    """What else is to be said of accounts there."""

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


@dataclass(frozen=True, slots=True)
class KeyRights:
    """The boxes that are ticked for a key; what the account may do is another matter. None is a box nobody tells of."""

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
        """What else than reading the key may do, in words."""
        more = (
            ("trade", self.spot_trading),
            ("trade margin or futures", self.other_trading),
            ("transfer", self.transfers),
            (WITHDRAW, self.withdrawals),
        )
        return tuple(name for name, is_ticked in more if is_ticked)

    @property
    def dangers(self) -> tuple[str, ...]:
        """What whoever owns the key should change, the worst first."""
        said = (
            (
                "THIS KEY CAN WITHDRAW YOUR MONEY: 'Enable Withdrawals' is ticked and nothing here needs it. Untick "
                "it, or make a key that can only read",
                self.withdrawals,
            ),
            (
                "Any address may use this key: give it an IP access list with this machine's address",
                not self.ip_restricted,
            ),
        )
        return tuple(sentence for sentence, is_so in said if is_so)
