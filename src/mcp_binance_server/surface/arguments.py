"""What a tool or prompt is called with, in every spelling that can mean only one thing."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from mcp_binance_server.surface.reading import DECIMAL, Shape, read_value, shape_of

# What the exchange itself takes for a quantity or a price.
DecimalText = Annotated[str, DECIMAL, Field(pattern=r"^[0-9]{1,20}(\.[0-9]{1,20})?$")]

# Binance's names for what has another name here; those that differ in case and underscores alone need no entry.
# https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints
SPELLINGS = {
    "quoteorderqty": "quotequantity",
    "newclientorderid": "clientorderid",
    "origclientorderid": "clientorderid",
    "starttime": "start",
    "endtime": "end",
}


class Arguments(BaseModel):
    """What a tool or prompt is called with: flat, named, nothing unknown.

    The list shows one spelling; others are read as well, so that nobody is refused for how a number is written.
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
    """Give every argument the name it is listed by; one left empty that may be left out was not given."""
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
                "{first} and {second} are one argument and differ: give one of them",
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
    """Return by its letters alone each field and the name it is listed by."""
    return {_key(name): (name, field.alias or name) for name, field in model.model_fields.items()}


@cache
def _shapes(model: type[Arguments]) -> dict[str, Shape]:
    return {name: shape_of(field.annotation, field.metadata) for name, field in model.model_fields.items()}
