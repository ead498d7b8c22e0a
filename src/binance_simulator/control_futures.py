"""Control endpoints of the futures host, for tests and manual use."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, StreamFault
from binance_simulator.futures.quirks import Quirk


class FuturesOrder(msgspec.Struct, forbid_unknown_fields=True):
    """New settings of the futures host. None keeps the current value."""

    contracts: int | None = None
    weight_limit: int | None = None
    data_limit: int | None = None
    funding_limit: int | None = None


class LiquidationOrder(msgspec.Struct, forbid_unknown_fields=True):
    """A request to liquidate positions of a contract in `after_ms`."""

    symbol: str
    count: int = 1
    lots: int = 1_000
    sells: bool = True
    after_ms: int = 0


class FuturesControl:
    """Handlers that change the running futures host."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._futures = exchange.futures

    def routes(self) -> list[Route]:
        """Return the routes, which are mounted under /control."""
        return [
            Route("/futures", self.state, methods=["GET"]),
            Route("/futures", self.set_knobs, methods=["POST"]),
            Route("/futures/requests", self.requests, methods=["GET"]),
            Route("/futures/requests", self.forget_requests, methods=["DELETE"]),
            Route("/futures/faults", self.add_faults, methods=["POST"]),
            Route("/futures/faults", self.clear_faults, methods=["DELETE"]),
            Route("/futures/quirks", self.add_quirks, methods=["POST"]),
            Route("/futures/quirks", self.clear_quirks, methods=["DELETE"]),
            Route("/futures/streams/faults", self.add_stream_faults, methods=["POST"]),
            Route("/futures/streams/faults", self.clear_stream_faults, methods=["DELETE"]),
            Route("/futures/liquidations", self.liquidate, methods=["POST"]),
        ]

    async def state(self, _request: Request) -> Response:
        """Return the usage of each limit, and the streams of each open connection."""
        now_ms, futures = self._exchange.now_ms(), self._futures
        return reply(
            {
                "weight": futures.meter.used(now_ms),
                "data_requests": futures.data_requests.total,
                "funding_requests": futures.funding_requests.total,
                "contracts": len(futures.contracts(now_ms)),
                "connections": futures.hub.open_connections,
                "streams": futures.hub.streams(),
            }
        )

    async def set_knobs(self, request: Request) -> Response:
        """Change limits, or the number of cheap perpetuals."""
        order = msgspec.json.decode(await request.body(), type=FuturesOrder)
        if order.contracts is not None:
            self._exchange.set_contracts(order.contracts)
        meter, data, funding = self._futures.meter, self._futures.data_requests, self._futures.funding_requests
        meter.limit = meter.limit if order.weight_limit is None else order.weight_limit
        data.limit = data.limit if order.data_limit is None else order.data_limit
        funding.limit = funding.limit if order.funding_limit is None else order.funding_limit
        return reply({"weight_limit": meter.limit, "data_limit": data.limit, "funding_limit": funding.limit})

    async def requests(self, _request: Request) -> Response:
        """Return the received requests."""
        return reply(self._futures.requests)

    async def forget_requests(self, _request: Request) -> Response:
        """Clear the request log."""
        self._futures.requests.clear()
        return reply([])

    async def add_faults(self, request: Request) -> Response:
        """Add one fault, or a list of them."""
        for fault in msgspec.json.decode(listed(await request.body()), type=list[Fault]):
            self._futures.faults.add(fault)
        return reply({"faults": len(self._futures.faults.pending())})

    async def clear_faults(self, _request: Request) -> Response:
        """Remove all faults."""
        self._futures.faults.clear()
        return reply({"faults": 0})

    async def add_quirks(self, request: Request) -> Response:
        """Add one quirk, or a list of them."""
        for quirk in msgspec.json.decode(listed(await request.body()), type=list[Quirk]):
            self._futures.quirks.add(quirk)
        return reply({"quirks": len(self._futures.quirks.pending())})

    async def clear_quirks(self, _request: Request) -> Response:
        """Remove all quirks."""
        self._futures.quirks.clear()
        return reply({"quirks": 0})

    async def add_stream_faults(self, request: Request) -> Response:
        """Add one stream fault, or a list of them."""
        faults = self._futures.hub.faults
        for fault in msgspec.json.decode(listed(await request.body()), type=list[StreamFault]):
            faults.add(fault)
        self._exchange.hub.wake()
        return reply({"faults": len(faults.pending())})

    async def clear_stream_faults(self, _request: Request) -> Response:
        """Remove all stream faults."""
        self._futures.hub.faults.clear()
        return reply({"faults": 0})

    async def liquidate(self, request: Request) -> Response:
        """Liquidate positions of a contract."""
        order = msgspec.json.decode(await request.body(), type=LiquidationOrder)
        at_ms = self._exchange.now_ms() + order.after_ms
        if order.symbol not in self._futures.contracts(at_ms):
            raise ValueError(f"Unknown contract {order.symbol!r}.")
        self._futures.liquidate(order.symbol, at_ms, count=order.count, lots=order.lots, sells=order.sells)
        return reply({"at_ms": at_ms})


def listed(body: bytes) -> bytes:
    """Return the body as a JSON list. A single value becomes a list of one."""
    return body if body.lstrip().startswith(b"[") else b"[" + body + b"]"


def reply(body: object) -> Response:
    """Return a JSON response."""
    return Response(msgspec.json.encode(body), media_type="application/json")
