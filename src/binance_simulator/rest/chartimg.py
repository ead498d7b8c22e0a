"""The simulated chart-img.com as an ASGI application."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import parse_qsl

import msgspec
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from binance_simulator.chartimg.facts import is_known, is_list, rows_of
from binance_simulator.chartimg.rules import problems_of
from binance_simulator.chartimg.service import DAY_MS, ChartImgRefusal, jpeg, png, refusal
from binance_simulator.exchange import ReceivedRequest, SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.refusals import HTML_TYPE, Answer, json_answer
from binance_simulator.rest.delivery import deliver, hold_up, read_body, spoil

CHART = "/v2/tradingview/advanced-chart"
STORAGE = f"{CHART}/storage"
EXCHANGES = "/v3/tradingview/exchange/"
DOCUMENTATION = "/chart-docs"
STORED = "/r2/"
# Messages by status, for faults without their own message.
SAID = {
    401: "Invalid Request",
    403: "Forbidden",
    404: "Route Not Found",
    409: "Session Disconnected",
    422: "Invalid Request",
    429: "Too Many Requests",
    500: "Something Went Wrong",
    502: "Bad Gateway",
    504: "External Request Timeout",
}


class ChartImgGateway:
    """ASGI application for all paths of the service."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._charts = exchange.charts

    def routes(self) -> list[BaseRoute]:
        """Return the routes to this application."""
        folders = [Mount(path, app=self) for path in ("/v1", "/v2", "/v3", "/r2")]
        return [Route(DOCUMENTATION, endpoint=self), *folders]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive)
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        request = ReceivedRequest(scope["method"], scope["path"], query, signed=False, at_ms=self._exchange.now_ms())
        self._exchange.record(request)
        fault = self._exchange.faults.take(request.path)
        clock = self._exchange.clock
        if await hold_up(fault, clock, receive):
            return
        answer = self._answer(request, _headers(scope), body, fault)
        if fault is not None:
            answer = spoil(answer, fault)
        request.status = answer.status
        headers = {"content-type": answer.content_type, "content-length": str(len(answer.body))}
        sent = headers | {name.lower(): value for name, value in answer.headers.items()}
        listed = [(name.encode(), value.encode()) for name, value in sent.items()]
        await deliver(answer, listed, fault, clock=clock, receive=receive, send=send)

    def _answer(self, request: ReceivedRequest, headers: Mapping[str, str], body: bytes, fault: Fault | None) -> Answer:
        if fault is not None and fault.kind == "status":
            return _fault_status(fault)
        try:
            if request.path == DOCUMENTATION:
                page = self._charts.documentation if self._charts.page is None else self._charts.page
                return Answer(200, page.encode(), f"{HTML_TYPE}; charset=utf-8")
            if request.path.startswith(STORED):
                return self._stored(request.path.removeprefix(STORED))
            self._charts.admit(headers.get("x-api-key", ""))
            if request.method == "POST" and request.path in {CHART, STORAGE}:
                return self._chart(body, headers, stored=request.path == STORAGE)
            if request.method == "GET" and request.path.startswith(EXCHANGES):
                return self._list(request.path.removeprefix(EXCHANGES), request.params)
            raise refusal(404, "Route Not Found")
        except ChartImgRefusal as refused:
            return json_answer(refused.body, refused.status)

    def _chart(self, body: bytes, headers: Mapping[str, str], *, stored: bool) -> Answer:
        charts = self._charts
        try:
            asked = msgspec.json.decode(body, type=dict[str, object])
        except msgspec.MsgspecError:
            raise refusal(422, "Invalid Request") from None
        charts.bodies.append(asked)
        if problems := problems_of(asked, charts.facts):
            raise ChartImgRefusal(422, problems)
        if not is_known(str(asked.get("symbol", "BINANCE:BTCUSDT")), charts.facts, self._exchange.listing):
            raise refusal(422, "Invalid Symbol")
        self._check_plan(asked)
        charts.count_image()
        width, height = _size(asked)
        is_png = asked.get("format", "png") == "png"
        dark = asked.get("theme") == "dark"
        image = png(width, height, dark=dark, seed=charts.seed) if is_png else jpeg(width, height)
        content_type = "image/png" if is_png else "image/jpeg"
        told = {"x-ratelimit-remaining": str(charts.remaining)} if charts.tells_remaining else {}
        if not stored:
            return Answer(200, image, content_type, told)
        name, etag = charts.store(image, content_type)
        expires_ms = self._exchange.now_ms() + charts.plan.storage_days * DAY_MS
        url = f"http://{headers.get('host', 'simulator.invalid')}{STORED}{name}"
        return replace(json_answer({"url": url, "etag": etag, "expire": _moment(expires_ms)}), headers=told)

    def _check_plan(self, asked: Mapping[str, object]) -> None:
        plan = self._charts.plan
        width, height = _size(asked)
        if width > plan.max_width or height > plan.max_height:
            raise refusal(403, f"Exceed Max Usage Resolution Limit ({plan.max_width}x{plan.max_height})")
        lists = [asked.get(key) for key in ("studies", "drawings")]
        if sum(len(each) for each in lists if is_list(each)) > plan.max_studies:
            raise refusal(403, f"Exceed Max Usage Parameter Limit ({plan.max_studies})")
        if "watermark" in asked and not plan.custom_watermark:
            raise refusal(403, "Forbidden")

    def _list(self, exchange_id: str, query: Mapping[str, str]) -> Answer:
        updated = {"updatedAt": _moment(self._exchange.now_ms() // DAY_MS * DAY_MS)}
        if exchange_id == "list":
            return json_answer(updated | {"payload": self._charts.facts.exchange_ids})
        if exchange_id not in self._charts.facts.exchange_ids:
            raise refusal(404, "Exchange Not Found")
        rows = rows_of(exchange_id, self._exchange.listing, query.get("symbol", ""), query.get("type", ""))
        return json_answer(updated | {"payload": rows})

    def _stored(self, name: str) -> Answer:
        found = self._charts.stored.get(name)
        return Answer(404, b"", "text/plain") if found is None else Answer(200, *found)


def _fault_status(fault: Fault) -> Answer:
    if fault.body is None:
        answer = json_answer({"message": SAID.get(fault.status, "Something Went Wrong")}, fault.status)
        return replace(answer, headers=fault.headers)
    is_json = fault.body.lstrip().startswith(("{", "["))
    return Answer(fault.status, fault.body.encode(), "application/json" if is_json else HTML_TYPE, fault.headers)


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _size(asked: Mapping[str, object]) -> tuple[int, int]:
    width, height = asked.get("width", 800), asked.get("height", 600)
    return (width, height) if isinstance(width, int) and isinstance(height, int) else (800, 600)


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
