"""Order rules: a symbol's filters, and the messages of refusals."""

from decimal import Decimal

import msgspec

from binance_simulator.market.listing import UNIT
from binance_simulator.market.portfolio import Order
from binance_simulator.orders.accounts import units
from binance_simulator.orders.order import Wanted
from binance_simulator.refusals import Refusal

Filter = dict[str, str | int | bool]


class SymbolRules(msgspec.Struct, rename="camel"):
    """The order rules of a symbol in exchangeInfo."""

    order_types: list[str]
    default_self_trade_prevention_mode: str
    allowed_self_trade_prevention_modes: list[str]
    filters: list[Filter]
    status: str
    oco_allowed: bool = False
    oto_allowed: bool = False
    opo_allowed: bool = False
    amend_allowed: bool = False
    cancel_replace_allowed: bool = False
    iceberg_allowed: bool = False
    quote_order_qty_market_allowed: bool = False
    peg_instructions_allowed: bool = False
    allow_trailing_stop: bool = False

    @property
    def most_amendments(self) -> int:
        """Maximum number of amendments of an order."""
        return max(
            (int(entry["maxNumOrderAmends"]) for entry in self.filters if "maxNumOrderAmends" in entry), default=0
        )

    @property
    def most_lists(self) -> int:
        """Maximum number of an account's open lists. 0 means no limit."""
        return max((int(entry["maxNumOrderLists"]) for entry in self.filters if "maxNumOrderLists" in entry), default=0)

    @property
    def average_minutes(self) -> int:
        """Minutes of the average price that some filters use. 0 means the last price."""
        return max((int(entry["avgPriceMins"]) for entry in self.filters if "avgPriceMins" in entry), default=0)


def rejected(message: str) -> Refusal:
    """Return the refusal of an order by the matching engine."""
    return Refusal(-2010, message)


def failed(name: str) -> Refusal:
    """Return the refusal of an order by a filter, before the matching engine."""
    return Refusal(-1013, f"Filter failure: {name}")


def not_open() -> Refusal:
    """Return the refusal to cancel an order that is not open."""
    return Refusal(-2011, "Unknown order sent.")


def check_filters(wanted: Wanted, filters: list[Filter], *, average: int, open_orders: int, open_stops: int) -> None:
    """Check an order against the filters of its symbol. `average` is the average price.

    Raises:
        Refusal: a filter fails.
    """
    by_name = {str(entry["filterType"]): entry for entry in filters}
    checks = {
        "PRICE_FILTER": _price, "LOT_SIZE": _lot, "MARKET_LOT_SIZE": _market_lot, "TRAILING_DELTA": _trailing
    }  # fmt: skip
    for name, check in checks.items():
        if name in by_name and not check(wanted, by_name[name]):
            raise failed(name)
    for name in ("PERCENT_PRICE", "PERCENT_PRICE_BY_SIDE"):
        if name in by_name and wanted.price and not _percent(wanted, by_name[name], average):
            raise failed(name)
    if wanted.iceberg > wanted.quantity:
        raise rejected("IcebergQty exceeds QTY.")
    parts = int(by_name.get("ICEBERG_PARTS", {}).get("limit", 0))
    if parts and wanted.iceberg and -(-wanted.quantity // wanted.iceberg) > parts:
        raise failed("ICEBERG_PARTS")
    value = (wanted.price or average) * wanted.quantity // UNIT
    if not value:
        raise rejected("Price * QTY is zero or less.")
    for name in ("NOTIONAL", "MIN_NOTIONAL"):
        if name in by_name and not _notional(wanted, by_name[name], value):
            raise failed(name)
    for name, field, count in (
        ("MAX_NUM_ORDERS", "maxNumOrders", open_orders),
        ("MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders", open_stops if wanted.conditional else -1),
    ):
        if name in by_name and count >= int(by_name[name][field]):
            raise failed(name)


def check_position(wanted: Wanted, filters: list[Filter], held: int, open_orders: list[Order]) -> None:
    """Check the maximum position of the account in an asset.

    Raises:
        Refusal: the amount exceeds the limit.
    """
    most = [units(str(entry["maxPosition"])) for entry in filters if entry["filterType"] == "MAX_POSITION"]
    bought = [units(order.quantity) - units(order.executed) for order in open_orders if order.side == "BUY"]
    if most and wanted.buys and held + sum(bought) + wanted.quantity > most[0]:
        raise failed("MAX_POSITION")


def _inside(value: int, entry: Filter, least: str, most: str, step: str) -> bool:
    low, high, size = (units(str(entry[name])) for name in (least, most, step))
    # Zero disables each of the three values.
    return value >= low and (not high or value <= high) and not (size and value % size)


def _price(wanted: Wanted, entry: Filter) -> bool:
    prices = [price for price in (wanted.price, wanted.stop) if price]
    return all(_inside(price, entry, "minPrice", "maxPrice", "tickSize") for price in prices)


def _lot(wanted: Wanted, entry: Filter) -> bool:
    quantities = [wanted.quantity, *([wanted.iceberg] if wanted.iceberg else [])]
    return all(_inside(each, entry, "minQty", "maxQty", "stepSize") for each in quantities)


def _market_lot(wanted: Wanted, entry: Filter) -> bool:
    return not wanted.at_market or _lot(wanted, entry)


def _percent(wanted: Wanted, entry: Filter, average: int) -> bool:
    prefix = "" if entry["filterType"] == "PERCENT_PRICE" else "bid" if wanted.buys else "ask"
    low, high = (f"{prefix}Multiplier{end}" if prefix else f"multiplier{end}" for end in ("Down", "Up"))
    return average * Decimal(str(entry[low])) <= wanted.price <= average * Decimal(str(entry[high]))


def _trailing(wanted: Wanted, entry: Filter) -> bool:
    place = "Above" if wanted.rises else "Below"
    least, most = (int(entry[f"{end}Trailing{place}Delta"]) for end in ("min", "max"))
    return not wanted.trailing or least <= wanted.trailing <= most


def _notional(wanted: Wanted, entry: Filter, value: int) -> bool:
    market = wanted.at_market
    least_applies = not market or bool(entry.get("applyMinToMarket", entry.get("applyToMarket")))
    most_applies = "maxNotional" in entry and (not market or bool(entry["applyMaxToMarket"]))
    if least_applies and value < units(str(entry["minNotional"])):
        return False
    return not (most_applies and value > units(str(entry["maxNotional"])))
