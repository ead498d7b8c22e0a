"""Message stream of one session. Messages are routed to the client, or kept until the client reads again."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import jsonrpc
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request

from mcp_binance_server.errors import TookTooLong
from mcp_binance_server.surface.errors import LONGEST_SECS, to_mcp
from mcp_binance_server.transports.frames import Id

Answer = jsonrpc.JSONRPCResponse | jsonrpc.JSONRPCError
# Limit of unread messages. Over the limit the stream ends, so that the client notices that it has missed messages.
MOST_WAITING = 1_000

REQUEST_CANCELLED = -32800
UPDATED = "notifications/resources/updated"
_LAST_WORD_SECS = 1.0


class SessionClosed(Exception):
    """The session has ended, so no more messages will come."""


@dataclass
class Outlet:
    """Queue of outgoing messages with a single reader."""

    _waiting: deque[jsonrpc.JSONRPCMessage] = field(default_factory=deque[jsonrpc.JSONRPCMessage])
    _reader: asyncio.Future[None] | None = None
    _closed: bool = False

    def put(self, message: jsonrpc.JSONRPCMessage) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.close()
            return
        self._waiting.append(message)
        self._wake()

    async def next(self) -> jsonrpc.JSONRPCMessage:
        """Wait for the next message and return it.

        Raises:
            SessionClosed: no message is left, and none will come.
        """
        while not self._waiting:
            await self._change()
        return self._waiting.popleft()

    async def next_within(self, secs: float) -> jsonrpc.JSONRPCMessage | None:
        """Return the next message. Return None if there is none within `secs`.

        Raises:
            SessionClosed: no message is left, and none will come.
        """
        if not self._waiting:
            timer = asyncio.get_running_loop().call_later(secs, self._wake)  # cheaper than an anyio cancel scope
            try:
                await self._change()
            finally:
                timer.cancel()
        return self._waiting.popleft() if self._waiting else None

    async def _change(self) -> None:
        """Wait for a message, the end of the session, or the timeout."""
        if not self._closed:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        if self._closed and not self._waiting:
            raise SessionClosed

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def close(self) -> None:
        self._closed = True
        self._wake()

    def left(self) -> tuple[jsonrpc.JSONRPCMessage, ...]:
        """Return the unread messages."""
        return tuple(self._waiting)


class IdInUse(Exception):
    """A request has the same ID as an unanswered request."""


class SessionStream:
    """Server side of one session, with the routing of its messages.

    An answer is sent in response to the POST with its request, or on the session's stream if the client has chosen
    this. A notification is sent in response to the POST that it belongs to, or on the stream. Without a reader it is
    dropped. Only notices of changed pages are kept for the next stream, the newest of each page.
    """

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self.longest_secs = LONGEST_SECS
        self._send, self._receive = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        self._asked: dict[Id, Outlet] = {}
        self._scope = anyio.CancelScope()
        self._missed: dict[str, jsonrpc.JSONRPCNotification] = {}
        self.listener: Outlet | None = None
        self.answers_on_stream = False

    async def run(self) -> None:
        """Serve the session until it is closed."""
        try:
            with self._scope:
                # Every session here begins with `initialize`, so the SDK need not detect the protocol.
                await serve_loop(self._server, self._receive, self, lifespan_state={})
        finally:
            self.close()

    def close(self) -> None:
        """Stop all work of the session and wake all waiting readers."""
        self._scope.cancel()
        self._send.close()
        self._receive.close()
        for outlet in (*self._asked.values(), *((self.listener,) if self.listener else ())):
            outlet.close()
        self._asked.clear()

    def listen(self) -> Outlet:
        """Open the session's stream. It starts with notices of the pages that changed since the last stream."""
        outlet = self.listener = Outlet()
        for message in self._missed.values():
            outlet.put(message)
        self._missed.clear()
        return outlet

    def stop_listening(self, outlet: Outlet) -> None:
        """Close the session's stream. Unread notices of changed pages are kept for the next stream."""
        self.listener = None
        for message in outlet.left():
            self._keep(message)

    def hush(self) -> None:
        """End the session's stream. Requests in progress continue."""
        if self.listener is not None:
            self.listener.close()

    @asynccontextmanager
    async def asking(
        self, message: jsonrpc.JSONRPCRequest, request: Request, *, streams: bool
    ) -> AsyncGenerator[Outlet]:
        """Send a request to the server, and yield the queue with its messages and its answer.

        After `longest_secs` the answer is a timeout error. If the block ends before the answer, the request is
        cancelled.

        Raises:
            IdInUse: an unanswered request has the same ID.
            SessionClosed: the session is over.
        """
        if message.id in self._asked:
            raise IdInUse
        outlet = self._asked[message.id] = Outlet()
        if message.method == "resources/unsubscribe":
            self._missed.pop(_uri(message), None)

        async def unanswered() -> None:
            error = jsonrpc.ErrorData(code=REQUEST_CANCELLED, message="Request cancelled")
            outlet.put(jsonrpc.JSONRPCError(jsonrpc="2.0", id=message.id, error=error))

        metadata = ServerMessageMetadata(
            request_context=request, can_send_request=streams, on_request_unanswered=unanswered
        )
        last_word = asyncio.get_running_loop().call_later(self.longest_secs, self._say_late, outlet, message.id)
        try:
            await self._hand(message, metadata)
            yield outlet
        finally:
            last_word.cancel()
            # After an answer the client may reuse the ID, so cancel only if the ID still belongs to this request.
            if self._asked.get(message.id) is outlet:
                del self._asked[message.id]
                with suppress(SessionClosed), anyio.move_on_after(_LAST_WORD_SECS, shield=True):
                    await self.tell(_cancelled(message.id), request)

    def _say_late(self, outlet: Outlet, request_id: Id) -> None:
        late = to_mcp(TookTooLong(after_secs=self.longest_secs), HANDSHAKE_PROTOCOL_VERSIONS[-1])
        outlet.put(jsonrpc.JSONRPCError(jsonrpc="2.0", id=request_id, error=late.error))

    async def tell(self, message: jsonrpc.JSONRPCMessage, request: Request) -> None:
        """Send a message to the server without waiting for an answer.

        Raises:
            SessionClosed: the session is over.
        """
        await self._hand(message, ServerMessageMetadata(request_context=request, can_send_request=bool(self.listener)))

    async def _hand(self, message: jsonrpc.JSONRPCMessage, metadata: ServerMessageMetadata) -> None:
        item = SessionMessage(message, metadata=metadata)
        try:
            try:
                self._send.send_nowait(item)
            except anyio.WouldBlock:
                await self._send.send(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise SessionClosed from None

    async def send(self, item: SessionMessage, /) -> None:
        """Route a message from the server. The SDK calls this as the write half of its stream."""
        outlet = self._outlet_of(item)
        if outlet is not None:
            outlet.put(item.message)
        else:
            self._keep(item.message)

    def _keep(self, message: jsonrpc.JSONRPCMessage) -> None:
        if isinstance(message, jsonrpc.JSONRPCNotification) and message.method == UPDATED:
            self._missed[_uri(message)] = message

    def _outlet_of(self, item: SessionMessage) -> Outlet | None:
        message = item.message
        if isinstance(message, Answer):
            asked = self._asked.pop(message.id, None) if message.id is not None else None
            return asked or (self.listener if self.answers_on_stream else None)
        related = item.metadata.related_request_id if isinstance(item.metadata, ServerMessageMetadata) else None
        return self._asked.get(related, self.listener) if related is not None else self.listener

    async def aclose(self) -> None:
        """Do nothing, because the queues still contain the server's last messages."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


def _cancelled(request_id: Id) -> jsonrpc.JSONRPCNotification:
    params = {"requestId": request_id, "reason": "the client no longer waits for the answer"}
    return jsonrpc.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)


def _uri(message: jsonrpc.JSONRPCRequest | jsonrpc.JSONRPCNotification) -> str:
    return str((message.params or {}).get("uri"))
