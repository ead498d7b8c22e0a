"""Common parts of Binance's messages: formats of numbers, error codes, and the parsing of error answers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, ClassVar

import msgspec

from mcp_binance_server.channel import HttpAnswer, count_in
from mcp_binance_server.domain.board import BoardField
from mcp_binance_server.domain.market import WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle
from mcp_binance_server.domain.symbols import OrderLimit

# More digits than the exchange ever writes, and few enough for exact Decimal arithmetic. No group is possessive: before
# 3.11.5, Python continues after the matched part of a failed group, and accepts "5." as a number.
_NUMBER = r"(?:0|[1-9][0-9]{0,16}+)(?:\.[0-9]{1,10}+)?"
_NOT_ZERO = r"(?!0(?:\.0+)?(?: |\Z))"
# The end of the year 9999, which is the limit of `datetime`.
_LAST_MS = 253_402_300_799_999

Amount = Annotated[str, msgspec.Meta(pattern=rf"^{_NUMBER}\Z")]
"""Zero or more."""

AboveZero = Annotated[str, msgspec.Meta(pattern=rf"^{_NOT_ZERO}{_NUMBER}\Z")]
"""The price of an order or a trade."""

SignedAmount = Annotated[str, msgspec.Meta(pattern=rf"^-?{_NUMBER}\Z")]
"""A change, a fee that can be a rebate, or -1 for a value that is no longer known."""

EpochMs = Annotated[int, msgspec.Meta(ge=0, le=_LAST_MS)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A count or an ID: never negative, and no longer than the exchange's own type."""

CountOrNone = Annotated[int, msgspec.Meta(ge=-1, le=2**63 - 1)]
"""An ID, or -1 for none."""

Places = Annotated[int, msgspec.Meta(ge=0, le=20)]
"""A number of decimals."""

_NAME = r"[^\W_][\w-]{0,39}+"
Name = Annotated[str, msgspec.Meta(pattern=rf"^{_NAME}\Z")]
"""A symbol or the name of an index: words of any script, on one line."""

# Matching a whole event at once takes less than half the time of matching each number.
_LEVELS = re.compile(rf"(?:{_NOT_ZERO}{_NUMBER} {_NUMBER};)*\Z")

