"""Client side of the provider service. Has a method for each call of the contract, as generated stubs have."""

from typing import Any

from google.protobuf.message_factory import GetMessageClass

from mcp_binance_server.transports.proto import provider_pb2

SERVICE = provider_pb2.DESCRIPTOR.services_by_name["Provider"]


class ProviderStub:
    """`Invoke`, `Stream` and the others, on a channel of grpc or grpc.aio."""

    def __init__(self, channel: Any) -> None:  # noqa: ANN401 - either kind of channel; they share no type
        for method in SERVICE.methods:
            call = channel.unary_stream if method.server_streaming else channel.unary_unary
            answer = GetMessageClass(method.output_type)
            vars(self)[method.name] = call(
                f"/{SERVICE.full_name}/{method.name}",
                request_serializer=GetMessageClass(method.input_type).SerializeToString,
                response_deserializer=answer.FromString,
            )
