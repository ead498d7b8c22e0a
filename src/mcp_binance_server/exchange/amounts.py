"""Numbers as Binance writes them: plain finite decimals of limited length; anything else is refused before it is one.

Decimal and float alone would also take "NaN", "1e999999", "1_000", "-0" and the digits of other scripts.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

import msgspec

from mcp_binance_server.domain.market import WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity

# More than the exchange ever writes, and so few digits that Decimal computes with them exactly.
_NUMBER = r"(?:0|[1-9][0-9]{0,16}+)(?:\.[0-9]{1,10}+)?+"
_NOT_ZERO = r"(?!0(?:\.0+)?+(?: |\Z))"
# The last moment that a calendar of ours can write.
_LAST_MS = 253_402_300_799_999

Amount = Annotated[str, msgspec.Meta(pattern=rf"^{_NUMBER}\Z")]
"""Zero or more."""

AboveZero = Annotated[str, msgspec.Meta(pattern=rf"^{_NOT_ZERO}{_NUMBER}\Z")]
"""A price at which something stands or was traded."""

SignedAmount = Annotated[str, msgspec.Meta(pattern=rf"^-?{_NUMBER}\Z")]
"""A change, a fee that may be a rebate, or a -1 for what is not known any more."""

EpochMs = Annotated[int, msgspec.Meta(ge=0, le=_LAST_MS)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""How many, or the id of something: never negative, and no longer than the exchange's own type."""

Places = Annotated[int, msgspec.Meta(ge=0, le=20)]
"""How many decimals something has."""

# One look at a whole event costs less than half of what a look at each of its numbers does.
_LEVELS = re.compile(rf"(?:{_NOT_ZERO}{_NUMBER} {_NUMBER};)*+\Z")


def price(text: str) -> Price:
    return Price(Decimal(text))


def quantity(text: str) -> Quantity:
    return Quantity(Decimal(text))


def check_levels(levels: Sequence[WrittenLevel]) -> None:
    """Look at levels that stay as written: each is a price above zero and a quantity of zero or more.

    Raises:
        ValueError: one is not.
    """
    joined = ";".join(map(" ".join, levels))
    # As many separators as levels, else one of them came inside a number.
    if levels and (_LEVELS.match(joined + ";") is None or joined.count(";") != len(levels) - 1):
        raise ValueError("a level is no price and quantity")
