"""Prices as traders write them: 70k, 65,000, $185.50."""

import re
from typing import Final

PRICE: Final = r"\$?(?:\d{1,3}(?:,\d{3})+|\d{1,9})(?:\.\d{1,10})?(?:k|mm?)?(?![\w%/:]|[.,]\d|-\d)"
_UNIT: Final = r"(?! ?(?:m|h|d|w|y|min|mins|minutes?|hours?|days?|weeks?|months?|years?|candles|bars|x|by)\b)"
ONE_PRICE: Final = PRICE + _UNIT
_SHAPE: Final = re.compile(r"\$?(?P<number>[\d,]+(?:\.\d+)?)(?P<scale>k|mm?)?")
_SCALES: Final = {"k": 1_000, "m": 1_000_000, "mm": 1_000_000}

# A price that only says where the market is: "near 70k", "above 100,000", "$3200".
_WHERE: Final = "near|around|above|below|over|under|at|past|hit|hits|hitting|about|~|crossed|broke|touch(?:ed)?"
IN_PASSING: Final = re.compile(rf"(?<!\w)(?:{_WHERE}) ?{ONE_PRICE}|(?<!\w)\${PRICE}")


def price_of(text: str) -> int | float | None:
    """Return the number a price stands for; a chart's number, not money."""
    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        return None
    scaled = float(found["number"].replace(",", "")) * _SCALES.get(found["scale"] or "", 1)
    rounded = round(scaled, 10)
    if not 0 < rounded < 1e15:
        return None
    return int(rounded) if rounded.is_integer() else rounded
