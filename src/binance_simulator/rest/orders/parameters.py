"""Parameters of a new order, parsed as at Binance."""

import re
from dataclasses import dataclass, replace

from binance_simulator import refusals
from binance_simulator.market.listing import Symbol
from binance_simulator.orders.accounts import units
from binance_simulator.orders.order import AT_MARKET, STOPS, Peg, Wanted
from binance_simulator.orders.rules import SymbolRules, failed, rejected
from binance_simulator.refusals import Refusal
from binance_simulator.rest.signing import Params

CLIENT_ID_RANGE = r"^[\.A-Z\:/a-z0-9_-]{1,36}$"
CLIENT_ID = re.compile(CLIENT_ID_RANGE)
NUMBER = re.compile(refusals.DECIMAL_RANGE)
TYPES = frozenset({"LIMIT", "LIMIT_MAKER", "MARKET", *STOPS})
PRICED = TYPES - AT_MARKET
LEAST_STRATEGY_TYPE, DEEPEST_PEG = 1_000_000, 100
MODES = frozenset({"NONE", "EXPIRE_TAKER", "EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT", "TRANSFER"})
TIMES_IN_FORCE = frozenset({"GTC", "IOC", "FOK"})
UNTIMED = frozenset({"MARKET", "LIMIT_MAKER", "STOP_LOSS", "TAKE_PROFIT"})
DECIMALS = 8


def read_client_id(params: Params, name: str) -> str | None:
    """Read a client order ID.

    Raises:
        Refusal: the ID is too long or has illegal characters.
    """
    value = params.text(name)
    if value is not None and not CLIENT_ID.fullmatch(value):
        raise refusals.illegal(name, CLIENT_ID_RANGE)
    return value


def read_order(params: Params, symbol: Symbol, rules: SymbolRules, usual_id: str) -> Wanted:
    """Read the parameters of a new order.

    Raises:
        Refusal: a parameter is missing, malformed, or not allowed for this order type.
    """
    return read_leg(params, OrderNames(), symbol, rules, usual_id)


@dataclass(frozen=True, slots=True)
class OrderNames:
    """Parameter names of an order. In a list, each name has the order's place as prefix."""

    place: str = ""
    side: str = "side"
    quantity: str | None = "quantity"
    """None if the order has no quantity of its own: it sells the amount that another order buys."""
    types: frozenset[str] = TYPES

    def of(self, name: str) -> str:
        """Return the name of a parameter."""
        return f"{self.place}{name[0].upper()}{name[1:]}" if self.place else name

    @property
    def client_id(self) -> str:
        return self.of("clientOrderId") if self.place else "newClientOrderId"


def read_leg(params: Params, names: OrderNames, symbol: Symbol, rules: SymbolRules, usual_id: str) -> Wanted:
    """Read the parameters of an order, which can be part of a list.

    Raises:
        Refusal: a parameter is missing, malformed, or not allowed for this order type.
    """
    side, kind = params.required(names.side), params.required(names.of("type"))
    if side not in {"BUY", "SELL"}:
        raise Refusal(-1117, "Invalid side.")
    if kind not in TYPES:
        raise Refusal(-1116, "Invalid orderType.")
    if kind not in names.types:
        raise Refusal(-1014, "Unsupported order combination.")
    time_in_force = _time_in_force(params, names.of("timeInForce"), kind)
    client_id = read_client_id(params, names.client_id) or usual_id
    mode = params.text("selfTradePreventionMode") or rules.default_self_trade_prevention_mode
    if mode not in MODES:
        raise refusals.bad_value("selfTradePreventionMode")
    if mode not in {"NONE", *rules.allowed_self_trade_prevention_modes}:
        raise Refusal(-1013, "This symbol does not allow the specified self-trade prevention mode.")
    if kind not in rules.order_types:
        raise rejected(f"{kind.replace('_', ' ').capitalize()} orders are not supported for this symbol.")
    peg = None if names.place else _peg(params, kind, time_in_force, rules)
    iceberg = 0 if names.place else _iceberg(params, kind, time_in_force, rules)
    quote = 0 if names.place else _quote(params, kind, rules)
    price_name = names.of("price")
    trailing = _trailing(params, names.of("trailingDelta"), kind, rules)
    has_only_delta = trailing and params.peek(names.of("stopPrice")) is None
    is_priced = kind in PRICED and (peg is None or params.peek(price_name) is not None)
    price = read_amount(params, price_name, needed=is_priced)
    return Wanted(
        symbol=symbol,
        buys=side == "BUY",
        kind=kind,
        time_in_force=time_in_force,
        quantity=0 if names.quantity is None else read_amount(params, names.quantity, needed=not quote),
        price=price if peg is None else 0,
        stop=read_amount(params, names.of("stopPrice"), needed=kind in STOPS and not has_only_delta),
        client_order_id=client_id,
        self_trade=mode,
        quote=quote,
        iceberg=iceberg,
        peg=None if peg is None else replace(peg, limit=price),
        strategy_id=None if names.place else params.whole("strategyId"),
        strategy_type=None if names.place else _strategy_type(params),
        trailing=trailing,
    )


