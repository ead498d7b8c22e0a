"""Streams and the WebSocket API over a real socket, moved by hand."""

import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
import uvicorn
from anyio import wait_all_tasks_blocked
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, StreamFault
from binance_simulator.rest.delivery import framed
from binance_simulator.streams.sockets import serve
from binance_simulator.streams.subscriptions import StreamSession
from support.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("unlimited")]


@asynccontextmanager
async def served(exchange: SimulatedExchange) -> AsyncGenerator[str]:
    config = uvicorn.Config(
        build_app(exchange), lifespan="off", log_config=None, ws_ping_interval=20, ws_ping_timeout=60, loop="none"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()[:2]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(server.serve, sockets=[listener]))
            yield f"ws://{host}:{port}"
            server.should_exit = True


@pytest.fixture
async def address(exchange: SimulatedExchange) -> AsyncGenerator[str]:
    exchange.hub.by_hand = True
    async with served(exchange) as address:
        yield address


@pytest.fixture
def step(exchange: SimulatedExchange, clock: FakeClock) -> Callable[[int], None]:
    def move(duration_ms: int) -> None:
        clock.advance(duration_ms)
        exchange.hub.wake()

    return move


async def asked(connection: ClientConnection, message: object) -> dict[str, Any]:
    await connection.send(json.dumps(message))
    return json.loads(await connection.recv())


async def closed(connection: ClientConnection) -> ConnectionClosed:
    try:
        while True:
            await connection.recv()
    except ConnectionClosed as ending:
        return ending


async def test_a_combined_connection_gets_what_is_due(address: str, step: Callable[[int], None]) -> None:
    async with connect(f"{address}/stream?streams=btcusdt@depth@100ms/btcusdt@depth5@100ms") as connection:
        listed = await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        step(200)
        frames = [json.loads(await connection.recv()) for _ in range(4)]

    assert listed["result"] == ["btcusdt@depth@100ms", "btcusdt@depth5@100ms"]
    assert [frame["stream"] for frame in frames] == ["btcusdt@depth@100ms", "btcusdt@depth5@100ms"] * 2
    assert frames[2]["data"]["U"] == frames[0]["data"]["u"] + 1
    assert frames[3]["data"]["lastUpdateId"] == frames[2]["data"]["u"]


@pytest.mark.parametrize("path", ["/ws/btcusdt@depth@100ms", "/ws"])
async def test_a_raw_connection_gets_events_without_envelope(
    address: str, step: Callable[[int], None], path: str
) -> None:
    async with connect(address + path) as connection:
        subscribed = await asked(connection, {"method": "SUBSCRIBE", "params": ["btcusdt@depth@100ms"], "id": 1})
        step(100)
        event = json.loads(await connection.recv())

    assert subscribed == {"result": None, "id": 1}
    assert event["e"] == "depthUpdate"


async def test_without_hands_a_connection_follows_the_clock(exchange: SimulatedExchange) -> None:
    async with served(exchange) as address, connect(f"{address}/stream?streams=btcusdt@depth@100ms") as connection:
        first, second = [json.loads(await connection.recv())["data"] for _ in range(2)]

    assert second["U"] == first["u"] + 1
    assert second["E"] == first["E"] + 100
    assert exchange.hub.open_connections == 0


async def test_a_beat_during_work_is_not_lost(exchange: SimulatedExchange) -> None:
    beats = exchange.hub.beats
    exchange.hub.wake()

    with anyio.fail_after(5):
        await exchange.hub.pulse(beats)

    assert exchange.hub.beats == beats + 1


async def test_a_message_in_bytes_is_read_as_text(address: str) -> None:
    async with connect(f"{address}/ws") as connection:
        await connection.send(b'{"method":"LIST_SUBSCRIPTIONS","id":9}')

        assert json.loads(await connection.recv()) == {"result": [], "id": 9}


async def test_too_many_messages_close_the_connection(address: str) -> None:
    async with connect(f"{address}/ws") as connection:
        for place in range(6):
            await connection.send(json.dumps({"method": "LIST_SUBSCRIPTIONS", "id": place}))
        ending = await closed(connection)

    assert ending.rcvd is not None
    assert (ending.rcvd.code, ending.rcvd.reason) == (1008, "Too many requests")


async def test_too_many_streams_close_the_connection(address: str, exchange: SimulatedExchange) -> None:
    exchange.hub.most_streams = 2
    async with connect(f"{address}/stream?streams=a@trade/b@trade/c@trade") as connection:
        ending = await closed(connection)

    assert ending.rcvd is not None
    assert ending.rcvd.code == 1008


async def test_a_life_ends_with_a_close(address: str, exchange: SimulatedExchange, step: Callable[[int], None]) -> None:
    exchange.hub.life_ms = 1000
    async with connect(f"{address}/ws") as connection:
        await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        step(1000)
        ending = await closed(connection)

    assert ending.rcvd is not None
    assert ending.rcvd.code == 1001


