"""The question to a user before an order is sent: composed of the order's own terms, without foreign text."""

from decimal import Decimal, localcontext

from mcp_binance_server.domain.account import Commission
from mcp_binance_server.domain.money import EXACT_DIGITS, Quantity
from mcp_binance_server.domain.symbols import SymbolRules, is_plausible
from mcp_binance_server.services.trading.answers import Cancellation
from mcp_binance_server.surface.views.markdown import exact, stamp
from mcp_binance_server.surface.views.trading.terms import UNPROTECTED, exits_words, priced
from mcp_binance_server.trading.judgement.policy import cents_text
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.judgement.terms import Terms
from mcp_binance_server.words import word

PLACE, DO_NOT_PLACE = "place this order", "do not place it"
CANCEL, DO_NOT_CANCEL = "cancel this stop", "leave it as it is"
OPEN_PAGE = "To say yes or no, open the page of this server on this machine. To open it agrees to nothing."
FEE_PLACES = Decimal("0.00000001")


def order_question(terms: Terms, rules: SymbolRules, mode: str, counting_asset: str, rates: Commission | None) -> str:
    """Return the question whether to place exactly these terms."""
    base, quote = _asset(rules.base), _asset(rules.quote)
    lines = [
        f"{mode}: place this order?{_stake(terms, 'It is paid with real money')}",
        f"{terms.side} {exact(terms.quantity)} {base} ({word(terms.symbol)})",
        _kind(terms, quote),
        *_beside(terms, quote),
        f"{_bound(terms)} {priced(terms.value)} {quote}, {_fee(terms, base, quote, rates or USUAL)}",
        f"Counts as {cents_text(terms.taken)} {word(counting_asset)} of your limits",
        f"Valid until {stamp(terms.expires_ms)}",
    ]
    return "\n".join(lines)


def cancel_question(wanted: Cancellation, mode: str) -> str:
    """Return the question whether to cancel a stop."""
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


def _asset(name: str) -> str:
    # The maker of a token chooses its name: text that is not a plausible name must not reach a user who decides.
    return name if is_plausible(name) else "of its asset"


def _stake(terms: Terms, real: str) -> str:
    return f" {real if terms.mode == 'live' else 'No real money is moved'}."


def _beside(terms: Terms, quote: str) -> list[str]:
    """Return the orders that are sent with this one, or cancelled for it."""
    exits = terms.exits
    told: list[str] = []
    if exits is not None and exits.has_entry:
        told = [f"Once it is filled: SELL, {exits_words(exits)} {quote}", UNPROTECTED]
    if terms.replaces is not None:
        gone = f"Cancels order {terms.replaces} first; if this one is then refused, neither stands"
        told.append(f"Only makes order {terms.replaces} smaller" if terms.amends else gone)
    return told


def _kind(terms: Terms, quote: str) -> str:
    if terms.kind == "OCO" and terms.exits is not None:
        return f"OCO, one ends the other: {exits_words(terms.exits)} {quote}"
    at = f"{priced(terms.price)} {quote}"
    if terms.is_market:
        return f"MARKET, filled at once at {at} or better; what is not, expires"
    if terms.stop_price is not None:
        stop = f"{priced(terms.stop_price)} {quote}"
        return f"{terms.kind}, at {at} or better once {stop} is reached; {terms.time_in_force}"
    stays = "" if terms.kind == "LIMIT_MAKER" else f"; {terms.time_in_force}"
    return f"{terms.kind}, at {at} or better{stays}"


def _bound(terms: Terms) -> str:
    return "Costs at most" if terms.side == "BUY" else "Brings, if all is sold, at least"


def _fee(terms: Terms, base: str, quote: str, rates: Commission) -> str:
    with localcontext(prec=EXACT_DIGITS):
        taken, asset = (terms.quantity, base) if terms.side == "BUY" else (terms.value, quote)
        rate = rates.maker if terms.kind == "LIMIT_MAKER" else rates.taker
        fee = Quantity((taken * rate).quantize(FEE_PLACES))
    return f"fee about {exact(fee)} {asset}"
