"""Texts about an order: its mode, its terms, and its confirmation."""

from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Literal

from mcp_binance_server.domain.account import Venue
from mcp_binance_server.domain.money import EXACT_DIGITS, Price, Quantity, percent_of, round_to_places
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.services.trading.answers import UnprotectedHolding
from mcp_binance_server.surface.views.markdown import exact, instant, money, next_step, plain, price_places
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.judgement.exits import ABOVE, BELOW, ENTRY, Exits
from mcp_binance_server.trading.judgement.policy import Way
from mcp_binance_server.trading.judgement.released import Released
from mcp_binance_server.trading.judgement.terms import OFFLINE, Terms, TradingMode

# Networks of Binance. Any other name is the host that prices come from.
REAL = ("mainnet", "testnet", "demo")
MONEY: dict[TradingMode, str] = {
    "paper": "a paper account, no real money.",
    "practice": "a play-money account at Binance.",
    "live": "a real-money account.",
}
NO_MONEY = "No real money: this server matches orders at {prices}."
PLAY_MONEY = "No real money: orders are matched at Binance's {network}."
WAYS: dict[Way, str] = {
    "policy": "the operator's limits, without a question",
    "client": "the user, in the client's form",
    "apart": "the approver's signature",
}
BRIEF_WAYS: dict[Way, str] = {"policy": "the limits", "client": "the user", "apart": "the approver"}
# An order that was found at the exchange was confirmed elsewhere, in an unknown way.
FOUND, BRIEF_FOUND = "not known; found at the exchange, missing from this journal", "not known"
CONFIRMATION: dict[Way, Literal["none", "client", "apart"]] = {"policy": "none", "client": "client", "apart": "apart"}
LEG_WORDS = {ENTRY: "entry", ABOVE: "take profit", BELOW: "stop"}
UNPROTECTED = "A partly filled entry is unprotected: its exits start only when it is filled completely."
JUMPED = "If the price gaps below the limit of a stop, the stop will not fill."
NOTHING_REMAINS = "nothing remains to be protected"
FALLBACK = (
    "if a step after the cancel is refused or sells less: the cancelled orders are placed once more for what is still "
    "held; if that is refused too, every answer warns that the coins have no exit"
)
KEEPS_PLACE = "The order is reduced and keeps its ID and its place in the queue."
IN_ITS_PLACE = (
    "The old order is cancelled first. If the new one is then rejected, no order is open, and the answer says so."
)
STARTS_ANEW = "A new trailing stop starts at the present price: the highest price that the old one followed is lost."
# Rise of the price, for an example.
RISEN = Decimal("1.1")
AFTERWARDS: dict[Way, str] = {
    "policy": "no further confirmation",
    "client": "the user is asked first",
    "apart": "it waits until the user approves it with a command, outside this chat",
}


def mode_word(mode: TradingMode, venue: Venue) -> str:
    """Return the mode, with which every answer starts. The mode names the kind of money."""
    match mode:
        case "practice":
            return f"PRACTICE ({plain(venue.network)})"
        case "live":
            return f"LIVE ({plain(venue.host)})"
        case _:
            return mode.upper()


def account_words(mode: TradingMode, venue: Venue) -> str:
    """Return the first line of a page about an account: the mode, and the kind of money in words."""
    return f"{mode_word(mode, venue)}: {MONEY[mode]}"


def confirmed_words(intent: Intent) -> str:
    """Return the confirmation of an order in words."""
    return FOUND if intent.state == "ADOPTED" else WAYS[intent.way]


