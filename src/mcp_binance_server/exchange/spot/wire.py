"""Market answers in Binance's spelling; each struct converts itself with `to_domain`.

Unknown fields are ignored, because the API adds fields without notice.

https://developers.binance.com/docs/binance-spot-api-docs
"""

import re
from decimal import Decimal
from typing import ClassVar

import msgspec

from mcp_binance_server.domain.board import BoardField
from mcp_binance_server.domain.market import BookSnapshot, PriceLevel, Quote, Ticker, Trade, WrittenLevel
from mcp_binance_server.domain.reference_price import PriceRangeRule, ReferencePrice
from mcp_binance_server.domain.symbols import Ability, Symbol, SymbolRules, SymbolTable
from mcp_binance_server.exchange.wire import (
    AboveZero,
    Amount,
    BinanceWire,
    Count,
    DayRowWire,
    EpochMs,
    ExchangeLimitsWire,
    Places,
    SignedAmount,
    check_levels,
    check_order,
    form_of,
    price,
    quantity,
)
from mcp_binance_server.words import word

PRICE_RANGE = "PRICE_RANGE"


class TickerWire(BinanceWire):
    symbol: str
    price_change: SignedAmount
    price_change_percent: SignedAmount
    weighted_avg_price: Amount
    last_price: Amount
    bid_price: Amount
    ask_price: Amount
    open_price: Amount
    high_price: Amount
    low_price: Amount
    volume: Amount
    quote_volume: Amount
    open_time: EpochMs
    close_time: EpochMs
    count: Count

    def to_domain(self) -> Ticker:
        return Ticker(
            symbol=Symbol(word(self.symbol)),
            last_price=price(self.last_price),
            change=price(self.price_change),
            change_percent=Decimal(self.price_change_percent),
            open_price=price(self.open_price),
            high=price(self.high_price),
            low=price(self.low_price),
            weighted_average=price(self.weighted_avg_price),
            volume=quantity(self.volume),
            quote_volume=quantity(self.quote_volume),
            bid=price(self.bid_price),
            ask=price(self.ask_price),
            trade_count=self.count,
            open_time_ms=self.open_time,
            close_time_ms=self.close_time,
        )


class QuotedDayRowWire(DayRowWire):
    """A row of the call for all pairs: 24-hour statistics with best bid and ask."""

    FIELDS: ClassVar[tuple[BoardField, ...]] = (*DayRowWire.FIELDS, "bid", "ask")
    FORM: ClassVar[re.Pattern[str]] = form_of(*DayRowWire.KINDS, "number", "number")

    bid_price: str
    ask_price: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self.bid_price, self.ask_price)

    def texts(self) -> tuple[str, ...]:
        return *super().texts(), self.bid_price, self.ask_price


class PriceWire(BinanceWire):
    symbol: str
    price: Amount


class AveragePriceWire(BinanceWire):
    mins: Count
    price: Amount
    close_time: EpochMs = 0


class ReferencePriceWire(BinanceWire):
    """The price is null while the exchange has none."""

    symbol: str
    reference_price: AboveZero | None

    def to_domain(self) -> ReferencePrice:
        return ReferencePrice(None if self.reference_price is None else price(self.reference_price))


class ExecutionRuleWire(BinanceWire):
    """A rule of any type: only the fields of PRICE_RANGE are read."""

    rule_type: str
    bid_limit_mult_up: Amount | None = None
    bid_limit_mult_down: Amount | None = None
    ask_limit_mult_up: Amount | None = None
    ask_limit_mult_down: Amount | None = None

    def to_domain(self) -> PriceRangeRule:
        return PriceRangeRule(
            bid_down=_multiple(self.bid_limit_mult_down),
            bid_up=_multiple(self.bid_limit_mult_up),
            ask_down=_multiple(self.ask_limit_mult_down),
            ask_up=_multiple(self.ask_limit_mult_up),
        )


class SymbolExecutionRulesWire(BinanceWire):
    symbol: str
    rules: list[ExecutionRuleWire]


class ExecutionRulesWire(BinanceWire):
    symbol_rules: list[SymbolExecutionRulesWire]

    def price_range(self, symbol: str) -> PriceRangeRule | None:
        """Return the price range of a symbol; None if it has none."""
        rules = [rule for each in self.symbol_rules if each.symbol == symbol for rule in each.rules]
        return next((each.to_domain() for each in rules if each.rule_type == PRICE_RANGE), None)


