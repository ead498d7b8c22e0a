"""Amounts as people write them: 1,234.5, 50%, half, all, +4%, entry+1%."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

HUNDRED = Decimal(100)
AmountUnit = Literal["number", "share", "offset", "entry"]
"""Meaning of an amount: a number, a share in percent, or a distance in percent from a price or the average cost."""
AmountUse = Literal["number", "spent", "price", "risk"]

_USES: dict[AmountUse, tuple[AmountUnit, ...]] = {
    "number": ("number",),
    "spent": ("number", "share"),
    "price": ("number", "offset", "entry"),
    "risk": ("number", "share"),
}
_WORDS = {"all": HUNDRED, "half": HUNDRED / 2}
EXAMPLES: dict[AmountUse, str] = {
    "number": 'is not a number: write "1234.5" or "1,234.5"',
    "spent": 'is not an amount: write "0.25" or "50%"',
    "price": 'is not a price: write "1,234.5" or "-2%"',
    "risk": 'is not an amount: write "1%" or "100"',
}
COMMA = 'has a comma that separates no thousands: write "1234.5" or "1,234.5"'
SIGN = 'needs a sign: write "+2%" for above or "-2%" for below'
PART = 'must be above 0% and at most 100%: write "50%" or "all"'

_DIGITS = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
_NUMBER = re.compile(_DIGITS)
# Groups of three digits after a first digit that is not zero. "0,500" and "1,5" can be meant as decimals.
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3}){1,6}(?:\.[0-9]{1,20})?")
_PERCENT = re.compile(rf"([+-]?)({_DIGITS}) ?%")
_ENTRY = re.compile(rf"entry(?: ?([+-]) ?({_DIGITS}) ?%)?", re.IGNORECASE)


class UnreadableAmount(ValueError):
    """An amount that cannot be read. The message is for the caller and has two examples."""


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount, with the text that it was read from. A value that is no number is in percent."""

    text: str
    unit: AmountUnit
    value: Decimal
    is_signed: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether the text is the plain number itself."""
        return self.unit == "number" and "," not in self.text


def read_amount(text: str, use: AmountUse) -> Amount:
    """Read an amount.

    Raises:
        UnreadableAmount: it is written in another way, or has no meaning for this use.
    """
    found = _read(text.strip(" "), use)
    if found is None or found.unit not in _USES[use]:
        raise UnreadableAmount(COMMA if "," in text else EXAMPLES[use])
    if found.unit == "share" and not 0 < found.value <= HUNDRED:
        raise UnreadableAmount(PART)
    return found


def _read(text: str, use: AmountUse) -> Amount | None:
    if _NUMBER.fullmatch(text) or _GROUPED.fullmatch(text):
        return Amount(text, "number", Decimal(text.replace(",", "")))
    if (share := _WORDS.get(text.lower())) is not None and use == "spent":
        return Amount(text, "share", share)
    if entry := _ENTRY.fullmatch(text):
        return Amount(text, "entry", _signed(entry[1] or "+", entry[2] or "0"), is_signed=True)
    if percent := _PERCENT.fullmatch(text):
        unit: AmountUnit = "offset" if use == "price" else "share"
        if unit == "offset" or not percent[1]:
            return Amount(text, unit, _signed(percent[1], percent[2]), is_signed=bool(percent[1]))
    return None


def _signed(sign: str, digits: str) -> Decimal:
    value = Decimal(digits)
    return value.copy_negate() if sign == "-" else value
