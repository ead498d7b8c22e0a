"""Work that each test's client would repeat, done once per process: checking a tool's schema, reading certificates."""

import json
import os
import ssl
from collections.abc import Mapping
from functools import cache

import httpcore2
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


@cache
def trust_once() -> None:
    """Let clients that trust what this machine trusts share one context: each would read all its certificates."""
    made: dict[object, ssl.SSLContext] = {}
    make = httpcore2.default_ssl_context

    def shared(*, _trust_env: bool = True) -> ssl.SSLContext:
        given = os.environ  # noqa: TID251 - a test may name certificates of its own
        named = (_trust_env, given.get("SSL_CERT_FILE"), given.get("SSL_CERT_DIR"))
        if named not in made:
            made[named] = make(_trust_env=_trust_env)
        return made[named]

    httpcore2.default_ssl_context = shared
