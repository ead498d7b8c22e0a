"""`/mcp` for clients that do not shake hands: Streamable HTTP from 2026-07-28 on, each request by itself."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.surface.answers import Aside, place_for_long_texts, restored
from mcp_binance_server.transports.http.bodies import replayed
from mcp_binance_server.transports.http.leaving import LEAVING, Leaving
from mcp_binance_server.transports.http.switchboard import Switchboard, header

TakesLong = Callable[[str, str], bool]
"""Whether a call may take so long that its client should hear something meanwhile, by its method and name."""


class ModernDoor:
    """Answers plainly what is soon answered; what may take long or is watched can become a stream of events.

    A stream has to be ready before it is known whether there will be one: three tasks and a channel, which cost about
    as much as the whole of a plain answer.
    """

    def __init__(self, server: Server[Any], switchboard: Switchboard, takes_long: TakesLong, pace: LoopPace) -> None:
        self._pace = pace
        self._switchboard = switchboard
        self._takes_long = takes_long
        self._plain = StreamableHTTPSessionManager(server, json_response=True)
        self._streaming = StreamableHTTPSessionManager(server)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with self._plain.run(), self._streaming.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send, visitor: Visitor) -> None:
        with self._switchboard.stateless(scope, visitor):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving: Leaving | None = scope.get(LEAVING)
        if leaving is None or not self._is_soon_answered(scope):
            await self._streaming.handle_request(scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        receive = replayed(body, receive)
        if b'"progressToken"' in body:
            await self._streaming.handle_request(scope, receive, send)
            return
        with leaving.ends_this(), place_for_long_texts() as aside:
            await self._plain.handle_request(scope, receive, _restoring(aside, self._pace, send))

    def _is_soon_answered(self, scope: Scope) -> bool:
        # The headers are held against the body by the SDK; a request without them is refused there.
        if scope["method"] != "POST" or "text/event-stream" not in (header(scope, b"accept") or ""):
            return False
        method = header(scope, b"mcp-method")
        return method is not None and not self._takes_long(method, header(scope, b"mcp-name") or "")


def _restoring(aside: Aside, pace: LoopPace, send: Send) -> Send:
    """Return a `send` that puts long texts back into a plain answer, which comes in two messages."""
    begun: list[Message] = []

    async def sending(message: Message) -> None:
        if not aside.texts:
            await send(message)
        elif message["type"] == "http.response.start":
            begun.append(message)
        else:
            body = await restored(message["body"], aside, pace)
            (start,) = begun
            length = (b"content-length", b"%d" % len(body))
            headers = [length if name == b"content-length" else (name, value) for name, value in start["headers"]]
            await send({**start, "headers": headers})
            await send({**message, "body": body})

    return sending
