"""What was typed behind a tool's name, as the arguments that the tool takes."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from mcp_binance_server.errors import SettingsError, echo

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
Schema = Mapping[str, Any]


def arguments_of(words: Sequence[str], schema: Schema) -> dict[str, object]:
    """Return the arguments; a name that comes twice makes a list, a value that does not fit stays text.

    Raises:
        SettingsError: a value without a name has no place, or its file cannot be read.
    """
    typed: dict[str, list[str]] = {}
    unnamed: list[str] = []
    for word in words:
        name, is_pair, text = word.partition("=")
        if is_pair and name.isidentifier():
            typed.setdefault(name, []).append(text)
        else:
            unnamed.append(word)
    _place(unnamed, typed, schema)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    return {name: _joined(texts, properties.get(name, {}), schema) for name, texts in typed.items()}


def kinds_of(described: Schema, root: Schema) -> set[str]:
    """Return the JSON types that a schema takes, whichever way it says so."""
    if reference := described.get("$ref"):
        return kinds_of(root.get("$defs", {}).get(str(reference).rpartition("/")[2], {}), root)
    named = described.get("type", ())
    found = {named} if isinstance(named, str) else set(named)
    for choice in (*described.get("anyOf", ()), *described.get("oneOf", ())):
        found |= kinds_of(choice, root)
    return found


def _place(unnamed: list[str], typed: dict[str, list[str]], schema: Schema) -> None:
    """Give values without a name to the arguments that must be given; where there is none, to the first of all."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    wanted = schema.get("required") or list(properties)[:1]
    free = [name for name in wanted if name not in typed]
    if len(unnamed) > len(free):
        takes = ", ".join(properties) or "no arguments"
        raise SettingsError(problems=(f"'{echo(unnamed[len(free)])}' needs a name: NAME=VALUE, with one of {takes}",))
    typed.update({name: [text] for name, text in zip(free, unnamed, strict=False)})


def _joined(texts: Sequence[str], described: Schema, root: Schema) -> object:
    kinds = kinds_of(described, root)
    values = [_value(_read(text), kinds) for text in texts]
    if len(values) == 1:
        return values[0]
    return [item for value in values for item in (cast("list[object]", value) if isinstance(value, list) else [value])]


def _value(text: str, kinds: set[str]) -> object:
    bare = text.strip()
    if bare[:1] in ("[", "{") and kinds & {"array", "object"}:
        return _json(bare, text)
    if "string" in kinds:
        return text
    if "boolean" in kinds and bare.lower() in (*TRUE, *FALSE):
        return bare.lower() in TRUE
    if kinds & {"number", "integer", "object"}:
        return _json(bare, text)
    if "array" in kinds:
        return [item.strip() for item in text.split(",") if item.strip()]
    return text


def _json(text: str, otherwise: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return otherwise  # the tool says what is wrong with it


def _read(text: str) -> str:
    if not text.startswith("@") or len(text) == 1:
        return text
    try:
        return sys.stdin.read() if text == "@-" else Path(text[1:]).expanduser().read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise SettingsError(problems=(f"{echo(text)}: {reason}",)) from None
