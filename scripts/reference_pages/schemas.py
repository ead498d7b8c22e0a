"""JSON schemas as tables, with one row per field. A nested field is named by its path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from reference_pages.markdown import code

Schema = Mapping[str, Any]
PLAIN = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
}
DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a schema."""

    path: str
    kind: str
    default: str
    is_required: bool
    meaning: str


def fields_of(schema: Schema) -> list[Field]:
    """Return all fields of an object's schema in order, including nested fields."""
    return list(_below(schema, schema.get("$defs", {}), "", 0))


def _below(schema: Schema, kinds: Schema, path: str, depth: int) -> Iterator[Field]:
    needed = schema.get("required", ())
    for name, written in schema.get("properties", {}).items():
        node = _resolved(written, kinds)
        default = code(_said(node["default"])) if "default" in node else ""
        yield Field(f"{path}{name}", _kind(node, kinds), default, name in needed, str(node.get("description", "")))
        if depth < DEEPEST:
            yield from _below(node, kinds, f"{path}{name}.", depth + 1)
            yield from _below(_resolved(node.get("items", {}), kinds), kinds, f"{path}{name}[].", depth + 1)


def _resolved(node: Schema, kinds: Schema) -> Schema:
    if "$ref" not in node:
        return node
    return {**kinds[node["$ref"].rpartition("/")[2]], **{name: each for name, each in node.items() if name != "$ref"}}


def _kind(node: Schema, kinds: Schema) -> str:
    if "enum" in node:
        return ", ".join(code(_said(each)) for each in node["enum"])
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_kind(_resolved(each, kinds), kinds) for each in node["anyOf"]))
    types: object = node.get("type", "anything")
    if isinstance(types, list):
        return " or ".join(
            "null" if each == "null" else _kind({**node, "type": each}, kinds) for each in cast("list[str]", types)
        )
    if types == "array":
        return f"list of {_kind(_resolved(node.get('items', {}), kinds), kinds)}{_bounds(node, 'Items')}"
    return f"{PLAIN.get(str(types), str(types))}{_bounds(node)}"


def _bounds(node: Schema, of: str = "") -> str:
    low, high = (node.get(f"{side}{of or 'imum'}") for side in ("min", "max"))
    if low is not None and high is not None:
        # Omit the largest integer, which is not a useful bound for readers.
        return f" from {low}" if high >= 2**63 - 1 else f", {low} to {high}"
    return f", at most {high}" if high is not None else f", at least {low}" if low is not None else ""


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
