"""Values as clients write them, read as an argument means them: exactly, or not at all."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

# A double holds every decimal of this many digits and gives it back unchanged.
SAFE_DIGITS = 15
TOO_MUCH = 10**20


class DecimalMark:
    """Marks text that holds a decimal number, which clients may also send as one."""


DECIMAL = DecimalMark()


@dataclass(slots=True)
class Shape:
    """What an argument takes, as far as it matters for reading it."""

    options: tuple[str | int, ...] = ()
    is_decimal: bool = False
    is_text: bool = False
    is_list: bool = False
    is_object: bool = False

    def take(self, annotation: Any) -> None:  # noqa: ANN401 - any type
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            self.is_decimal |= any(isinstance(each, DecimalMark) for each in inner[1:])
            self.take(inner[0])
        elif origin in (Union, UnionType):
            for each in inner:
                self.take(each)
        elif origin is Literal:
            self.options += inner
        elif annotation is str:
            self.is_text = True
        elif isinstance(kind := origin or annotation, type):
            self.is_object |= issubclass(kind, Mapping | BaseModel)
            self.is_list |= issubclass(kind, Sequence)


def shape_of(annotation: Any, marks: Iterable[object] = ()) -> Shape:  # noqa: ANN401 - any type
    """Return what an argument of this type takes."""
    shape = Shape(is_decimal=any(isinstance(each, DecimalMark) for each in marks))
    shape.take(annotation)
    return shape


def read_value(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - what a client sent
    """Return a value in the spelling that its argument takes; what means nothing to us is left for others to refuse.

    Raises:
        PydanticCustomError: a number that cannot be read exactly.
    """
    if isinstance(value, str):
        return _of_text(value, shape)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if shape.is_decimal:
            return _digits(value)
        if shape.options:
            return next((each for each in shape.options if each == value), value)
    return value


def _of_text(text: str, shape: Shape) -> object:
    bare = text.strip()
    if shape.is_decimal:
        return bare
    if shape.is_text:
        return text
    if shape.options:
        return _option(bare, shape.options)
    if (shape.is_object or shape.is_list) and bare.startswith(("[", "{")):
        return _parsed(bare)
    return [text] if shape.is_list else text


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _digits(number: float) -> str:
    if not math.isfinite(number) or abs(number) >= TOO_MUCH:
        raise PydanticCustomError("amount", "is no amount that an exchange could hold")
    if isinstance(number, int):
        return str(number)
    shortest = Decimal(repr(number))
    if len(shortest.normalize().as_tuple().digits) > SAFE_DIGITS:
        raise PydanticCustomError(
            "digits", "has more than {most} digits: send it as text, or some may be lost", {"most": SAFE_DIGITS}
        )
    return f"{shortest:f}".removesuffix(".0")


def _option(text: str, options: tuple[str | int, ...]) -> str | int:
    """Return the one option that this text can mean, whatever its case; where case tells two apart it is kept."""
    named = {str(each): each for each in options}
    if text in named:
        return named[text]
    told_apart = _told_apart(named)
    meant = [each for name, each in named.items() if _folded(name, told_apart) == _folded(text, told_apart)]
    return meant[0] if len(meant) == 1 else text


def _told_apart(names: Iterable[str]) -> frozenset[str]:
    """Return the letters that must keep their case, as in 1m for a minute and 1M for a month."""
    listed = [*names]
    if len({name.lower() for name in listed}) == len(listed):
        return frozenset()
    letters = {letter for name in listed for letter in name}
    return frozenset(each for each in letters if each.swapcase() != each and each.swapcase() in letters)


def _folded(text: str, kept: frozenset[str]) -> str:
    return "".join(letter if letter in kept else letter.lower() for letter in text)
