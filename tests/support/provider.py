"""A typed client of the provider.v1 service over a real socket, and a service to talk to."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import grpc
import pytest
from grpc.aio import AioRpcError, Channel, UnaryStreamCall, insecure_channel

from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.transports.grpc.callers import Authenticate
from mcp_binance_server.transports.grpc.calls import SERVICE
from mcp_binance_server.transports.grpc.errors import ERROR_KEY
from mcp_binance_server.transports.grpc.serving import GracePeriod, ListeningAddress, running_service
from mcp_binance_server.transports.proto import provider_pb2 as pb
from mcp_binance_server.transports.standing import TokenRevocation

Metadata = tuple[tuple[str, str | bytes], ...]
PATIENCE_SECS = 30.0


def as_is(data: bytes) -> bytes:
    """Neither write nor read a message: tests send bytes that are none."""
    return data


@dataclass(frozen=True, slots=True)
class Provider:
    """The five methods, called with bytes on a channel of one's own."""

    channel: Channel

    async def raw(self, method: str, request: bytes, metadata: Metadata = (), timeout: float = PATIENCE_SECS) -> bytes:  # noqa: ASYNC109 - gRPC's own
        call = self.channel.unary_unary(f"/{SERVICE}/{method}", as_is, as_is)
        return await call(request, timeout=timeout, metadata=metadata)

    async def capabilities(self) -> pb.ListCapabilitiesResponse:
        return pb.ListCapabilitiesResponse.FromString(await self.raw("ListCapabilities", b""))

    async def invoke(
        self, tool: str, arguments: Mapping[str, Any] | str | None = None, metadata: Metadata = ()
    ) -> pb.InvokeResponse:
        written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        request = pb.InvokeRequest(tool=tool, arguments_json=written)
        return pb.InvokeResponse.FromString(await self.raw("Invoke", request.SerializeToString(), metadata))

    async def read(self, uri: str, metadata: Metadata = ()) -> pb.ReadResourceResponse:
        request = pb.ReadResourceRequest(uri=uri).SerializeToString()
        return pb.ReadResourceResponse.FromString(await self.raw("ReadResource", request, metadata))

    async def prompt(self, name: str, arguments: Mapping[str, str], metadata: Metadata = ()) -> pb.GetPromptResponse:
        request = pb.GetPromptRequest(name=name, arguments=arguments).SerializeToString()
        return pb.GetPromptResponse.FromString(await self.raw("GetPrompt", request, metadata))

    def stream(
        self, request: pb.StreamRequest, metadata: Metadata = (), timeout: float | None = None
    ) -> UnaryStreamCall[bytes, pb.CloudEvent]:
        call = self.channel.unary_stream(f"/{SERVICE}/Stream", as_is, pb.CloudEvent.FromString)
        return call(request.SerializeToString(), timeout=timeout, metadata=metadata)


@asynccontextmanager
async def provided(
    dispatcher: Dispatcher,
    *,
    authenticate: Authenticate | None = None,
    standing: TokenRevocation | None = None,
    grace_secs: float = 10.0,
) -> AsyncGenerator[Provider]:
    """Serve on a free port of the loopback and connect to it."""
    address = ListeningAddress("127.0.0.1", 0)
    async with (
        running_service(
            dispatcher, address, authenticate=authenticate, standing=standing, grace=GracePeriod(grace_secs)
        ) as bound,
        insecure_channel(str(bound)) as channel,
    ):
        yield Provider(channel)


@dataclass(frozen=True, slots=True)
class Refused:
    """How a call failed."""

    status: grpc.StatusCode
    sentence: str
    error: dict[str, Any]


@asynccontextmanager
async def refused() -> AsyncGenerator[list[Refused]]:
    """Expect a call to fail, and put how into the list."""
    seen: list[Refused] = []
    with pytest.raises(AioRpcError) as caught:
        yield seen
    details = dict(caught.value.trailing_metadata() or ()).get(ERROR_KEY, b"{}")
    seen.append(Refused(caught.value.code(), caught.value.details() or "", json.loads(details)))


async def until(is_so: Callable[[], object]) -> None:
    """Wait for something that only a socket can bring."""
    with anyio.fail_after(PATIENCE_SECS):
        while not is_so():  # noqa: ASYNC110 - nobody tells when it is
            await asyncio.sleep(0.005)  # noqa: TID251 - the socket is real
