"""WebSockets: market streams and the WebSocket API."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import cast
from urllib.parse import quote, unquote

import anyio
import msgspec
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from mcp_binance_server.clock import Clock
from mcp_binance_server.simulator import refusals
from mcp_binance_server.simulator.account import DemoAccount
from mcp_binance_server.simulator.exchange import ReceivedRequest, SimulatedExchange
from mcp_binance_server.simulator.faults import Fault
from mcp_binance_server.simulator.market.book import BUCKET_MS
from mcp_binance_server.simulator.rest.delivery import PING, cut, framed, transport_of
from mcp_binance_server.simulator.rest.endpoints import Call, Endpoint, flat
from mcp_binance_server.simulator.rest.gateway import ENDPOINTS
from mcp_binance_server.simulator.rest.signing import KEY_FORMAT, Params, check_time, hmac_valid, key_pair_valid
from mcp_binance_server.simulator.streams.futures import futures_session
from mcp_binance_server.simulator.streams.session import Ending, Session, encoded
from mcp_binance_server.simulator.streams.subscriptions import StreamSession

PATH = "/ws-api/v3"
SUBSCRIBE_NAMES = ("apiKey", "timestamp", "recvWindow", "signature")
SAME_AS_REST = {
    "ping": "/api/v3/ping",
    "time": "/api/v3/time",
    "depth": "/api/v3/depth",
    "ticker.price": "/api/v3/ticker/price",
}

POLICY, GOING_AWAY = 1008, 1001  # https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1
CODES: Mapping[Ending, tuple[int, str]] = {
    "life": (GOING_AWAY, "24 hours are over"),
    "messages": (POLICY, "Too many requests"),
    "streams": (POLICY, "Too many streams"),
    "behind": (POLICY, "Too slow"),
    "pong": (POLICY, "Pong timeout"),
}


class WsApiSession(Session):
    """One connection; all keys belong to one account, so there is at most one subscription."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.subscription: int | None = None
        self._next_subscription = 0
        self._methods: Mapping[str, Endpoint] = {name: ENDPOINTS[path] for name, path in SAME_AS_REST.items()} | {
            "userDataStream.subscribe.signature": _method(SUBSCRIBE_NAMES, self._subscribe),
            "userDataStream.unsubscribe": _method(("subscriptionId",), self._unsubscribe),
        }

    def due(self, now_ms: int) -> list[str]:
        """Return what the server says unasked."""
        self._grow_old(now_ms)
        return [encoded({"event": {"e": "serverShutdown", "E": now_ms}})] if self._shutdown_called() else []

    def receive(self, text: str, now_ms: int) -> list[str]:
        """Answer a request."""
        identity: object = None
        request = ReceivedRequest("WS", PATH, {}, signed=False, at_ms=now_ms)
        self._exchange.record(request)
        try:
            identity, method, params = _decoded(text)
            request.path, request.params = f"{PATH}/{method}", params.logged()
            request.signed = params.peek("signature") is not None
            answer = {"status": 200, "result": self._obey(request, method, params, now_ms)}
        except refusals.Refusal as refusal:
            error: dict[str, object] = {"code": refusal.code, "msg": refusal.message}
            if refusal.retry_at_ms is not None:
                # Unlike the Retry-After of REST, this is a moment: epoch milliseconds.
                error["data"] = {"serverTime": now_ms, "retryAfter": refusal.retry_at_ms}
            answer = {"status": refusal.status, "error": error}
        request.status = cast("int", answer["status"])
        return [encoded({"id": identity, **answer, "rateLimits": [self._weight(now_ms)]})]

    def _obey(self, request: ReceivedRequest, method: str, params: Params, now_ms: int) -> object:
        endpoint = self._methods.get(method)
        request.weight = 1 if endpoint is None else endpoint.weight(params)
        self._exchange.meter.charge(request.weight, now_ms)
        if endpoint is None:
            raise refusals.Refusal(-1013, f"Unknown method '{method}'.")
        params.accept(endpoint.names)
        result = endpoint.answer(Call(self._exchange, params, now_ms))
        params.finish()
        return result

    def _subscribe(self, call: Call) -> object:
        key = call.params.required("apiKey")
        authenticate_request(self._exchange.account, key, call.params, call.now_ms)
        if self.subscription is not None:
            raise refusals.Refusal(-2035, "User Data Stream subscription already active.")
        self.subscription = self._next_subscription
        self._next_subscription += 1
        return {"subscriptionId": self.subscription}

    def _unsubscribe(self, call: Call) -> object:
        named = call.params.whole("subscriptionId")
        if named is not None and named != self.subscription:
            raise refusals.Refusal(-2036, "User Data Stream subscription not active.")
        self.subscription = None
        return {}

    def _weight(self, now_ms: int) -> dict[str, object]:
        meter = self._exchange.meter
        limit: dict[str, object] = {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1}
        return limit | {"limit": meter.limit, "count": meter.used(now_ms)}


