"""A limit of sessions means all processes: a thousand clients race for places over HTTP."""

import re
from collections import Counter
from collections.abc import Iterator

import anyio
import httpx2
import pytest

from support.state_server import BINARY
from support.webapp import HttpClient
from support.workers import Surroundings, http_server, surroundings

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

OPENS = 1_000
CAP = 200
AT_A_TIME = 100


@pytest.fixture
def around() -> Iterator[Surroundings]:
    if BINARY is None:
        pytest.skip("the cap of a fleet is not tested here: no redis-server or valkey-server is installed")
    with surroundings() as running:
        yield running


@pytest.mark.night
async def test_four_processes_open_exactly_as_many_sessions_as_there_may_be(around: Surroundings) -> None:
    opened: list[str] = []
    statuses: Counter[int] = Counter()
    accept = {"accept": "application/json, text/event-stream"}
    limits = httpx2.Limits(max_connections=AT_A_TIME, max_keepalive_connections=0)

    async def open_one(http: HttpClient) -> None:
        answer = await http.initialized()
        statuses[answer.status_code] += 1
        if answer.status_code == 200:
            opened.append(answer.headers["mcp-session-id"])

    async def race(http: HttpClient, opens: int) -> None:
        async with anyio.create_task_group() as clients:
            for _ in range(opens):
                clients.start_soon(open_one, http)

    with http_server(around, "--workers", "4", MCP_BINANCE_SESSION_CAP=str(CAP)) as (_, port):
        url = f"http://127.0.0.1:{port}"
        async with HttpClient(base_url=url, headers=accept, limits=limits, timeout=120) as http:
            await race(http, OPENS)
            assert statuses == {200: CAP, 503: OPENS - CAP}
            assert len(set(opened)) == CAP

            figures = (await http.get("/metrics")).text
            found = re.findall(r'^mcp_binance_sessions\{worker="\d"\} (\S+)', figures, re.MULTILINE)
            live = [float(each) for each in found]
            assert (len(live), sum(live)) == (4, CAP)
            assert sum(each > 0 for each in live) > 1, "one process opened all, so this shows nothing"

            for session in opened[:50]:
                assert (await http.delete("/mcp", headers={"mcp-session-id": session})).status_code == 200
            statuses.clear()
            await race(http, 100)
            assert statuses == {200: 50, 503: 50}
