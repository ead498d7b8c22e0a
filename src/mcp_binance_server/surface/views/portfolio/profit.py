"""Cost and profit of holdings, computed from the account's trades, as Markdown and as sentences."""

from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, Decimal

from mcp_binance_server.analytics.portfolio.profit import AccountProfit, AssetProfit, Gain, OpenStop, total
from mcp_binance_server.analytics.portfolio.valuation import DOLLAR
from mcp_binance_server.surface.views.markdown import exact, instant, money, plain

CENT = Decimal("0.01")
NOT_KNOWN = "n/a"
ALL = "All"
FIFO_COLUMNS = ("Asset", "Quantity", "Lots", "Cost", "Realised", "Unrealised")
AVERAGE_COLUMNS = ("Asset", "Average Price", "Break-Even", "Cost", "Realised", "Unrealised")
UNEXPLAINED_COLUMNS = ("Asset", "Held", "Sold", "Proceeds", "Gone")
STOP_COLUMNS = ("Symbol", "Quantity", "Stop", "Limit", "Loss", "Loss From Now")
STOPS = (
    "Loss: from the average cost to a sale at the limit price, fees included.",
    "A negative loss is a gain.",
)
SMALLEST = Decimal("1e-8")
HOW = (
    "FIFO sells the oldest lot first. Amounts are in USDT, stablecoins count at par.",
    "Cost and profit include fees. Fees in a third asset, and trades between two",
    "coins, count at the closing price of their minute.",
)
UNEXPLAINED = (
    "Unexplained: amounts without a trade on record (deposits, withdrawals, rewards,",
    "dust conversions, older trades). They have no cost and count in no profit.",
    "Gone: bought coins that left the account without a sale at a known price.",
)
NOT_TAX_ADVICE = "This is not tax advice."
ASK_AGAIN = "call again to read the other prices; prices already read are kept"
NO_TRADES = "No trades found on these pairs."

Way = Callable[[AssetProfit], Gain]


def profit_notes(profit: AccountProfit) -> list[str]:
    """Return the sentences that are in the text and in the structured data."""
    empty = [] if profit.trades else [NO_TRADES]
    unread = [ASK_AGAIN] if profit.prices_left else []
    return [
        *empty,
        *unread,
        " ".join(HOW),
        *([" ".join(STOPS)] if profit.stops else []),
        *([" ".join(UNEXPLAINED)] if has_unexplained(profit) else []),
        NOT_TAX_ADVICE,
    ]


def profit_lines(profit: AccountProfit, limit: int) -> list[str]:
    """Render cost and profit as the last section of a portfolio."""
    shown = [each for each in profit.assets if each.is_counted][:limit]
    unexplained = [each for each in profit.assets if not each.is_explained][:limit]
    both = [
        "",
        "## Profit, FIFO",
        "",
        *_table(FIFO_COLUMNS, [_fifo_row(each) for each in shown], _all(profit, _fifo)),
        "",
        "## Profit, Average Cost",
        "",
        *_table(AVERAGE_COLUMNS, [_average_row(each, profit.fee) for each in shown], _all(profit, _average)),
    ]
    return [
        *(both if shown else ["", "## Profit"]),
        *_stop_lines(profit.stops),
        *(["", "## Unexplained", "", *_unexplained_table(unexplained), "", *UNEXPLAINED] if unexplained else []),
        "",
        *_read_lines(profit),
        "",
        *([] if profit.trades else [NO_TRADES]),
        *HOW,
        NOT_TAX_ADVICE,
    ]


def _stop_lines(stops: tuple[OpenStop, ...]) -> list[str]:
    if not stops:
        return []
    rows = [
        (
            plain(each.symbol),
            exact(each.quantity),
            unit_price(each.trigger),
            unit_price(each.limit),
            dollars(each.loss),
            dollars(each.fall),
        )
        for each in stops
    ]
    sums = [dollars(_sum(each.loss for each in stops)), dollars(_sum(each.fall for each in stops))]
    return ["", "## Loss if Open Stops Are Hit", "", *_table(STOP_COLUMNS, rows, (ALL, "", "", "", *sums)), "", *STOPS]


