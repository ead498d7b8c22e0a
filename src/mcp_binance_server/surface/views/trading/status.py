"""State of trading as a page: mode, stops, remaining limits, and unfinished orders."""

from collections.abc import Iterable
from decimal import Decimal

from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.money import round_to_places
from mcp_binance_server.services.trading.answers import LimitUse, PaperResult, TradingStatus
from mcp_binance_server.surface.views.markdown import exact, instant, plain
from mcp_binance_server.surface.views.trading.terms import (
    LEG_WORDS,
    exits_words,
    mode_word,
    trailing_words,
    unformatted,
    unprotected_words,
    where_from,
)
from mcp_binance_server.trading.journal.records import ALL_ACCOUNTS, Intent, Stopped, Waiting
from mcp_binance_server.trading.judgement.policy import Policy, cents_text
from mcp_binance_server.trading.judgement.terms import Terms, TradingMode, command
from mcp_binance_server.words import word

# Differences between paper trading and the market, shown before the first order.
HONEST = (
    "Paper fills ignore market impact, hidden orders, cancels ahead in the queue, changes in latency and halts. "
    "Real fills can be worse."
)
POLLED = "Order updates from Binance are unavailable now. Open orders are polled, so changes may appear late."
NO_COST = "Profit is from trades here, fees included. Coins of the opening balance have no cost and no profit."
NO_LIMIT = "no limit"
NO_STAKE = ", without real money"


# By whether the stop allows exits.
EXITS = {True: "an exit needs the user's yes", False: "no exits"}


def status_summary(status: TradingStatus) -> str:
    """Return one line that says whether orders can be placed now."""
    mode = mode_word(status.mode, status.venue)
    if status.stopped is not None:
        resume = command("resume", status.venue.network)
        return (
            f"{mode}: TRADING IS STOPPED for {stop_scope(status.stopped)} since {instant(status.stopped.since_ms)}. "
            f"No new entries; {EXITS[status.stopped.allows_exits]}, cancels work, open orders stay. "
            f"Only the user can resume: {resume}"
        )
    if status.waits_for:
        return f"{mode}: not ready. No orders until {status.waits_for}."
    return f"{mode}: trading is on{NO_STAKE if status.mode == 'paper' else ''}.{_alarm(status)}"


def stop_scope(stopped: Stopped) -> str:
    """Return whether a stop applies to the caller's account or to all accounts.

    Callers see no stops of other accounts.
    """
    return "all accounts" if stopped.account == ALL_ACCOUNTS else "this account"


def rules_of(policy: Policy) -> dict[str, str]:
    """Return the operator's rules for a single order as a sentence."""
    limits = policy.limits
    asset = policy.counting_asset
    return {
        "symbols": "every symbol" if limits.symbols is None else ", ".join(sorted(limits.symbols)) or "none",
        "amounts": f"counted in {asset}",
        "types": ", ".join(sorted(limits.types)) or "none",
        "per_order": NO_LIMIT if limits.per_order is None else f"{cents_text(limits.per_order)} {asset}",
        "price": f"at most {exact(limits.collar_percent)}% worse than the mid price; "
        f"market orders at most {exact(limits.slippage_bps)} bps worse than the best price",
        "daily_loss": NO_LIMIT if limits.daily_loss is None else f"{cents_text(limits.daily_loss)} {asset}",
        **{f"position {name}": f"{cents_text(most)} {asset}" for name, most in sorted(limits.position.items())},
        "cancel": "orders placed by this server" if limits.cancel == "own" else "every order",
        "preview_valid": f"{policy.confirm.expires_secs} s",
    }


def confirmation_of(policy: Policy, mode: TradingMode) -> list[str]:
    """Return the required confirmations, by the amount of an order."""
    confirm, asset = policy.confirm, policy.counting_asset
    approver = "" if confirm.approver else "; no approver is set, so those are refused"
    if confirm.ask == "default" and mode != "live":
        return ["none: within the limits"]
    if confirm.client_per_order is None and mode != "live":
        return ["client: place_order asks the user for every order"]
    above = cents_text(policy.client_ceiling(mode))
    automatic = confirm.auto_per_order if confirm.ask == "default" else 0
    return [
        *([f"none: up to {cents_text(automatic)} {asset}"] if automatic else []),
        f"client: place_order asks the user, up to {above} {asset}",
        f"apart: above {above} {asset} the user approves with a command{approver}",
    ]


def status_text(status: TradingStatus, summary: str) -> str:
    """Render the state of trading."""
    stopped = status.stopped
    lines = [
        summary,
        "",
        *([f'**Stopped because**: "{unformatted(word(stopped.why))}"'] if stopped else []),
        *(f"**Key**: {unformatted(each)}" for each in status.key_notes),
        *(f"**Confirmation**: {each}" for each in confirmation_of(status.policy, status.mode)),
        *(f"**{_label(name)}**: {text}" for name, text in rules_of(status.policy).items()),
        *([f"**Lost today**: {lost_words(status)}"] if status.lost_today is not None else []),
        "",
        *_table(("Limit", "Used", "Most", "Left"), map(_limit_row, status.limits)),
        *([] if status.open_intents else ["", "No open orders."]),
        *_part("Open orders", (open_words(each) for each in status.open_intents)),
        *following_notes(status),
        *_part("Unresolved", (unresolved_words(each) for each in status.unresolved)),
        *_part("Found at the exchange, not in this journal", (adopted_words(each) for each in status.adopted)),
        *_part("Waiting", (waiting_words(each) for each in status.waiting)),
        "",
        "## Account",
        *(
            [unread_words(status)]
            if status.unread
            else _table(("Asset", "Free", "Locked"), map(_balance_row, status.balances))
        ),
        *([] if status.result is None else _result_lines(status.result)),
        "",
        *(f"*{each}*" for each in honest_notes(status.mode)),
        *where_from(status.mode, status.venue, status.as_of_ms),
    ]
    return "\n".join(lines)


