"""Every fault of the wire, under every write: one fate, one request, words that say so; by what the other side saw."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from mcp_binance_server.channel import Channel
from mcp_binance_server.domain.order_requests import Fate, Gate, ListShape, Outcome
from mcp_binance_server.errors import RateLimited
from mcp_binance_server.exchange.spot.orders import OrderClient
from support.canaries import hits, pieces
from support.certificates import certificate
from support.order_faults import CONTRADICTIONS, FAULTS, says
from support.order_socket import (
    API_KEY,
    CANCEL_ID,
    ORDER,
    SECRET,
    TARGET,
    OrderSocket,
    answer,
    ordering,
    reset,
    serving,
)
from support.orders.lists import AMENDMENT, LIST_ID, LIST_TARGET, LISTS, OLD_ID, REPLACEMENT

Write = Callable[[OrderClient, Gate], Awaitable[Outcome]]
LIMITED = {"429", "429 in HTML", "418"}


async def place(client: OrderClient, gate: Gate) -> Outcome:
    return await client.place(ORDER, gate)


async def cancel(client: OrderClient, gate: Gate) -> Outcome:
    return await client.cancel(TARGET, gate, cancel_id=CANCEL_ID)


async def try_out(client: OrderClient, gate: Gate) -> Outcome:
    await gate()  # nothing is executed, so it has none of its own
    return await client.try_out(ORDER)


def place_list(shape: ListShape) -> Write:
    async def write(client: OrderClient, gate: Gate) -> Outcome:
        return await client.place_list(LISTS[shape], gate)

    write.__name__ = shape.lower()
    return write


async def cancel_list(client: OrderClient, gate: Gate) -> Outcome:
    return await client.cancel(LIST_TARGET, gate, cancel_id=f"{LIST_ID}-c")


async def replace_order(client: OrderClient, gate: Gate) -> Outcome:
    return await client.replace(REPLACEMENT, gate, cancel_id=f"{OLD_ID}-c")


async def amend(client: OrderClient, gate: Gate) -> Outcome:
    return await client.amend(AMENDMENT, gate)


WRITES: dict[Write, tuple[str, str]] = {
    place: ("POST", "/api/v3/order"),
    cancel: ("DELETE", "/api/v3/order"),
    try_out: ("POST", "/api/v3/order/test"),
    replace_order: ("POST", "/api/v3/order/cancelReplace"),
    amend: ("PUT", "/api/v3/order/amend/keepPriority"),
    **{place_list(shape): ("POST", f"/api/v3/orderList/{shape.lower()}") for shape in LISTS},
    cancel_list: ("DELETE", "/api/v3/orderList"),
}
ORDERS: tuple[Write, ...] = (place, cancel)
TOLD: dict[Write, tuple[str, ...]] = {
    place: ("order",),
    cancel: ("order",),
    try_out: (),
    replace_order: ("order", "target"),
    amend: ("order",),
}
"""What an outcome holds after a success; that of a list its legs."""


class Turnstile:
    """A gate that counts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.passed = 0
        self.error = error

    async def __call__(self) -> None:
        self.passed += 1
        if self.error is not None:
            raise self.error


def unsaid(text: str) -> bool:
    """Whether nothing of the key, the secret or a signed query is in a text."""
    return not hits(text, pieces(API_KEY, SECRET)) and "signature" not in text.replace("the signature is", "")


@pytest.fixture
async def channel() -> AsyncIterator[Channel]:
    opened = Channel(deadline_secs=10)
    yield opened
    await opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
