"""Page of an order preview."""

from decimal import Decimal, localcontext

from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.markdown import (
    average,
    average_places,
    bps_places,
    instant,
    leveled,
    money,
    plain,
    price,
)
from mcp_binance_server.trading.judgement.intent import DIGITS
from mcp_binance_server.trading.judgement.preview import Preview, PreviewedOrder, ReadAmount, written

BEHAVIOURS = {
    "takes": "trade at once",
    "takes_then_rests": "trade in part at once, the rest waits on the book",
    "rests": "wait on the book",
    "waits_for_trigger": "wait for its stop price",
    "takes_then_expires": "trade in part at once, the rest expires",
    "expires": "expire at once",
}
NO_KEY = "not checked: no API key"
CHECKED = "checked"
SIMULATED_MARKET = "Simulated exchange, no real market"
BNB_DISCOUNT = "The fee is lower if paid in BNB"


def preview_page(tried: PreviewedOrder) -> str:
    """Render the answer of `preview_order`."""
    with localcontext(prec=DIGITS):  # enough digits for orders of any size
        return "\n".join(_lines(tried))


def _lines(tried: PreviewedOrder) -> list[str]:
    shown = tried.preview
    return [
        f"# Preview, nothing sent: {_order(shown)}",
        "",
        *(f"**Read**: {read_words(each, shown.rules)}" for each in tried.amounts),
        *(
            f"**Changed**: {each.argument} {grouped(each.received)} -> {grouped(each.used)} ({each.rule})"
            for each in tried.changes
        ),
        f"**Would**: {BEHAVIOURS[shown.behaviour]} ({_touch(shown)})",
        *_fill(shown),
        f"**Value**: {'unknown' if shown.value is None else _money(shown, shown.value)}",
        f"**Fee**: {_fee(shown)}",
        *_balances(tried),
        *([f"**Not checked**: {', '.join(tried.unchecked)}"] if tried.unchecked else []),
        "",
        *(f"*{each}*" for each in preview_notes(tried)),
        f"*{plain(tried.venue.network)} ({plain(tried.venue.host)}), as of {instant(tried.as_of_ms)}*",
    ]


def preview_notes(tried: PreviewedOrder) -> list[str]:
    """Return notes on how the numbers of a preview were obtained."""
    notes = [_basis(tried), *_range(tried.preview), BNB_DISCOUNT]
    if tried.venue.simulated:
        notes.append(SIMULATED_MARKET)
    fill = tried.preview.fill
    if fill is not None and fill.average is None and tried.preview.behaviour != "expires":
        notes.append("No fill: that side of the book is empty")
    elif fill is not None and tried.preview.behaviour == "takes" and not fill.complete:
        notes.append("The unfilled part is beyond the known levels, at an unknown price")
    return notes


def _basis(tried: PreviewedOrder) -> str:
    reference = tried.reference
    if reference is None:
        return "Price rules are checked at the mid price; Binance's reference price could not be read"
    if reference.price is None:
        return "Price rules are checked at the mid price; Binance uses its own average price"
    return f"Price rules are checked at Binance's reference price, {_price(tried.preview, reference.price)}"


def _range(shown: Preview) -> list[str]:
    if shown.behaviour not in {"expires", "takes_then_expires"}:
        return []
    ends = (("below", shown.within.least), ("above", shown.within.most))
    limits = " or ".join(f"{word} {_price(shown, each)}" for word, each in ends if each is not None)
    return [f"Price range of Binance: an order that would trade {limits} expires"]


def read_words(each: ReadAmount, rules: SymbolRules) -> str:
    """Return how an amount was read: `quantity "50%" as 0.125 BTC: 50% of the held BTC, 0.25`."""

    def figure(value: Decimal) -> str:
        is_price = each.asset == rules.quote
        return f"{round_to_places(value, average_places(rules.tick, value)):,f}" if is_price else written(value)

    unit = f" {plain(each.asset)}" if each.asset else ""
    base = "" if each.base is None else f", {figure(each.base)}"
    note = f"; {plain(each.note)}" if each.note else ""
    return f'{each.argument} "{plain(each.text)}" as {figure(each.used)}{unit}: {plain(each.basis)}{base}{note}'