def authenticate_request(account: DemoAccount, key: str, params: Params, now_ms: int) -> None:
    """Check key, time and signature: signed is every other parameter, sorted by name, as raw UTF-8.

    Raises:
        Refusal: the request was not made by this account, or not now.
    """
    if not KEY_FORMAT.fullmatch(key):
        raise refusals.bad_key_format()
    signature = (params.peek("signature") or "").encode()
    payload = "&".join(f"{name}={value}" for name, value in sorted(params.pairs) if name != "signature").encode()
    checks: Mapping[str, Callable[[], bool]] = {
        account.api_key: lambda: hmac_valid(account.secret_key, payload, signature),
        account.ed25519_api_key: lambda: key_pair_valid(account.ed25519.public_key(), payload, signature),
        account.rsa_api_key: lambda: key_pair_valid(account.rsa.public_key(), payload, signature),
    }
    if key not in checks:
        raise refusals.rejected_key()
    check_time(params, now_ms)
    params.required("signature")
    if not checks[key]():
        raise refusals.bad_signature()


def _method(names: tuple[str, ...], answer: Callable[[Call], object]) -> Endpoint:
    return Endpoint("", names, flat(2), answer)


def _decoded(text: str) -> tuple[int | str | None, str, Params]:
    try:
        body = msgspec.json.decode(text, type=dict[str, object])
        params = msgspec.convert(body.get("params", {}), dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise refusals.Refusal(-1135, "Invalid JSON Request") from None
    identity, method = body.get("id"), body.get("method")
    if not isinstance(method, str) or isinstance(identity, bool) or not isinstance(identity, int | str | None):
        raise refusals.Refusal(-1135, "Invalid JSON Request")
    fields = [f"{quote(name, safe='')}={quote(_value(value), safe='')}" for name, value in params.items()]
    return identity, method, Params("&".join(fields).encode())


def _value(value: object) -> str:
    return value if isinstance(value, str) else encoded(value)


class Connection:
    """One socket and its session: a task that sends what is due, and one that listens."""

    def __init__(self, exchange: SimulatedExchange, socket: WebSocket, receive: Receive, session: Session) -> None:
        self._transport = transport_of(receive)
        self._exchange = exchange
        self._socket = socket
        self._session = session
        self._sending = anyio.Lock()

    async def run(self) -> None:
        """Serve until either side ends the connection."""
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
            self._transport.pause_reading()  # whoever does not read sees no ping, and so answers none
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
            # The first frame takes the usual way, which waits for a slow reader and notices one that left; the others
            # follow in one write: a frame on its own costs ten times its share of a large one.
            alone = texts if self._transport is None else texts[:1]
            for text in alone:
                await self._socket.send_text(text)
            if self._transport is not None and len(texts) > 1:
                self._transport.write(b"".join(map(framed, texts[1:])))


class SocketEndpoint:
    """A handler as an ASGI application; it keeps the bare `receive`, behind which the transport is found."""

    def __init__(self, handle: Callable[[WebSocket, Receive], Awaitable[None]]) -> None:
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._handle(WebSocket(scope, receive, send), receive)


class StreamEndpoints:
    """The handlers of one exchange."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def routes(self) -> list[WebSocketRoute]:
        """Return the routes; a path that leads nowhere is refused during the handshake."""
        return [
            WebSocketRoute("/ws", SocketEndpoint(self.raw)),
            WebSocketRoute("/ws/{names:path}", SocketEndpoint(self.raw)),
            WebSocketRoute("/stream", SocketEndpoint(self.combined)),
            WebSocketRoute(PATH, SocketEndpoint(self.api)),
            WebSocketRoute("/{path:path}", SocketEndpoint(self.nowhere)),
        ]

    async def raw(self, socket: WebSocket, receive: Receive) -> None:
        """Serve events as they are."""
        names = str(socket.path_params.get("names", ""))
        await self._stream(socket, receive, names, combined=False)

    async def combined(self, socket: WebSocket, receive: Receive) -> None:
        """Serve events in an envelope with the name of their stream."""
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
    """Answer a handshake as its fault wants it."""
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
    """Run a connection to its end, and close it as the end asks."""
    await Connection(exchange, socket, receive, session).run()
    if session.ending == "cut":
        await cut(receive)
    elif session.ending is not None:
        with suppress(WebSocketDisconnect):  # the client may have left first
            await socket.close(*CODES[session.ending])


class FuturesStreamEndpoints:
    """The handlers of the futures host."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    def routes(self) -> list[WebSocketRoute]:
        """Return the one route; where it leads, the path says."""
        return [WebSocketRoute("/{path:path}", SocketEndpoint(self.serve))]

    async def serve(self, socket: WebSocket, receive: Receive) -> None:
        """Serve the streams of the path, unless its route or a quirk refuses it."""
        futures, path = self._exchange.futures, unquote(socket.url.path)
        status = futures.refuses(path, self._exchange.now_ms())
        session = futures_session(self._exchange, path, socket.query_params.get("streams", ""))
        if status is not None or session is None:
            await socket.send_denial_response(Response(status_code=status or 404))
        elif await admitted(socket, futures.faults.take(path), self._exchange.clock):
            await serve(self._exchange, socket, receive, session)