async def test_a_cut_is_an_end_without_a_close(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    exchange.hub.faults.add(StreamFault(kind="cut"))
    async with connect(f"{address}/ws/btcusdt@depth@100ms") as connection:
        await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        step(100)
        ending = await closed(connection)

    assert ending.rcvd is None


async def test_a_shutdown_reaches_streams_and_the_api(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    async with connect(f"{address}/stream") as stream, connect(f"{address}/ws-api/v3") as api:
        await asked(stream, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        await asked(api, {"id": 1, "method": "ping"})
        exchange.hub.faults.add(StreamFault(kind="shutdown"))
        step(0)
        told, told_api = json.loads(await stream.recv()), json.loads(await api.recv())

    assert (told["stream"], told["data"]["e"]) == ("!serverShutdown", "serverShutdown")
    assert told_api["event"] == told["data"]


async def test_a_path_that_leads_nowhere_is_refused(address: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"{address}/nowhere")

    assert refused.value.response.status_code == 404


async def test_a_fault_can_refuse_or_delay_the_handshake(address: str, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="/stream", status=429))
    exchange.faults.add(Fault(kind="status", path="/ws-api/v3", status=503, body="busy"))
    exchange.faults.add(Fault(kind="delay", path="/ws", delay_ms=5))

    async def status_of(opening: Awaitable[ClientConnection]) -> int:
        with pytest.raises(InvalidStatus) as refused:
            await opening
        return refused.value.response.status_code

    assert await status_of(connect(f"{address}/stream")) == 429
    assert await status_of(connect(f"{address}/ws-api/v3")) == 503
    async with connect(f"{address}/ws") as connection:
        assert await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1}) == {"result": [], "id": 1}


async def test_a_ping_is_answered_until_the_connection_goes_deaf(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    async with connect(f"{address}/ws/btcusdt@depth@100ms", ping_interval=None, close_timeout=0.1) as connection:
        with anyio.fail_after(5):
            await (await connection.ping())
        exchange.hub.faults.add(StreamFault(kind="deaf"))
        step(100)
        events = [await connection.recv()]

        unanswered = await connection.ping()
        with anyio.move_on_after(0.2) as patience:
            await unanswered
        step(100)
        events.append(await connection.recv())

    assert patience.cancelled_caught
    assert [json.loads(event)["e"] for event in events] == ["depthUpdate"] * 2


@pytest.mark.slow
async def test_a_half_open_connection_says_nothing_and_is_not_closed(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    exchange.hub.faults.add(StreamFault(kind="half_open"))
    async with connect(
        f"{address}/ws/btcusdt@depth@100ms", ping_interval=0.05, ping_timeout=0.2, close_timeout=0.1
    ) as connection:
        await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        step(60_000)
        ending = await closed(connection)

    # The client's own pings found out; nobody sent a close.
    assert (ending.rcvd, ending.sent and ending.sent.code) == (None, 1011)


async def test_lost_pongs_close_the_connection(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    exchange.hub.faults.add(StreamFault(kind="no_pong"))
    exchange.hub.pong_ms = 5_000
    async with connect(f"{address}/ws/btcusdt@depth@100ms") as connection:
        await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        step(5_100)
        ending = await closed(connection)

    assert ending.rcvd is not None
    assert (ending.rcvd.code, ending.rcvd.reason) == (1008, "Pong timeout")


class Watchful(ClientConnection):
    """A client that counts the pings it answers."""

    pings = 0

    def process_event(self, event: Frame | Response) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(event, Frame) and event.opcode is Opcode.PING:
            self.pings += 1
        super().process_event(event)


async def test_a_ping_goes_out_on_request(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    async with connect(f"{address}/ws", create_connection=Watchful) as connection:
        await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 1})
        exchange.hub.faults.add(StreamFault(kind="ping"))
        step(0)
        answer = await asked(connection, {"method": "LIST_SUBSCRIPTIONS", "id": 2})

        assert isinstance(connection, Watchful)
        assert (connection.pings, answer["id"]) == (1, 2)


async def test_whoever_leaves_while_two_speak_to_it_ends_both(exchange: SimulatedExchange, clock: FakeClock) -> None:
    session = StreamSession(exchange, combined=False)
    session.subscribe(["btcusdt@depth@100ms"])
    clock.advance(200)
    said: list[Message] = [{"type": "websocket.receive", "text": '{"method":"LIST_SUBSCRIPTIONS","id":9}'}]
    begun: list[Message] = []

    async def receive() -> Message:
        if not said:
            await anyio.sleep_forever()
        return said.pop()

    async def send(message: Message) -> None:
        begun.append(message)
        await wait_all_tasks_blocked()
        raise BrokenPipeError

    socket = WebSocket({"type": "websocket"}, receive, send)
    socket.client_state = socket.application_state = WebSocketState.CONNECTED
    with anyio.fail_after(5):
        await serve(exchange, socket, receive, session)

    assert [message["type"] for message in begun] == ["websocket.send"]
    assert exchange.hub.open_connections == 0


@pytest.mark.slow
async def test_what_is_written_at_once_arrives_whole_and_in_order(
    address: str, exchange: SimulatedExchange, step: Callable[[int], None]
) -> None:
    exchange.set_crowd(100)
    crowd = [f"crowd{number:03}usdt@{kind}" for number in range(100) for kind in ("depth@100ms", "bookTicker")]
    session = StreamSession(exchange, combined=True)
    async with connect(f"{address}/stream", max_queue=None) as connection:
        names = [*crowd, "btcusdt@depth@1000ms"]
        await asked(connection, {"method": "SUBSCRIBE", "params": names, "id": 1})
        session.subscribe(names)
        step(1_000)
        expected = session.due(exchange.now_ms())
        arrived = [await connection.recv() for _ in expected]

    assert arrived == expected
    assert len(arrived) > 1_000


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 100_000])
async def test_a_frame_is_framed_as_the_client_would(size: int) -> None:
    text = "é" + "x" * (size - 2) if size else ""

    assert framed(text) == Frame(Opcode.TEXT, text.encode()).serialize(mask=False)
