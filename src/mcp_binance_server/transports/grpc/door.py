"""What every call passes: who calls, what they sent, and the one place where a failure becomes a status."""

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any, NoReturn, TypeVar

import anyio
import grpc
from google.protobuf.message import DecodeError, Message
from grpc.aio import ServicerContext
from mcp import MCPError
from mcp.types.version import LATEST_HANDSHAKE_VERSION

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import AppError, InvalidArguments
from mcp_binance_server.surface.caller import Caller
from mcp_binance_server.surface.errors import internal, to_mcp
from mcp_binance_server.transports.grpc.callers import Callers
from mcp_binance_server.transports.grpc.errors import ERROR_KEY, IssuerUnavailable, TokenRefused, refusal_of
from mcp_binance_server.transports.grpc.lobby import MESSAGE_SECS, first_message
from mcp_binance_server.transports.grpc.service import ProviderService, Who
from mcp_binance_server.transports.proto import provider_pb2 as pb
from mcp_binance_server.transports.standing import Standing

RequestT = TypeVar("RequestT", bound=Message)
ResultT = TypeVar("ResultT")
Context = ServicerContext[bytes, bytes]

SERVICE = "provider.v1.Provider"
# An authenticator's word for: not refused, but nobody can tell now.
CANNOT_TELL = "temporarily_unavailable"


class ProviderCalls:
    """Lets calls in and counts those that are inside.

    Requests come as bytes: the library would answer what it cannot read as if it were our defect. They come as streams
    of one, which to a client is the same: so a caller is asked for a token before anything is waited for.
    """

    def __init__(
        self, provider: ProviderService, callers: Callers, *, has_guides: bool, standing: Standing | None = None
    ) -> None:
        self._provider = provider
        self._standing = standing
        self._callers = callers
        self._has_guides = has_guides
        self._inside = 0
        self._empty = anyio.Event()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the methods of the service, by name."""
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
        """Wait for the calls inside to be answered."""
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
            async def write(event: pb.CloudEvent) -> None:
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
        except Exception as error:  # noqa: BLE001 - the one place where the unexpected becomes an answer
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
        raise InvalidArguments(summary=f"A call has one message, within {MESSAGE_SECS:g} seconds")
    try:
        return kind.FromString(data)
    except DecodeError:
        raise InvalidArguments(summary=f"The request is no provider.v1.{kind.__name__}") from None