async def test_each_fault_has_one_fate_and_one_request(
    write: Write, channel: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    for fault in FAULTS:
        gate = Turnstile()
        async with (
            serving(fault.behave) as seen,
            ordering(seen.url, longest_secs=fault.longest_secs, shared=channel) as client,
        ):
            outcome = await write(client, gate)
            is_stopped = await stopped(client)

        assert outcome.fate is fault.fate, (fault.name, outcome)
        assert fault.words in outcome.reason, fault.name
        assert [(each.method, each.path) for each in seen.requests] == [WRITES[write]], fault.name
        assert seen.connections == gate.passed == 1, fault.name
        assert is_stopped == (fault.name in LIMITED), fault.name
        held = {name for name in ("order", "target", "legs") if getattr(outcome, name)}
        assert held == {*(TOLD.get(write, ("legs",)) if fault.fate is Fate.ACCEPTED else ())}, fault.name
        assert len(outcome.reason) <= 250, fault.name
        assert unsaid(repr(outcome)), fault.name
    assert unsaid("".join(each.getMessage() for each in caplog.records if each.name.startswith("mcp_binance_server")))


async def stopped(client: OrderClient) -> bool:
    """Whether nothing may be asked from this address now."""
    try:
        await client.caller.attempts.budget.spend(client.caller.attempts.time_call)
    except RateLimited:
        return True
    return False


@pytest.mark.parametrize("write", ORDERS, ids=lambda write: write.__name__)
async def test_an_answer_about_something_else_is_no_answer(write: Write, channel: Channel) -> None:
    for fault in CONTRADICTIONS:
        gate = Turnstile()
        async with serving(fault.behave) as seen, ordering(seen.url, shared=channel) as client:
            outcome = await write(client, gate)

        assert outcome.fate is Fate.UNKNOWN, fault.name
        assert fault.words in outcome.reason, fault.name
        assert len(seen.requests) == seen.connections == gate.passed == 1, fault.name


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
async def test_no_redirect_is_followed(write: Write, channel: Channel) -> None:
    async def elsewhere(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        await seen.take(reader)

    async with serving(elsewhere) as other:
        for status in (301, 302, 303, 307, 308):
            moved = says("moved", Fate.UNKNOWN, answer(status, b"", f"Location: {other.url}/api/v3/order"))
            async with serving(moved.behave) as seen, ordering(seen.url, shared=channel) as client:
                outcome = await write(client, Turnstile())

            assert outcome.fate is Fate.UNKNOWN
            assert len(seen.requests) == 1
        assert other.connections == 0


async def test_a_connection_that_is_reset_at_once_is_judged_by_the_gate() -> None:
    async def behave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _seen: OrderSocket) -> None:
        reset(writer)

    for write in ORDERS:
        gate = Turnstile()
        async with serving(behave) as seen, ordering(seen.url) as client:
            outcome = await write(client, gate)

        assert outcome.fate is (Fate.UNKNOWN if gate.passed else Fate.NOT_SENT)
        assert seen.requests == []
        assert seen.connections == 1


@pytest.mark.parametrize("write", ORDERS, ids=lambda write: write.__name__)
async def test_a_refused_connection_never_reaches_the_gate(write: Write) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    gate = Turnstile()

    async with ordering(f"http://127.0.0.1:{port}") as client:
        outcome = await write(client, gate)

    assert outcome.fate is Fate.NOT_SENT
    assert "nothing was sent" in outcome.reason
    assert gate.passed == 0


async def test_a_connection_that_hangs_never_reaches_the_gate() -> None:
    gate = Turnstile()
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.settimeout(0)
            filler.connect_ex(full.getsockname())

        async with ordering(f"http://127.0.0.1:{full.getsockname()[1]}", longest_secs=0.3) as client:
            outcome = await client.place(ORDER, gate)

    assert outcome.fate is Fate.NOT_SENT
    assert gate.passed == 0


async def test_a_host_that_does_not_speak_tls_never_reaches_the_gate() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: OrderSocket) -> None:
        seen.bytes_in += len(await reader.read(65_536))
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    gate = Turnstile()
    async with serving(plain) as seen, ordering(seen.url.replace("http:", "https:")) as client:
        outcome = await client.place(ORDER, gate)

    assert outcome.fate is Fate.NOT_SENT
    assert gate.passed == 0
    assert seen.connections == 1


async def test_a_host_with_a_certificate_of_its_own_never_reaches_the_gate(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path, valid_for="127.0.0.1"))
    gate = Turnstile()

    async with serving(FAULTS[0].behave, context) as seen, ordering(seen.url) as client:
        outcome = await client.place(ORDER, gate)

    assert outcome.fate is Fate.NOT_SENT
    assert gate.passed == 0
    assert seen.requests == []
    assert seen.bytes_in == 0


async def test_over_tls_the_gate_is_passed_after_the_handshake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = certificate(tmp_path, valid_for="127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    monkeypatch.setenv("SSL_CERT_FILE", str(paths[0]))
    gate = Turnstile()

    async with serving(FAULTS[0].behave, context) as seen, ordering(seen.url, longest_secs=5) as client:
        outcome = await client.place(ORDER, gate)

    assert outcome.fate is Fate.ACCEPTED
    assert seen.connections == gate.passed == len(seen.requests) == 1
