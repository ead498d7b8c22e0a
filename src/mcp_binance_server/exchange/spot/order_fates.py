"""Outcome of an order or cancel that the exchange did not accept: refused, not sent, or unknown.

https://developers.binance.com/docs/binance-spot-api-docs/errors
"""

from collections.abc import Mapping
from types import MappingProxyType

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.domain.order_requests import Fate, Outcome
from mcp_binance_server.exchange.wire import (
    BAD_KEY_FORMAT,
    BAD_SIGNATURE,
    IP_BANNED,
    PARTIAL_CODE,
    REJECTED_KEY,
    RESTRICTED,
    TIMESTAMP,
    TOO_MANY_ORDERS,
    TOO_MANY_REQUESTS,
    TOO_MUCH_WEIGHT,
    UNAUTHORIZED,
    UNKNOWN_CODES,
    UNKNOWN_SYMBOL,
    ExchangeRefusal,
)
from mcp_binance_server.words import one_line

CLIENT_ERRORS = range(400, 500)
FORBIDDEN, CONFLICT = 403, 409
ORDER_REJECTED, CANCEL_REJECTED, NO_SUCH_ORDER, NOT_REPLACED, AMEND_REJECTED = -2010, -2011, -2013, -2022, -2038
LONGEST_QUOTE = 120

DUPLICATE = "an order with this id is open already"
UNREADABLE_SUCCESS = "Binance accepted it, but the answer could not be read: it may have been executed"

# A code outside both tables proves nothing, whatever the status. Examples are -1033 (COMP_ID_IN_USE) and -1035
# (LOGGED_OUT) of FIX sessions: the documentation does not say whether an order was accepted.
REFUSED_CODES: Mapping[int, str] = MappingProxyType(
    {
        -1002: "the key may not do this",
        TOO_MUCH_WEIGHT: "this address has sent Binance too many requests",
        -1008: "Binance is too busy",
        -1010: "Binance refused the message",
        -1013: "the order breaks a rule of this symbol",
        -1014: "this combination is not supported",
        TOO_MANY_ORDERS: "this account has placed too many orders",
        -1016: "this service is shutting down",
        -1020: "this is not supported",
        TIMESTAMP: "the clocks disagree, or it arrived too late",
        BAD_SIGNATURE: "the signature is not valid: the secret does not belong to the key",
        -1034: "there are too many connections",
        UNKNOWN_SYMBOL: "the symbol is unknown",
        ORDER_REJECTED: "Binance rejected the order",
        CANCEL_REJECTED: "no open order with that ID",
        NO_SUCH_ORDER: "no order with that ID",
        BAD_KEY_FORMAT: "the API key has the wrong form",
        REJECTED_KEY: "the API key is unknown there, may not trade, or is not allowed from this address",
        -2016: "the symbol has no trading window now",
        NOT_REPLACED: "nothing was replaced",
        -2026: "the order is archived",
        AMEND_REJECTED: "the order was not amended",
        -2039: "the two IDs belong to different orders",
    }
)
# Codes of requests with missing, malformed, surplus or contradictory parameters; they never reach the matching engine.
REFUSED_RANGE = range(-1229, -1099)
BROKEN_REQUEST = "Binance does not accept the form of the order"

# The first of these texts that occurs in the message gives the reason.
REJECTED_BY_WORDS: tuple[tuple[str, str], ...] = (
    ("insufficient balance", "the balance is too small for the order"),
    ("immediately match", "the order would immediately match and take"),
    ("trigger immediately", "the order would trigger immediately"),
    ("duplicate order", DUPLICATE),
    ("market is closed", "the market is closed"),
    ("not permitted", "this symbol is not permitted for this account"),
    ("restricted", "this symbol is restricted for this account"),
    ("disabled on this account", "this is disabled for this account"),
    ("may not place or cancel", "this account may not place or cancel orders"),
    ("trading is not enabled", "trading is not enabled for this key"),
    ("not supported", "this symbol does not accept such orders"),
    ("not support for", "this symbol does not accept such orders"),
    ("filter failure", "the order breaks a rule of this symbol"),
    ("relationship of the prices", "the market price is on the wrong side of one of the order's prices"),
)
CANCEL_BY_WORDS: tuple[tuple[str, str], ...] = (
    ("unknown order", "no open order with that ID"),
    ("cancel restrictions", "the order is not in the state that the cancel needs"),
    ("may not place or cancel", "this account may not place or cancel orders"),
)
AMEND_BY_WORDS: tuple[tuple[str, str], ...] = (
    ("unknown order", "no open order with that ID"),
    ("quantity increase", "an order can only be made smaller"),
    ("change no state", "the order has this quantity already"),
    ("not supported", "this symbol does not accept such a change"),
    ("filter failure", "the order breaks a rule of this symbol"),
)
BY_WORDS: Mapping[int, tuple[tuple[str, str], ...]] = MappingProxyType(
    {ORDER_REJECTED: REJECTED_BY_WORDS, CANCEL_REJECTED: CANCEL_BY_WORDS, AMEND_REJECTED: AMEND_BY_WORDS}
)

# With these statuses a request never reaches the matching engine, with or without a code.
REFUSED_STATUSES: Mapping[int, str] = MappingProxyType(
    {
        UNAUTHORIZED: "the key was refused",
        FORBIDDEN: "a firewall in front of Binance refused it",
        IP_BANNED: "this address is temporarily banned",
        TOO_MANY_REQUESTS: "this address has sent Binance too many requests",
        RESTRICTED: "Binance does not serve this location",
    }
)


def outcome_of(refusal: ExchangeRefusal) -> Outcome:
    """Return the outcome of an error answer: refused only if the answer proves that nothing was executed."""
    said = _refused_words(refusal)
    if said is None:
        return in_doubt(refusal)
    return Outcome(Fate.REFUSED, reason=f"{said}{_quoted(refusal)}", code=refusal.code)


def in_doubt(refusal: ExchangeRefusal) -> Outcome:
    """Return the unknown outcome for an error answer that proves nothing."""
    reason = f"Binance answered HTTP {refusal.status}{_quoted(refusal)}: it may have been executed"
    return Outcome(Fate.UNKNOWN, reason=reason, code=refusal.code)


def outcome_without_answer(failure: NoAnswer) -> Outcome:
    """Return the outcome without an answer: not sent if no byte of the request was sent, otherwise unknown."""
    if failure.sent:
        return Outcome(Fate.UNKNOWN, reason=f"{failure.reason}: it may have been executed")
    return Outcome(Fate.NOT_SENT, reason=f"Binance was not reached, nothing was sent ({failure.reason})")


def _refused_words(refusal: ExchangeRefusal) -> str | None:
    status, code = refusal.status, refusal.code
    if status not in CLIENT_ERRORS or status == CONFLICT or code in UNKNOWN_CODES or code == PARTIAL_CODE:
        return None
    if code is None or status == IP_BANNED:
        return REFUSED_STATUSES.get(status)
    if code in BY_WORDS:
        told = refusal.text.lower()
        return next((words for found, words in BY_WORDS[code] if found in told), REFUSED_CODES[code])
    if code in REFUSED_CODES:
        return REFUSED_CODES[code]
    if code in REFUSED_RANGE:
        return BROKEN_REQUEST
    return REFUSED_STATUSES.get(status)


def _quoted(refusal: ExchangeRefusal) -> str:
    text = one_line(refusal.text, LONGEST_QUOTE) if refusal.code is not None else ""
    return f' (Binance: "{text.replace(chr(34), chr(39))}")' if text else ""
