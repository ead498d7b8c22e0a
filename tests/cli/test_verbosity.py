"""How much a command says: what was typed wins over the environment."""

import json

import pytest

from mcp_binance_server.cli.arguments import parse, parser
from mcp_binance_server.cli.terminal import Verbosity
from support.process import run_warm

pytestmark = pytest.mark.flood


def told(*arguments: str, **environment: str) -> list[str]:
    """Return what a server writes on standard error that has one thing to warn of: a line that is no message."""
    done = run_warm(*arguments, given=b"hello\n", environment=environment)
    done.check_returncode()
    assert json.loads(done.stdout)["error"]["code"] == -32700
    return done.stderr.decode().splitlines()


def test_logs_are_text_or_json_as_the_setting_says() -> None:
    (text,) = told()
    (line,) = told(MCP_BINANCE_LOG_FORMAT="json")

    assert "refused a frame of 5 bytes" in text
    assert "refused a frame of 5 bytes" in json.loads(line)["message"]


def test_a_quiet_server_keeps_its_warnings_to_itself() -> None:
    assert told("-q", MCP_BINANCE_LOG_LEVEL="DEBUG") == []


@pytest.mark.parametrize(
    ("typed", "level"),
    [
        ([], "INFO"),
        (["--quiet"], "ERROR"),
        (["--log-level", "debug"], "DEBUG"),
        (["--quiet", "--log-level", "WARNING"], "WARNING"),
        (["--quiet", "demo"], "ERROR"),
        (["demo", "--quiet"], "ERROR"),
        (["--log-level", "error", "demo"], "ERROR"),
        (["demo", "--log-level", "debug"], "DEBUG"),
    ],
)
def test_what_was_typed_wins_over_the_environment(typed: list[str], level: str) -> None:
    assert Verbosity.of(parse(parser(), typed)).level("INFO") == level


def test_an_unknown_format_of_logs_stops_the_start() -> None:
    done = run_warm(environment={"MCP_BINANCE_LOG_FORMAT": "xml"})

    assert done.returncode == 2
    assert b"MCP_BINANCE_LOG_FORMAT" in done.stderr
