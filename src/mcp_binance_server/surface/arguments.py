"""Arguments of tools and prompts: schemas, alternative spellings, and parsing."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from mcp_binance_server.domain.amounts import AmountUse, UnreadableAmount, read_amount

# A float keeps every decimal number of this many digits exactly.
SAFE_DIGITS = 15
TOO_MUCH = 10**20

# Aliases: Binance's argument names, without case and underscores, and our names.
# https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints
SPELLINGS = {
    "quoteorderqty": "quotequantity",
    "newclientorderid": "clientorderid",
    "origclientorderid": "clientorderid",
    "starttime": "start",
    "endtime": "end",
}

# Validated but not listed, because a model does not need these properties to choose arguments.
UNSAID = ("maxLength", "pattern", "title")
# JSON clients that use floats lose digits of larger integers.
LARGEST = 2**53


class DecimalMark:
    """Marker of a text argument that is a decimal number. Clients may send a JSON number instead."""


DECIMAL = DecimalMark()


@dataclass(slots=True)
class Shape:
    """Kinds of values that an argument accepts, as needed to convert other spellings."""

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
    """Return the kinds of values that a type annotation accepts."""
    shape = Shape(is_decimal=any(isinstance(each, DecimalMark) for each in marks))
    shape.take(annotation)
    return shape


def read_value(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - what a client sent
    """Convert a value to the spelling that the argument expects. A value that is not understood is left to validation.

    Raises:
        PydanticCustomError: a number cannot be converted exactly.
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
        raise PydanticCustomError("amount", "is not a number, or too large")
    if isinstance(number, int):
        return str(number)
    shortest = Decimal(repr(number))
    if len(shortest.normalize().as_tuple().digits) > SAFE_DIGITS:
        raise PydanticCustomError(
            "digits", "has more than {most} digits: send it as text to keep all of them", {"most": SAFE_DIGITS}
        )
    return f"{shortest:f}".removesuffix(".0")


def _option(text: str, options: tuple[str | int, ...]) -> str | int:
    """Return the option that a text means. Ignore case unless two options differ only by case."""
    named = {str(each): each for each in options}
    if text in named:
        return named[text]
    told_apart = _told_apart(named)
    meant = [each for name, each in named.items() if _folded(name, told_apart) == _folded(text, told_apart)]
    return meant[0] if len(meant) == 1 else text


def _told_apart(names: Iterable[str]) -> frozenset[str]:
    """Return the letters whose case matters: 1m is a minute, 1M a month."""
    listed = [*names]
    if len({name.lower() for name in listed}) == len(listed):
        return frozenset()
    letters = {letter for name in listed for letter in name}
    return frozenset(each for each in letters if each.swapcase() != each and each.swapcase() in letters)


def _folded(text: str, kept: frozenset[str]) -> str:
    return "".join(letter if letter in kept else letter.lower() for letter in text)


def _readable(use: AmountUse) -> AfterValidator:
    def check(text: str) -> str:
        try:
            found = read_amount(text, use)
        except UnreadableAmount as error:
            raise PydanticCustomError("amount", "{problem}", {"problem": str(error)}) from None
        return found.text if use != "number" else f"{found.value:f}"

    return AfterValidator(check)


# Decimal number as text. It becomes the form that the exchange requires for quantities and prices.
DecimalText = Annotated[str, DECIMAL, _readable("number")]
# Amounts as people write them; `read_amount` has their meaning.
SpentText = Annotated[str, DECIMAL, _readable("spent")]
PriceText = Annotated[str, DECIMAL, _readable("price")]
RiskText = Annotated[str, DECIMAL, _readable("risk")]