def result_rows(result: PaperResult) -> list[tuple[str, str]]:
    """Return the result of a paper account by name; money in USDT."""
    return [
        ("opening_balance", ", ".join(f"{exact(amount)} {asset}" for asset, amount in result.opening.items())),
        ("value_now", _dollars(result.value)),
        ("realised_profit", _dollars(result.realised)),
        ("unrealised_profit", _dollars(result.unrealised)),
        ("fees", _dollars(result.fees)),
        *([("without_price", ", ".join(result.unpriced))] if result.unpriced else []),
    ]


def _result_lines(result: PaperResult) -> list[str]:
    rows = (f"**{_label(name)}**: {plain(text)}" for name, text in result_rows(result))
    return ["", "## Result", *rows, f"*{NO_COST}*"]


def _dollars(amount: Decimal) -> str:
    return f"{round_to_places(amount, 2):f} USDT"


def unread_words(status: TradingStatus) -> str:
    """Return the reason why balances and losses are missing."""
    return f'The account could not be read: "{unformatted(word(status.unread))}"'


def following_notes(status: TradingStatus) -> list[str]:
    """Return a note that changes may appear late, if open orders are polled."""
    return [POLLED] if status.following == "polled" else []


def honest_notes(mode: TradingMode) -> list[str]:
    """Return a note on how paper trading differs from the market."""
    return [HONEST] if mode == "paper" else []


def lost_words(status: TradingStatus) -> str:
    """Format today's loss; 0 for a profit."""
    return f"{cents_text(max(0, status.lost_today or 0))} {status.policy.counting_asset}"


def open_words(intent: Intent) -> str:
    """Format one open order as a line."""
    executed = f", executed {exact(intent.executed)}" if intent.executed else ""
    smaller = "" if intent.amended is None else f" (reduced to {exact(intent.amended)})"
    legs = "".join(
        f"; {LEG_WORDS[each.client_order_id[-2:]]} {each.status}" for each in intent.legs if not each.is_entry
    )
    bare = unprotected_words(intent, "")
    stands = f"{terms_words(intent.terms)}{smaller}, {intent.status or intent.state}{executed}{legs}"
    return f"{intent.exchange_id}: {stands}{bare and f'; {bare}'}"


def unresolved_words(intent: Intent) -> str:
    """Format one order with an unknown outcome."""
    return f"{open_words(intent)}; DO NOT PLACE IT AGAIN, get_order shows its state"


def adopted_words(intent: Intent) -> str:
    """Format one order that was found at the exchange and is missing from the journal."""
    return f"{open_words(intent)}; counted in the limits. Does another server use this key, or was a journal lost?"


def waiting_words(waiting: Waiting) -> str:
    """Format one preview that waits for a signature."""
    approve = command(f"approve {waiting.preview_id}", waiting.terms.network)
    approved = "approved, place_order sends it" if waiting.signature else approve
    return f"{waiting.preview_id}: {terms_words(waiting.terms)}, until {instant(waiting.terms.expires_ms)}, {approved}"


def terms_words(terms: Terms) -> str:
    """Format an order in a few words."""
    if terms.amends:
        return f"reduce {terms.replaces} to {exact(terms.quantity)} {plain(terms.symbol)}"
    stop = f" stop {exact(terms.stop_price)}" if terms.stop_price is not None else ""
    if terms.trailing_bps is not None:
        stop = f" {trailing_words(terms.trailing_bps)}"
    if terms.exits is not None and terms.exits.has_entry:
        stop = f", exits: {exits_words(terms.exits)}"
    elif terms.replaces is not None:
        stop += f", replacing {terms.replaces}"
    at = f"at {exact(terms.price)}{stop}"
    return f"{terms.side} {exact(terms.quantity)} {plain(terms.symbol)} {terms.kind} {at}"


def _alarm(status: TradingStatus) -> str:
    number = len(status.adopted)
    return f" ALARM: orders found at the exchange, missing from this journal: {number}." if number else ""


def _limit_row(use: LimitUse) -> tuple[str, ...]:
    return use.name, use.used, use.most, use.left


def _balance_row(balance: Balance) -> tuple[str, ...]:
    return plain(balance.asset), exact(balance.free), exact(balance.locked)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    head = [f"| {' | '.join(columns)} |", f"|{'|'.join('---' for _ in columns)}|"]
    return [*head, *(f"| {' | '.join(row)} |" for row in rows)]


def _part(title: str, rows: Iterable[str]) -> list[str]:
    listed = [f"- {row}" for row in rows]
    return ["", f"## {title}", *listed] if listed else []


def _label(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[0].upper()}{words[1:]}"
