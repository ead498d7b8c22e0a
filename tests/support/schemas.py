"""The check that a tool's schema is one, done once for each: every test's client would do it anew, 10 ms a tool."""

import json
from collections.abc import Mapping
from functools import cache

from jsonschema import Draft202012Validator


@cache
def check_schemas_once() -> None:
    """Let a schema that was found to be one be taken for one by the clients that follow."""
    check = Draft202012Validator.check_schema
    found: set[str] = set()

    def check_once(schema: Mapping[str, object]) -> None:
        text = json.dumps(schema, sort_keys=True)
        if text not in found:
            check(schema)
            found.add(text)

    Draft202012Validator.check_schema = staticmethod(check_once)  # pyright: ignore[reportAttributeAccessIssue]
