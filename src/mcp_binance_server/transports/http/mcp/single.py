"""Requests of revision 2026-07-28 without a stream: one POST, one JSON answer, without the SDK's HTTP layer.

That layer would check hosts and body sizes again, and serialise each answer twice. A request that is not clearly valid
still goes through the SDK, which refuses it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import msgspec
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    x_mcp_header_map,
)
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp.types import jsonrpc
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import Scope

_OVER_HTTP = TransportContext(kind="streamable-http", can_send_request=False)


@dataclass(slots=True)
class _Exchange:
    """Request context for a handler. Progress is dropped, because a client that wants progress gets a stream."""

    request_id: jsonrpc.RequestId
    message_metadata: MessageMetadata
    transport: TransportContext = _OVER_HTTP
    can_send_request: bool = False

    @property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()  # a client cancels by disconnecting

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002 - none can be sent
        opts: CallOptions | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None: ...

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class SingleRequest:
    """A well-formed request that agrees with its headers."""

    scope: Scope
    message: jsonrpc.JSONRPCRequest
    route: InboundModernRoute


class SingleRequests:
    """Requests of revision 2026-07-28, passed directly to the server's handlers."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._mirrors_nothing: set[str] = set()

    def read(self, body: bytes, scope: Scope) -> SingleRequest | None:
        """Parse the request in a POST. Return None if the SDK has to handle the request."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        try:
            decoded = from_json(body, cache_strings="keys")
            message = jsonrpc.JSONRPCRequest.model_validate(decoded)
        except ValueError:  # includes pydantic's ValidationError
            return None
        if find_duplicated_routing_header(headers) is not None or self._mirrors_arguments(message):
            return None
        route = classify_inbound_request(decoded, headers=dict(headers))
        return SingleRequest(scope, message, route) if isinstance(route, InboundModernRoute) else None

    async def answer(self, asked: SingleRequest) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON of the answer."""
        message, route = asked.message, asked.route
        exchange = _Exchange(message.id, ServerMessageMetadata(request_context=Request(asked.scope)))
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        envelope: dict[str, Any] = {"jsonrpc": "2.0", "id": message.id}
        try:
            result = await ServerRunner(self._server, connection, {}).on_request(
                exchange, message.method, message.params
            )
        except Exception as failure:  # noqa: BLE001 - the SDK has an answer for each kind
            error = modern_error_data(failure)
            told = error.model_dump(mode="json", by_alias=True, exclude_none=True)
            return ERROR_CODE_HTTP_STATUS.get(error.code, 200), _written({**envelope, "error": told})
        finally:
            await connection.exit_stack.aclose()
        return 200, _written({**envelope, "result": result})

    def _mirrors_arguments(self, message: jsonrpc.JSONRPCRequest) -> bool:
        """Return True for a call of a tool whose schema has arguments that headers must repeat."""
        if message.method != "tools/call":
            return False
        name = (message.params or {}).get("name")
        if not isinstance(name, str) or name in self._mirrors_nothing:
            return False
        if self._server.get_tool_input_schema is None:
            return True  # only the SDK can find the schema, in its list of tools
        schema = self._server.get_tool_input_schema(name)
        if schema is None:
            return False
        if x_mcp_header_map(schema):
            return True
        self._mirrors_nothing.add(name)
        return False


def _written(answer: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:  # A lone surrogate, which the SDK would send too.
        return json.dumps(answer, separators=(",", ":")).encode()
