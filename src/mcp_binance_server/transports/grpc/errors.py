"""Errors for gRPC clients: a status code, a sentence, and the whole error as JSON in the trailing metadata."""

from dataclasses import dataclass
from typing import Any, ClassVar

import grpc
import msgspec
from mcp import MCPError

from mcp_binance_server.errors import AppError

ERROR_KEY = "mcp-binance-error-bin"
# A client accepts 8 kB of trailing metadata. This number of bytes fits as base64, together with the sentence.
MOST_JSON_BYTES = 4_096
MOST_SENTENCE_BYTES = 600
ALWAYS_TOLD = frozenset({"error_type", "retryable", "error_id", "retry_after_secs", "left_out"})

_STATUS_BY_CODE = {
    -32001: grpc.StatusCode.RESOURCE_EXHAUSTED,
    -32002: grpc.StatusCode.UNAUTHENTICATED,
    -32003: grpc.StatusCode.INVALID_ARGUMENT,
    -32004: grpc.StatusCode.FAILED_PRECONDITION,
    -32404: grpc.StatusCode.NOT_FOUND,
    -32602: grpc.StatusCode.INVALID_ARGUMENT,
}
# Status by error type, for types that share the code -32600 or -32603.
_STATUS_BY_TYPE = {
    "insufficient_scope": grpc.StatusCode.PERMISSION_DENIED,
    "token_refused": grpc.StatusCode.UNAUTHENTICATED,
    "exchange_error": grpc.StatusCode.UNAVAILABLE,
    "exchange_unavailable": grpc.StatusCode.UNAVAILABLE,
    "engine_unavailable": grpc.StatusCode.UNAVAILABLE,
    "took_too_long": grpc.StatusCode.UNAVAILABLE,
    "chart_service_error": grpc.StatusCode.UNAVAILABLE,
    "chart_unavailable": grpc.StatusCode.UNAVAILABLE,
    "chart_not_drawn": grpc.StatusCode.UNAVAILABLE,
    "server_stopping": grpc.StatusCode.UNAVAILABLE,
    "issuer_unavailable": grpc.StatusCode.UNAVAILABLE,
    "exchange_rejected": grpc.StatusCode.FAILED_PRECONDITION,
    "region_restricted": grpc.StatusCode.FAILED_PRECONDITION,
    "chart_refused": grpc.StatusCode.FAILED_PRECONDITION,
    "not_streamed": grpc.StatusCode.FAILED_PRECONDITION,
    "streams_full": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "limit_exceeded": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "outcome_unknown": grpc.StatusCode.UNKNOWN,
    "content_error": grpc.StatusCode.DATA_LOSS,
}


@dataclass(kw_only=True, eq=False)
class TokenRefused(AppError):
    """The authenticator has refused a caller."""

    code: ClassVar[int] = -32600
    error_type: ClassVar[str] = "token_refused"
    guide: ClassVar[str] = "guide://document/errors/credentials.md"
    recovery_suggestion: ClassVar[str] = "Send the metadata authorization: Bearer TOKEN with a token for this server"

    reason: str = "invalid_token"

    @property
    def message(self) -> str:
        return "This server needs a bearer token."


@dataclass(kw_only=True, eq=False)
class IssuerUnavailable(AppError):
    error_type: ClassVar[str] = "issuer_unavailable"
    retryable: ClassVar[bool] = True
    guide: ClassVar[str] = "guide://document/errors/credentials.md"
    recovery_suggestion: ClassVar[str] = "Send the same token again in a few seconds"

    @property
    def message(self) -> str:
        return "The authorization server does not answer, so the token cannot be checked."


@dataclass(kw_only=True, eq=False)
class ServerStopping(AppError):
    error_type: ClassVar[str] = "server_stopping"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Connect again in a moment"

    @property
    def message(self) -> str:
        return "The server is stopping."


@dataclass(frozen=True, slots=True)
class GrpcRefusal:
    """The error that ends a call: status, sentence and JSON."""

    status: grpc.StatusCode
    sentence: str
    details: bytes


def refusal_of(error: MCPError) -> GrpcRefusal:
    """Return an error as status, sentence and JSON, shortened to the size of the metadata."""
    data: dict[str, Any] = dict(error.data or {})
    status = _STATUS_BY_TYPE.get(str(data.get("error_type"))) or _STATUS_BY_CODE.get(error.code)
    sentence = error.message.encode()[:MOST_SENTENCE_BYTES].decode(errors="ignore")
    return GrpcRefusal(status or grpc.StatusCode.INTERNAL, sentence, _fitting(error.code, sentence, data))


def _fitting(code: int, message: str, data: dict[str, Any]) -> bytes:
    body = _written(code, message, data)
    left_out: list[str] = []
    while len(body) > MOST_JSON_BYTES and (spare := data.keys() - ALWAYS_TOLD):
        largest = max(sorted(spare), key=lambda name: len(msgspec.json.encode(data[name])))
        del data[largest]
        left_out.append(largest[:100])
        body = _written(code, message, {**data, "left_out": left_out})
    return body


def _written(code: int, message: str, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"code": code, "message": message, "data": data})
