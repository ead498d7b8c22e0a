"""The WebSocket API: requests, and user events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import cast
from urllib.parse import quote

import msgspec

from binance_simulator import refusals
from binance_simulator.account import DemoAccount
from binance_simulator.exchange import ReceivedRequest, SimulatedExchange
from binance_simulator.market.source import Event
from binance_simulator.rest.endpoints import Call, Endpoint, flat
from binance_simulator.rest.gateway import ENDPOINTS
from binance_simulator.rest.signing import KEY_FORMAT, Params, check_time, hmac_valid, key_pair_valid
from binance_simulator.streams.session import Session, StreamSpoiler, encoded
from binance_simulator.streams.user_events import user_events

PATH = "/ws-api/v3"
SUBSCRIBE_NAMES = ("apiKey", "timestamp", "recvWindow", "signature")
SAME_AS_REST = {
    "ping": "/api/v3/ping",
    "time": "/api/v3/time",
    "depth": "/api/v3/depth",
    "ticker.price": "/api/v3/ticker/price",
}


@dataclass
class UserSubscription:
    """Subscription to an account: the account's first key, and the sequence number of the last execution sent."""

    holder: str = field(repr=False)
    told: int


class WsApiSession(Session):
    """One connection. It can have one subscription for each account."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self._subscriptions: dict[int, UserSubscription] = {}
        self._next_subscription = 0
        self._waiting: list[tuple[int, int, str]] = []  # due time, sequence number, text
        self._pushed = 0
        self._spoiler = StreamSpoiler(self.hub.faults)
        self._endings = dict(self.hub.faults.endings)
        self._methods: Mapping[str, Endpoint] = {name: ENDPOINTS[path] for name, path in SAME_AS_REST.items()} | {
            "userDataStream.subscribe.signature": _method(SUBSCRIBE_NAMES, self._subscribe),
            "userDataStream.unsubscribe": _method(("subscriptionId",), self._unsubscribe),
        }

    @property
    def streams(self) -> tuple[str, ...]:
        return ("user",) * len(self._subscriptions)

    def due(self, now_ms: int) -> list[str]:
        """Return the texts that the server sends on its own, up to now."""
        texts = [encoded({"event": {"e": "serverShutdown", "E": now_ms}})] if self._shutdown_called() else []
        for identity, subscription in self._subscriptions.items():
            for execution in self._exchange.orders.executions_since(subscription.told, subscription.holder, now_ms):
                subscription.told = execution.number
                for name, event in user_events(execution):
                    self._tell(identity, name, event, execution.at_ms)
        while self._waiting and self._waiting[0][0] <= now_ms:
            texts.append(heappop(self._waiting)[2])
            self.hub.user_events += 1
        texts += self._ended(now_ms)
        self._grow_old(now_ms)
        return [] if self.silent else texts

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
                # epoch milliseconds, unlike the Retry-After of REST
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
        account = self._exchange.holder(key)
        self._exchange.rights.check_address()
        authenticate_request(account, key, call.params, call.now_ms)
        self._exchange.rights.check(trading=False)
        if any(each.holder == account.api_key for each in self._subscriptions.values()):
            raise refusals.Refusal(-2035, "User Data Stream subscription already active.")
        identity, self._next_subscription = self._next_subscription, self._next_subscription + 1
        self._subscriptions[identity] = UserSubscription(account.api_key, self._exchange.executions.newest)
        return {"subscriptionId": identity}

    def _unsubscribe(self, call: Call) -> object:
        named = call.params.whole("subscriptionId")
        if named is not None and named not in self._subscriptions:
            raise refusals.Refusal(-2036, "User Data Stream subscription not active.")
        for identity in [*self._subscriptions] if named is None else [named]:
            del self._subscriptions[identity]
            self._push(encoded(_terminated(identity, call.now_ms)), call.now_ms)
        return {}

    def _tell(self, identity: int, name: str, event: Event, at_ms: int) -> None:
        def frame(_name: str, text: str) -> str:
            return f'{{"subscriptionId":{identity},"event":{text}}}'

        texts, kind = self._spoiler.spoil(name, event, frame)
        for text in texts:
            self._push(text, at_ms + self.hub.user_delay_ms)
        if kind == "cut":
            self.ending = "cut"
        self.silent = self.silent or kind in {"silent", "half_open"}

    def _push(self, text: str, due_ms: int) -> None:
        self._pushed += 1
        heappush(self._waiting, (due_ms, self._pushed, text))

    def _ended(self, now_ms: int) -> list[str]:
        """Return the messages that end all subscriptions, if a fault has requested it."""
        endings, before = self.hub.faults.endings, self._endings
        self._endings = dict(endings)
        texts = [encoded(_terminated(each, now_ms)) for each in self._subscriptions if endings != before]
        if endings["revoked"] != before["revoked"]:
            refusal = refusals.rejected_key()
            error = {"code": refusal.code, "msg": refusal.message}
            texts = [encoded({"id": None, "status": refusal.status, "error": error})]
        if endings != before:
            self._subscriptions.clear()
        return texts

    def _weight(self, now_ms: int) -> dict[str, object]:
        meter = self._exchange.meter
        limit: dict[str, object] = {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1}
        return limit | {"limit": meter.limit, "count": meter.used(now_ms)}


def authenticate_request(account: DemoAccount, key: str, params: Params, now_ms: int) -> None:
    """Check key, time and signature.

    The payload is all other parameters, sorted by name, as raw UTF-8.

    Raises:
        Refusal: the key is not this account's, the signature is invalid, or the time is outside the window.
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


def _terminated(identity: int, now_ms: int) -> dict[str, object]:
    return {"subscriptionId": identity, "event": {"e": "eventStreamTerminated", "E": now_ms}}