def order_words(terms: Terms, base: str) -> str:
    """Format an order in one line: `BUY 0.01 BTC LIMIT at 50,000.00, GTC (BTCUSDT)`."""
    if terms.amends:
        return f"reduce {terms.replaces} to {exact(terms.quantity)} {plain(base)} ({plain(terms.symbol)})"
    if terms.kind == "OCO" and terms.exits is not None:
        pair = f"SELL {exact(terms.quantity)} {plain(base)} OCO: {exits_words(terms.exits)}"
        return f"{pair}{_beside(replace(terms, exits=None), base)} ({plain(terms.symbol)})"
    what = f"{terms.side} {exact(terms.quantity)} {plain(base)} {terms.kind}"
    at = f"at {priced(terms.price)}"
    if terms.is_market:
        return f"{what} {at} or better, {terms.time_in_force}{_beside(terms, base)} ({plain(terms.symbol)})"
    stop = f", {trigger_words(terms.stop_price, terms.trailing_bps)}"
    stop = "" if terms.stop_price is None and terms.trailing_bps is None else stop
    stays = "" if terms.kind == "LIMIT_MAKER" else f", {terms.time_in_force}"
    return f"{what} {at}{stop}{stays}{_beside(terms, base)} ({plain(terms.symbol)})"


def exits_words(exits: Exits) -> str:
    """Format the prices of exits."""
    above = "" if exits.take_profit is None else f"take-profit {priced(exits.take_profit)}"
    below = ""
    if exits.stop is not None and exits.stop_limit is not None:
        below = f"stop-loss {priced(exits.stop)} (limit {priced(exits.stop_limit)})"
        if exits.trailing_bps is not None:
            first = f"first trigger {priced(exits.stop)}, limit {priced(exits.stop_limit)}"
            below = f"stop-loss {trailing_words(exits.trailing_bps)} ({first})"
    return " or ".join(filter(None, (above, below)))


def trailing_words(trailing_bps: int) -> str:
    """Format the distance of a trailing stop."""
    return f"trailing {exact(percent_of(trailing_bps))}%"


def trigger_words(stop: Price | None, trailing_bps: int | None, unit: str = "") -> str:
    """Format the trigger of a stop: its price, or the distance that it trails by with the first trigger."""
    price = "" if stop is None else f"{priced(stop)}{unit}"
    if trailing_bps is None:
        return f"once {price} is reached"
    first = f" (first trigger {price})" if price else ""
    return f"{trailing_words(trailing_bps)}{first}"


def trailing_notes(terms: Terms) -> list[str]:
    """Return how far the fixed limit of a trailing stop can lie below its trigger, and how to move it."""
    exits = terms.exits
    trailing = terms.trailing_bps if exits is None else exits.trailing_bps
    trigger, limit = (terms.stop_price, terms.price) if exits is None else (exits.stop, exits.stop_limit)
    if trailing is None or not trigger or limit is None:
        return []
    with localcontext(prec=EXACT_DIGITS):
        now, risen = ((1 - limit / (trigger * factor)) * 100 for factor in (1, RISEN))
    gap = f"{round_to_places(now, 2)}% below the trigger at first, {round_to_places(risen, 2)}% after a rise of 10%"
    move = "preview the same stop with replaces" if exits is None else "cancel it and preview it again"
    return [
        f"The trigger follows the highest price, the limit {priced(limit)} does not: it is {gap}. The sale can be as "
        f"cheap as the limit, and below it nothing is sold. To move the limit up, {move}."
    ]


def released_words(released: Released, quantity: Quantity, base: str) -> str:
    """Format an order that is cancelled for a sale, or placed again after it, with this quantity."""
    amount, stop = f"{exact(quantity)} {plain(base)}", released.stop_price
    if released.kind == "OCO" and stop is not None and released.stop_limit is not None:
        trails = "" if released.trailing_bps is None else f", {trailing_words(released.trailing_bps)}"
        below = f"stop-loss {priced(stop)} (limit {priced(released.stop_limit)}{trails})"
        return f"SELL {amount} OCO: take-profit {priced(released.price)} or {below}"
    once = "" if stop is None else f", {trigger_words(stop, released.trailing_bps)}"
    return f"SELL {amount} {released.kind} at {priced(released.price)}{once}"


def plan_steps(terms: Terms, base: str) -> list[str]:
    """Return every step of a sale that cancels other orders first; empty for any other order."""
    if not terms.releases:
        return []
    again = [each for each in terms.releases if each.rest]
    cancels = [f"cancel {each.client_order_id}: {released_words(each, each.quantity, base)}" for each in terms.releases]
    rests = [f"place again {released_words(each, each.rest, base)}" for each in again] or [NOTHING_REMAINS]
    return [*cancels, order_words(replace(terms, releases=()), base), *rests, FALLBACK]


