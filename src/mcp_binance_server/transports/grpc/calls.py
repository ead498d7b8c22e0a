"""gRPC calls: count, limits per address, error answers, and the health and reflection services."""

from collections import Counter
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from typing import Any, NoReturn, Protocol, TypeVar

import anyio
import grpc
from google.protobuf.message import DecodeError, Message
from grpc.aio import ServicerContext
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest, ServerReflectionResponse
from mcp import MCPError
from mcp.types.version import LATEST_HANDSHAKE_VERSION

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import AppError, InvalidArguments
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.errors import internal, to_mcp
from mcp_binance_server.transports.grpc.answers import ProviderService, Who
from mcp_binance_server.transports.grpc.callers import Callers, address_of
from mcp_binance_server.transports.grpc.errors import ERROR_KEY, IssuerUnavailable, TokenRefused, refusal_of
from mcp_binance_server.transports.proto import provider_pb2 as pb
from mcp_binance_server.transports.standing import TokenRevocation

MESSAGE_SECS = 10.0
# Limits on open calls without authentication: for all callers, and per address.
MOST_HELD = 64
MOST_OF_ADDRESS = 32

Context = ServicerContext[bytes, bytes]

RequestT = TypeVar("RequestT", bound=Message)
ResultT = TypeVar("ResultT")

SERVICE = "provider.v1.Provider"
# Error of an authenticator that cannot check a token at the moment.
CANNOT_TELL = "temporarily_unavailable"


class OpenCalls:
    """Limit on open calls, because a client that reads nothing can keep a call open."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    async def enter(self, context: Context) -> None:
        """Count a new call. Abort the call if too many are open."""
        address = address_of(context.peer()) or ""
        if self._held.total() >= MOST_HELD or self._held[address] >= MOST_OF_ADDRESS:
            # An abort sends only trailers, which even a client that reads no messages receives.
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many of these calls are open")
        self._held[address] += 1

        def leave(_: Context) -> None:
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]

        # The type stubs demand a class that grpc.aio does not have.
        context.add_done_callback(leave)  # pyright: ignore[reportArgumentType]


class HealthService:
    """Standard gRPC health service.

    Each watcher has its own task, so a watcher that does not read blocks only itself.
    """

    def __init__(self, *services: str) -> None:
        self._status: dict[str, int] = dict.fromkeys(("", *services), HealthCheckResponse.SERVING)
        self._changed = anyio.Event()
        self._checks, self._watches = OpenCalls(), OpenCalls()

    def handlers(self) -> grpc.GenericRpcHandler:
        # Handlers take a stream of requests. With a unary request the library would wait forever for the message.
        return grpc.method_handlers_generic_handler(
            HEALTH,
            {
                "Check": grpc.stream_unary_rpc_method_handler(self._check),
                "Watch": grpc.stream_stream_rpc_method_handler(self._watch),
            },
        )

    def stop(self) -> None:
        """Report all services as not serving."""
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
                await anyio.sleep_forever()  # the state does not change any more, so wait until the client disconnects
            await self._changed.wait()


class Reflects(Protocol):
    """Type of the library's reflection service."""

    def ServerReflectionInfo(  # noqa: N802 - its name on the wire
        self,
        request_iterator: Iterator[ServerReflectionRequest],
        context: Any,  # noqa: ANN401 - not used by the library
    ) -> Iterable[ServerReflectionResponse]: ...


