"""What docs/fleet.md tells an operator to write works as written."""

import re
from pathlib import Path

import pytest

from support.engine_calls import CALLS, outcomes
from support.state_server import Connect, StateServer

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parent.parent.parent / "docs" / "fleet.md").read_text(encoding="utf-8")


@pytest.mark.night
async def test_the_user_of_the_page_can_do_all_that_the_engine_does_and_nothing_else(
    server: StateServer, connect: Connect
) -> None:
    [rights] = re.findall(r"^user (mcp .*)$", PAGE, re.MULTILINE)
    assert server.command("ACL", "SETUSER", *rights.split()) == "+OK\r\n"

    # Whether it may is asked here, not how quickly a busy machine lets it.
    engine = await connect(f"redis://mcp:password@127.0.0.1:{server.port}", call_secs=60)

    assert await outcomes(engine, CALLS) == dict.fromkeys(CALLS, "answered")
    for forbidden in (("GET", "another"), ("FLUSHALL",), ("KEYS", "*"), ("CONFIG", "GET", "*")):
        assert "no permissions" in server.command("ACL", "DRYRUN", "mcp", *forbidden)
