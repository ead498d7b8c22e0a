"""Clients who come at the same time: several are let in before anybody else has a turn, on every loop."""

import select
import socket

import anyio.lowlevel
import pytest

from support.loops import LOOPS, Backend
from support.sockets import connected, serving
from support.toy import Toy

CROWD = 64
GET = b"GET /echo HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


async def test_whoever_comes_behind_a_crowd_waits_for_a_few_rounds_of_the_loop() -> None:
    rounds = 0
    async with serving(Toy()) as port:
        # The system shakes hands by itself: they all wait before the loop sees the first.
        clients = [connected(port) for _ in range(CROWD)]
        for client in clients:
            client.sendall(GET)

        while not has_heard(clients[-1]):
            await anyio.lowlevel.checkpoint()
            rounds += 1

        for client in clients:
            client.close()

    # One at a time, it was as many rounds as there were clients. Measured: 13 and 14.
    assert rounds < CROWD / 2


def has_heard(client: socket.socket) -> bool:
    return bool(select.select([client], [], [], 0)[0])
