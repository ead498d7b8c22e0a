"""More requests than the processor can take: whose is begun next."""

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.transports.http.guard import Guard
from mcp_binance_server.transports.http.hosts import allow
from mcp_binance_server.transports.http.leaving import LEAVING, Leaving
from mcp_binance_server.transports.http.turns import AHEAD, MOST_AT_ONCE, ROUND_MS, Turns
from support.clock import FakeClock
from support.loops import LOOPS, Backend
from support.sockets import HEAD, one_answer, serving, until_closed
from support.toy import Toy

HERE, THERE = "192.0.2.1", "192.0.2.2"
POST = HEAD + b"content-length: 2\r\n\r\nhi"


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


class Work:
    """An application that writes down what it begins, each time for as long as it is told."""

    def __init__(self, clock: FakeClock, each_ms: float) -> None:
        self.begun: list[str] = []
        self.may_end = anyio.Event()
        self._clock = clock
        self._each_ms = each_ms

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        self.begun.append(scope["path"])
        self._clock.advance(self._each_ms)
        if scope["path"] == "waits":
            await self.may_end.wait()


def asked(path: str, address: str = HERE, *, ahead: bool = False, leaving: Leaving | None = None) -> Scope:
    return {"type": "http", "path": path, "client": (address, 5_000), AHEAD: ahead, LEAVING: leaving or Leaving()}


async def answered(turns: Turns, *requests: Scope) -> None:
    """Ask all of it at once, and wait for the end of it."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for request in requests:
                group.start_soon(turns, request, unread, unsent)


async def unread() -> Message:
    raise AssertionError("nothing is read here")


async def unsent(_message: Message) -> None:
    raise AssertionError("nothing is sent here")


async def test_with_room_for_all_nobody_waits(clock: FakeClock) -> None:
    work = Work(clock, ROUND_MS / 10)

    await answered(Turns(work, clock), *(asked(str(number)) for number in range(8)))

    assert work.begun == [str(number) for number in range(8)]


async def test_each_address_has_its_turn_however_much_one_of_them_asks(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    many = [asked(f"many {number}") for number in range(50)]

    await answered(Turns(work, clock), *many, asked("one", THERE), asked("another", THERE))

    assert (work.begun[2], work.begun[4]) == ("one", "another")
    assert len(work.begun) == 52


async def test_a_probe_waits_for_nobody_not_even_of_its_own_address_unless_it_asks_ahead(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    many = [asked(f"many {number}") for number in range(50)]
    probes = [asked("/healthz"), asked("/healthz", ahead=True)]

    await answered(Turns(work, clock, frozenset({"/healthz"})), *many, *probes)

    assert work.begun[:2] == ["many 0", "/healthz"]
    assert "/healthz" not in work.begun[2:10]
    assert work.begun.count("/healthz") == 2


async def test_whoever_asks_ahead_gives_way(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    ahead = [asked(f"ahead {number}", ahead=True) for number in range(3)]

    await answered(Turns(work, clock), *ahead, asked("1"), asked("2"), asked("3"))

    assert work.begun == ["1", "2", "3", "ahead 0", "ahead 1", "ahead 2"]


async def test_whoever_asks_ahead_comes_at_last_even_if_others_never_stop(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    turns = Turns(work, clock)

    async def ask_again() -> None:
        while "ahead" not in work.begun:
            await turns(asked("again"), unread, unsent)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(ask_again)
            group.start_soon(turns, asked("ahead", ahead=True), unread, unsent)

    assert work.begun.index("ahead") < 10 * MOST_AT_ONCE


async def test_work_that_waits_for_something_else_keeps_nobody_waiting(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    turns = Turns(work, clock)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(turns, asked("waits"), unread, unsent)
            await answered(turns, asked("quick", THERE))
            work.may_end.set()

    assert "quick" in work.begun
    assert len(work.begun) == 51


async def test_nothing_is_done_for_a_client_that_has_left(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    left = Leaving()
    left.tell()

    await answered(Turns(work, clock), asked("first"), asked("left", leaving=left), asked("last"))

    assert work.begun == ["first", "last"]


@pytest.mark.parametrize("together", [1, 2, 5])
async def test_a_connection_says_whether_its_client_waits_for_answers(together: int) -> None:
    seen: list[bool] = []
    echo = Toy()

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope[AHEAD])
        await echo(scope, receive, send)

    async with serving(Guard(noting, allow())) as port, await anyio.connect_tcp("127.0.0.1", port) as client:
        await client.send(together * POST)
        data = b""
        with anyio.fail_after(20):
            while data.count(b"\r\n\r\nhi") < together:
                data += await client.receive()
        await client.send(POST)
        await one_answer(client)

    assert seen == [together > 1] * together + [False]


async def test_pipelined_requests_are_answered_in_turn_behind_the_others() -> None:
    clock = FakeClock()
    toy = Toy()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        clock.advance(2 * ROUND_MS)
        await toy(scope, receive, send)

    async with serving(Turns(slow, clock)) as port, await anyio.connect_tcp("127.0.0.1", port) as client:
        await client.send(b"".join(POST.replace(b"hi", b"%02d" % number) for number in range(30)))
        await client.send(POST.replace(b"hi", b"30").replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
        data = await until_closed(client)

    assert [int(part[:2]) for part in data.split(b"\r\n\r\n")[1:]] == [*range(31)]
