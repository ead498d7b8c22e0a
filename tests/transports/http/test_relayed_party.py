"""A request that another process answers counts here for whom it turned out to be there."""

import os
from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.domain.access import Vault, Visitor
from mcp_binance_server.sessions.model import new_connection_id
from mcp_binance_server.surface.caller import CALLER, Caller
from mcp_binance_server.transports.http.admission.keys import Claims
from mcp_binance_server.transports.http.mcp.exchange import reply_empty
from mcp_binance_server.transports.http.relay import INSIDE, Relay, RelayedRequests, WorkerSlot, listen_inside
from mcp_binance_server.transports.http.server.connection_registry import LET_IN
from mcp_binance_server.transports.http.server.serving import ListeningApp, Shutdown, serve_apps

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes meet at sockets of files")


async def answering(scope: Scope, _receive: Receive, send: Send) -> None:
    if dict(scope["headers"])[b"authorization"] == b"good":
        scope[CALLER] = Caller(Visitor("ann"), Vault(None), "party of ann")
    await reply_empty(send, 202)


async def no_figures(_send: Send) -> None:
    raise AssertionError("nobody asks for them")


@pytest.mark.parametrize(("shown", "party"), [(b"good", "party of ann"), (b"bad", "")])
async def test_the_process_that_passes_a_request_on_learns_whose_it_was(
    tmp_path: Path, shown: bytes, party: str
) -> None:
    slot, claims = WorkerSlot(0, 2, tmp_path / "seats"), Claims()
    told, sent = list[str](), list[Message]()
    session = new_connection_id(1, 2).encode()
    headers = [(b"authorization", shown), (b"mcp-session-id", session), (b"x-relayed-party", b"forged")]
    scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}
    scope |= {"client": ("192.0.2.1", 1), LET_IN: told.append}
    is_ready, stop = anyio.Event(), Shutdown()

    async def drained() -> None: ...

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def keep(message: Message) -> None:
        sent.append(message)

    async with anyio.create_task_group() as group:
        relayed = ListeningApp(listen_inside(slot.address(1)), RelayedRequests(answering, no_figures), INSIDE)
        group.start_soon(lambda: serve_apps([relayed], ready=is_ready.set, drain=drained, stop=stop, grace_secs=1))
        await is_ready.wait()
        relay = Relay(answering, slot)
        await relay(scope, receive, keep)
        await relay.close()
        stop.asked.set()

    claim = claims.claim(scope)
    claims.learn(claim, scope)
    assert told == ([party] if party else [])
    assert (claims.party(claim, scope) == "party of ann") == bool(party)
    assert sent[0]["status"] == 202
    assert not [name for name, _ in sent[0]["headers"] if name.startswith(b"x-relayed")]
