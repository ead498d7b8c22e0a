"""Parsers for single lines of the operator's file. Their errors name the line. Pure."""

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from difflib import get_close_matches
from typing import cast

from mcp_binance_server.domain.symbols import fold, is_plausible
from mcp_binance_server.errors import echo

CENT = Decimal("0.01")
MOST_DIGITS = 15
MOST_ORDERS = 100_000
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class PolicyProblem(ValueError):
    """A line of the file that cannot be used; the message names it."""


def step(name: str) -> str:
    """Format one part of a dotted TOML key. It is quoted unless it is a bare key."""
    return name if _BARE.fullmatch(name) else f'"{echo(name)}"'


def only(at: str, told: Mapping[str, object], known: Iterable[str]) -> None:
    """Check that a table has no unknown lines.

    Raises:
        PolicyProblem: a line is unknown. The functions below raise it too, for values that they cannot use.
    """
    names = [*known]
    for name in told:
        if name not in names:
            near = get_close_matches(name, names, 1)
            raise PolicyProblem(f"{at}{step(name)}: unknown line" + (f"; did you mean {near[0]}?" if near else ""))


def table(name: str, value: object) -> Mapping[str, object]:
    """Read a table and return its content."""
    if not isinstance(value, dict):
        raise PolicyProblem(f"{name}: write it as a table")
    return cast("dict[str, object]", value)


def text(name: str, value: object) -> str:
    """Read a text that is not blank. Return it without the spaces around it."""
    if not isinstance(value, str) or not value.strip():
        raise PolicyProblem(f"{name}: write it as text in quotes")
    return value.strip()


def texts(name: str, value: object) -> list[str]:
    """Read a list of texts. Return each text without the spaces around it."""
    if not isinstance(value, list):
        raise PolicyProblem(f'{name}: write it as a list of texts: ["…", "…"]')
    return [text(name, each) for each in cast("list[object]", value)]


def one_of(name: str, value: object, allowed: Iterable[str]) -> str:
    """Read a text that is one of the allowed words."""
    given = text(name, value)
    if given not in (names := [*allowed]):
        raise PolicyProblem(f"{name}: one of {', '.join(names)}")
    return given


def symbol(name: str, given: str) -> str:
    """Read a symbol. It must be spelled as at the exchange."""
    if fold(given) != given or not is_plausible(given):
        raise PolicyProblem(f"{name}: write symbols as BTCUSDT")
    return given


def money(name: str, value: object) -> Decimal:
    """Read an amount of zero or more."""
    # A TOML float has lost digits before this code receives it.
    try:
        amount = Decimal(text(name, value))
    except InvalidOperation:
        raise PolicyProblem(f'{name}: write the amount as text: "250"') from None
    if not amount.is_finite() or amount < 0 or abs(amount.adjusted()) > MOST_DIGITS:
        raise PolicyProblem(f"{name}: an amount of zero or more, in plain digits")
    return amount


def cents_down(name: str, value: object) -> int:
    """Convert an amount to whole hundredths, rounded down. It may have any number of digits."""
    return int(money(name, value).quantize(CENT, ROUND_FLOOR).scaleb(2))


def count(name: str, value: object, least: int = 0, most: int = MOST_ORDERS) -> int:
    """Read a whole number within the bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise PolicyProblem(f"{name}: a whole number between {least} and {most}")
    return value
