"""Places of sessions are shared among tokens over all processes, and what is taken over ends in whichever holds it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.holders import Holders
from support.state_server import BINARY
from support.webapp import HttpClient
from support.workers import Surroundings, http_server, surroundings

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

CAP = 8


@pytest.fixture
def around() -> Iterator[Surroundings]:
    if BINARY is None:
        pytest.skip("shares of a fleet are not tested here: no redis-server or valkey-server is installed")
    with surroundings() as running:
        yield running


@pytest.mark.night
async def test_a_token_that_holds_all_places_of_two_processes_makes_way_for_others(
    around: Surroundings, tmp_path: Path
) -> None:
    holders = Holders(tmp_path / "tokens", "mallory", "ann", "ben", "cy")
    mallory, *modest = (holders.bearer(name)["authorization"] for name in holders.tokens)
    settings = {"MCP_BINANCE_SESSION_CAP": str(CAP), "MCP_BINANCE_TOKEN_FILE": str(holders.path)}
    accept = {"accept": "application/json, text/event-stream", "connection": "close"}
    with http_server(around, "--workers", "2", **settings) as (_, port):
        async with HttpClient(base_url=f"http://127.0.0.1:{port}", headers=accept, timeout=60) as http:
            held = [(await http.initialized(authorization=mallory)).headers["mcp-session-id"] for _ in range(CAP)]
            assert (await http.initialized(authorization=mallory)).status_code == 503

            opened = [await http.initialized(authorization=each) for each in modest for _ in range(2)]

            assert {each.status_code for each in opened} == {200}
            assert await lost(http, held, mallory) == CAP - 2
            for each, answer in zip((each for each in modest for _ in range(2)), opened, strict=True):
                ping = await http.ask("ping", answer.headers["mcp-session-id"], authorization=each)
                assert ping.status_code == 200
                assert not [name for name in ping.headers if name.startswith("x-relayed")]
            assert (await http.initialized(authorization=mallory)).status_code == 503


async def lost(http: HttpClient, held: list[str], bearer: str) -> int:
    """Count the sessions that are gone, when the last message about them may be under way still."""
    gone: set[str] = set()
    for _ in range(200):
        gone |= {each for each in held if (await http.ask("ping", each, authorization=bearer)).status_code == 404}
        if len(gone) >= CAP - 2:
            break
    return len(gone)