def short(value: Decimal, places: int = 8) -> str:
    """Format a quotient with at most `places` decimals."""
    with localcontext(prec=DIGITS):
        return written(round_to_places(value, places))


def grouped(value: Decimal) -> str:
    """Format an amount with thousands separators and at most eight decimals."""
    with localcontext(prec=DIGITS):
        return f"{Decimal(short(value)):,f}"


def _order(shown: Preview) -> str:
    order, rules = shown.order, shown.rules
    if order.quantity is not None:
        what = f"{grouped(order.quantity)} {plain(rules.base)}"
    else:
        what = f"{plain(rules.base)} for {_money(shown, order.quote_quantity or Decimal(0))}"
    at = f" at {_price(shown, order.price)}" if order.price is not None else ""
    stop = f", stop {_price(shown, order.stop_price)}" if order.stop_price is not None else ""
    if order.trailing is not None and order.stop_price is not None:
        stop = f", trailing {written(order.trailing)}% (first trigger {_price(shown, order.stop_price)})"
    return f"{order.side} {what} {order.kind}{at}{stop} ({plain(rules.symbol)})"


def _touch(shown: Preview) -> str:
    bid, ask = (None if each is None else _price(shown, each) for each in (shown.touch.bid, shown.touch.ask))
    return f"bid {bid or 'none'}, ask {ask or 'none'}"


def _fill(shown: Preview) -> list[str]:
    fill, order = shown.fill, shown.order
    if fill is None:
        return []
    if fill.average is None:
        return ["**Fill**: none"]
    against = [
        f"{short(bps, bps_places(bps, 3))} bps vs {name}"
        for name, bps in (
            ("mid", fill.slippage_bps(order.side, shown.touch.mid)),
            ("touch", fill.slippage_bps(order.side, fill.touch)),
        )
        if bps is not None
    ]
    mean = average(fill.average, shown.rules.quote, shown.rules.tick)
    asset = shown.rules.base if order.quantity is not None else shown.rules.quote
    worst = "" if fill.worst is None else f", worst price {_price(shown, fill.worst)}"
    return [
        f"**Fill**: quantity {grouped(fill.base)} {plain(shown.rules.base)}, value {_money(shown, fill.quote)}, "
        f"average price {mean}{worst}, {', '.join(against)}",
        f"**Complete**: {'yes' if fill.complete else 'no'}, {leveled(fill.levels)}, "
        f"unfilled {grouped(fill.unfilled)} {plain(asset)}",
    ]


def _fee(shown: Preview) -> str:
    source = "assumed" if shown.fee.assumed else "the account's rate"
    percent = f"{short(shown.fee.rate * 100, 4)}%"
    return f"{short(shown.fee.amount)} {plain(shown.fee.asset)} ({percent}, {source})"


AFTER_CANCEL = " after the cancel"


def _balances(tried: PreviewedOrder) -> list[str]:
    if not tried.balances_checked:
        return [f"**Balances**: {NO_KEY}"]
    lines = [
        f"**{plain(each.asset)}**: {grouped(each.free)} free{AFTER_CANCEL if each.asset in tried.freed else ''} -> "
        f"{grouped(each.after)} once filled"
        for each in tried.preview.holdings
    ]
    return [
        *lines,
        f"**May trade**: {'yes' if tried.may_trade else 'no, the exchange does not let this account trade'}",
    ]


def _money(shown: Preview, amount: Decimal) -> str:
    return money(amount, shown.rules.quote, shown.rules.tick)


def _price(shown: Preview, value: Decimal) -> str:
    return price(value, shown.rules.quote, shown.rules.tick)
