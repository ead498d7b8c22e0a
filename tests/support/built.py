"""What was built before the tests: the wheel, and the packer of bundles. CI names them, elsewhere their tests skip."""

import os
from pathlib import Path

import pytest

WHEEL = "MCP_TEST_WHEEL"
MCPB = "MCP_TEST_MCPB"


def built_wheel() -> Path:
    """Return the wheel; its source distribution lies beside it."""
    return _named(WHEEL, "no wheel: build one (python -m build), or let .ci/run do it")


def installed_mcpb() -> Path:
    """Return the folder in which the packer of bundles is installed."""
    return _named(MCPB, "no folder with @anthropic-ai/mcpb: npm ci --prefix DIR with the files of mcpb/")


def _named(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable)  # noqa: TID251 - a switch of the tests, not of the product
    if not named:
        pytest.skip(f"{variable} names {otherwise}")
    return Path(named)
