"""Futures answers in Binance's spelling; each struct converts itself with `to_domain`.

Unknown fields are ignored, because the API adds fields without notice.

https://developers.binance.com/docs/derivatives/usds-margined-futures/market-data/rest-api
"""

import re
from decimal import Decimal
from typing import Annotated, ClassVar

import msgspec

from mcp_binance_server.domain.board import BoardField
from mcp_binance_server.domain.derivatives import (
    BasisPoint,
    Contract,
    ContractTable,
    FundingPayment,
    FundingRule,
    FuturesQuote,
    InterestPoint,
    OpenInterest,
    PremiumIndex,
    SharePoint,
    TakerPoint,
)
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.board_part import read_rows
from mcp_binance_server.exchange.wire import (
    AboveZero,
    Amount,
    BinanceWire,
    EpochMs,
    ExchangeLimitsWire,
    Name,
    SignedAmount,
    check_order,
    check_texts,
    form_of,
    price,
    quantity,
)
from mcp_binance_server.words import word

# Some answers write times as strings; fourteen digits of milliseconds are enough until the year 5138.
Stamp = EpochMs | Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,14}\Z")]
Hours = Annotated[int, msgspec.Meta(ge=1, le=24)]
REGULAR = "Regular"


class PremiumWire(BinanceWire):
    """Mark price, index price and funding; a delivery contract has an empty funding rate or none."""

    FIELDS: ClassVar[tuple[BoardField, ...]] = ("symbol", "mark", "index", "funding", "next_funding_ms", "marked_ms")
    FORM: ClassVar[re.Pattern[str]] = form_of("name", "above zero", "number", "signed or nothing")

    symbol: str
    mark_price: str
    index_price: str
    time: EpochMs
    last_funding_rate: str = ""
    next_funding_time: EpochMs = 0

    def __post_init__(self) -> None:
        # The funding rate is checked even if it is not shown: a row with one invalid value is dropped whole.
        check_texts(self.FORM, (self.symbol, self.mark_price, self.index_price, self.last_funding_rate))

    def texts(self) -> tuple[str, ...]:
        funding, settles = (self.last_funding_rate, str(self.next_funding_time)) if self._is_funded else ("", "")
        return self.symbol, self.mark_price, self.index_price, funding, settles, str(self.time)

    def to_domain(self) -> PremiumIndex:
        return PremiumIndex(
            Symbol(word(self.symbol)),
            price(self.mark_price),
            price(self.index_price),
            self.time,
            Decimal(self.last_funding_rate) if self._is_funded else None,
            self.next_funding_time if self._is_funded else None,
        )

    @property
    def _is_funded(self) -> bool:
        return bool(self.last_funding_rate and self.next_funding_time)


class FuturesQuoteWire(BinanceWire):
    FIELDS: ClassVar[tuple[BoardField, ...]] = ("symbol", "bid", "ask")
    FORM: ClassVar[re.Pattern[str]] = form_of("name", "number", "number")

    symbol: str
    bid_price: str
    ask_price: str
    time: EpochMs = 0

    def __post_init__(self) -> None:
        check_texts(self.FORM, self.texts())
        check_order(self.bid_price, self.ask_price)

    def texts(self) -> tuple[str, ...]:
        return self.symbol, self.bid_price, self.ask_price

    def to_domain(self) -> FuturesQuote:
        return FuturesQuote(Symbol(word(self.symbol)), price(self.bid_price), price(self.ask_price), self.time)


class OpenInterestWire(BinanceWire):
    symbol: Name
    open_interest: Amount
    time: EpochMs

    def to_domain(self) -> OpenInterest:
        return OpenInterest(Symbol(word(self.symbol)), quantity(self.open_interest), self.time)


class FundingPaymentWire(BinanceWire):
    funding_time: Stamp
    funding_rate: SignedAmount
    rate_type: str = REGULAR

    def to_domain(self) -> FundingPayment:
        return FundingPayment(int(self.funding_time), Decimal(self.funding_rate), self.rate_type == REGULAR)


class FundingRuleWire(BinanceWire):
    symbol: Name
    funding_interval_hours: Hours
    adjusted_funding_rate_cap: SignedAmount
    adjusted_funding_rate_floor: SignedAmount

    def to_domain(self) -> FundingRule:
        return FundingRule(
            Symbol(word(self.symbol)),
            self.funding_interval_hours,
            Decimal(self.adjusted_funding_rate_cap),
            Decimal(self.adjusted_funding_rate_floor),
        )


class InterestPointWire(BinanceWire):
    timestamp: Stamp
    sum_open_interest: Amount
    sum_open_interest_value: Amount

    def to_domain(self) -> InterestPoint:
        return InterestPoint(
            int(self.timestamp), quantity(self.sum_open_interest), quantity(self.sum_open_interest_value)
        )


class SharePointWire(BinanceWire):
    """Share of long accounts; the answer about positions of the largest accounts has the same field names."""

    timestamp: Stamp
    long_account: Amount
    long_short_ratio: Amount

    def to_domain(self) -> SharePoint:
        return SharePoint(int(self.timestamp), Decimal(self.long_account), Decimal(self.long_short_ratio))


class TakerPointWire(BinanceWire):
    timestamp: Stamp
    buy_vol: Amount
    sell_vol: Amount

    def to_domain(self) -> TakerPoint:
        return TakerPoint(int(self.timestamp), quantity(self.buy_vol), quantity(self.sell_vol))


class BasisPointWire(BinanceWire):
    """The answer's own rate is rounded to a basis point, which is too coarse for a ranking."""

    timestamp: Stamp
    futures_price: AboveZero
    index_price: AboveZero

    def to_domain(self) -> BasisPoint:
        return BasisPoint(int(self.timestamp), price(self.futures_price) / price(self.index_price) - 1)


class ContractFilterWire(BinanceWire):
    filter_type: str
    tick_size: Amount = "0"


class ContractWire(BinanceWire):
    symbol: Name
    pair: Name
    contract_type: str
    status: str
    base_asset: str
    quote_asset: str
    onboard_date: EpochMs = 0
    delivery_date: EpochMs = 0
    filters: list[ContractFilterWire] = msgspec.field(default_factory=list[ContractFilterWire])

    def to_domain(self) -> Contract:
        ticks = (each.tick_size for each in self.filters if each.filter_type == "PRICE_FILTER")
        return Contract(
            symbol=Symbol(word(self.symbol)),
            pair=word(self.pair),
            kind=word(self.contract_type),
            status=word(self.status),
            base=word(self.base_asset),
            quote=word(self.quote_asset),
            tick=Price(Decimal(next(ticks, "0"))),
            onboard_ms=self.onboard_date,
            delivery_ms=self.delivery_date,
        )


class ContractListWire(ExchangeLimitsWire):
    symbols: list[msgspec.Raw]

    def to_domain(self, *, otherwise: int) -> tuple[ContractTable, int]:
        """Return the readable contracts and the number of unreadable ones.

        Raises:
            msgspec.ValidationError: none of the contracts can be read.
        """
        read = read_rows(self.symbols, ContractWire)
        if self.symbols and not read.rows:
            raise msgspec.ValidationError("no contract of the list could be read")
        contracts = (each.to_domain() for each in read.rows)
        return ContractTable.of(contracts, self.weight_per_minute or otherwise), read.dropped
