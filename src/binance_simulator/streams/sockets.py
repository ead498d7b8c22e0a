"""WebSocket endpoints of market streams and of the WebSocket API."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from urllib.parse import unquote

import anyio
import msgspec
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from binance_simulator.clock import Clock
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.book import BUCKET_MS
from binance_simulator.rest.delivery import PING, cut, framed, transport_of
from binance_simulator.streams.futures import futures_session
from binance_simulator.streams.session import Ending, Session
from binance_simulator.streams.subscriptions import StreamSession
from binance_simulator.streams.ws_api import PATH, WsApiSession

POLICY, GOING_AWAY = 1008, 1001  # https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1
CODES: Mapping[Ending, tuple[int, str]] = {
    "life": (GOING_AWAY, "24 hours are over"),
    "messages": (POLICY, "Too many requests"),
    "streams": (POLICY, "Too many streams"),
    "behind": (POLICY, "Too slow"),
    "pong": (POLICY, "Pong timeout"),
}


class Connection:
    """One socket and its session. One task sends the due texts, and another one receives."""

    def __init__(self, exchange: SimulatedExchange, socket: WebSocket, receive: Receive, session: Session) -> None:
        self._transport = transport_of(receive)
        self._exchange = exchange
        self._socket = socket
        self._session = session
        self._sending = anyio.Lock()

    async def run(self) -> None:
        """Serve until either side closes the connection."""
        self._session.hub.enter(self._session)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._repeat, self._pump, tasks.cancel_scope)
                tasks.start_soon(self._repeat, self._listen, tasks.cancel_scope)
        finally:
            self._session.hub.leave(self._session)

    async def _repeat(self, work: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        with suppress(WebSocketDisconnect):
            while self._session.ending is None:
                await work()
        scope.cancel()

    async def _pump(self) -> None:
        beats = self._exchange.hub.beats
        await self._say(self._session.due(self._exchange.now_ms()))
        if self._session.ping_called() and self._transport is not None:
            self._transport.write(bytes((PING, 0)))
        if self._session.deaf and self._transport is not None:
            self._transport.pause_reading()  # without reading, the transport sees no ping and sends no pong
        if self._session.ending is None and self._exchange.hub.by_hand:
            await self._exchange.hub.pulse(beats)
        elif self._session.ending is None:
            await self._exchange.clock.sleep_ms(BUCKET_MS - self._exchange.now_ms() % BUCKET_MS)

    async def _listen(self) -> None:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect
        text = message.get("text") or (message.get("bytes") or b"").decode("utf-8", "replace")
        await self._say(self._session.receive(text, self._exchange.now_ms()))

    async def _say(self, texts: list[str]) -> None:
        async with self._sending:
            if self._socket.application_state is WebSocketState.DISCONNECTED:  # the receiving task has noticed the end
                raise WebSocketDisconnect
            # Send the first frame through Starlette, which waits for a slow reader and notices a closed connection.
            # Send the others in one write: a separate frame costs ten times its share of a large write.
            alone = texts if self._transport is None else texts[:1]
            for text in alone:
                await self._socket.send_text(text)
            if self._transport is not None and len(texts) > 1:
                self._transport.write(b"".join(map(framed, texts[1:])))


class SocketEndpoint:
    """ASGI application for a handler. The handler also gets the original `receive`, to find the transport."""

    def __init__(self, handle: Callable[[WebSocket, Receive], Awaitable[None]]) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._handle(WebSocket(scope, receive, send), receive)


class StreamEndpoints:
    """WebSocket handlers of one exchange."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def routes(self) -> list[WebSocketRoute]:
        """Return the routes. An unknown path is refused in the handshake."""
        return [
            WebSocketRoute("/ws", SocketEndpoint(self.raw)),
            WebSocketRoute("/ws/{names:path}", SocketEndpoint(self.raw)),
            WebSocketRoute("/stream", SocketEndpoint(self.combined)),
            WebSocketRoute(PATH, SocketEndpoint(self.api)),
            WebSocketRoute("/{path:path}", SocketEndpoint(self.nowhere)),
        ]

    async def raw(self, socket: WebSocket, receive: Receive) -> None:
        """Serve events without an envelope."""
        names = str(socket.path_params.get("names", ""))
        await self._stream(socket, receive, names, combined=False)

    async def combined(self, socket: WebSocket, receive: Receive) -> None:
        """Serve events in an envelope with the stream's name."""
        await self._stream(socket, receive, socket.query_params.get("streams", ""), combined=True)

    async def api(self, socket: WebSocket, receive: Receive) -> None:
        """Serve requests of the WebSocket API."""
        if await self._enter(socket):
            await self._serve(socket, receive, WsApiSession(self._exchange))

    async def nowhere(self, socket: WebSocket, _receive: Receive) -> None:
        """Refuse the handshake."""
        await socket.send_denial_response(Response(status_code=404))

    async def _stream(self, socket: WebSocket, receive: Receive, names: str, *, combined: bool) -> None:
        if await self._enter(socket):
            session = StreamSession(self._exchange, combined=combined)
            session.subscribe([name for name in names.split("/") if name])
            await self._serve(socket, receive, session)

    async def _enter(self, socket: WebSocket) -> bool:
        return await admitted(socket, self._exchange.faults.take(socket.url.path), self._exchange.clock)

    async def _serve(self, socket: WebSocket, receive: Receive, session: Session) -> None:
        await serve(self._exchange, socket, receive, session)


async def admitted(socket: WebSocket, fault: Fault | None, clock: Clock) -> bool:
    """Answer a handshake with its fault applied. Return whether it was accepted."""
    if fault is None:
        await socket.accept()
        return True
    await clock.sleep_ms(fault.delay_ms)
    if fault.kind == "delay":
        await socket.accept()
        return True
    told = msgspec.json.encode({"code": fault.code, "msg": fault.msg}) if fault.body is None else fault.body
    await socket.send_denial_response(Response(told, fault.status, headers=fault.headers))
    return False


async def serve(exchange: SimulatedExchange, socket: WebSocket, receive: Receive, session: Session) -> None:
    """Run a connection until its end, and close it with the session's code."""
    await Connection(exchange, socket, receive, session).run()
    if session.ending == "cut":
        await cut(receive)
    elif session.ending is not None:
        with suppress(WebSocketDisconnect):  # the client may have disconnected first
            await socket.close(*CODES[session.ending])


class FuturesStreamEndpoints:
    """WebSocket handlers of the futures host."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def routes(self) -> list[WebSocketRoute]:
        """Return the only route. The path selects the session."""
        return [WebSocketRoute("/{path:path}", SocketEndpoint(self.serve))]

    async def serve(self, socket: WebSocket, receive: Receive) -> None:
        """Serve the streams of a path. An unknown path or a quirk refuses the handshake."""
        futures, path = self._exchange.futures, unquote(socket.url.path)
        status = futures.refuses(path, self._exchange.now_ms())
        session = futures_session(self._exchange, path, socket.query_params.get("streams", ""))
        if status is not None or session is None:
            await socket.send_denial_response(Response(status_code=status or 404))
        elif await admitted(socket, futures.faults.take(path), self._exchange.clock):
            await serve(self._exchange, socket, receive, session)
