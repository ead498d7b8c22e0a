"""The way of a request: fault, limit, signature, handler, answer."""

from collections.abc import Mapping
from dataclasses import replace

from starlette.types import Receive, Scope, Send

from mcp_binance_server.simulator import refusals
from mcp_binance_server.simulator.answer import HTML_TYPE, Answer, header_list, json_answer, page, refused
from mcp_binance_server.simulator.delivery import deliver, hold_up, read_body
from mcp_binance_server.simulator.endpoints import Call, Endpoint
from mcp_binance_server.simulator.exchange import ReceivedRequest, SimulatedExchange
from mcp_binance_server.simulator.faults import Fault
from mcp_binance_server.simulator.general import GENERAL
from mcp_binance_server.simulator.klines import KLINES
from mcp_binance_server.simulator.params import Params
from mcp_binance_server.simulator.private import PRIVATE
from mcp_binance_server.simulator.rights_endpoint import RIGHTS
from mcp_binance_server.simulator.signing import authenticate
from mcp_binance_server.simulator.spoil import spoil
from mcp_binance_server.simulator.tickers import TICKERS
from mcp_binance_server.simulator.trades import TRADES

ENDPOINTS: Mapping[str, Endpoint] = {
    endpoint.path: endpoint for endpoint in (*GENERAL, *TICKERS, *TRADES, *KLINES, *PRIVATE, *RIGHTS)
}


class Gateway:
    """The REST API as an ASGI application."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = bytes(scope["query_string"]) + await read_body(receive)
        params = Params(raw)
        request = ReceivedRequest(
            method=scope["method"],
            path=scope["path"],
            params=params.logged(),
            signed=params.peek("signature") is not None,
            at_ms=self._exchange.now_ms(),
        )
        self._exchange.record(request)
        fault = self._exchange.faults.take(request.path)
        if await hold_up(fault, self._exchange.clock, receive):
            return
        key = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-mbx-apikey"), "")
        answer = self._answer(request, raw, params, key, fault)
        if fault is not None:
            answer = spoil(answer, fault)
        request.status = answer.status
        now_ms = self._exchange.now_ms()
        headers = header_list(answer, self._exchange.meter.used(now_ms), now_ms)
        await deliver(answer, headers, fault, clock=self._exchange.clock, receive=receive, send=send)

    def _answer(self, request: ReceivedRequest, raw: bytes, params: Params, key: str, fault: Fault | None) -> Answer:
        endpoint = ENDPOINTS.get(request.path)
        request.weight = 1 if endpoint is None else endpoint.weight(params)
        now_ms = self._exchange.now_ms()
        try:
            self._exchange.meter.charge(request.weight, now_ms)
            if fault is not None and fault.kind == "status":
                return self._fault_status(fault, now_ms)
            if endpoint is None:
                return page(404, "Not Found")
            if request.method != "GET":
                return page(405, "Method Not Allowed")
            if endpoint.signed:
                self._exchange.rights.check_address()
                authenticate(self._exchange.holder(key), key, raw, params, now_ms)
                self._exchange.rights.check_reading()
            params.accept(endpoint.names)
            body = endpoint.answer(Call(self._exchange, params, now_ms, key))
            params.finish()
        except refusals.Refusal as refusal:
            return refused(refusal)
        return json_answer(body)

    def _fault_status(self, fault: Fault, now_ms: int) -> Answer:
        if fault.body is not None:
            return Answer(fault.status, fault.body.encode(), HTML_TYPE, fault.headers)
        answer = json_answer({"code": fault.code, "msg": fault.msg}, fault.status)
        wait = {"Retry-After": str(self._exchange.meter.retry_after_secs(now_ms))}
        return replace(answer, headers=(wait if fault.status in {418, 429} else {}) | fault.headers)
