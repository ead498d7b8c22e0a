"""A process that is slow to answer has not ended: whoever asks for one of its sessions does not lose it."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.sessions.model import new_connection_id
from mcp_binance_server.transports.http.relay import Relay, RelayTimeouts, WorkerSlot, listen_inside

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="processes meet at sockets of files"), pytest.mark.anyio]

SOON = 0.05


@contextmanager
def slot_of_two() -> Generator[WorkerSlot]:
    with TemporaryDirectory(prefix="seats-") as folder:  # the name of a socket must be short
        yield WorkerSlot(0, 2, Path(folder))


async def nobody(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("it is another's")


async def answer_of(relay: Relay) -> tuple[int, str]:
    sent = list[Message]()
    scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "client": ("192.0.2.1", 1)}
    scope["headers"] = [(b"mcp-session-id", new_connection_id(1, 2).encode())]

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def keep(message: Message) -> None:
        sent.append(message)

    await relay(scope, receive, keep)
    await relay.close()
    return sent[0]["status"], json.loads(sent[1]["body"])["error"]["data"]["reason"]


async def test_one_that_does_not_answer_in_time_is_said_to_be_slow() -> None:
    with slot_of_two() as slot, listen_inside(slot.address(1)):
        assert await answer_of(Relay(nobody, slot, RelayTimeouts(answer_secs=SOON))) == (504, "no_answer")


async def test_one_that_cannot_be_reached_in_time_is_said_to_be_busy() -> None:
    with slot_of_two() as slot, listen_inside(slot.address(1)):
        assert await answer_of(Relay(nobody, slot, RelayTimeouts(connect_secs=0.0))) == (503, "busy")


async def test_the_sessions_of_one_that_has_ended_are_over() -> None:
    with slot_of_two() as slot:
        listen_inside(slot.address(1)).close()
        assert await answer_of(Relay(nobody, slot)) == (404, "session_not_found")
