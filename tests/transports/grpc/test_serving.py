"""The service as a process: health, reflection, signals, and what it says when it cannot start."""

import asyncio
import os
import signal
import subprocess
import sys

import anyio
import grpc
import pytest
from grpc import StatusCode
from grpc.aio import EOF, AioRpcError, Channel, UnaryStreamCall, insecure_channel
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from mcp_binance_server.app import App
from mcp_binance_server.cli import serve_grpc as extra
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.transports.grpc.serving import ListeningAddress, running_service, serve_grpc
from mcp_binance_server.transports.proto import provider_pb2 as pb
from support.provider import Provider, as_is, refused
from support.provider_process import started

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
MIB = 2**20


def watch_health(channel: Channel) -> UnaryStreamCall[bytes, HealthCheckResponse]:
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch", as_is, HealthCheckResponse.FromString)
    return watch(HealthCheckRequest(service="provider.v1.Provider").SerializeToString())


async def health(channel: Channel, service: str) -> int:
    ask = channel.unary_unary("/grpc.health.v1.Health/Check", as_is, HealthCheckResponse.FromString)
    answer = await ask(HealthCheckRequest(service=service).SerializeToString())
    return answer.status


@pytest.mark.night
async def test_a_signal_lets_calls_end_ends_streams_and_leaves_nothing() -> None:
    async with started(delay_ms=3_000) as (process, provider):
        clock = asyncio.get_running_loop().time
        await provider.capabilities()
        stream = provider.stream(pb.StreamRequest(symbols=["BTCUSDT"]))
        await stream.read()
        watcher = watch_health(provider.channel)
        healthy = await watcher.read()
        slow = asyncio.create_task(provider.invoke("get_account_info"))
        await asyncio.sleep(0.5)  # noqa: TID251 - the call must have begun

        began = clock()
        os.kill(process.pid, signal.SIGTERM)
        unhealthy = await watcher.read()
        async with refused() as told:
            while await stream.read() is not EOF:
                pass
        is_still_at_work = not slow.done()
        answer = await slow
        code = await asyncio.to_thread(process.wait)
        took = clock() - began

        assert (healthy, unhealthy) == (HealthCheckResponse(status=SERVING), HealthCheckResponse(status=NOT_SERVING))
        assert (told[0].status, told[0].error["data"]["error_type"]) == (StatusCode.UNAVAILABLE, "server_stopping")
        assert not answer.is_error
        assert (code, process.line()) == (0, b"0")
        assert is_still_at_work
        assert took < 10.0
    said = process.errors.read_text()
    assert "Traceback" not in said
    assert "never awaited" not in said


@pytest.mark.night
async def test_who_takes_longer_than_the_grace_is_cut_off() -> None:
    async with started(delay_ms=40_000, grace=1.0) as (process, provider):
        await provider.capabilities()
        slow = asyncio.create_task(provider.invoke("get_account_info"))
        await asyncio.sleep(0.5)  # noqa: TID251 - the call must have begun

        os.kill(process.pid, signal.SIGINT)
        with anyio.fail_after(20), pytest.raises(AioRpcError):
            await slow
        assert await asyncio.to_thread(process.wait) == 0
    assert "Traceback" not in process.errors.read_text()


@pytest.mark.night
async def test_a_small_message_that_unpacks_into_a_large_one_is_refused_and_secrets_reach_no_log() -> None:
    key, secret = "K7q" + "kV" * 30, "S9w" + "mX" * 30
    metadata = (
        ("x-binance-api-key", key),
        ("x-binance-secret-key", secret),
        ("authorization", "Bearer hunter2hunter2"),
    )
    async with started() as (process, provider):
        async with refused() as seen:
            await provider.read("binance://account/balances", metadata)
        with pytest.raises(AioRpcError) as caught:
            await provider.channel.unary_unary("/provider.v1.Provider/Invoke")(
                bytes(64 * MIB), metadata=metadata, timeout=60, compression=grpc.Compression.Gzip
            )
    said = process.errors.read_text() + process.output.read_text() + str(seen[0].error)

    assert caught.value.code() is StatusCode.RESOURCE_EXHAUSTED
    assert seen[0].status is StatusCode.UNAUTHENTICATED
    assert not any(word[at : at + 9] in said for word in (key, secret, "hunter2hunter2") for at in range(len(word) - 8))


async def test_health_and_reflection_tell_what_is_served(app: App) -> None:
    async with (
        running_service(app.dispatcher, ListeningAddress("127.0.0.1", 0)) as bound,
        insecure_channel(str(bound)) as channel,
    ):
        assert [await health(channel, name) for name in ("", "provider.v1.Provider")] == [SERVING, SERVING]
        reflect = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            as_is,
            ServerReflectionResponse.FromString,
        )()
        await reflect.write(ServerReflectionRequest(list_services="").SerializeToString())
        listed = await reflect.read()
        await reflect.write(ServerReflectionRequest(file_containing_symbol="provider.v1.Provider").SerializeToString())
        described = await reflect.read()
        await reflect.done_writing()
        reflect.cancel()

    assert isinstance(listed, ServerReflectionResponse)
    assert isinstance(described, ServerReflectionResponse)
    names = {each.name for each in listed.list_services_response.service}
    assert {"provider.v1.Provider", "grpc.health.v1.Health"} <= names
    assert b"CloudEvent" in described.file_descriptor_response.file_descriptor_proto[0]


async def test_a_port_in_use_is_told_as_such(app: App) -> None:
    async with running_service(app.dispatcher, ListeningAddress("127.0.0.1", 0)) as bound:
        with pytest.raises(SettingsError, match=f"cannot listen on {bound}: Address already in use"):
            await serve_grpc(app.dispatcher, port=bound.port, ready=print)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104 - refused
async def test_an_address_others_can_reach_needs_a_lock(app: App, host: str) -> None:
    with pytest.raises(SettingsError, match="can be reached from other machines"):
        await serve_grpc(app.dispatcher, host=host, port=0, ready=print)


@pytest.mark.parametrize("host", ["::1", "localhost"])
async def test_the_loopback_has_other_names(app: App, host: str) -> None:
    async with (
        running_service(app.dispatcher, ListeningAddress(host, 0)) as bound,
        insecure_channel(str(bound)) as channel,
    ):
        assert (await Provider(channel).capabilities()).tools


def test_without_the_extra_one_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "NEEDED", ("grpc", "no_such_package"))

    with pytest.raises(
        SettingsError, match=r"\(no_such_package\); install them with: pip install 'mcp-binance"
    ) as said:
        extra.require_grpc()

    assert "grpc," not in said.value.message
    monkeypatch.undo()
    extra.require_grpc()


@pytest.mark.night
def test_nobody_else_pays_for_grpc() -> None:
    code = (
        "import sys, mcp_binance_server.app, mcp_binance_server.cli.main, mcp_binance_server.cli.serve, "
        "mcp_binance_server.cli.serve_grpc; "
        "print([name for name in sys.modules if name.split('.')[0] in ('grpc', 'google', 'grpc_health')])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