def _trailing(params: Params, name: str, kind: str, rules: SymbolRules) -> int:
    """Read the delta of a trailing order; 0 without one."""
    delta = params.whole(name)
    if delta is None:
        return 0
    if kind not in STOPS:
        raise Refusal(-1106, f"Parameter '{name}' sent when not required.")
    if not rules.allow_trailing_stop:
        raise rejected("Trailing stop orders are not supported for this symbol.")
    if delta < 1:
        raise failed("TRAILING_DELTA")
    return delta


def _quote(params: Params, kind: str, rules: SymbolRules) -> int:
    """Read the amount of the quote asset that a market order can have instead of a quantity."""
    name, is_sent = "quoteOrderQty", params.peek("quoteOrderQty") is not None
    if kind == "MARKET" and not is_sent and params.peek("quantity") is None:
        raise refusals.missing_either("quantity", name)
    amount = read_amount(params, name, needed=is_sent and kind == "MARKET" and params.peek("quantity") is None)
    if amount and not rules.quote_order_qty_market_allowed:
        raise rejected("Quote order qty market orders are not support for this symbol.")
    return amount


def _iceberg(params: Params, kind: str, time_in_force: str, rules: SymbolRules) -> int:
    if params.peek("icebergQty") is None:
        return 0
    amount = read_amount(params, "icebergQty", needed=kind in PRICED)
    if not rules.iceberg_allowed:
        raise rejected("Iceberg orders are not supported for this symbol.")
    if time_in_force != "GTC":
        raise rejected("Unsupported order combination")
    return amount


def _peg(params: Params, kind: str, time_in_force: str, rules: SymbolRules) -> Peg | None:
    value, offset_type, level = (
        params.text("pegPriceType"),
        params.text("pegOffsetType"),
        params.whole("pegOffsetValue"),
    )
    if value not in {None, "PRIMARY_PEG", "MARKET_PEG"}:
        raise Refusal(-1210, "Invalid pegPriceType.")
    if offset_type not in {None, "PRICE_LEVEL"}:
        raise Refusal(-1211, "Invalid pegOffsetType.")
    if (offset_type is None) != (level is None) or (value is None and level is not None):
        raise refusals.bad_combination()
    if level is not None and level > DEEPEST_PEG:
        raise refusals.bad_value("pegOffsetValue")
    if value is None:
        return None
    if not rules.peg_instructions_allowed:
        raise rejected("Pegged orders are not supported for this symbol.")
    if kind not in PRICED:
        raise rejected("This order type may not use pegged price.")
    if kind == "LIMIT_MAKER" and value == "MARKET_PEG":
        raise rejected("This price peg cannot be used with this order type.")
    if kind == "LIMIT" and value == "PRIMARY_PEG" and time_in_force != "GTC":
        raise rejected("Unsupported order combination")
    return Peg(kind=value, level=level, limit=0)


def _strategy_type(params: Params) -> int | None:
    kind = params.whole("strategyType")
    if kind is not None and kind < LEAST_STRATEGY_TYPE:
        raise Refusal(-1134, "`strategyType` was less than 1000000.")
    return kind


def _time_in_force(params: Params, name: str, kind: str) -> str:
    value = params.text(name)
    if kind in UNTIMED:
        if value is not None:
            raise Refusal(-1106, f"Parameter '{name}' sent when not required.")
        return "GTC"
    if value is None:
        raise refusals.missing(name)
    if value not in TIMES_IN_FORCE:
        raise Refusal(-1115, "Invalid timeInForce.")
    return value


def read_amount(params: Params, name: str, *, needed: bool) -> int:
    """Read a price or a quantity.

    Raises:
        Refusal: it is missing, malformed or not allowed.
    """
    value = params.required(name) if needed else params.text(name)
    if value is None:
        return 0
    if not needed:
        raise Refusal(-1106, f"Parameter '{name}' sent when not required.")
    if not NUMBER.fullmatch(value):
        raise refusals.illegal(name, refusals.DECIMAL_RANGE)
    if len(value.partition(".")[2].rstrip("0")) > DECIMALS:
        raise Refusal(-1111, f"Parameter '{name}' has too much precision.")
    return units(value)
