"""The WebSocket API at /ws-api/v3 without its socket: requests, answers and user data subscriptions."""

from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import quote

import msgspec

from mcp_binance_server.simulator import refusals
from mcp_binance_server.simulator.account import DemoAccount
from mcp_binance_server.simulator.exchange import ReceivedRequest, SimulatedExchange
from mcp_binance_server.simulator.rest.endpoints import Call, Endpoint, flat
from mcp_binance_server.simulator.rest.gateway import ENDPOINTS
from mcp_binance_server.simulator.rest.params import Params
from mcp_binance_server.simulator.rest.signing import KEY_FORMAT, check_time, hmac_valid, key_pair_valid
from mcp_binance_server.simulator.streams.session import Session, encoded

PATH = "/ws-api/v3"
SUBSCRIBE_NAMES = ("apiKey", "timestamp", "recvWindow", "signature")
SAME_AS_REST = {
    "ping": "/api/v3/ping",
    "time": "/api/v3/time",
    "depth": "/api/v3/depth",
    "ticker.price": "/api/v3/ticker/price",
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