def _multiple(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


class QuoteWire(BinanceWire):
    symbol: str
    bid_price: Amount
    bid_qty: Amount
    ask_price: Amount
    ask_qty: Amount

    def to_domain(self) -> Quote:
        return Quote(
            Symbol(word(self.symbol)),
            price(self.bid_price),
            quantity(self.bid_qty),
            price(self.ask_price),
            quantity(self.ask_qty),
        )


class DepthWire(BinanceWire):
    last_update_id: Count
    bids: list[WrittenLevel]
    asks: list[WrittenLevel]

    def __post_init__(self) -> None:
        check_levels(self.bids)
        check_levels(self.asks)

    def to_domain(self) -> BookSnapshot:
        return BookSnapshot(self.last_update_id, _levels(self.bids), _levels(self.asks))


def _levels(rows: list[WrittenLevel]) -> tuple[PriceLevel, ...]:
    return tuple(PriceLevel(price(at), quantity(stands)) for at, stands in rows)


class AggregateTradeWire(msgspec.Struct):
    """An aggregate trade. Its one-letter names differ by case, so case must not be ignored."""

    id: Count = msgspec.field(name="a")
    price: AboveZero = msgspec.field(name="p")
    qty: Amount = msgspec.field(name="q")
    first_id: Count = msgspec.field(name="f")
    last_id: Count = msgspec.field(name="l")
    time: EpochMs = msgspec.field(name="T")
    is_buyer_maker: bool = msgspec.field(name="m")

    def to_domain(self) -> Trade:
        return Trade(
            self.id,
            price(self.price),
            quantity(self.qty),
            self.time,
            self.is_buyer_maker,
            self.first_id,
            self.last_id,
        )


class FilterWire(BinanceWire):
    """A filter of any type, with the fields that we read; other fields and unknown types are ignored."""

    filter_type: str
    min_price: Amount = "0"
    max_price: Amount = "0"
    tick_size: Amount = "0"
    min_qty: Amount = "0"
    max_qty: Amount = "0"
    step_size: Amount = "0"
    min_notional: Amount = "0"
    max_notional: Amount = "0"
    apply_min_to_market: bool = False
    apply_max_to_market: bool = False
    apply_to_market: bool = False
    multiplier_up: Amount = "0"
    multiplier_down: Amount = "0"
    bid_multiplier_up: Amount = "0"
    bid_multiplier_down: Amount = "0"
    ask_multiplier_up: Amount = "0"
    ask_multiplier_down: Amount = "0"
    max_position: Amount = "0"
    max_num_orders: Count = 0
    max_num_algo_orders: Count = 0
    min_trailing_above_delta: Count = 0
    max_trailing_above_delta: Count = 0
    min_trailing_below_delta: Count = 0
    max_trailing_below_delta: Count = 0


NO_FILTER = FilterWire("")


class SymbolWire(BinanceWire):
    symbol: str
    status: str
    base_asset: str
    quote_asset: str
    base_asset_precision: Places = 8
    quote_asset_precision: Places = 8
    order_types: tuple[str, ...] = ()
    quote_order_qty_market_allowed: bool = True
    allowed_self_trade_prevention_modes: tuple[str, ...] = ()
    default_self_trade_prevention_mode: str = ""
    oco_allowed: bool = False
    oto_allowed: bool = False
    opo_allowed: bool = False
    amend_allowed: bool = False
    cancel_replace_allowed: bool = False
    allow_trailing_stop: bool = False
    filters: list[FilterWire] = msgspec.field(default_factory=list[FilterWire])

    def to_domain(self) -> SymbolRules:
        found = {word(each.filter_type): each for each in self.filters}
        prices = found.get("PRICE_FILTER", NO_FILTER)
        lots = found.get("LOT_SIZE", NO_FILTER)
        market_lots = found.get("MARKET_LOT_SIZE", NO_FILTER)
        # Two of these filters have an older form; a symbol has one form of each.
        notional = found.get("NOTIONAL") or found.get("MIN_NOTIONAL", NO_FILTER)
        band = found.get("PERCENT_PRICE_BY_SIDE") or found.get("PERCENT_PRICE", NO_FILTER)
        by_side = found.get("PERCENT_PRICE_BY_SIDE") is band
        trailing = found.get("TRAILING_DELTA", NO_FILTER)
        return SymbolRules(
            symbol=Symbol(word(self.symbol)),
            base=word(self.base_asset),
            quote=word(self.quote_asset),
            status=word(self.status),
            tick=price(prices.tick_size),
            step=quantity(lots.step_size),
            min_notional=quantity(notional.min_notional),
            min_price=price(prices.min_price),
            max_price=price(prices.max_price),
            min_quantity=quantity(lots.min_qty),
            max_quantity=quantity(lots.max_qty),
            market_step=quantity(market_lots.step_size),
            market_min_quantity=quantity(market_lots.min_qty),
            market_max_quantity=quantity(market_lots.max_qty),
            max_notional=quantity(notional.max_notional),
            apply_min_to_market=notional.apply_min_to_market or notional.apply_to_market,
            apply_max_to_market=notional.apply_max_to_market,
            notional_rule=word(notional.filter_type) or "NOTIONAL",
            bid_multiplier_up=Decimal(band.bid_multiplier_up if by_side else band.multiplier_up),
            bid_multiplier_down=Decimal(band.bid_multiplier_down if by_side else band.multiplier_down),
            ask_multiplier_up=Decimal(band.ask_multiplier_up if by_side else band.multiplier_up),
            ask_multiplier_down=Decimal(band.ask_multiplier_down if by_side else band.multiplier_down),
            percent_rule=word(band.filter_type) or "PERCENT_PRICE_BY_SIDE",
            max_position=quantity(found.get("MAX_POSITION", NO_FILTER).max_position),
            max_num_orders=found.get("MAX_NUM_ORDERS", NO_FILTER).max_num_orders,
            max_num_algo_orders=found.get("MAX_NUM_ALGO_ORDERS", NO_FILTER).max_num_algo_orders,
            trailing_above_bps=(trailing.min_trailing_above_delta, trailing.max_trailing_above_delta),
            trailing_below_bps=(trailing.min_trailing_below_delta, trailing.max_trailing_below_delta),
            order_types=tuple(map(word, self.order_types)),
            takes_quote_quantity=self.quote_order_qty_market_allowed,
            base_places=self.base_asset_precision,
            quote_places=self.quote_asset_precision,
            self_trade_modes=tuple(map(word, self.allowed_self_trade_prevention_modes)),
            self_trade_default=word(self.default_self_trade_prevention_mode),
            allows=self._abilities(),
        )

    def _abilities(self) -> frozenset[Ability]:
        said: dict[Ability, bool] = {
            "oco": self.oco_allowed,
            "oto": self.oto_allowed,
            # An OPO is an OTO whose second order sells the proceeds of the first:
            # https://developers.binance.com/docs/binance-spot-api-docs/faqs/opo
            "opo": self.opo_allowed and self.oto_allowed,
            "amend": self.amend_allowed,
            "replace": self.cancel_replace_allowed,
            "trail": self.allow_trailing_stop,
        }
        return frozenset(name for name, is_allowed in said.items() if is_allowed)


class ExchangeInfoWire(ExchangeLimitsWire):
    symbols: list[SymbolWire]

    def to_domain(self, *, otherwise: int) -> SymbolTable:
        return SymbolTable.of(
            (each.to_domain() for each in self.symbols), self.weight_per_minute or otherwise, self.order_limits
        )


class ExchangeListWire(ExchangeLimitsWire):
    """The exchangeInfo answer with undecoded symbols; decoding megabytes at once would block all other threads."""

    symbols: list[msgspec.Raw]

    def to_domain(self, *, otherwise: int) -> SymbolTable:
        rows = [rules for rules in map(_rules, self.symbols) if rules is not None]
        if self.symbols and not rows:
            raise msgspec.ValidationError("no symbol of the list can be read")
        return SymbolTable.of(rows, self.weight_per_minute or otherwise, self.order_limits)


def _rules(row: msgspec.Raw) -> SymbolRules | None:
    # One unreadable symbol must not discard all others.
    try:
        return msgspec.json.decode(row, type=SymbolWire).to_domain()
    except (ValueError, RecursionError):
        return None
