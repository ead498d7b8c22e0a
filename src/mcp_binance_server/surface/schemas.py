"""The JSON schemas that clients are shown: every byte of them is paid for in a model's context."""

from typing import Any, cast

from pydantic import BaseModel

# Checked when a tool is called and worth no word before it: nobody chooses an argument by these.
UNSAID = ("maxLength", "pattern", "title")
# The largest whole number that every client can write.
LARGEST = 2**53


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON schema without what pydantic adds and nobody reads."""
    schema = model.model_json_schema(by_alias=True)
    schema.pop("title", None)
    schema.pop("description", None)
    for member in schema.get("properties", {}).values():
        member.pop("title", None)
    return _slim(schema)


def answer_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's structured answer; a failure must fit it too, and only `success` is in both."""
    schema = plain_schema(model)
    schema["properties"]["success"].pop("default", None)
    return {**schema, "required": ["success"]}


def listed_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool's arguments: in one piece, one type each, and how to write them.

    Some clients resolve no references and some take no list of types; what may be left out says so by not being
    required.
    """
    schema = plain_schema(model)
    return _told(schema, schema.pop("$defs", {}))


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
    if "items" in told:
        told["items"] = _told(told["items"], definitions)
    if "properties" in told:
        told["properties"] = {name: _told(each, definitions) for name, each in told["properties"].items()}
    return told


def _slim(node: Any) -> Any:  # noqa: ANN401 - JSON
    """Say "or null" in one word, and leave out that anything else is allowed, which is so anyway."""
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