class Reflection:
    """Standard gRPC reflection service, with a limit on open calls."""

    def __init__(self, *services: str) -> None:
        self._library: Reflects = reflection.ReflectionServicer((*services, HEALTH, reflection.SERVICE_NAME))
        self._open = OpenCalls()

    def handlers(self) -> grpc.GenericRpcHandler:
        return grpc.method_handlers_generic_handler(
            reflection.SERVICE_NAME, {"ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(self._reflect)}
        )

    async def _reflect(self, requests: AsyncIterable[bytes], context: Context) -> None:
        await self._open.enter(context)
        async for message in requests:
            try:
                request = ServerReflectionRequest.FromString(message)
            except DecodeError:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The request is not a ServerReflectionRequest")
            for answer in self._library.ServerReflectionInfo(iter((request,)), None):
                await context.write(answer.SerializeToString())


async def first_message(requests: AsyncIterable[bytes]) -> bytes | None:
    """Return the first message of a call. Return None if there is none or it is late."""
    with anyio.move_on_after(MESSAGE_SECS):
        return await anext(aiter(requests), None)
    return None


async def _service(requests: AsyncIterable[bytes], context: Context) -> str:
    try:
        return HealthCheckRequest.FromString(await first_message(requests) or b"").service
    except DecodeError:
        return await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The request is not a HealthCheckRequest")


class ProviderCalls:
    """Methods of the gRPC service, with a count of calls in progress.

    Handlers receive bytes, because the library would report an unreadable request as an internal error. Handlers
    receive a stream with one message, so that the token can be checked before the message arrives. Clients see no
    difference.
    """

    def __init__(
        self, provider: ProviderService, callers: Callers, *, has_guides: bool, standing: TokenRevocation | None = None
    ) -> None:
        self._provider = provider
        self._standing = standing
        self._callers = callers
        self._has_guides = has_guides
        self._inside = 0
        self._empty = anyio.Event()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service's methods, by name."""
        provider = self._provider
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "ListCapabilities": self._unary(pb.ListCapabilitiesRequest, provider.list_capabilities),
                "Invoke": self._unary(pb.InvokeRequest, provider.invoke),
                "ReadResource": self._unary(pb.ReadResourceRequest, provider.read_resource),
                "GetPrompt": self._unary(pb.GetPromptRequest, provider.get_prompt),
                "Stream": self._streaming(),
            },
        )

    async def wait_until_empty(self) -> None:
        """Wait until all calls in progress are answered."""
        while self._inside:
            self._empty = anyio.Event()
            await self._empty.wait()

    def _unary(
        self, kind: type[RequestT], answer: Callable[[RequestT, Who], Awaitable[Message]]
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        async def handle(requests: AsyncIterable[bytes], context: Context) -> bytes:
            return (await self._answered(kind, requests, context, answer)).SerializeToString()

        return grpc.stream_unary_rpc_method_handler(handle)

    def _streaming(self) -> "grpc.RpcMethodHandler[Any, Any]":
        async def handle(requests: AsyncIterable[bytes], context: Context) -> None:
            is_open = False

            async def write(event: pb.CloudEvent) -> None:
                nonlocal is_open
                if not is_open:
                    # The library sends the initial metadata with the first message. If this is cancelled, the library
                    # sends the metadata again together with the status, and the status never arrives.
                    with anyio.CancelScope(shield=True):
                        await context.send_initial_metadata(())
                    is_open = True
                await context.write(event.SerializeToString())

            async def tell(request: pb.StreamRequest, who: Who) -> None:
                await self._provider.stream(request, who, write)

            if self._standing is None:
                await self._answered(pb.StreamRequest, requests, context, tell)
                return
            with self._standing.watching(lambda: self._is_still_good(context)) as stay:
                await self._answered(pb.StreamRequest, requests, context, tell)
            if stay.was_ended:
                withdrawn = TokenRefused(reason="invalid_token")
                failure = to_mcp(withdrawn, LATEST_HANDSHAKE_VERSION, None, has_guides=self._has_guides)
                await _refuse(failure, context)

        return grpc.stream_stream_rpc_method_handler(handle)

    async def _answered(
        self,
        kind: type[RequestT],
        requests: AsyncIterable[bytes],
        context: Context,
        answer: Callable[[RequestT, Who], Awaitable[ResultT]],
    ) -> ResultT:
        uri: str | None = None
        self._inside += 1
        try:
            who = await self._who(context)
            request = _read(kind, await first_message(requests))
            uri = request.uri if isinstance(request, pb.ReadResourceRequest) else None
            with acting_for(who.party):
                return await answer(request, who)
        except AppError as error:
            failure = to_mcp(error, LATEST_HANDSHAKE_VERSION, uri, has_guides=self._has_guides)
        except Exception as error:  # noqa: BLE001 - the only place where unexpected errors become answers
            failure = internal(kind.__name__, error, has_guides=self._has_guides)
        finally:
            self._inside -= 1
            if not self._inside:
                self._empty.set()
        return await _refuse(failure, context)

    async def _is_still_good(self, context: Context) -> bool:
        try:
            return "market:read" in (await self._who(context)).visitor.scopes
        except TokenRefused:
            return False
        except IssuerUnavailable:
            return True

    async def _who(self, context: Context) -> Caller:
        try:
            return await self._callers.of(context.invocation_metadata() or (), context.peer())
        except TokenRefused as refused:
            if refused.reason == CANNOT_TELL:
                raise IssuerUnavailable from None
            raise


async def _refuse(failure: MCPError, context: Context) -> NoReturn:
    refusal = refusal_of(failure)
    await context.abort(refusal.status, refusal.sentence, ((ERROR_KEY, refusal.details),))


def _read(kind: type[RequestT], data: bytes | None) -> RequestT:
    if data is None:
        raise InvalidArguments(summary=f"A call must send one message within {MESSAGE_SECS:g} seconds")
    try:
        return kind.FromString(data)
    except DecodeError:
        raise InvalidArguments(summary=f"The request is not a provider.v1.{kind.__name__}") from None
