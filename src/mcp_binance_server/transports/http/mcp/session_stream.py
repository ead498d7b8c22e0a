"""The stream of one session: sent, kept and resumed messages."""

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
# A reader this far behind has stopped reading; the end of its stream shows that it missed messages.
MOST_WAITING = 1_000

REQUEST_CANCELLED = -32800
UPDATED = "notifications/resources/updated"
_LAST_WORD_SECS = 1.0


class SessionClosed(Exception):
    """The session is over; waiting callers get nothing more."""


@dataclass
class Outlet:
    """A queue of messages for one reader."""

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
        """Return the next message; there is one reader.

        Raises:
            SessionClosed: there is none, and none will come.
        """
        while not self._waiting:
            await self._change()
        return self._waiting.popleft()

    async def next_within(self, secs: float) -> jsonrpc.JSONRPCMessage | None:
        """Return the next message, or None if there is none within `secs`.

        Raises:
            SessionClosed: there is none, and none will come.
        """
        if not self._waiting:
            timer = asyncio.get_running_loop().call_later(secs, self._wake)  # cheaper than a cancel scope
            try:
                await self._change()
            finally:
                timer.cancel()
        return self._waiting.popleft() if self._waiting else None

    async def _change(self) -> None:
        """Wait for a message, the end, or the timeout."""
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
        """Return the messages that were not read."""
        return tuple(self._waiting)


class IdInUse(Exception):
    """A request with the ID of one that is still being answered."""


class SessionStream:
    """The server's side of one session, with the routing of its messages.

    An answer goes to the POST that asked, or to the session's stream if the client chose to read answers there. A
    notification goes to the POST that it belongs to, or to the stream; without a reader it is dropped. Only changes of
    pages are kept for the next stream, once for each page.
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
        """Serve until the session is closed."""
        try:
            with self._scope:
                # Here every session begins with a handshake: the SDK's detection of the first message is not needed.
                await serve_loop(self._server, self._receive, self, lifespan_state={})
        finally:
            self.close()

    def close(self) -> None:
        """Stop all work and release all waiting callers."""
        self._scope.cancel()
        self._send.close()
        self._receive.close()
        for outlet in (*self._asked.values(), *((self.listener,) if self.listener else ())):
            outlet.close()
        self._asked.clear()

    def listen(self) -> Outlet:
        """Open the session's stream; it begins with the pages that changed while there was none."""
        outlet = self.listener = Outlet()
        for message in self._missed.values():
            outlet.put(message)
        self._missed.clear()
        return outlet

    def stop_listening(self, outlet: Outlet) -> None:
        """Close the session's stream; unread changes of pages are kept for the next one."""
        self.listener = None
        for message in outlet.left():
            self._keep(message)

    def hush(self) -> None:
        """End the stream; requests in progress continue."""
        if self.listener is not None:
            self.listener.close()

    @asynccontextmanager
    async def asking(
        self, message: jsonrpc.JSONRPCRequest, request: Request, *, streams: bool
    ) -> AsyncGenerator[Outlet]:
        """Send a request to the server, and yield an outlet with its messages and, at the end, its answer.

        An answer always comes, if necessary a timeout error. A caller that leaves without it cancels the work.

        Raises:
            IdInUse: the ID is that of a request still being answered.
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
            # By now the ID of an answered request can be that of another.
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
        """Take a message from the server; this is the outgoing half of a stream for the SDK."""
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
        """Do nothing: the server's last messages are in the outlets."""

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
