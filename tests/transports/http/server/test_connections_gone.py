"""A connection that is closed is gone at once: a crowd that comes and goes leaves nothing for the collector."""

import gc
from collections.abc import Generator

import anyio.lowlevel
import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.transports.http.admission.guard import BodyLimits, Guard
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.server.connection import ConnectionLimits, HttpConnection
from mcp_binance_server.transports.http.server.fairness import Turns
from support.loops import LOOPS, Backend
from support.sockets import HEAD, connected, exchanged, serving
from support.toy import Toy

MOST, CROWD = 8, 40
WHOLE = HEAD + b"content-length: 2\r\n\r\nhi"


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


@pytest.fixture
def _uncollected() -> Generator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.night
@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("sent", [b"", b"P", HEAD, HEAD + b"content-length: 9\r\n\r\n{", WHOLE])
async def test_connections_that_others_have_replaced_are_gone_without_the_collector(sent: bytes) -> None:
    app = Guard(Turns(Toy(), SystemClock()), allow(), BodyLimits())
    async with serving(app, ConnectionLimits(most=MOST)) as port:
        clients = [connected(port) for _ in range(CROWD)]
        for client in clients:
            client.sendall(sent)
        assert (await exchanged(port, WHOLE)).status == 200
        await settled()

        alive = sum(isinstance(each, HttpConnection) for each in gc.get_objects())

        for client in clients:
            client.close()

    assert alive <= MOST


async def settled() -> None:
    for _ in range(50):
        await anyio.lowlevel.checkpoint()
