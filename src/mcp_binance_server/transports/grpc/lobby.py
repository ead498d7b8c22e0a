"""What is answered to anybody, token or not: health and reflection, of which strangers may hold only a part."""

from collections import Counter
from collections.abc import AsyncIterable, Iterable, Iterator
from typing import Any, Protocol

import anyio
import grpc
from google.protobuf.message import DecodeError
from grpc.aio import ServicerContext
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse

from mcp_binance_server.transports.grpc.callers import address_of

MESSAGE_SECS = 10.0
# Of the calls that a server takes at once, all strangers together, and those of one address.
MOST_HELD = 64
MOST_OF_ADDRESS = 32

Context = ServicerContext[bytes, bytes]


class Lobby:
    """Counts calls until they are over, which a caller who reads nothing can put off."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    async def enter(self, context: Context) -> None:
        """Count a call in, or end it."""
        address = address_of(context.peer()) or ""
        if self._held.total() >= MOST_HELD or self._held[address] >= MOST_OF_ADDRESS:
            # Trailers alone: whoever reads no messages gets these all the same.
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many of these calls are open")
        self._held[address] += 1

        def leave(_: Context) -> None:
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]

        # The stubs ask for a class that gRPC does not have.
        context.add_done_callback(leave)  # pyright: ignore[reportArgumentType]


class HealthService:
    """The standard health service. Each watcher waits for itself: one that does not read keeps no other waiting."""

    def __init__(self, *services: str) -> None:
        self._status: dict[str, int] = dict.fromkeys(("", *services), HealthCheckResponse.SERVING)
        self._changed = anyio.Event()
        self._checks, self._watches = Lobby(), Lobby()

    def handlers(self) -> grpc.GenericRpcHandler:
        # Both as streams of requests: the library waits for ever for the one message of any other call.
        return grpc.method_handlers_generic_handler(
            HEALTH,
            {
                "Check": grpc.stream_unary_rpc_method_handler(self._check),
                "Watch": grpc.stream_stream_rpc_method_handler(self._watch),
            },
        )

    def stop(self) -> None:
        """Say that nothing is served any more."""
        self._status = dict.fromkeys(self._status, HealthCheckResponse.NOT_SERVING)
        self._changed.set()

    async def _check(self, requests: AsyncIterable[bytes], context: Context) -> bytes:
        await self._checks.enter(context)
        status = self._status.get(await _service(requests, context))
        if status is None:
            return await context.abort(grpc.StatusCode.NOT_FOUND)
        return HealthCheckResponse(status=status).SerializeToString()

    async def _watch(self, requests: AsyncIterable[bytes], context: Context) -> None:
        await self._watches.enter(context)
        service = await _service(requests, context)
        while True:
            status = self._status.get(service, HealthCheckResponse.SERVICE_UNKNOWN)
            await context.write(HealthCheckResponse(status=status).SerializeToString())
            if self._changed.is_set():
                await anyio.sleep_forever()  # it has seen the last change there is, and leaves when it likes
            await self._changed.wait()


class Reflects(Protocol):
    """The library's reflection service, as far as it has types."""

    def ServerReflectionInfo(  # noqa: N802 - its name on the wire
        self,
        request_iterator: Iterator[ServerReflectionRequest],
        context: Any,  # noqa: ANN401 - it looks at none of it
    ) -> Iterable[ServerReflectionResponse]: ...


class Reflection:
    """The standard reflection service, of which strangers may hold only so many calls."""

    def __init__(self, *services: str) -> None:
        self._library: Reflects = reflection.ReflectionServicer((*services, HEALTH, reflection.SERVICE_NAME))
        self._lobby = Lobby()

    def handlers(self) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler(
            reflection.SERVICE_NAME, {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(self._reflect)}
        )

    async def _reflect(self, requests: AsyncIterable[bytes], context: Context) -> None:
        await self._lobby.enter(context)
        async for message in requests:
            try:
                request = ServerReflectionRequest.FromString(message)
            except DecodeError:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The request is no ServerReflectionRequest")
            for answer in self._library.ServerReflectionInfo(iter((request,)), None):
                await context.write(answer.SerializeToString())


async def first_message(requests: AsyncIterable[bytes]) -> bytes | None:
    """Return the one message of a call; None when there is none, or none in time."""
    with anyio.move_on_after(MESSAGE_SECS):
        return await anext(aiter(requests), None)
    return None


async def _service(requests: AsyncIterable[bytes], context: Context) -> str:
    try:
        return HealthCheckRequest.FromString(await first_message(requests) or b"").service
    except DecodeError:
        return await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The request is no HealthCheckRequest")