TOO_MANY_REQUESTS, IP_BANNED, RESTRICTED, UNAUTHORIZED, SERVER_ERROR = 429, 418, 451, 401, 500
NO_REFERENCE_PRICE = -2043
TOO_MUCH_WEIGHT, TOO_MANY_ORDERS, TIMESTAMP, UNKNOWN_SYMBOL = -1003, -1015, -1021, -1121
BAD_SIGNATURE, BAD_KEY_FORMAT, REJECTED_KEY = -1022, -2014, -2015
CREDENTIAL_CODES = frozenset({BAD_SIGNATURE, BAD_KEY_FORMAT, REJECTED_KEY})
# "Execution status unknown": the order may be on the book although the answer is an error.
UNKNOWN_CODES = frozenset({-1000, -1001, -1006, -1007})
PARTIAL_CODE = -2021
PASSING_CODES = UNKNOWN_CODES | {-1034}
# Rate limit headers name each period by the first letter of these words.
SPAN_MS = {"SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}
# Example: Way too many requests; IP banned until 1794240000000. Please use the websocket for live updates to avoid
# bans.
_BANNED_UNTIL = re.compile(r"banned until ([0-9]{13})(?![0-9])")


def price(text: str) -> Price:
    return Price(Decimal(text))


def quantity(text: str) -> Quantity:
    return Quantity(Decimal(text))


def check_levels(levels: Sequence[WrittenLevel]) -> None:
    """Check the levels of a book in their text form: a positive price and a quantity of zero or more.

    Raises:
        ValueError: a level is invalid.
    """
    joined = ";".join(map(" ".join, levels))
    # A surplus separator was inside a number.
    if levels and (_LEVELS.match(joined + ";") is None or joined.count(";") != len(levels) - 1):
        raise ValueError("a level is not a price and a quantity")


_FORMS = {
    "name": _NAME,
    "number": _NUMBER,
    "above zero": rf"{_NOT_ZERO}{_NUMBER}",
    "signed": rf"-?{_NUMBER}",
    "signed or nothing": rf"(?:-?{_NUMBER})?",
}


def form_of(*kinds: str) -> re.Pattern[str]:
    """Return the pattern of a row's texts, joined by blanks; a text with a blank of its own does not match."""
    return re.compile(" ".join(_FORMS[kind] for kind in kinds) + r"\Z")


def check_texts(form: re.Pattern[str], texts: Sequence[str]) -> None:
    """Check all texts of a row by one match. This takes a tenth of the time of separate matches.

    Raises:
        ValueError: a text does not match.
    """
    if form.match(" ".join(texts)) is None:
        raise ValueError("a text of the row has the wrong form")


def check_order(lower: str, upper: str) -> None:
    """Check that `lower` is not above `upper`; an `upper` of zero means that it is unknown.

    Raises:
        ValueError: `lower` is above `upper`.
    """
    # Rounding to float keeps the order of two numbers.
    if float(lower) > float(upper) > 0:
        raise ValueError("the lower number is the larger one")


# Errors of decoding: an unexpected shape or number, invalid UTF-8, deep nesting.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class BinanceWire(msgspec.Struct, rename="camel"):
    """Base of all wire structs: field names are camelCase in JSON."""


class DayRowWire(BinanceWire):
    """24-hour statistics of a symbol as texts, for columns of all symbols."""

    FIELDS: ClassVar[tuple[BoardField, ...]] = (
        "symbol", "last", "open", "high", "low", "change_percent", "quote_volume", "trades", "closed_ms",
    )  # fmt: skip
    KINDS: ClassVar[tuple[str, ...]] = ("name", *["number"] * 4, "signed", *["number"] * 3)
    FORM: ClassVar[re.Pattern[str]] = form_of(*KINDS)

    symbol: str
    last_price: str
    open_price: str
    high_price: str
    low_price: str
    price_change_percent: str
    quote_volume: str
    count: Count
    close_time: EpochMs

    def __post_init__(self) -> None:
        check_texts(self.FORM, self.texts())
        check_order(self.low_price, self.high_price)

    def texts(self) -> tuple[str, ...]:
        return (
            self.symbol,
            self.last_price,
            self.open_price,
            self.high_price,
            self.low_price,
            self.price_change_percent,
            self.quote_volume,
            str(self.count),
            str(self.close_time),
        )


class TimeWire(BinanceWire):
    server_time: EpochMs


class KlineWire(msgspec.Struct, array_like=True):
    """A candle as an array of twelve values; the last one has no meaning."""

    open_time: EpochMs
    open: AboveZero
    high: AboveZero
    low: AboveZero
    close: AboveZero
    volume: Amount
    close_time: EpochMs
    quote_volume: Amount
    count: Count
    taker_buy_volume: Amount

    def to_domain(self) -> Candle:
        return Candle(
            open_time_ms=self.open_time,
            close_time_ms=self.close_time,
            open=price(self.open),
            high=price(self.high),
            low=price(self.low),
            close=price(self.close),
            volume=quantity(self.volume),
            quote_volume=quantity(self.quote_volume),
            trade_count=self.count,
            taker_buy_volume=quantity(self.taker_buy_volume),
        )


class RateLimitWire(BinanceWire):
    rate_limit_type: str
    interval: str
    interval_num: Count
    limit: Count


class ExchangeLimitsWire(BinanceWire):
    rate_limits: list[RateLimitWire]

    @property
    def order_limits(self) -> tuple[OrderLimit, ...]:
        """Maximum number of an account's new orders, by period; unknown periods are left out."""
        return tuple(
            OrderLimit(SPAN_MS[each.interval] * each.interval_num, each.limit)
            for each in self.rate_limits
            if each.rate_limit_type == "ORDERS" and each.interval in SPAN_MS and each.interval_num and each.limit
        )

    @property
    def weight_per_minute(self) -> int | None:
        return next(
            (
                each.limit
                for each in self.rate_limits
                if (each.rate_limit_type, each.interval, each.interval_num) == ("REQUEST_WEIGHT", "MINUTE", 1)
            ),
            None,
        )


class _ErrorBody(msgspec.Struct):
    code: int
    msg: str = ""


@dataclass(frozen=True, slots=True)
class ExchangeRefusal:
    """An error answer: its HTTP status, Binance's code if there is one, and its text."""

    status: int
    code: int | None
    text: str
    retry_after_secs: int | None

    @property
    def banned_until_ms(self) -> int | None:
        """The end of a ban, if the answer has it only in its text."""
        found = _BANNED_UNTIL.search(self.text) if self.is_rate_limit else None
        return int(found[1]) if found else None

    @property
    def is_rate_limit(self) -> bool:
        return self.status in {TOO_MANY_REQUESTS, IP_BANNED} or self.code in {TOO_MUCH_WEIGHT, TOO_MANY_ORDERS}

    @property
    def is_credentials(self) -> bool:
        return self.status == UNAUTHORIZED or self.code in CREDENTIAL_CODES

    @property
    def may_pass(self) -> bool:
        """Return True if a read may succeed when repeated later; for orders see `spot/order_fates.py`."""
        return self.is_rate_limit or self.is_passing

    @property
    def is_passing(self) -> bool:
        """Return True if a read may succeed when repeated at once: the exchange failed, and did not refuse it."""
        return not self.is_rate_limit and (self.status >= SERVER_ERROR or self.code in PASSING_CODES)

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
    """Parse an error answer; a body that is not Binance's JSON gives no code and no message."""
    try:
        body = msgspec.json.decode(answer.body, type=_ErrorBody)
        code, text = body.code, body.msg
    except UNREADABLE:
        code, text = None, f"HTTP {answer.status}"
    return ExchangeRefusal(answer.status, code, text, count_in(answer.headers, "retry-after"))
