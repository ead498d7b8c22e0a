"""More requests than the processor can take: whose is begun next."""

from time import thread_time

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.domain.access import Vault, Visitor
from mcp_binance_server.state.shared_use import PartyUse
from mcp_binance_server.surface.caller import CALLER, Caller
from mcp_binance_server.transports.http.admission.guard import Guard
from mcp_binance_server.transports.http.admission.hosts import allow
from mcp_binance_server.transports.http.server.disconnect import DISCONNECT, Disconnect
from mcp_binance_server.transports.http.server.fairness import AHEAD, MOST_AT_ONCE, ROUND_MS, Turns
from mcp_binance_server.transports.http.server.loop_use import ACTIVE_MS, HEAVY_MS, STILL_MS, LoopUse
from support.clock import FakeClock
from support.loops import LOOPS, Backend
from support.sockets import HEAD, one_answer, serving, until_closed
from support.toy import Toy

HERE, THERE = "192.0.2.1", "192.0.2.2"
HOG, ANN, BEN = "hog", "ann", "ben"
POST = HEAD + b"content-length: 2\r\n\r\nhi"


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> Backend:
    return request.param


class Work:
    """An application that writes down what it begins, each time for as long as it is told."""

    def __init__(self, clock: FakeClock, each_ms: float, costs: dict[str, float] | None = None) -> None:
        self.begun: list[str] = []
        self._costs = costs or {}
        self.may_end = anyio.Event()
        self._clock = clock
        self._each_ms = each_ms

    async def __call__(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        self.begun.append(scope["path"])
        self._clock.advance(self._costs.get(scope["path"], self._each_ms))
        token = dict(scope["headers"]).get(b"authorization", b"").decode()
        if token and not token.startswith("!"):
            scope[CALLER] = Caller(Visitor(token), Vault(None), token)
        if scope["path"] == "burns":
            until = thread_time() + 2 * HEAVY_MS / 1000
            while thread_time() < until:
                pass
        if scope["path"] == "waits":
            await self.may_end.wait()


def asked(
    path: str, address: str = HERE, *, ahead: bool = False, disconnect: Disconnect | None = None, token: str = ""
) -> Scope:
    headers = [(b"authorization", token.encode())] if token else []
    here: Scope = {"type": "http", "path": path, "client": (address, 5_000), "headers": headers}
    return {**here, AHEAD: ahead, DISCONNECT: disconnect or Disconnect()}


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


async def rounds() -> None:
    """Let everybody do what can be done now; of a loop without Python inside nobody knows when that is over."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


def charged(work: Work, clock: FakeClock) -> Turns:
    """Let the clock be what the processor takes."""
    return Turns(work, clock, use=LoopUse(clock.monotonic_ms, clock.monotonic_ms))


async def test_each_address_has_its_turn_however_much_one_of_them_asks(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    many = [asked(f"many {number}") for number in range(50)]

    await answered(charged(work, clock), *many, asked("one", THERE), asked("another", THERE))

    assert {"one", "another"} <= {*work.begun[1:5]}
    assert len(work.begun) == 52


async def test_each_token_has_its_turn_at_one_address(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    turns = charged(work, clock)
    for token in (HOG, ANN, BEN):
        await answered(turns, asked("first", token=token))
    clock.advance(ACTIVE_MS)
    work.begun.clear()

    many = [asked(f"many {number}", token=HOG) for number in range(50)]
    await answered(turns, *many, asked("ann", token=ANN), asked("ben", token=BEN))

    assert {"ann", "ben"} <= {*work.begun[1:4]}
    assert len(work.begun) == 52


async def test_invented_tokens_have_one_turn_together_with_whoever_shows_none(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS)
    turns = charged(work, clock)
    await answered(turns, asked("first", token=ANN))
    work.begun.clear()

    invented = [asked(f"invented {number}", token=f"! {number}") for number in range(50)]
    await answered(turns, *invented, asked("nobody"), asked("ann", token=ANN), asked("ann", token=ANN))

    assert work.begun[:4].count("ann") == 2
    assert work.begun[-1] == "nobody"


async def test_who_costs_much_is_begun_less_often_than_who_costs_little(clock: FakeClock) -> None:
    work = Work(clock, 2 * ROUND_MS, costs={"dear": 10 * ROUND_MS})
    turns = charged(work, clock)
    for token in ("dear", "cheap"):
        await answered(turns, asked(token, token=token))

    await answered(turns, *(asked(token, token=token) for _ in range(20) for token in ("dear", "cheap")))

    first = work.begun[2:14]
    assert 3 <= first.count("cheap") / first.count("dear") <= 8


async def test_requests_of_a_heavy_party_are_begun_one_after_another_while_others_are_there(clock: FakeClock) -> None:
    work = Work(clock, 1, costs={"dear": 2 * HEAVY_MS})
    turns = charged(work, clock)
    for token in (HOG, ANN, ANN):
        await answered(turns, asked("hello", token=token))
    await answered(turns, asked("dear", token=HOG))
    work.begun.clear()

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(turns, asked("waits", token=HOG), unread, unsent)
        await rounds()
        assert work.begun == ["waits"]
        await answered(turns, asked("light", token=ANN))
        await rounds()
        assert work.begun == ["waits", "light"]
        work.may_end.set()

    assert work.begun.count("waits") == 5


async def test_a_party_that_is_alone_waits_for_none_of_its_requests(clock: FakeClock) -> None:
    work = Work(clock, 1, costs={"dear": 2 * HEAVY_MS})
    turns = charged(work, clock)
    for path in ("hello", "dear"):
        await answered(turns, asked(path, token=HOG))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(turns, asked("waits", token=HOG), unread, unsent)
        await rounds()
        assert work.begun.count("waits") == 5
        work.may_end.set()


async def test_a_clock_that_stands_still_holds_up_nobody_for_good(clock: FakeClock) -> None:
    work = Work(clock, 0)
    turns = Turns(work, clock)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for token in (HOG, ANN, ANN):
                await answered(turns, asked("hello", token=token))
            group.start_soon(turns, asked("waits", token=HOG), unread, unsent)
            await answered(turns, asked("burns", token=HOG))
            await answered(turns, asked("last", token=HOG))
            work.may_end.set()

    assert work.begun[-2:] == ["burns", "last"]


async def test_a_request_that_waits_for_something_else_holds_up_its_party_for_a_moment_only(clock: FakeClock) -> None:
    work = Work(clock, 1, costs={"dear": 2 * HEAVY_MS})
    turns = charged(work, clock)
    for token in (HOG, ANN, ANN):
        await answered(turns, asked("hello", token=token))
    await answered(turns, asked("dear", token=HOG))
    work.begun.clear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(turns, asked("waits", token=HOG), unread, unsent)
            await rounds()
            clock.advance(STILL_MS)
            await answered(turns, asked("second", token=HOG))
            work.may_end.set()

    assert work.begun == ["waits", "second"]


@pytest.mark.parametrize("ahead", [False, True])
async def test_a_heavy_party_that_other_processes_work_for_rests_between_its_requests(
    clock: FakeClock, *, ahead: bool
) -> None:
    work = Work(clock, 1, costs={"dear": 50})
    use = LoopUse(clock.monotonic_ms, clock.monotonic_ms)
    turns = Turns(work, clock, use=use)
    await answered(turns, asked("hello", token=HOG))
    use.elsewhere.told["other"] = PartyUse([ANN, HOG], {HOG: 700.0})
    await answered(turns, asked("dear", token=HOG))
    work.begun.clear()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(turns, asked("second", token=HOG, ahead=ahead), unread, unsent)
            await rounds()
            clock.advance(40)
            await answered(turns, asked("hers", token=ANN))
            await rounds()
            assert work.begun == ["hers"]
            clock.advance(10)

    assert work.begun == ["hers", "second"]


async def test_while_whoever_asks_ahead_rests_the_loop_rests_too(clock: FakeClock) -> None:
    looks = 0

    def look() -> float:
        nonlocal looks
        looks += 1
        return clock.monotonic_ms()

    work = Work(clock, 1, costs={"dear": 50})
    use = LoopUse(look, clock.monotonic_ms)
    turns = Turns(work, clock, use=use)
    await answered(turns, asked("hello", token=HOG))
    use.elsewhere.told["other"] = PartyUse([ANN, HOG], {HOG: 700.0})
    await answered(turns, asked("dear", token=HOG))
    looks = 0

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(turns, asked("second", token=HOG, ahead=True), unread, unsent)
            await rounds()
            assert looks < 20
            clock.advance(100)

    assert work.begun[-1] == "second"


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
    left = Disconnect()
    left.tell()

    await answered(Turns(work, clock), asked("first"), asked("left", disconnect=left), asked("last"))

    assert work.begun == ["first", "last"]


async def test_whoever_leaves_while_it_waits_has_left_at_once_and_takes_no_turn(clock: FakeClock) -> None:
    work = Work(clock, 1, costs={"dear": 2 * HEAVY_MS})
    turns = charged(work, clock)
    for token in (HOG, ANN, ANN):
        await answered(turns, asked("hello", token=token))
    await answered(turns, asked("dear", token=HOG))
    crowd = [Disconnect() for _ in range(20)]
    work.begun.clear()

    async with anyio.create_task_group() as under_way:
        under_way.start_soon(turns, asked("waits", token=HOG), unread, unsent)
        await rounds()
        async with anyio.create_task_group() as group:
            for disconnect in crowd:
                group.start_soon(turns, asked("left", token=HOG, disconnect=disconnect), unread, unsent)
            await rounds()
            for disconnect in crowd:
                disconnect.tell()
        assert work.begun == ["waits"]
        work.may_end.set()

    await answered(turns, asked("last", token=HOG))
    assert work.begun == ["waits", "last"]


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
