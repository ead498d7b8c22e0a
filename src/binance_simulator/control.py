"""The simulator as an ASGI app, with control endpoints for tests and manual use."""

from ipaddress import ip_address
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Host, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from binance_simulator.account import KeyRights
from binance_simulator.control_futures import FuturesControl, listed, reply
from binance_simulator.control_orders import OrderControl
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, StreamFault
from binance_simulator.futures.listing import FUTURES_HOST
from binance_simulator.rest.chartimg import ChartImgGateway
from binance_simulator.rest.futures_gateway import FuturesGateway
from binance_simulator.rest.gateway import Gateway
from binance_simulator.streams.sockets import FuturesStreamEndpoints, StreamEndpoints


class ScenarioOrder(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class ClockOrder(msgspec.Struct, forbid_unknown_fields=True):
    skew_ms: int


class LimitOrder(msgspec.Struct, forbid_unknown_fields=True):
    weight_limit: int


class StreamOrder(msgspec.Struct, forbid_unknown_fields=True):
    """New stream settings. None keeps the current value."""

    life_ms: int | None = None
    messages_a_second: int | None = None
    most_streams: int | None = None
    pong_ms: int | None = None
    user_delay_ms: int | None = None


class CrowdOrder(msgspec.Struct, forbid_unknown_fields=True):
    members: int


class ReplayOrder(msgspec.Struct, forbid_unknown_fields=True):
    """The folder of recordings to replay. None ends the replay."""

    folder: str | None
    speed: float = 1


class ChartsOrder(msgspec.Struct, forbid_unknown_fields=True):
    """New chart-img settings. None keeps the current value."""

    plan: str | None = None
    daily_limit: int | None = None
    page: str | None = None
    tells_remaining: bool | None = None


class Control:
    """Handlers that change the running exchange."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    async def add_faults(self, request: Request) -> Response:
        """Add one fault, or a list of them."""
        for fault in msgspec.json.decode(listed(await request.body()), type=list[Fault]):
            self._exchange.faults.add(fault)
        return reply({"faults": len(self._exchange.faults.pending())})

    async def clear_faults(self, _request: Request) -> Response:
        """Remove all faults."""
        self._exchange.faults.clear()
        return reply({"faults": 0})

    async def add_stream_faults(self, request: Request) -> Response:
        """Add one stream fault, or a list of them."""
        hub = self._exchange.hub
        for fault in msgspec.json.decode(listed(await request.body()), type=list[StreamFault]):
            hub.faults.add(fault)
        hub.wake()
        return reply({"faults": len(hub.faults.pending())})

    async def clear_stream_faults(self, _request: Request) -> Response:
        """Remove all stream faults."""
        self._exchange.hub.faults.clear()
        return reply({"faults": 0})

    async def set_streams(self, request: Request) -> Response:
        """Change the stream settings."""
        hub, order = self._exchange.hub, msgspec.json.decode(await request.body(), type=StreamOrder)
        hub.life_ms = hub.life_ms if order.life_ms is None else order.life_ms
        hub.messages_a_second = hub.messages_a_second if order.messages_a_second is None else order.messages_a_second
        hub.most_streams = hub.most_streams if order.most_streams is None else order.most_streams
        hub.pong_ms = hub.pong_ms if order.pong_ms is None else order.pong_ms
        hub.user_delay_ms = hub.user_delay_ms if order.user_delay_ms is None else order.user_delay_ms
        return reply(StreamOrder(hub.life_ms, hub.messages_a_second, hub.most_streams, hub.pong_ms, hub.user_delay_ms))

    async def streams(self, _request: Request) -> Response:
        """Return the counts of open connections, of subscriptions to each stream, and of sent user events."""
        hub = self._exchange.hub
        told = {"connections": hub.open_connections, "streams": hub.streams(), "user_events": hub.user_events}
        return reply(told)

    async def set_charts(self, request: Request) -> Response:
        """Change the chart-img plan, daily limit, documentation, or the header with the remaining quota."""
        charts, order = self._exchange.charts, msgspec.json.decode(await request.body(), type=ChartsOrder)
        if order.plan is not None and order.plan not in charts.facts.plans:
            raise ValueError(f"Unknown plan {order.plan!r}; plans: {', '.join(charts.facts.plans)}.")
        charts.plan_name = charts.plan_name if order.plan is None else order.plan
        charts.daily_limit = charts.daily_limit if order.daily_limit is None else order.daily_limit
        charts.page = charts.page if order.page is None else order.page
        charts.tells_remaining = charts.tells_remaining if order.tells_remaining is None else order.tells_remaining
        return reply({"plan": charts.plan_name, "remaining": charts.remaining})

    async def set_key(self, request: Request) -> Response:
        """Change the permissions of the keys. A missing permission is set to its default."""
        self._exchange.rights = msgspec.json.decode(await request.body(), type=KeyRights)
        return reply(self._exchange.rights)

    async def requests(self, _request: Request) -> Response:
        """Return the received requests, without signatures."""
        return reply(self._exchange.requests)

    async def forget_requests(self, _request: Request) -> Response:
        """Clear the request log."""
        self._exchange.requests.clear()
        return reply([])

    async def set_scenario(self, request: Request) -> Response:
        """Change the scenario."""
        self._exchange.set_scenario(msgspec.json.decode(await request.body(), type=ScenarioOrder).name)
        return reply({"name": self._exchange.scenario})

    async def set_crowd(self, request: Request) -> Response:
        """List additional cheap markets for load tests."""
        order = msgspec.json.decode(await request.body(), type=CrowdOrder)
        self._exchange.set_crowd(order.members)
        return reply(order)

    async def set_replay(self, request: Request) -> Response:
        """Start or end a replay."""
        order = msgspec.json.decode(await request.body(), type=ReplayOrder)
        folder = None if order.folder is None else Path(order.folder)
        return reply({"symbols": self._exchange.set_replay(folder, order.speed)})

    async def set_clock(self, request: Request) -> Response:
        """Set the offset of the exchange's clock."""
        self._exchange.skew_ms = msgspec.json.decode(await request.body(), type=ClockOrder).skew_ms
        return reply({"skew_ms": self._exchange.skew_ms})

    async def set_limit(self, request: Request) -> Response:
        """Change the weight limit per minute."""
        self._exchange.weight_limit = msgspec.json.decode(await request.body(), type=LimitOrder).weight_limit
        return reply({"weight_limit": self._exchange.weight_limit})


class LoopbackOnly:
    """Middleware that accepts only clients of this machine."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is None or _is_loopback(client[0]):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse("Only this machine may control the simulator.", 403)(scope, receive, send)


def control_app(exchange: SimulatedExchange) -> ASGIApp:
    """Return the app with the control endpoints."""
    control = Control(exchange)
    return LoopbackOnly(
        Starlette(
            routes=[
                Route("/faults", control.add_faults, methods=["POST"]),
                Route("/faults", control.clear_faults, methods=["DELETE"]),
                Route("/streams", control.streams, methods=["GET"]),
                Route("/streams", control.set_streams, methods=["POST"]),
                Route("/streams/faults", control.add_stream_faults, methods=["POST"]),
                Route("/streams/faults", control.clear_stream_faults, methods=["DELETE"]),
                Route("/charts", control.set_charts, methods=["POST"]),
                Route("/key", control.set_key, methods=["POST"]),
                Route("/requests", control.requests, methods=["GET"]),
                Route("/requests", control.forget_requests, methods=["DELETE"]),
                Route("/scenario", control.set_scenario, methods=["POST"]),
                Route("/crowd", control.set_crowd, methods=["POST"]),
                Route("/replay", control.set_replay, methods=["POST"]),
                Route("/clock", control.set_clock, methods=["POST"]),
                Route("/limit", control.set_limit, methods=["POST"]),
                *OrderControl(exchange).routes(),
                *FuturesControl(exchange).routes(),
            ],
            exception_handlers={msgspec.DecodeError: _refuse, ValueError: _refuse},
        )
    )


def _refuse(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 400)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def build_futures_app(exchange: SimulatedExchange) -> Starlette:
    """Return the app of the futures host."""
    return Starlette(routes=[*FuturesStreamEndpoints(exchange).routes(), Mount("/", app=FuturesGateway(exchange))])


def build_app(exchange: SimulatedExchange) -> Starlette:
    """Return the app: the exchange under /api/v3, /ws, /stream and /ws-api/v3, and its controls under /control.

    Requests with the futures host name go to the futures app, because without sockets only the name distinguishes the
    hosts. The chart-img service has the paths /v1 to /v3. The simulator adds /chart-docs for its documentation and /r2
    for stored images.

    Run uvicorn with `date_header=False`, because the Date header must come from the exchange's clock.
    """
    return Starlette(
        routes=[
            Host(FUTURES_HOST, app=build_futures_app(exchange)),
            *StreamEndpoints(exchange).routes(),
            Mount("/control", app=control_app(exchange)),
            *ChartImgGateway(exchange).routes(),
            Mount("/", app=Gateway(exchange)),
        ],
    )


class ByPort:
    """The whole exchange on two ports. `futures_port` is the port of the futures host."""

    def __init__(self, exchange: SimulatedExchange, futures_port: int) -> None:
        self._spot = build_app(exchange)
        self._futures = build_futures_app(exchange)
        self._futures_port = futures_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server")
        app = self._futures if server is not None and server[1] == self._futures_port else self._spot
        await app(scope, receive, send)
