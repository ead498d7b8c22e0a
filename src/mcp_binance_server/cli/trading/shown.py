"""Orders and the paper account, formatted for a terminal of 80 columns. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from textwrap import wrap

from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.money import percent_of, round_to_places
from mcp_binance_server.domain.order_requests import TimeInForce
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.periods import moment_of
from mcp_binance_server.errors import echo
from mcp_binance_server.services.trading.answers import PaperResult
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Intent, Stopped, Waiting
from mcp_binance_server.trading.judgement.exits import Exits
from mcp_binance_server.trading.judgement.policy import Policy, cents_text
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.trading.judgement.terms import Terms

HostOf = Callable[[Terms], str]

WIDE = 69
UNPROTECTED = "a partly filled entry is unprotected until it is filled completely"
RESTORED = "if a later step is refused, the cancelled orders are placed once more"
SMALLER = ": it is only reduced, and keeps its place in the queue"
UNTIL: dict[TimeInForce, str] = {
    "GTC": "open until filled or cancelled (GTC)",
    "IOC": "fills at once; the rest expires (IOC)",
    "FOK": "fills completely at once, or not at all (FOK)",
}


def at(time_ms: int) -> str:
    """Return a time to the second."""
    return f"{moment_of(time_ms):%Y-%m-%d %H:%M:%S} UTC"


def number(amount: Decimal) -> str:
    """Return an amount in full, with thousands separators."""
    whole, point, rest = written(amount).partition(".")
    return f"{int(whole):,}{point}{rest}"


def order_line(terms: Terms) -> str:
    """Return an order in a few words."""
    if terms.amends:
        return f"reduce an order of {echo(terms.symbol)} to {number(terms.quantity)}"
    beside = ", with exits" if terms.exits is not None and terms.exits.has_entry else ""
    beside += "" if terms.replaces is None else ", replacing another"
    beside += f", cancelling {len(terms.releases)} first" if terms.releases else ""
    if terms.exits is not None and not terms.exits.has_entry:
        least = f"at least {number(terms.worst)}"
        return f"{terms.side} {number(terms.quantity)} {echo(terms.symbol)} {terms.kind}, {least}{beside}"
    price = f"at most {number(terms.price)}" if terms.side == "BUY" else f"at least {number(terms.price)}"
    stop = "" if terms.stop_price is None else f", stop {number(terms.stop_price)}"
    if terms.trailing_bps is not None:
        stop = f", {_trailing(terms.trailing_bps)}"
    return f"{terms.side} {number(terms.quantity)} {echo(terms.symbol)} {terms.kind}, {price}{stop}{beside}"


def waiting_list(waiting: Sequence[Waiting], now_ms: int, host: HostOf, approve: str) -> str:
    """Return two lines for each waiting order. If there are several accounts, a line also shows the account."""
    has_several = len({each.terms.account for each in waiting}) > 1
    lines = [f"{len(waiting)} orders are waiting for approval:", ""]
    for each in waiting:
        lines += [
            f"  {staked(each.terms, host)}: {order_line(each.terms)}",
            f"    {each.preview_id}  {_left(each, now_ms)}",
            *([f"    account {echo(each.terms.account)}"] if has_several else []),
            "",
        ]
    return "\n".join([*lines, f"{approve} shows one in full and asks for your passphrase."])


def terms_page(waiting: Waiting, policy: Policy, now_ms: int, host: HostOf) -> str:
    """Return the terms of an order as lines."""
    opening = f"{staked(waiting.terms, host)}: this order waits for your approval."
    return "\n".join([opening, "", *_table(terms_rows(waiting, policy, now_ms))])


def terms_rows(waiting: Waiting, policy: Policy, now_ms: int) -> list[tuple[str, str]]:
    """Return the terms of an order as pairs of name and value."""
    terms = waiting.terms
    trigger = [] if terms.stop_price is None else [("stop", f"{number(terms.stop_price)} (trigger price)")]
    if terms.trailing_bps is not None:
        first = "" if terms.stop_price is None else f", first trigger {number(terms.stop_price)}"
        trigger = [("stop", f"{_trailing(terms.trailing_bps)}{first}")]
    spent = "maximum cost" if terms.side == "BUY" else "minimum proceeds"
    is_same = terms.policy == policy.digest
    return [
        ("order", f"{terms.side} {number(terms.quantity)} {echo(terms.symbol)}"),
        *_kind_rows(terms),
        *trigger,
        *_exit_rows(terms.exits),
        *_replaced_rows(terms),
        *_step_rows(terms),
        ("lasts", UNTIL[terms.time_in_force]),
        ("value", f"{number(terms.value)} ({spent}, before fees)"),
        ("limits", f"counts {cents_text(terms.taken)} {policy.counting_asset}"),
        ("rules", "current trading.toml" if is_same else "NOT the current trading.toml: it was changed since"),
        ("account", f"{echo(terms.account)} on {echo(terms.network)}"),
        ("asked", f"{at(waiting.since_ms)} for {echo(waiting.visitor)}"),
        ("until", f"{at(terms.expires_ms)}, {_left(waiting, now_ms)}"),
        ("id", waiting.preview_id),
    ]


def _kind_rows(terms: Terms) -> list[tuple[str, str]]:
    if terms.exits is not None and not terms.exits.has_entry:
        return [("type", f"{terms.kind}, two orders, one cancels the other")]
    if terms.is_market:
        kind, price = f"{terms.kind}, sent as a limit order at the price below", "worst accepted price"
    else:
        kind, price = terms.kind, "limit"
    return [("type", kind), ("price", f"{number(terms.price)} ({price})")]


def _exit_rows(exits: Exits | None) -> list[tuple[str, str]]:
    """Return the exit orders of an entry, or both orders of a pair."""
    if exits is None:
        return []
    is_received = exits.shape.startswith("OPO")
    sold = f"the received amount, at most {number(exits.quantity)}," if is_received else number(exits.quantity)
    when = ", when the entry is filled" if exits.has_entry else ""
    rows: list[tuple[str, str]] = []
    if exits.take_profit is not None:
        rows.append(("profit", f"SELL {sold} at {number(exits.take_profit)}{when}"))
    if exits.stop is not None and exits.stop_limit is not None:
        below = f"at {number(exits.stop)}, limit {number(exits.stop_limit)}"
        if exits.trailing_bps is not None:
            below = f"{_trailing(exits.trailing_bps)}, first trigger {below.removeprefix('at ')}"
        rows.append(("stop", f"SELL {sold} {below}{when}"))
    return [*rows, ("beware", UNPROTECTED)] if exits.has_entry else rows


def _replaced_rows(terms: Terms) -> list[tuple[str, str]]:
    if terms.replaces is None:
        return []
    gone = ", cancelled first; if the new order is then rejected, no order is open"
    return [("replaces", f"{echo(terms.replaces)}{SMALLER if terms.amends else gone}")]


def _step_rows(terms: Terms) -> list[tuple[str, str]]:
    """Return the orders that are cancelled before a sale and placed again after it."""
    rows: list[tuple[str, str]] = []
    for each in terms.releases:
        stop = "" if each.stop_price is None else f", stop {number(each.stop_price)}"
        what = f"{each.kind} of {number(each.quantity)} at {number(each.price)}{stop}"
        rows.append(("cancels", f"{echo(each.client_order_id)}, {what}"))
        rows.append(("then", f"places it again for {number(each.rest)}" if each.rest else "does not place it again"))
    return [*rows, ("else", RESTORED)] if rows else []


def staked(terms: Terms, host: HostOf) -> str:
    """Return the mode and venue of an order, and the kind of money at stake."""
    stake = {"practice": ", no real money", "live": ", REAL MONEY"}.get(terms.mode, "")
    return f"{mode_of(terms, host)}{stake}"


def mode_of(terms: Terms, host: HostOf) -> str:
    """Return the mode of an order."""
    match terms.mode:
        case "practice":
            return f"PRACTICE ({echo(terms.network)})"
        case "live":
            return f"LIVE ({echo(host(terms))})"
        case _:
            return terms.mode.upper()


def stopped_line(stopped: Stopped, opening: str = "Trading is stopped") -> str:
    """Return a stop with its scope, time and reason."""
    return f"{opening} for {whose(stopped)} since {at(stopped.since_ms)}: {echo(stopped.why)}."


def whose(stopped: Stopped) -> str:
    """Return the scope of a stop."""
    return "all accounts" if stopped.account == ALL_ACCOUNTS else f"account {echo(stopped.account)}"


def intent_line(intent: Intent) -> str:
    """Return the state of an order."""
    done = f", {number(intent.executed)} filled" if intent.executed else ""
    return f"{intent.exchange_id}: {order_line(intent.current_terms)}: {intent.status or intent.state}{done}"


def paper_page(
    account: str, balances: Iterable[Balance], orders: Sequence[Order], stopped: Stopped | None, prices: str
) -> str:
    """Return the page of a paper account."""
    rows = [("asset", "free", "in orders")]
    rows += [(echo(each.asset), number(each.free), number(each.locked)) for each in balances if each.total]
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"PAPER account {account}: play money at {prices}.", ""]
    lines += [f"  {name:<{wide[0]}}  {free:>{wide[1]}}  {locked:>{wide[2]}}" for name, free, locked in rows]
    lines += ["", "No open orders." if not orders else "Open orders:"]
    for each in orders:
        lines += [f"  {_paper_order(each)}", f"    {each.client_order_id}  {each.status}"]
    return "\n".join([*lines, *(("", stopped_line(stopped)) if stopped else ())])


def opening_line(opening: Mapping[str, Decimal]) -> str:
    """Return the opening balance of an account without trades."""
    return f"\nOpening balance: {_amounts(opening)}. No trades yet."


def result_lines(result: PaperResult) -> str:
    """Return the value of a paper account and the profit of its trades."""
    rows = [
        ("opening balance", _amounts(result.opening)),
        ("value now", _dollars(result.value)),
        ("realised profit", _dollars(result.realised)),
        ("unrealised profit", _dollars(result.unrealised)),
        ("fees", f"{_dollars(result.fees)}, already in the profit"),
    ]
    return "\n".join(["", *(f"  {name:<17}  {text}" for name, text in rows)])


def _amounts(amounts: Mapping[str, Decimal]) -> str:
    return ", ".join(f"{number(amount)} {echo(asset)}" for asset, amount in amounts.items())


def _dollars(amount: Decimal) -> str:
    return f"{round_to_places(amount, 2):,f} USDT"


def _trailing(trailing_bps: int) -> str:
    return f"trailing {number(percent_of(trailing_bps))}%"


def _paper_order(order: Order) -> str:
    stop = f", stop {number(order.stop_price)}" if order.stop_price else ""
    if order.trailing_bps is not None:
        stop = f", {_trailing(order.trailing_bps)}"
    done = f", {number(order.executed)} filled" if order.executed else ""
    return (
        f"{order.side} {number(order.quantity)} {echo(order.symbol)} {order.kind} at {number(order.price)}{stop}{done}"
    )


def _left(waiting: Waiting, now_ms: int) -> str:
    if waiting.signature is not None:
        return "approved; waiting for the assistant to place it"
    return f"{max(0, waiting.terms.expires_ms - now_ms) // 1000} s left"


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    for name, text in rows:
        parts = wrap(text, WIDE, break_long_words=False, break_on_hyphens=False)
        lines += [f"  {label:<8} {part}" for label, part in zip_longest([name], parts, fillvalue="")]
    return lines