class Arguments(BaseModel):
    """Arguments of a tool or prompt. Unknown names are refused.

    The schema lists one spelling of each argument. Other spellings are accepted too, so that no call fails because of
    its spelling.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:  # noqa: ANN401 - what a client sent
        return _renamed(cls, cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else given

    @field_validator("*", mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - what a client sent
        return read_value(value, _shapes(cls)[info.field_name or ""])


def _renamed(model: type[Arguments], given: Mapping[str, Any]) -> dict[str, Any]:
    """Rename arguments to their listed names, and drop empty optional ones."""
    listed, shapes = _listed(model), _shapes(model)
    named: dict[str, Any] = {}
    written: dict[str, str] = {}
    for name, value in given.items():
        key = _key(name)
        field, shown = listed.get(SPELLINGS.get(key, key)) or listed.get(key) or (None, name)
        if field is not None and _is_left_out(model, field, value):
            continue
        if field is not None and shown in named and not _agree(named[shown], value, shapes[field]):
            raise PydanticCustomError(
                "two_spellings",
                "{first} and {second} are the same argument with different values: give one of them",
                {"first": written[shown], "second": name},
            )
        named[shown] = value
        written[shown] = name
    return named


def _is_left_out(model: type[Arguments], field: str, value: object) -> bool:
    is_empty = value is None or (isinstance(value, str) and not value.strip())
    return is_empty and not model.model_fields[field].is_required()


def _agree(first: object, second: object, shape: Shape) -> bool:
    try:
        return read_value(first, shape) == read_value(second, shape)
    except PydanticCustomError:
        return False


def _key(name: str) -> str:
    return name.replace("_", "").lower()


@cache
def _listed(model: type[Arguments]) -> dict[str, tuple[str, str]]:
    """Return listed names and fields by normalised name: lower case, without underscores."""
    return {_key(name): (name, field.alias or name) for name, field in model.model_fields.items()}


@cache
def _shapes(model: type[Arguments]) -> dict[str, Shape]:
    return {name: shape_of(field.annotation, field.metadata) for name, field in model.model_fields.items()}


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON schema without pydantic's titles and without the model's docstring."""
    schema = model.model_json_schema(by_alias=True)
    schema.pop("title", None)
    schema.pop("description", None)
    for member in schema.get("properties", {}).values():
        member.pop("title", None)
    return _slim(schema)


def answer_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's structured answer.

    Only `success` is required, because a failure must match the schema as well.
    """
    schema = plain_schema(model)
    schema["properties"]["success"].pop("default", None)
    return {**schema, "required": ["success"]}


def listed_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, without references and with a single type per argument.

    Some clients do not resolve references, and some do not accept lists of types. Arguments that are not required are
    optional.
    """
    schema = plain_schema(model)
    told = _told(schema, schema.pop("$defs", {}))
    for name, member in told.get("properties", {}).items():
        if name not in told.get("required", ()):
            member["nullable"] = True  # else smolagents requires the argument, even with a default
    return told


def _told(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if reference := node.get("$ref"):
        node = {**definitions[str(reference).rpartition("/")[2]], **{k: v for k, v in node.items() if k != "$ref"}}
    if options := [each for each in node.get("anyOf", []) if each != {"type": "null"}]:
        node = {**options[0], **{k: v for k, v in node.items() if k != "anyOf"}}
    told = {name: each for name, each in node.items() if name not in UNSAID}
    if isinstance(kind := told.get("type"), list):
        told["type"] = next(each for each in cast("list[str]", kind) if each != "null")
    if told.get("maximum", 0) >= LARGEST:
        del told["maximum"]
    if told.get("type") == "integer" and "enum" in told:
        # Gemini refuses every tool of a request if one has choices that are not text.
        choices = ", ".join(str(each) for each in told.pop("enum"))
        told["description"] = f"{told['description']}; one of {choices}"
    if "items" in told:
        told["items"] = _told(told["items"], definitions)
    if "properties" in told:
        told["properties"] = {name: _told(each, definitions) for name, each in told["properties"].items()}
    return told


def _slim(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Shorten a schema and keep its meaning. "Or null" becomes a list of types.

    `additionalProperties: true` is the default and is dropped.
    """
    if isinstance(node, list):
        return [_slim(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = {name: _slim(each) for name, each in cast("dict[str, Any]", node).items()}
    if schema.get("additionalProperties") is True:
        del schema["additionalProperties"]
    if "default" in schema and schema["default"] is None:
        del schema["default"]
    match schema.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}]:
            del schema["anyOf"]
            return {"type": [kind, "null"], **rest, **schema}
        case _:
            return schema