def _sum(values: Iterable[Decimal | None]) -> Decimal:
    return sum((each for each in values if each is not None), Decimal(0))


def has_unexplained(profit: AccountProfit) -> bool:
    return not all(each.is_explained for each in profit.assets)


def dollars(value: Decimal | None, *, signed: bool = False) -> str:
    """Format an amount to the cent. Below a cent, format it with two digits."""
    return NOT_KNOWN if value is None else money(value, DOLLAR, CENT, signed=signed)


def fee_words(fees: dict[str, Decimal]) -> list[str]:
    return [f"{exact(amount)} {asset}" for asset, amount in sorted(fees.items())]


def cut_words(profit: AccountProfit) -> list[str]:
    return [f"{symbol} before {instant(at_ms)}" for symbol, at_ms in profit.cut.items()]


def _read_lines(profit: AccountProfit) -> list[str]:
    ledger = profit.ledger
    said = (
        ("Fees", dollars(ledger.fees)),
        ("Fees Unvalued", _joined(fee_words(ledger.unvalued_fees))),
        ("Trades Unpriced", str(ledger.unpriced_trades or "")),
        ("Prices Not Read", f"{profit.prices_left} calls; {ASK_AGAIN}" if profit.prices_left else ""),
        ("Trades", str(profit.trades)),
        ("Pairs Read", _joined(profit.pairs) or "none"),
        ("Pairs Not Read", _joined(profit.not_read)),
        ("Older Not Read", _joined(cut_words(profit))),
        ("Calls", f"{profit.calls}, weight {profit.weight}"),
    )
    return [f"**{label}**: {text}" for label, text in said if text]


def _joined(names: Iterable[str]) -> str:
    return ", ".join(map(plain, names))


def _fifo(asset: AssetProfit) -> Gain:
    return asset.fifo


def _average(asset: AssetProfit) -> Gain:
    return asset.average


def _fifo_row(each: AssetProfit) -> tuple[str, ...]:
    return plain(each.asset), exact(each.quantity), str(len(each.lots)), *_gain(each.fifo)


def _average_row(each: AssetProfit, fee: Decimal | None) -> tuple[str, ...]:
    return plain(each.asset), average_price(each), break_even(each, fee), *_gain(each.average)


def average_price(each: AssetProfit) -> str:
    """Format the average cost per unit; below a dollar, with all decimals that prices of the exchange have."""
    return unit_price(each.average_price)


def break_even(each: AssetProfit, fee: Decimal | None) -> str:
    """Format the break-even price of an asset, rounded up as in a preview."""
    value = None if fee is None else each.break_even(fee)
    if value is None:
        return NOT_KNOWN
    return unit_price(value.quantize(CENT if value >= 1 else SMALLEST, ROUND_CEILING))


def unit_price(value: Decimal | None) -> str:
    """Format a price of one unit that was computed; below a dollar, with all decimals that prices can have."""
    return NOT_KNOWN if value is None else money(value, DOLLAR, CENT if value >= 1 else SMALLEST)


def _gain(gain: Gain) -> tuple[str, str, str]:
    return dollars(gain.cost), dollars(gain.realised, signed=True), dollars(gain.unrealised, signed=True)


def _all(profit: AccountProfit, way: Way) -> tuple[str, ...]:
    return ALL, "", "", *_gain(total(map(way, profit.assets)))


def _unexplained_table(rows: Iterable[AssetProfit]) -> list[str]:
    cells = [
        (
            plain(each.asset),
            exact(each.held_unexplained),
            exact(each.sold_unexplained),
            dollars(each.proceeds_unexplained),
            exact(each.gone),
        )
        for each in rows
    ]
    return _table(UNEXPLAINED_COLUMNS, cells)


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]], last: tuple[str, ...] = ()) -> list[str]:
    """Return a table with aligned columns, which is also readable without rendering."""
    cells = [columns, *rows, *([last] if last else [])]
    wide = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    head, *body = [f"| {' | '.join(map(str.ljust, row, wide))} |" for row in cells]
    return [head, f"|{'|'.join('-' * (each + 2) for each in wide)}|", *body]
