"""What no honest client sends: garbage, too much, too deep, too many. A clean status, and life goes on."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from random import Random

import anyio
import httpx2
import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError, insecure_channel

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.transports.grpc.serving import MOST_CALLS, ListeningAddress, running_service
from mcp_binance_server.transports.proto import provider_pb2 as pb
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.provider import Provider, refused, until

MIB = 2**20
# What a client's mistake may end in; anything else would be our mistake.
CLEAN = {StatusCode.OK, StatusCode.INVALID_ARGUMENT, StatusCode.NOT_FOUND, StatusCode.FAILED_PRECONDITION}


async def is_well(provider: Provider) -> bool:
    return not (await provider.invoke("get_ticker", {"symbol": "BTCUSDT"})).is_error


@pytest.mark.parametrize("method", ["Invoke", "ReadResource", "GetPrompt", "Stream"])
@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\n\x05ab", b"\n\x02\xff\xfe", b"\n\xff\xff\xff\xff\x0f"])
async def test_bytes_that_are_no_message_are_an_invalid_argument(
    provider: Provider, method: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with refused() as seen:
        await provider.raw(method, data)

    assert (seen[0].status, seen[0].error["code"]) == (StatusCode.INVALID_ARGUMENT, -32602)
    assert [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []
    assert await is_well(provider)


@pytest.mark.parametrize("path", ["/provider.v1.Provider/Nothing", "/nobody.v9.Nothing/Invoke", "/x", "/"])
async def test_an_unknown_method_is_unimplemented(provider: Provider, path: str) -> None:
    with pytest.raises(AioRpcError) as caught:
        await provider.channel.unary_unary(path)(b"", timeout=10)

    assert caught.value.code() is StatusCode.UNIMPLEMENTED
    assert await is_well(provider)


@pytest.mark.slow
async def test_mutants_of_good_requests_never_look_like_a_defect(provider: Provider, scale: int) -> None:
    random = Random(7)
    good = [
        ("Invoke", pb.InvokeRequest(tool="get_ticker", arguments_json='{"symbol":"BTCUSDT"}').SerializeToString()),
        ("ReadResource", pb.ReadResourceRequest(uri="binance://market/btcusdt").SerializeToString()),
        ("GetPrompt", pb.GetPromptRequest(name="trading_analysis", arguments={"symbol": "BTC"}).SerializeToString()),
    ]
    seen: set[StatusCode] = set()
    for _ in range(500 * scale):
        method, data = random.choice(good)
        mutant = bytearray(data)
        for _ in range(random.randint(1, 4)):
            mutant[random.randrange(len(mutant))] = random.randrange(256)
        try:
            await provider.raw(method, bytes(mutant))
            seen.add(StatusCode.OK)
        except AioRpcError as error:
            seen.add(error.code())

    assert seen <= CLEAN
    assert StatusCode.INVALID_ARGUMENT in seen
    assert await is_well(provider)


@pytest.mark.parametrize(
    "written",
    [
        "[1]", "null", "5", "{", "nonsense", '{"symbol":NaN}', "\ufeff{}", '{"symbol":"\\ud800"}',
        '{"symbol":' + "[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000,
    ],
    ids=lambda written: written[:20],
)  # fmt: skip
async def test_arguments_that_make_no_sense_are_told_so(provider: Provider, written: str) -> None:
    async with refused() as seen:
        await provider.invoke("get_ticker", written)

    assert seen[0].status is StatusCode.INVALID_ARGUMENT
    assert seen[0].sentence == "arguments_json must be a JSON object"
    assert await is_well(provider)


@pytest.mark.parametrize("value", ["5", "[[[[1]]]]", "12345678901234567890123", '"x","symbol":"y","z":1'])
async def test_arguments_of_the_wrong_kind_are_the_tools_to_refuse(provider: Provider, value: str) -> None:
    answer = await provider.invoke("get_ticker", f'{{"symbol":{value}}}')

    assert (answer.is_error, json.loads(answer.structured_json)["code"]) == (True, -32602)


def of_size(size: int) -> bytes:
    """Return a good request of so many bytes."""
    short = pb.InvokeRequest(tool="get_ticker", arguments_json='{"symbol":"' + "x" * (size - 100) + '"}')
    spare = size - short.ByteSize()
    short.arguments_json += " " * spare
    return short.SerializeToString()


@pytest.mark.slow
async def test_a_message_of_four_mebibytes_is_read_and_one_byte_more_is_not(provider: Provider) -> None:
    answer = pb.InvokeResponse.FromString(await provider.raw("Invoke", of_size(4 * MIB)))
    refusals: list[StatusCode] = []
    for size in (4 * MIB + 1, 64 * MIB):
        with pytest.raises(AioRpcError) as caught:
            await provider.raw("Invoke", of_size(size))
        refusals.append(caught.value.code())

    assert answer.is_error
    assert refusals == [StatusCode.RESOURCE_EXHAUSTED] * 2
    assert await is_well(provider)


async def test_metadata_beyond_every_measure_is_refused(provider: Provider) -> None:
    with pytest.raises(AioRpcError) as caught:
        await provider.raw("ListCapabilities", b"", (("x-large", "x" * 100_000),))

    assert caught.value.code() is StatusCode.RESOURCE_EXHAUSTED
    assert await is_well(provider)


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00", bytes(100_000), b""])
async def test_who_does_not_speak_http2_harms_nobody(app: App, said: bytes) -> None:
    async with running_service(app.dispatcher, ListeningAddress("127.0.0.1", 0)) as bound:
        stranger = socket.create_connection((bound.host, bound.port), timeout=10)
        with stranger:
            stranger.sendall(said)
            async with insecure_channel(str(bound)) as channel:
                assert await is_well(Provider(channel))


class Stalled(Loop):
    """An exchange that, once told to, takes requests and never answers; it counts those that wait."""

    is_stalled = False
    waiting = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self.is_stalled:
            return await super().handle_async_request(request)
        self.waiting += 1
        try:
            await anyio.Event().wait()
        finally:
            self.waiting -= 1
        raise AssertionError


@pytest.fixture
def stalled(exchange: SimulatedExchange) -> Stalled:
    return Stalled(exchange)


@pytest.fixture
async def slow(settings: Settings, clock: FakeClock, stalled: Stalled) -> AsyncIterator[App]:
    async with running_app(settings, clock=clock, network=NETWORK, transport=stalled, attempt_secs=60) as app:
        await app.market.rules("BTCUSDT")
        stalled.is_stalled = True
        yield app


async def test_work_stops_when_its_deadline_is_over_or_its_caller_gone(slow: App, stalled: Stalled) -> None:
    async with (
        running_service(slow.dispatcher, ListeningAddress("127.0.0.1", 0)) as bound,
        insecure_channel(str(bound)) as channel,
    ):
        provider = Provider(channel)
        await provider.capabilities()
        before = len(asyncio.all_tasks())
        request = pb.InvokeRequest(tool="get_account_info").SerializeToString()
        with pytest.raises(AioRpcError) as caught:
            await provider.raw("Invoke", request, timeout=0.3)
        gone = asyncio.create_task(provider.raw("Invoke", request))
        await until(lambda: stalled.waiting == 1)
        gone.cancel()
        await until(lambda: not stalled.waiting and len(asyncio.all_tasks()) <= before)

    assert caught.value.code() is StatusCode.DEADLINE_EXCEEDED


@pytest.mark.slow
async def test_more_calls_than_can_be_borne_are_turned_away(slow: App, stalled: Stalled) -> None:
    # Of little weight: what one caller may spend of a minute must not be the limit that is met.
    asked = pb.InvokeRequest(tool="get_open_orders", arguments_json='{"symbol":"BTCUSDT"}')
    request = asked.SerializeToString()
    async with running_service(slow.dispatcher, ListeningAddress("127.0.0.1", 0)) as bound:
        channels = [insecure_channel(str(bound), options=[("grpc.use_local_subchannel_pool", 1)]) for _ in range(4)]
        calls = [asyncio.create_task(Provider(each).raw("Invoke", request)) for each in channels for _ in range(80)]
        await until(lambda: sum(call.done() for call in calls) + stalled.waiting == len(calls))
        turned_away = [call.exception() for call in calls if call.done()]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        stalled.is_stalled = False
        assert not (await Provider(channels[0]).invoke("get_server_time")).is_error
        for channel in channels:
            await channel.close()

    assert len(turned_away) == 320 - MOST_CALLS
    assert all(isinstance(each, AioRpcError) and each.code() is StatusCode.RESOURCE_EXHAUSTED for each in turned_away)
