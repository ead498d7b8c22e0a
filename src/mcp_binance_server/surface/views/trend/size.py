"""Position size as text: quantity, limits and risk, or the reason for no order."""

from decimal import Decimal

from mcp_binance_server.analytics.trend.levels import NoLevels
from mcp_binance_server.analytics.trend.outlook import TradingReport
from mcp_binance_server.analytics.trend.size import LimitName, NoOrder, SizedOrder, WhyNoOrder
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.domain.money import Quantity, decimals_of, floor_to_step
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, exact, money, percent, plain, share
from mcp_binance_server.surface.views.market import shown_price
from mcp_binance_server.surface.views.trend.words import noise_words, short

# These limits are always shown. The exchange's maxima are seldom reached, so each is shown only if it applies.
ALWAYS_SHOWN: tuple[LimitName, ...] = ("risk", "free", "exposure", "depth", "volume")
LIMITS: dict[LimitName, str] = {
    "risk": "risk",
    "free": "free {quote}",
    "exposure": "the exposure ceiling of {ceiling}",
    "depth": "asks near the touch",
    "volume": "1% of the 24h volume",
    "lot_size": "the exchange's LOT_SIZE",
    "market_lot_size": "the exchange's MARKET_LOT_SIZE",
    "max_position": "the exchange's MAX_POSITION",
    "notional": "the exchange's NOTIONAL",
}
NO_ORDER: dict[WhyNoOrder, str] = {
    "no_levels": "no entry by rule ({words})",
    "below_minimum": "below the exchange's minimum of {least}, limited by {bound}",
    "waits": "a conservative strategy does not buy while the bias is down",
    "unread": "the order book could not be read",
    "crossed": "the order book is crossed and cannot be trusted",
    "closed": "the exchange accepts no limit orders on {symbol} ({rule})",
    "no_rate": "the value of {quote} in USDT is unknown",
    "rule": "the entry band breaks the exchange's {rule}",
    "orders_full": "you have reached the exchange's limit of {orders} open orders on {symbol}",
}
NO_ROOM: dict[LimitName, str] = {
    "exposure": "nothing in your account has a price",
    "risk": "nothing in your account has a price",
    "free": "no free {quote}",
    "depth": "no {base} is offered now",
    "volume": "nothing was traded in 24 hours",
    "max_position": "the exchange's MAX_POSITION of {most} {base} is reached",
}
SMALLEST_PART = Decimal("0.0001")
NO_ACCOUNT = "_Sized without an account: by risk, depth and the exchange's rules, not by balances._"


def size_lines(report: TradingReport) -> list[str]:
    """Return the size of the trade by the first rule, its risk, and the result of its stop for a holder."""
    view, size, base = report.view, report.size, plain(report.view.rules.base)
    order = size.verdict
    if isinstance(order, NoOrder):
        return [f"**Position Size**: no order: {_why(report, order)}", *_holder(report)]
    return [
        f"**Position Size**: {_digits(view, order.quantity)} {base} ({_sum(view, order.value)}), limited by "
        f"{_limit(report, order.bound.name)} (24h-range rule, limit order at {_price(view, order.price)})",
        f"**At Risk**: {_sum(view, order.risk)} = {_part(order.risk / order.equity)} {_whole(report, order)} "
        f"(from the middle of the entry band to the stop; {_sum(view, order.risk_at_price)} from its upper end)",
        f"**Bounds ({base})**: {' · '.join(_bounds(report, order))}",
        *([NO_ACCOUNT] if size.funds is None else []),
        *_holder(report),
    ]


def _bounds(report: TradingReport, order: SizedOrder) -> list[str]:
    shown = [each for each in order.limits if each.name in ALWAYS_SHOWN or each is order.bound]
    return [f"{_limit(report, each.name)} {_digits(report.view, each.quantity)}" for each in shown]


def _why(report: TradingReport, refused: NoOrder) -> str:
    rules, bound = report.view.rules, refused.bound
    if refused.exposure is not None:
        ceiling = _part(report.thresholds.position_ceiling)
        part = share(float(refused.exposure))
        return f"{plain(rules.base)} including open buy orders is {part} of equity, the ceiling is {ceiling}"
    named = {
        "symbol": plain(rules.symbol),
        "base": plain(rules.base),
        "quote": plain(rules.quote),
        "least": _least(report.view, refused.rule),
        "bound": _limit(report, bound.name) if bound else "",
        "most": exact(rules.max_position),
        "orders": str(rules.max_num_orders),
        # The exchange's status is escaped, because it is text from outside. The name of a rule is our own.
        "rule": plain(refused.rule) if refused.why == "closed" else refused.rule,
        "words": refused.rule.replace("_", " "),
    }
    sentence = NO_ROOM[bound.name] if bound and refused.why == "no_room" else NO_ORDER[refused.why]
    return sentence.format_map(named)


def _holder(report: TradingReport) -> list[str]:
    """Return the result of a sale at the stop for a holder of the asset.

    Return nothing for an account without the asset.
    """
    view, levels, funds = report.view, report.outlook.by_range, report.size.funds
    if isinstance(levels, NoLevels) or (funds is not None and not funds.held):
        return []
    base, price = plain(view.rules.base), view.ticker.last_price
    reached = noise_words(report.outlook.noise, price, levels.stop)
    sold = f"a sell at {_price(view, levels.stop)}, {share(float(1 - levels.stop / price))} below the price{reached}"
    if funds is None:
        return [f"**Holder**: for a holder of {base} the stop is {sold}"]
    lost = _sum(view, funds.held * (price - levels.stop))
    return [f"**Holder**: for your {funds.held.normalize():,f} {base} the stop is {sold}: {lost} less than now"]


def _least(view: MarketView, kind: str) -> str:
    rules = view.rules
    if kind == "quantity":
        return f"{exact(rules.min_quantity)} {plain(rules.base)}"
    least = exact(rules.min_notional)
    return f"${least}" if rules.quote in DOLLAR_LIKE else f"{least} {plain(rules.quote)}"


def _limit(report: TradingReport, name: LimitName) -> str:
    ceiling = _part(report.thresholds.position_ceiling)
    return LIMITS[name].format(quote=plain(report.view.rules.quote), ceiling=ceiling)


def _whole(report: TradingReport, order: SizedOrder) -> str:
    equity = _sum(report.view, order.equity)
    if report.size.funds is not None:
        return f"of {equity} equity"
    dollars = "" if report.view.rules.quote in DOLLAR_LIKE else " ($10,000)"
    return f"per {short(report.view, equity)}{dollars} equity"


def _digits(view: MarketView, quantity: Decimal) -> str:
    places = decimals_of(view.rules.step) if view.rules.step else view.rules.base_places
    floored = floor_to_step(Quantity(quantity), Quantity(Decimal(1).scaleb(-places)))
    return f"{floored:,.{places}f}"


def _part(fraction: Decimal) -> str:
    if 0 < fraction < SMALLEST_PART:
        return f"under {_part(SMALLEST_PART)}"
    return percent(fraction * 100).lstrip("+").replace(".0%", "%")


def _price(view: MarketView, value: Decimal) -> str:
    return short(view, shown_price(view, value))


def _sum(view: MarketView, value: Decimal) -> str:
    return money(value, view.rules.quote, view.rules.tick)
