"""Callers without a token: what they may hold leaves room for those who have one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError, Channel, insecure_channel
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from mcp_binance_server.app import App
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.grpc import calls as lobby
from mcp_binance_server.transports.grpc.calls import MOST_HELD, MOST_OF_ADDRESS
from mcp_binance_server.transports.grpc.errors import TokenRefused
from mcp_binance_server.transports.grpc.serving import MOST_CALLS, ListeningAddress, running_service
from support.provider import PATIENCE_SECS, Provider, as_is, until

WATCH = "/grpc.health.v1.Health/Watch"
CHECK = "/grpc.health.v1.Health/Check"
REFLECT = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
ADA = (("authorization", "Bearer ada"),)
WHOLE = HealthCheckRequest().SerializeToString()
# More than a service takes at once, on as many connections as that needs.
CROWD, CONNECTIONS = 360, 4


async def by_token(headers: Mapping[str, str]) -> Visitor:
    if headers.get("authorization") != "Bearer ada":
        raise TokenRefused
    return Visitor("ada")


@asynccontextmanager
async def locked(app: App) -> AsyncGenerator[list[Channel]]:
    """Serve who has a token, and open some connections, each its own."""
    async with AsyncExitStack() as stack:
        service = running_service(app.dispatcher, ListeningAddress("127.0.0.1", 0), authenticate=by_token)
        bound = await stack.enter_async_context(service)
        options = [("grpc.use_local_subchannel_pool", 1)]
        yield [
            await stack.enter_async_context(insecure_channel(str(bound), options=options))
            for _ in range(CONNECTIONS + 1)
        ]


async def nothing() -> AsyncIterator[bytes]:
    """Begin a call and never send its message."""
    await anyio.sleep_forever()
    yield b""


async def is_served(channel: Channel) -> bool:
    provider = Provider(channel)
    answer = await provider.invoke("get_ticker", {"symbol": "BTCUSDT"}, ADA)
    check = channel.unary_unary(CHECK, as_is, HealthCheckResponse.FromString)
    healthy = await check(WHOLE, timeout=PATIENCE_SECS)
    return not answer.is_error and healthy.status == HealthCheckResponse.SERVING


def test_what_strangers_hold_is_a_part_of_what_a_service_takes() -> None:
    assert MOST_OF_ADDRESS <= MOST_HELD
    assert 3 * MOST_HELD <= MOST_CALLS  # checks, watches and reflection have so many each


async def is_let_in(channel: Channel, path: str) -> bool:
    """Begin another call; once a later one on the same connection is answered, it has been judged."""
    call = channel.stream_stream(path, as_is, as_is)(nothing())
    await is_served(channel)
    was_refused = call.done()
    call.cancel()
    return not was_refused


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize("path", [WATCH, REFLECT])
async def test_strangers_who_watch_leave_room_for_those_with_a_token(app: App, path: str) -> None:
    async with locked(app) as (mine, *theirs):
        calls = [channel.stream_stream(path, as_is, as_is)(nothing()) for channel in theirs for _ in range(90)]
        codes = [asyncio.create_task(call.code()) for call in calls]
        await until(lambda: sum(code.done() for code in codes) == CROWD - MOST_OF_ADDRESS)

        served = await is_served(mine)
        for call in calls:
            call.cancel()
        refused = {await code for code in codes} - {StatusCode.CANCELLED}
        with anyio.fail_after(PATIENCE_SECS):
            while not await is_let_in(mine, path):
                pass

    assert served
    assert refused == {StatusCode.RESOURCE_EXHAUSTED}


@pytest.mark.night
@pytest.mark.slow
@pytest.mark.parametrize("path", [CHECK, "/provider.v1.Provider/Invoke", "/provider.v1.Provider/Stream"])
async def test_a_call_without_its_message_holds_no_place_of_others(app: App, path: str) -> None:
    async with locked(app) as (mine, *theirs):
        calls = [channel.stream_unary(path, as_is, as_is)(nothing()) for channel in theirs for _ in range(90)]
        codes = [asyncio.create_task(call.code()) for call in calls]
        held = MOST_OF_ADDRESS if path == CHECK else 0
        await until(lambda: sum(code.done() for code in codes) == CROWD - held)

        answer = await Provider(mine).invoke("get_ticker", {"symbol": "BTCUSDT"}, ADA)
        for call in calls:
            call.cancel()
        refused = {await code for code in codes} - {StatusCode.CANCELLED}

    assert not answer.is_error
    assert refused == {StatusCode.RESOURCE_EXHAUSTED if path == CHECK else StatusCode.UNAUTHENTICATED}


@pytest.mark.parametrize("path", [CHECK, WATCH, REFLECT])
async def test_bytes_that_are_no_request_are_an_invalid_argument(app: App, path: str) -> None:
    async def garbage() -> AsyncIterator[bytes]:
        yield b"\xff\xff\xff"

    async with locked(app) as (mine, *_):
        with pytest.raises(AioRpcError) as caught:
            await anext(aiter(mine.stream_stream(path, as_is, as_is)(garbage())))

    assert caught.value.code() is StatusCode.INVALID_ARGUMENT


async def test_health_of_what_is_not_here_is_unknown(app: App) -> None:
    asked = HealthCheckRequest(service="nobody").SerializeToString()

    async with locked(app) as (mine, *_):
        watch = mine.unary_stream(WATCH, as_is, HealthCheckResponse.FromString)(asked)
        first = await watch.read()
        watch.cancel()
        with pytest.raises(AioRpcError) as caught:
            await mine.unary_unary(CHECK, as_is, as_is)(asked, timeout=PATIENCE_SECS)

    assert first == HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
    assert caught.value.code() is StatusCode.NOT_FOUND


@pytest.mark.parametrize("path", ["/provider.v1.Provider/Invoke", "/provider.v1.Provider/Stream"])
async def test_a_message_that_does_not_come_is_not_waited_for(
    app: App, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with locked(app) as (mine, *_):
        with monkeypatch.context() as hurried:  # who does send one has the usual time for it
            hurried.setattr(lobby, "MESSAGE_SECS", 0.05)
            code = await mine.stream_unary(path, as_is, as_is)(nothing(), metadata=ADA).code()

        assert code is StatusCode.INVALID_ARGUMENT
        assert await is_served(mine)
