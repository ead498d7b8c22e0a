"""What a refusal means: HTTP status and Binance code, and whether the request may have been executed.

https://developers.binance.com/docs/binance-spot-api-docs/errors
"""

from dataclasses import dataclass
from typing import Literal

import msgspec

from mcp_binance_server.channel import HttpAnswer, count_in
from mcp_binance_server.exchange.wire import UNREADABLE

FaultClass = Literal["definite", "unknown", "retryable", "partial"]

TOO_MANY_REQUESTS, IP_BANNED, RESTRICTED, UNAUTHORIZED = 429, 418, 451, 401
TOO_MUCH_WEIGHT, TOO_MANY_ORDERS, TIMESTAMP, UNKNOWN_SYMBOL = -1003, -1015, -1021, -1121
BAD_SIGNATURE, BAD_KEY_FORMAT, REJECTED_KEY = -1022, -2014, -2015
CREDENTIAL_CODES = frozenset({BAD_SIGNATURE, BAD_KEY_FORMAT, REJECTED_KEY})
RETRYABLE_CODES = frozenset({TOO_MUCH_WEIGHT, TOO_MANY_ORDERS, -1034})
# "Execution status unknown": the order may stand on the book although the answer is an error.
UNKNOWN_CODES = frozenset({-1000, -1001, -1006, -1007})
PARTIAL_CODE = -2021


class _ErrorBody(msgspec.Struct):
    code: int
    msg: str = ""


@dataclass(frozen=True, slots=True)
class ExchangeRefusal:
    """An answer that is no success: its status, Binance's code if it gave one, and its words."""

    status: int
    code: int | None
    text: str
    retry_after_secs: int | None

    @property
    def is_rate_limit(self) -> bool:
        return self.status in {TOO_MANY_REQUESTS, IP_BANNED} or self.code in {TOO_MUCH_WEIGHT, TOO_MANY_ORDERS}

    @property
    def is_credentials(self) -> bool:
        return self.status == UNAUTHORIZED or self.code in CREDENTIAL_CODES

    @property
    def is_passing(self) -> bool:
        """Whether the same read may well succeed a moment later: the exchange stumbled, it did not decide."""
        return classify(self, is_write=False) == "retryable" and not self.is_rate_limit

    @property
    def is_timestamp(self) -> bool:
        return self.code == TIMESTAMP

    @property
    def is_region(self) -> bool:
        return self.status == RESTRICTED

    @property
    def is_symbol(self) -> bool:
        return self.code == UNKNOWN_SYMBOL


def read_refusal(answer: HttpAnswer) -> ExchangeRefusal:
    """Read what a non-success answer says; a body that is not Binance's JSON gives no code and no words."""
    try:
        body = msgspec.json.decode(answer.body, type=_ErrorBody)
        code, text = body.code, body.msg
    except UNREADABLE:
        code, text = None, f"HTTP {answer.status}"
    return ExchangeRefusal(answer.status, code, text, count_in(answer.headers, "retry-after"))


def classify(refusal: ExchangeRefusal, *, is_write: bool) -> FaultClass:
    """Say what is known of the request's fate; only a write can be left unknown."""
    if refusal.code == PARTIAL_CODE:
        return "partial"
    if refusal.is_rate_limit or refusal.code in RETRYABLE_CODES:
        return "retryable"
    if refusal.status >= 500 or refusal.code in UNKNOWN_CODES:
        return "unknown" if is_write else "retryable"
    return "definite"
