"""The loop is shared: one token with a crowd of requests keeps no other token waiting, at the same address too."""

from pathlib import Path

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.settings import read_settings
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.holders import Holders
from support.webapp import HttpClient, assembled, http_client

CROWD = 60
MODEST = ("ann", "ben", "cy")


@pytest.mark.night
@pytest.mark.flood
async def test_a_token_with_a_crowd_of_requests_lets_the_first_of_every_other_token_pass(
    tmp_path: Path, clock: FakeClock
) -> None:
    holders, exchange = Holders(tmp_path / "tokens", "mallory", *MODEST), SimulatedExchange(clock)
    answered: list[str] = []

    async with (
        running_app(read_settings({}), clock=SystemClock(), network=NETWORK, transport=Loop(exchange)) as app,
        assembled(app, authentication=holders.authentication(app.clock)) as http,
        http_client(http) as client,
    ):
        app.dispatcher.catalogue.prepare()
        for name in holders.tokens:
            await ask(client, holders, name, "prompts/list", [])
        async with anyio.create_task_group() as group:
            for _ in range(CROWD):
                group.start_soon(ask, client, holders, "mallory", "tools/list", answered)
            for name in MODEST:
                group.start_soon(ask, client, holders, name, "prompts/list", answered)

    places = [answered.index(name) for name in MODEST]
    print(f"answered at places {places} of {len(answered)}")  # noqa: T201 - shown by -rP
    # One after another, they would be the last three. Measured: 1 to 8.
    assert max(places) < CROWD / 2


async def ask(client: HttpClient, holders: Holders, name: str, method: str, answered: list[str]) -> None:
    answer = await client.modern(method, None, authorization=holders.bearer(name)["authorization"])
    assert answer.status_code == 200
    answered.append(name)
