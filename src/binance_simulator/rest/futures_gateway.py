"""Request handling of the futures host: region, ban, weight, counters, endpoint and answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from starlette.types import Receive, Scope, Send

from binance_simulator import refusals
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.futures.quirks import behind_ms, refuse, spoiled
from binance_simulator.refusals import HTML_TYPE, Answer, header_list, json_answer, refused, unknown_path
from binance_simulator.rest.delivery import deliver, hold_up, read_body, spoil
from binance_simulator.rest.futures_board import BOARD
from binance_simulator.rest.futures_calls import FuturesCall, FuturesEndpoint
from binance_simulator.rest.futures_history import HISTORY
from binance_simulator.rest.signing import Params
from binance_simulator.visits import ReceivedRequest

ENDPOINTS: Mapping[str, FuturesEndpoint] = {endpoint.path: endpoint for endpoint in (*BOARD, *HISTORY)}
WRONG_HEADER = "/fapi/v1/ticker/bookTicker"
WRONG_WEIGHT = 1


class FuturesGateway:
    """The REST API of the futures host as an ASGI application."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._futures = exchange.futures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        params = Params(bytes(scope["query_string"]) + await read_body(receive))
        now_ms = self._exchange.now_ms()
        signed = params.peek("signature") is not None or any(name == b"x-mbx-apikey" for name, _ in scope["headers"])
        request = ReceivedRequest(scope["method"], scope["path"], params.logged(), signed=signed, at_ms=now_ms)
        self._futures.record(request)
        fault = self._futures.faults.take(request.path)
        if await hold_up(fault, self._exchange.clock, receive):
            return
        answer = self._answer(request, params, fault)
        if fault is not None:
            answer = spoil(answer, fault)
        request.status = answer.status
        now_ms = self._exchange.now_ms()
        # Binance sends a wrong header for this endpoint too.
        used = WRONG_WEIGHT if request.path == WRONG_HEADER else self._futures.meter.used(now_ms)
        headers = header_list(answer, used, now_ms)
        await deliver(answer, headers, fault, clock=self._exchange.clock, receive=receive, send=send)

    def _answer(self, request: ReceivedRequest, params: Params, fault: Fault | None) -> Answer:
        endpoint = ENDPOINTS.get(request.path)
        now_ms = self._exchange.now_ms()
        quirks = self._futures.quirks.take(request.path)
        try:
            refuse(quirks, now_ms)
            request.weight = 1 if endpoint is None else endpoint.weight(params)
            self._futures.meter.charge(request.weight, now_ms)
            if fault is not None and fault.kind == "status":
                return _fault_status(fault)
            if endpoint is None or request.method != "GET":
                return unknown_path(request.method, request.path)
            if endpoint.counter is not None:
                counters = {"data": self._futures.data_requests, "funding": self._futures.funding_requests}
                counters[endpoint.counter].charge(now_ms)
            params.accept(endpoint.names)
            body = endpoint.answer(FuturesCall(self._futures, params, now_ms - behind_ms(quirks)))
            params.finish()
        except refusals.Refusal as refusal:
            # Binance documents no Retry-After for this host.
            return replace(refused(refusal), headers={})
        if quirks and isinstance(body, list):
            body = spoiled(cast("list[dict[str, object]]", body), quirks)
        return json_answer(body)


def _fault_status(fault: Fault) -> Answer:
    if fault.body is not None:
        return Answer(fault.status, fault.body.encode(), HTML_TYPE, fault.headers)
    return replace(json_answer({"code": fault.code, "msg": fault.msg}, fault.status), headers=fault.headers)
