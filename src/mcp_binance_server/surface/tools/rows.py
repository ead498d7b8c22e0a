"""What arguments and rows of several tools have in common."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

SymbolArgument = Annotated[
    str, Field(description="Trading pair without separator, e.g. BTCUSDT; lower case is fine", max_length=200)
]
Pair = Annotated[str, Field(description="Trading pair, e.g. BTCUSDT", max_length=200)]
ClientOrderId = Annotated[
    str, Field(description="The id the order was placed with", pattern=r"^[.A-Z:/a-z0-9_-]{1,36}$")
]
MaybeText = Annotated[str | None, WithJsonSchema({"type": ["string", "null"]})]


def _without_null(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    schema.update(schema.pop("anyOf")[0])


def optional(description: str) -> Any:  # noqa: ANN401 - as pydantic's own Field
    """Return an argument that may be left out; its schema shows what to write, not the null that means nothing."""
    return Field(None, description=description, json_schema_extra=_without_null)


def omitted(description: str | None = None) -> Any:  # noqa: ANN401 - as pydantic's own Field
    """Return a member of an answer that is left out when there is nothing to say."""
    return Field(None, description=description, exclude_if=_is_none, json_schema_extra=_without_null)


def _is_none(value: object) -> bool:
    return value is None


def _bare(schema: dict[str, Any]) -> None:
    schema.pop("required", None)
    for each in (schema, *schema.get("properties", {}).values()):
        each.pop("title", None)


class Row(BaseModel):
    """One row of a list; its schema says names and types and no more, every client pays for the rest in context."""

    model_config = ConfigDict(json_schema_extra=_bare)
