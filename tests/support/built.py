"""What was made before the tests: the wheel, and packages of npm. CI names them, elsewhere their tests skip."""

import os
from pathlib import Path

import pytest

WHEEL = "MCP_TEST_WHEEL"
MCPB = "MCP_TEST_MCPB"
APPS = "MCP_TEST_APPS"
CLIENTS = "MCP_TEST_CLIENTS"
SDKS = "MCP_TEST_SDKS"


def built_wheel() -> Path:
    """Return the wheel; its source distribution lies beside it."""
    return _named(WHEEL, "no wheel: build one (python -m build), or let .ci/run do it")


def installed_mcpb() -> Path:
    """Return the folder in which the packer of bundles is installed."""
    return _named(MCPB, "no folder with @anthropic-ai/mcpb: npm ci --prefix DIR with the files of mcpb/")


def installed_apps() -> Path:
    """Return the folder in which the packages of the tests' host are installed, and those of the chart's page."""
    return _named(APPS, "no folder with the packages of tests/apps: npm ci --prefix DIR with its package files")


def installed_clients() -> Path:
    """Return the folder in which the clients of tests/clients are installed."""
    return _named(CLIENTS, "no folder with installed clients: scripts/clients DIR")


def installed_sdks() -> Path:
    """Return the Python of the environment in which the exchange libraries of others are installed."""
    return _named(SDKS, "no Python with requirements/exchange.txt")


def _named(variable: str, otherwise: str) -> Path:
    named = os.environ.get(variable)  # noqa: TID251 - a switch of the tests, not of the product
    if not named:
        pytest.skip(f"{variable} names {otherwise}")
    return Path(named)
