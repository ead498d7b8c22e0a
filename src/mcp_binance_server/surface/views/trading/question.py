"""Question to the user before an order is sent, composed only of the order's typed fields."""

from decimal import Decimal, localcontext

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.domain.symbols import SymbolRules, is_plausible
from mcp_binance_server.services.trading.answers import Cancellation, CancellationOfAll
from mcp_binance_server.surface.views.markdown import exact, stamp
from mcp_binance_server.surface.views.trading.terms import (
    UNPROTECTED,
    exits_words,
    plan_steps,
    priced,
    trailing_notes,
    trigger_words,
)
from mcp_binance_server.trading.judgement.policy import cents_text
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.judgement.terms import Terms
from mcp_binance_server.words import word

PLACE, DO_NOT_PLACE = "place this order", "do not place it"
CANCEL, DO_NOT_CANCEL = "cancel this stop", "leave it as it is"
CANCEL_ALL, DO_NOT_CANCEL_ALL = "cancel all of them", "leave them as they are"
OPEN_PAGE = "Open this server's page on this machine to approve or decline. Opening it approves nothing."
# Most orders that a question lists, oldest first. The question counts the others.
MOST_LISTED = 30
FEE_PLACES = Decimal("0.00000001")


def order_question(terms: Terms, rules: SymbolRules, mode: str, counting_asset: str, rates: Commission | None) -> str:
    """Return the question that asks whether to place an order with exactly these terms."""
    base, quote = _asset(rules.base), _asset(rules.quote)
    lines = [
        f"{mode}: place this order?{_stake(terms, 'This is real money')}",
        f"{terms.side} {exact(terms.quantity)} {base} ({word(terms.symbol)})",
        _kind(terms, quote),
        *_beside(terms, quote),
        *_steps(terms, base),
        f"{_bound(terms)} {priced(terms.value)} {quote}, {_fee(terms, base, quote, rates or USUAL)}",
        f"Counts towards your limits: {cents_text(terms.taken)} {word(counting_asset)}",
        f"Valid until {stamp(terms.expires_ms)}",
    ]
    return "\n".join(lines)


def cancel_question(wanted: Cancellation, mode: str) -> str:
    """Return the question that asks whether to cancel a stop order."""
    terms, rules = wanted.intent.terms, wanted.rules
    lines = [
        f"{mode}: cancel this stop?{_stake(terms, 'It protects real money')}",
        f"{terms.side} {exact(terms.quantity)} {_asset(rules.base)} ({word(terms.symbol)})",
        _kind(terms, _asset(rules.quote)),
        *_beside(terms, _asset(rules.quote)),
        f"Filled so far: {exact(wanted.intent.executed)} {_asset(rules.base)}; the rest would no longer be protected",
        f"Order {wanted.intent.client_order_id}",
    ]
    return "\n".join(lines)


def cancel_all_question(wanted: CancellationOfAll, mode: str) -> str:
    """Return the question that asks whether to cancel every open order."""
    orders = wanted.orders
    stops, more = sum(each.intent.terms.is_stop for each in orders), len(orders) - MOST_LISTED
    lines = [
        f"{mode}: cancel all {len(orders)} open orders?{_stake(orders[0].intent.terms, 'This is real money')}",
        *([f"Stops among them: {stops}; the holdings behind them would no longer be protected"] if stops else []),
        *(_order_line(each) for each in orders[:MOST_LISTED]),
        *([f"and {more} more"] if more > 0 else []),
    ]
    return "\n".join(lines)


def _order_line(wanted: Cancellation) -> str:
    terms, rules = wanted.intent.current_terms, wanted.rules
    what = f"{terms.side} {exact(terms.quantity)} {_asset(rules.base)} ({word(terms.symbol)})"
    return f"{what} {_kind(terms, _asset(rules.quote))}; order {wanted.intent.client_order_id}"


def _asset(name: str) -> str:
    # The issuer of a token chooses the token's name. A name that does not look like an asset must not reach the user,
    # because the user decides by it.
    return name if is_plausible(name) else "of its asset"


def _stake(terms: Terms, real: str) -> str:
    return f" {real if terms.mode == 'live' else 'No real money is moved'}."


def _beside(terms: Terms, quote: str) -> list[str]:
    """Return the orders that are sent or cancelled together with this one."""
    exits = terms.exits
    told: list[str] = []
    if exits is not None and exits.has_entry:
        told = [f"When filled, sell: {exits_words(exits)} {quote}", UNPROTECTED]
    if terms.replaces is not None:
        gone = f"Cancels order {terms.replaces} first; if this one is then rejected, no order is open"
        told.append(f"Only reduces order {terms.replaces}" if terms.amends else gone)
    return [*told, *trailing_notes(terms)]


def _steps(terms: Terms, base: str) -> list[str]:
    """Return all steps of a sale that cancels other orders first."""
    return [f"Step {number}: {each}" for number, each in enumerate(plan_steps(terms, base), 1)]


def _kind(terms: Terms, quote: str) -> str:
    if terms.kind == "OCO" and terms.exits is not None:
        return f"OCO, one cancels the other: {exits_words(terms.exits)} {quote}"
    at = f"{priced(terms.price)} {quote}"
    if terms.is_market:
        return f"MARKET, filled at once at {at} or better; the rest expires"
    if terms.stop_price is not None or terms.trailing_bps is not None:
        trigger = trigger_words(terms.stop_price, terms.trailing_bps, f" {quote}")
        return f"{terms.kind}, at {at} or better {trigger}; {terms.time_in_force}"
    stays = "" if terms.kind == "LIMIT_MAKER" else f"; {terms.time_in_force}"
    return f"{terms.kind}, at {at} or better{stays}"


def _bound(terms: Terms) -> str:
    return "Costs at most" if terms.side == "BUY" else "If all is sold, you receive at least"


def _fee(terms: Terms, base: str, quote: str, rates: Commission) -> str:
    with localcontext(prec=EXACT_DIGITS):
        taken, asset = (terms.quantity, base) if terms.side == "BUY" else (terms.value, quote)
        rate = rates.maker if terms.kind == "LIMIT_MAKER" else rates.taker
        fee = Quantity((taken * rate).quantize(FEE_PLACES))
    return f"fee about {exact(fee)} {asset}"
