"""Request handling: weight, signature, endpoint and answer."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
from starlette.types import Receive, Scope, Send

from binance_simulator import refusals
from binance_simulator.exchange import ReceivedRequest, SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.market.listing import Symbol
from binance_simulator.refusals import HTML_TYPE, Answer, header_list, json_answer, refused, unknown_path
from binance_simulator.rest.delivery import deliver, hold_up, read_body, spoil
from binance_simulator.rest.endpoints import RIGHTS, Call, Endpoint, flat
from binance_simulator.rest.history import KLINES, TRADES
from binance_simulator.rest.orders.calls import WRITES
from binance_simulator.rest.orders.lists import LIST_READS, LIST_WRITES
from binance_simulator.rest.orders.replacing import AMENDMENTS, REPLACING
from binance_simulator.rest.private import PRIVATE
from binance_simulator.rest.references import REFERENCES
from binance_simulator.rest.signing import Params, authenticate, check_time
from binance_simulator.rest.tickers import TICKERS

USUAL_PERMISSIONS = ("SPOT", "MARGIN", "LEVERAGED")


def ping(_call: Call) -> object:
    """Answer ping."""
    return {}


def server_time(call: Call) -> object:
    """Answer time."""
    return {"serverTime": call.now_ms}


def exchange_info(call: Call) -> object:
    """Answer exchangeInfo, with the current weight limit."""
    chosen = {symbol.name for symbol in _chosen(call)}
    full = call.params.flag("showPermissionSets", usual=True)
    records = [record for record in call.exchange.listing.records if record["symbol"] in chosen]
    if not full:
        hidden: dict[str, object] = {"permissionSets": list[list[str]]()}
        records = [record | hidden for record in records]
    return call.exchange.listing.document | {
        "serverTime": call.now_ms,
        "rateLimits": [
            limit | ({"limit": call.exchange.weight_limit} if limit["rateLimitType"] == "REQUEST_WEIGHT" else {})
            for limit in call.exchange.listing.rate_limits
        ],
        "symbols": records,
    }


def _chosen(call: Call) -> list[Symbol]:
    named = call.params.peek("symbol") is not None or call.params.peek("symbols") is not None
    permissions = _permissions(call.params)
    if named and (permissions is not None or call.params.peek("symbolStatus") is not None):
        raise refusals.bad_combination()
    symbols, _ = call.symbols()
    if named:
        return symbols
    wanted = frozenset(permissions or USUAL_PERMISSIONS)
    return [symbol for symbol in symbols if any(wanted & names for names in symbol.permission_sets)]


def _permissions(params: Params) -> list[str] | None:
    value = params.text("permissions")
    if value is None:
        return None
    try:
        names = msgspec.json.decode(value, type=list[str]) if value.startswith("[") else [value]
    except msgspec.DecodeError:
        names = []
    if not names or any(not name.replace("_", "").isalnum() for name in names):
        raise refusals.bad_value("permissions")
    return names


GENERAL = (
    Endpoint("/api/v3/ping", (), flat(1), ping),
    Endpoint("/api/v3/time", (), flat(1), server_time),
    Endpoint(
        "/api/v3/exchangeInfo",
        ("symbol", "symbols", "permissions", "symbolStatus", "showPermissionSets"),
        flat(20),
        exchange_info,
    ),
)


ENDPOINTS: Mapping[str, Endpoint] = {
    endpoint.path: endpoint
    for endpoint in (*GENERAL, *TICKERS, *REFERENCES, *TRADES, *KLINES, *PRIVATE, *LIST_READS, *AMENDMENTS, *RIGHTS)
}
WRITTEN: Mapping[tuple[str, str], Endpoint] = {
    (endpoint.method, endpoint.path): endpoint for endpoint in (*WRITES, *LIST_WRITES, *REPLACING)
}
# Placeholder answer for an order that a fault has blocked. It is cut or spoiled before it is sent.
NOT_EXECUTED = b'{"symbol":"BTCUSDT","orderId":1,"orderListId":-1,"clientOrderId":"never","transactTime":1784592123456}'
TIMED_OUT = {
    "code": -1007,
    "msg": "Timeout waiting for response from backend server. Send status unknown; execution status unknown.",
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
        if request.method != "GET":
            self._exchange.orders.received.add(len(raw))
        fault = self._exchange.faults.take(request.path, request.method)
        before = None if fault is None or fault.executed is not None else fault
        if await hold_up(before, self._exchange.clock, receive):
            return
        key = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-mbx-apikey"), "")
        answer = await self._answer(request, raw, params, key, fault)
        if fault is not before and await hold_up(fault, self._exchange.clock, receive):
            return
        if fault is not None:
            answer = spoil(answer, fault)
        request.status = answer.status
        now_ms = self._exchange.now_ms()
        headers = header_list(answer, self._exchange.meter.used(now_ms), now_ms)
        await deliver(answer, headers, fault, clock=self._exchange.clock, receive=receive, send=send)

    async def _answer(
        self, request: ReceivedRequest, raw: bytes, params: Params, key: str, fault: Fault | None
    ) -> Answer:
        endpoint = WRITTEN.get((request.method, request.path)) or ENDPOINTS.get(request.path)
        request.weight = 1 if endpoint is None else endpoint.weight(params)
        now_ms = self._exchange.now_ms()
        try:
            self._exchange.meter.charge(request.weight, now_ms)
            if fault is not None and fault.kind == "status" and fault.executed is None:
                return self._fault_status(fault, now_ms)
            if endpoint is None or request.method != endpoint.method:
                return unknown_path(request.method, request.path)
            if endpoint.signed:
                self._exchange.rights.check_address()
                authenticate(self._exchange.holder(key), key, raw, params, now_ms)
                self._exchange.rights.check(trading=endpoint.writes)
            params.accept(endpoint.names)
            if endpoint.writes:
                return await self._write(endpoint, request, params, key, fault)
            body = endpoint.answer(Call(self._exchange, params, now_ms, key))
            params.finish()
        except refusals.Refusal as refusal:
            return refused(refusal)
        return json_answer(body)

    async def _write(
        self, endpoint: Endpoint, request: ReceivedRequest, params: Params, key: str, fault: Fault | None
    ) -> Answer:
        if self._exchange.orders.engine_delay_ms:
            await self._exchange.clock.sleep_ms(self._exchange.orders.engine_delay_ms)
            check_time(params, self._exchange.now_ms())
        now_ms = self._exchange.now_ms()
        answer = Answer(200, NOT_EXECUTED)
        if fault is None or fault.executed is not False:
            answer, free = _do(endpoint, Call(self._exchange, params, now_ms, key))
            if free:
                self._exchange.meter.give_back(request.weight, now_ms)
                request.weight = 0
        if fault is None or fault.executed is None:
            return answer
        if fault.kind == "status":
            return self._fault_status(fault, now_ms)
        return json_answer(TIMED_OUT, 503) if fault.kind == "delay" and not fault.executed else answer

    def _fault_status(self, fault: Fault, now_ms: int) -> Answer:
        if fault.body is not None:
            return Answer(fault.status, fault.body.encode(), HTML_TYPE, fault.headers)
        answer = json_answer({"code": fault.code, "msg": fault.msg}, fault.status)
        wait = {"Retry-After": str(self._exchange.meter.retry_after_secs(now_ms))}
        return replace(answer, headers=(wait if fault.status in {418, 429} else {}) | fault.headers)


def _do(endpoint: Endpoint, call: Call) -> tuple[Answer, bool]:
    """Return the answer to a write, and whether the write costs no weight."""
    try:
        body = endpoint.answer(call)
    except refusals.Refusal as refusal:
        if refusal.data is None:
            raise
        answer = refused(refusal)  # a part of the request may have been executed: a fault can hide this answer too
        return replace(answer, headers=answer.headers | call.headers), False
    call.params.finish()
    return replace(json_answer(body), headers=call.headers), not endpoint.costs(body)
