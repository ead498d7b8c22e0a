"""Streams without a socket: what a client in the same process reads, and how its connection ends."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, StreamFault, StreamKind
from binance_simulator.streams.loopback import Loopback, LoopbackConnection
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]

DEPTH = "btcusdt@depth@100ms"
STREAM = f"wss://simulator.invalid/stream?streams={DEPTH}"


@pytest.fixture
def by_hand(exchange: SimulatedExchange) -> Loopback:
    exchange.hub.by_hand = True
    return Loopback(exchange)


@pytest.fixture
def step(exchange: SimulatedExchange, clock: FakeClock) -> Callable[[int], None]:
    def move(duration_ms: int) -> None:
        clock.advance(duration_ms)
        exchange.hub.wake()

    return move


async def told(connection: LoopbackConnection) -> dict[str, Any]:
    with anyio.fail_after(5):
        return json.loads(await connection.recv())


async def ending(connection: LoopbackConnection) -> tuple[list[bytes], str]:
    frames: list[bytes] = []
    with anyio.fail_after(5):
        try:
            while True:
                frames.append(await connection.recv())
        except ConnectionError as error:
            return frames, str(error)


async def test_a_reader_gets_what_a_session_says(
    by_hand: Loopback, exchange: SimulatedExchange, clock: FakeClock, step: Callable[[int], None]
) -> None:
    session = StreamSession(exchange, combined=True)
    session.subscribe([DEPTH])
    connection = await by_hand.connect(STREAM)
    step(500)

    frames = [await connection.recv() for _ in range(5)]

    assert frames == [text.encode() for text in session.due(clock.now_ms())]


async def test_a_waiting_reader_is_woken_by_hand(by_hand: Loopback, step: Callable[[int], None]) -> None:
    connection = await by_hand.connect(STREAM)
    frames: list[dict[str, Any]] = []

    async def read() -> None:
        frames.append(await told(connection))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        step(0)
        await anyio.wait_all_tasks_blocked()
        assert frames == []
        step(100)

    assert frames[0]["stream"] == DEPTH


async def test_without_hands_a_reader_follows_the_clock(exchange: SimulatedExchange, clock: FakeClock) -> None:
    connection = await Loopback(exchange).connect(STREAM)

    first, second = [(await told(connection))["data"] for _ in range(2)]

    assert (second["U"], second["E"]) == (first["u"] + 1, first["E"] + 100)
    assert clock.slept_ms[1] == 100


async def test_a_message_is_answered_while_the_reader_waits(by_hand: Loopback) -> None:
    connection = await by_hand.connect("ws://simulator.invalid/ws")
    answers: list[dict[str, Any]] = []

    async def read() -> None:
        answers.append(await told(connection))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await connection.send('{"method":"SUBSCRIBE","params":["btcusdt@aggTrade"],"id":3}')

    assert answers == [{"result": None, "id": 3}]


@pytest.mark.parametrize(
    ("path", "message", "answer"),
    [
        ("/ws/btcusdt@trade", {"method": "GET_PROPERTY", "params": ["combined"], "id": 1}, False),
        ("/stream", {"method": "GET_PROPERTY", "params": ["combined"], "id": 1}, True),
        ("/ws-api/v3", {"method": "ping", "id": 1}, {}),
        (
            "/ws/%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9Fusdt@trade",
            {"method": "LIST_SUBSCRIPTIONS"},
            ["币安人生usdt@trade"],
        ),
    ],
)
async def test_every_path_leads_to_its_kind_of_connection(
    by_hand: Loopback, path: str, message: object, answer: object
) -> None:
    connection = await by_hand.connect(f"ws://simulator.invalid{path}")
    await connection.send(json.dumps(message))

    assert (await told(connection))["result"] == answer


async def test_a_closed_connection_neither_sends_nor_receives(by_hand: Loopback, exchange: SimulatedExchange) -> None:
    connection = await by_hand.connect(STREAM)
    endings: list[str] = []

    async def read() -> None:
        endings.append((await ending(connection))[1])

    open_before = exchange.hub.open_connections
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        await connection.close()
    await connection.close()

    assert (open_before, exchange.hub.open_connections) == (1, 0)
    assert "closed by its owner" in endings[0]
    with pytest.raises(ConnectionError):
        await connection.send("{}")


@pytest.mark.parametrize(("kind", "frames"), [("cut", 0), ("drop", 9), ("duplicate", 11)])
async def test_faults_strike_here_too(
    by_hand: Loopback, exchange: SimulatedExchange, step: Callable[[int], None], kind: StreamKind, frames: int
) -> None:
    connection = await by_hand.connect(STREAM)
    exchange.hub.faults.add(StreamFault(kind=kind))
    exchange.hub.life_ms = 1_000
    step(1_000)

    arrived, why = await ending(connection)

    assert len(arrived) == frames
    assert ("cut" if kind == "cut" else "life") in why
    assert exchange.hub.open_connections == 0


@pytest.mark.slow
async def test_a_silent_connection_stays_open(
    by_hand: Loopback, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    connection = await by_hand.connect(STREAM)
    exchange.hub.faults.add(StreamFault(kind="silent"))
    step(60_000)

    with anyio.move_on_after(0.05) as patience:
        await connection.recv()

    assert patience.cancelled_caught
    assert exchange.hub.open_connections == 1


async def test_a_shutdown_is_told_to_every_reader(
    by_hand: Loopback, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    stream, api = [await by_hand.connect(f"ws://simulator.invalid{path}") for path in ("/stream", "/ws-api/v3")]
    exchange.hub.faults.add(StreamFault(kind="shutdown"))
    step(0)

    assert (await told(stream))["stream"] == "!serverShutdown"
    assert (await told(api))["event"]["e"] == "serverShutdown"


async def test_a_reader_that_is_too_far_behind_is_cut_off(
    exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    exchange.hub.by_hand = True
    connection = await Loopback(exchange, most_waiting=20).connect(STREAM)
    step(2_000)
    first = await connection.recv()
    step(300)
    await connection.recv()
    step(5_000)

    with pytest.raises(ConnectionError, match="More than 20 frames"):
        await connection.send('{"method":"LIST_SUBSCRIPTIONS","id":1}')

    assert first
    assert await ending(connection) == ([], "More than 20 frames were unread.")


async def test_too_many_messages_end_the_connection(by_hand: Loopback) -> None:
    connection = await by_hand.connect("ws://simulator.invalid/ws")
    for place in range(6):
        await connection.send(json.dumps({"method": "LIST_SUBSCRIPTIONS", "id": place}))

    answers, why = await ending(connection)

    assert [json.loads(answer)["id"] for answer in answers] == [0, 1, 2, 3, 4]
    assert "messages" in why


async def test_a_handshake_can_be_refused_or_delayed(
    by_hand: Loopback, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    exchange.faults.add(Fault(kind="status", path="/stream", status=429))
    exchange.faults.add(Fault(kind="delay", path="/stream", delay_ms=5_000))

    with pytest.raises(ConnectionRefusedError, match="429"):
        await by_hand.connect(STREAM)
    connection = await by_hand.connect(STREAM)
    with pytest.raises(ConnectionRefusedError, match="404"):
        await by_hand.connect("ws://simulator.invalid/nowhere")

    assert clock.slept_ms == [0, 5_000]
    assert exchange.hub.open_connections == 1
    await connection.close()


@pytest.mark.parametrize(("kind", "frames"), [("deaf", 3), ("half_open", 0)])
async def test_a_deaf_server_answers_no_message(
    by_hand: Loopback, exchange: SimulatedExchange, step: Callable[[int], None], kind: StreamKind, frames: int
) -> None:
    connection = await by_hand.connect(STREAM)
    exchange.hub.faults.add(StreamFault(kind=kind))
    step(300)
    await connection.send('{"method":"LIST_SUBSCRIPTIONS","id":1}')
    exchange.hub.life_ms = 0
    step(0)

    arrived, why = await ending(connection)

    assert [json.loads(frame)["stream"] for frame in arrived] == [DEPTH] * frames
    assert "life" in why