def exit_notes(terms: Terms) -> list[str]:
    """Return notes on exits that may not fill, and on a replaced order."""
    exits = terms.exits
    entry = [UNPROTECTED] if exits is not None and exits.has_entry else []
    is_fixed = exits is not None and exits.stop is not None and exits.trailing_bps is None
    stop = [JUMPED] if is_fixed else []
    if terms.replaces is None:
        return [*entry, *stop, *trailing_notes(terms)]
    if terms.trailing_bps is not None and not terms.amends:
        return [IN_ITS_PLACE, STARTS_ANEW, *trailing_notes(terms)]
    return [KEEPS_PLACE if terms.amends else IN_ITS_PLACE]


def unprotected_alarm(at_risk: UnprotectedHolding) -> str:
    """Return the warning about a holding whose exit has failed.

    It has the holding's value and the call that places a new exit.
    """
    rules, amount = at_risk.rules, exact(at_risk.quantity)
    worth = "" if at_risk.value is None else f", worth {money(at_risk.value, rules.quote, rules.tick)} now"
    order = {"symbol": rules.symbol, "side": "SELL", "type": "STOP_LOSS_LIMIT", "quantity": amount}
    return (
        f"WARNING: {amount} {plain(rules.base)}{worth}, has NO exit: the exit of order {at_risk.client_order_id} ended "
        f"without a sale. {next_step('preview_order', **order)} with a stop_price and a price protects it"
    )


def unprotected_words(intent: Intent, base: str) -> str:
    """Return a warning about bought coins that no exit order covers; "" if there are none."""
    amount = intent.unprotected
    if not amount:
        return ""
    until = "exits start when the entry is filled"
    if intent.final_ms is not None:
        until = "the list has ended; place an exit now"
    elif intent.status == "FILLED":
        until = "its exits are about to start, check with get_order"
    return f"WARNING: {exact(amount)}{base and f' {plain(base)}'} bought and NO exit in place: {until}"


def _beside(terms: Terms, base: str) -> str:
    if terms.exits is not None:
        is_all = terms.exits.shape.startswith("OPO")
        sold = "it all" if is_all else f"{exact(terms.exits.quantity)} {plain(base)}"
        return f"; when filled, sell {sold}: {exits_words(terms.exits)}"
    if terms.releases:
        return f", after the cancel of {', '.join(each.client_order_id for each in terms.releases)}"
    return "" if terms.replaces is None else f", replacing {terms.replaces}"


def priced(value: Decimal, tick: Decimal = Decimal(0)) -> str:
    """Format a price or amount with all of its digits, at least two decimals."""
    return f"{round_to_places(value, price_places(tick, value)):,f}"


def averaged(value: Decimal, rules: SymbolRules) -> str:
    """Format an average price with one decimal more than the tick."""
    places = price_places(rules.tick, value) + 1
    rounded = round_to_places(value, places)
    shorter = round_to_places(value, places - 1)
    return f"{shorter if shorter == rounded else rounded:,f}"


def where_from(mode: TradingMode, venue: Venue, as_of_ms: int) -> list[str]:
    """Return the last lines of a page: the kind of money, the network and host, and the time."""
    money = (f"*{plain(each)}*" for each in money_notes(mode, venue))
    return [*money, f"*Network {plain(venue.network)}, host {plain(venue.host)}; as of {instant(as_of_ms)}*"]


def _prices(venue: Venue) -> str:
    if venue.network == OFFLINE:
        return "made-up prices"
    return f"the {'live ' if venue.network in REAL else ''}prices of {venue.network}"


def money_notes(mode: TradingMode, venue: Venue) -> list[str]:
    """Return the notes on the kind of money, as in structured data and in the last lines of a text."""
    match mode:
        case "paper":
            return [NO_MONEY.format(prices=_prices(venue)), *([venue.note] if venue.note else [])]
        case "practice":
            return [PLAY_MONEY.format(network=venue.network)]
        case _:
            return []


def unformatted(text: str) -> str:
    """Escape a sentence that contains text from outside, but keep its underscores."""
    return plain(text).replace("\\_", "_")
