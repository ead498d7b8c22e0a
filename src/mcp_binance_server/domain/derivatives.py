"""Public data of USDⓈ-M futures: contracts, funding, open interest, positioning, liquidations."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Literal

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.symbols import Symbol, fold, is_spelled, spelled_pair

Underlying = Literal["crypto", "tradfi"]
IntervalSource = Literal["exchange", "settlements", "assumed"]
"""Source of a funding interval: reported for the symbol, the spacing of its last settlements, or the usual interval."""

PERPETUAL_KINDS: Mapping[str, Underlying] = {"PERPETUAL": "crypto", "TRADIFI_PERPETUAL": "tradfi"}
USUAL_FUNDING_HOURS = 8
# Names of a pair's perpetual on other sites: BTCUSDT.P, BTCUSDTPERP, BTCUSDT_PERP, BTCUSDT-PERP.
_AS_PERPETUAL = re.compile(r"(?:[._-]?PERP|\.P)\Z")
_MULTIPLIED = re.compile(r"(1000000|10000|1000|1M)(?=[A-Z])")
_MULTIPLIERS = {"1M": Decimal(1_000_000)}


@dataclass(frozen=True, slots=True)
class Contract:
    """One contract in the exchange's list. Its index is the index of `pair`."""

    symbol: Symbol
    pair: str
    kind: str
    status: str
    base: str
    quote: str
    tick: Price
    onboard_ms: int
    delivery_ms: int

    @property
    def is_perpetual(self) -> bool:
        return self.kind in PERPETUAL_KINDS

    @property
    def is_trading(self) -> bool:
        return self.status == "TRADING"

    @property
    def underlying(self) -> Underlying:
        return PERPETUAL_KINDS.get(self.kind, "crypto")

    @property
    def multiplied(self) -> tuple[str, Decimal] | None:
        """Base asset and multiplier according to the name. Check them against the prices before use."""
        found = _MULTIPLIED.match(self.base)
        if found is None:
            return None
        return self.base[found.end() :], _MULTIPLIERS.get(found[1]) or Decimal(found[1])


@dataclass(frozen=True)
class ContractTable:
    """All contracts of the exchange. A contract exists if it is in this list, whatever its name looks like."""

    contracts: Mapping[Symbol, Contract] = field(repr=False)
    weight_limit: int

    @classmethod
    def of(cls, contracts: Iterable[Contract], weight_limit: int) -> "ContractTable":
        return cls({each.symbol: each for each in contracts}, weight_limit)

    def find(self, text: str) -> Contract | None:
        """Return the contract named by a text, or None. BTCUSDT.P and BTCUSDTPERP name the perpetual BTCUSDT."""
        folded = fold(text)
        return self.contracts.get(Symbol(folded)) or self.contracts.get(Symbol(_AS_PERPETUAL.sub("", folded)))

    def spelled(self, text: str) -> Contract | None:
        """Return the one trading perpetual that another spelling means, such as `btc`, `BTC/USDT` or `BTC-PERP`."""
        bare = _AS_PERPETUAL.sub("", fold(text))
        return spelled_pair(bare, map(self.contracts.__getitem__, self.perpetuals)) if is_spelled(bare) else None

    @cached_property
    def perpetuals(self) -> tuple[Symbol, ...]:
        """Trading perpetuals. Crypto comes before TradFi, then USDT pairs before others, then names in order."""
        trading = [each for each in self.contracts.values() if each.is_perpetual and each.is_trading]
        return tuple(
            each.symbol
            for each in sorted(
                trading, key=lambda each: (each.underlying != "crypto", each.quote != "USDT", each.symbol)
            )
        )

    def deliveries(self, pair: str) -> list[Contract]:
        """Return the trading delivery contracts on a pair, the next expiry first."""
        found = [
            each for each in self.contracts.values() if each.pair == pair and each.is_trading and not each.is_perpetual
        ]
        return sorted(found, key=lambda each: each.delivery_ms)


@dataclass(frozen=True, slots=True)
class PremiumIndex:
    """Mark price, index price and estimated funding of the next settlement, at one moment.

    Delivery contracts have no funding.
    """

    symbol: Symbol
    mark: Price
    index: Price
    time_ms: int
    funding: Decimal | None
    next_funding_ms: int | None


@dataclass(frozen=True, slots=True)
class FundingRule:
    """Funding interval and limits of a symbol. Only symbols with unusual ones have a rule."""

    symbol: Symbol
    interval_hours: int
    cap: Decimal
    floor: Decimal


@dataclass(frozen=True, slots=True)
class FundingPayment:
    """One funding settlement. The list also contains dividends of equity contracts, which are not funding."""

    time_ms: int
    rate: Decimal
    is_regular: bool


@dataclass(frozen=True, slots=True)
class FuturesQuote:
    """Best bid and ask of a contract, with their time."""

    symbol: Symbol
    bid: Price
    ask: Price
    time_ms: int


@dataclass(frozen=True, slots=True)
class OpenInterest:
    """Number of contracts that are open now."""

    symbol: Symbol
    contracts: Quantity
    time_ms: int


@dataclass(frozen=True, slots=True)
class InterestPoint:
    """Open interest at the end of an hour: number of contracts and their value."""

    time_ms: int
    contracts: Quantity
    value: Quantity


ShareKind = Literal["accounts_all", "top_accounts", "top_positions"]


@dataclass(frozen=True, slots=True)
class SharePoint:
    """Long share at the end of an hour: share of accounts, or share of the positions of the largest accounts."""

    time_ms: int
    long_share: Decimal
    ratio: Decimal


@dataclass(frozen=True, slots=True)
class TakerPoint:
    """Taker buys and sells in the hour that began at `time_ms`."""

    time_ms: int
    bought: Quantity
    sold: Quantity


@dataclass(frozen=True, slots=True)
class BasisPoint:
    """Basis at one moment: futures price minus index, as a fraction of the index."""

    time_ms: int
    rate: Decimal


@dataclass(frozen=True, slots=True)
class Liquidation:
    """One liquidation in the stream: a long position that was sold, or a short position that was bought back."""

    symbol: Symbol
    side: Literal["long", "short"]
    value: Quantity
    time_ms: int
