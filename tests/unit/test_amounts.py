"""Generated spellings of amounts: each is read right or refused with two examples, never read as another number."""

import random
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from mcp_binance_server.domain.amounts import Amount
from mcp_binance_server.surface.tools.trading.preview import PreviewTradableOrder

ARGUMENTS = ("quantity", "quote_quantity", "price", "stop_price", "take_profit", "stop_loss", "risk")
PRICES = ("price", "stop_price", "take_profit", "stop_loss")
Meaning = tuple[str, Decimal]
DIGITS = "0123456789"
# Digits of other scripts, and characters that look like a separator or a sign.
SCRIPTS = tuple("".join(chr(zero + each) for each in range(10)) for zero in (0x660, 0x966, 0xFF10, 0x1D7CE))
ALIKE = (
    " ",
    "\u00a0",
    "\u202f",
    "\u2009",
    "'",
    "\u2019",
    "_",
    "\u066c",
    "\u066b",
    "\u00b7",
    "\uff0c",
    "\uff0e",
    "\u200b",
    "\u202e",
    "\u061b",
    "`",
)
SIGNS = (
    "\u2212",
    "\u2013",
    "\u2012",
    "\uff0b",
    "\u066a",
    "\uff05",
    "\u2030",
    "\u00b1",
    "$",
    "\u20ac",
    "k",
    "m",
    "e3",
    "E-2",
    "x",
    "0x",
)
HOSTILE = "0123456789,.%+- eEntryhalfallNaNinf$'\"\n\t\u00a0\u2212;()/*"


def is_digits(text: str, most: int = 20) -> bool:
    return 0 < len(text) <= most and all(each in DIGITS for each in text)


def number_of(text: str, *, grouped: bool = True) -> Decimal | None:
    """Read a number by hand: digits with groups of three after commas, and digits after one point."""
    whole, point, rest = text.partition(".")
    if point and not is_digits(rest):
        return None
    if "," in whole:
        first, *groups = whole.split(",")
        is_grouped = (
            is_digits(first, 3) and first[0] != "0" and all(len(each) == 3 and is_digits(each) for each in groups)
        )
        if not grouped or not is_grouped or len(groups) > 6:
            return None
        whole = whole.replace(",", "")
    elif not is_digits(whole):
        return None
    scale = len(rest)
    return Decimal(int(whole + rest)).scaleb(-scale) if len(whole + rest) < 28 else Decimal(f"{whole}.{rest or '0'}")


def percent_of(text: str) -> Decimal | None:
    bare = text[:-1].removesuffix(" ") if text.endswith("%") else ""
    return number_of(bare, grouped=False)


def meaning_of(name: str, text: str) -> Meaning | None:
    """Return the meaning of a spelling, or None if it has none that a person would agree on."""
    text = text.strip()
    found = number_of(text)
    if found is not None:
        return "number", found
    if name in PRICES:
        sign, bare = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
        if text[:5].lower() == "entry":
            rest = text[5:]
            if not rest:
                return "entry", Decimal(0)
            sign, bare = rest.strip(" ")[:1], rest.strip(" ")[1:].lstrip(" ")
            is_far = rest.startswith("  ") or rest.strip(" ")[1:].startswith("  ")
            away = percent_of(bare) if sign in ("+", "-") and not is_far else None
            return None if away is None else ("entry", away.copy_negate() if sign == "-" else away)
        away = percent_of(bare)
        return None if away is None else ("offset", away.copy_negate() if sign == "-" else away)
    words = {"half": Decimal(50), "all": Decimal(100)} if name != "risk" else {}
    share = words.get(text.lower(), percent_of(text))
    return ("share", share) if share is not None and 0 < share <= 100 else None


def english(draw: random.Random, value: Decimal) -> str:
    return f"{value:,f}" if draw.random() < 0.7 else f"{value:f}"


def european(draw: random.Random, value: Decimal) -> str:
    swapped = f"{value:,f}".translate(str.maketrans(",.", ".,"))
    return swapped if draw.random() < 0.7 else swapped.replace(".", draw.choice((" ", "'", "\u00a0", "")))


def percent(draw: random.Random, value: Decimal) -> str:
    size = draw.choice((value, value % 100, Decimal(draw.randrange(1, 1000)) / 10))
    mark = draw.choice(("%", "%", " %", "\uff05", "  %", " percent"))
    text = f"{draw.choice(('', '', '+', '-'))}{size:f}{mark}"
    return f"entry{draw.choice(('', ' '))}{text}" if draw.random() < 0.3 else text


def unicode_digits(draw: random.Random, value: Decimal) -> str:
    script, text = draw.choice(SCRIPTS), f"{value:,f}"
    if draw.random() < 0.5:
        return text.translate({ord(each): script[int(each)] for each in DIGITS})
    place = draw.randrange(len(text) + 1)
    return text[:place] + draw.choice(ALIKE + SIGNS) + text[place + draw.randrange(2) :]


def word(draw: random.Random, value: Decimal) -> str:
    said = draw.choice(
        ("half", "all", "HALF", "All", " all ", "a half", "all in", "halff", "entry", "Entry+1%", "max", "\u00bd", "")
    )
    return said if draw.random() < 0.8 else f"{said} {value:f}"


def hostile(draw: random.Random, value: Decimal) -> str:
    if draw.random() < 0.5:
        return "".join(draw.choice(HOSTILE) for _ in range(draw.randrange(1, 14)))
    text = list(f"{value:,f}%"[: draw.choice((-1, None))])
    for _ in range(draw.randrange(1, 4)):
        text.insert(draw.randrange(len(text) + 1), draw.choice(HOSTILE))
    return "".join(text)


WAYS: tuple[Callable[[random.Random, Decimal], str], ...] = (english, european, percent, unicode_digits, word, hostile)


def order_with(name: str, text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"symbol": "BTCUSDT", "side": "BUY", "type": "MARKET"}
    return {**entry, name: text}


@pytest.mark.parametrize("way", WAYS)
def test_no_spelling_is_read_as_another_amount(way: Callable[..., str], sized: Callable[[int, int], int]) -> None:
    draw = random.Random(f"{way.__name__} 20")
    outcomes: Counter[str] = Counter()
    for _ in range(sized(10_000, 1_000) // len(WAYS) + 1):
        digits = draw.randrange(1, 10 ** draw.randrange(1, 9))
        text = way(draw, Decimal(digits).scaleb(-draw.randrange(5)))
        name = draw.choice(ARGUMENTS)
        wanted = meaning_of(name, text)
        try:
            read = getattr(PreviewTradableOrder.model_validate(order_with(name, text)).requested, name)
        except ValidationError as error:
            (problem,) = error.errors(include_url=False)
            assert wanted is None, (name, text, wanted)
            assert len(re.findall(r'"[^"]+"', problem["msg"])) == 2, problem
            outcomes["refused"] += 1
            continue
        if read is None:
            assert not text.strip(), (name, text)
            continue
        assert isinstance(read, Amount)
        assert (read.unit, read.value) == wanted, (name, text)
        # A number with commas is shown in the answer, because elsewhere a comma starts the decimals.
        assert read.is_literal is (read.unit == "number" and "," not in text)
        outcomes["read"] += 1

    assert (outcomes["refused"] > 0) is (way is not english)
    assert outcomes["read"] > 0 or way is unicode_digits
