"""The WebSocket API: requests, signatures and refusals."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.ws_api import WsApiSession
from support.clock import FakeClock

SUBSCRIBE = "userDataStream.subscribe.signature"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def session(exchange: SimulatedExchange) -> WsApiSession:
    return WsApiSession(exchange)


@pytest.fixture
def ask(session: WsApiSession, clock: FakeClock) -> Ask:
    def send(method: object, params: object = None, identity: object = "one") -> dict[str, Any]:
        request = {"id": identity, "method": method} | ({} if params is None else {"params": params})
        (answer,) = session.receive(json.dumps(request), clock.now_ms())
        return json.loads(answer)

    return send


def payload_of(params: dict[str, Any]) -> bytes:
    return "&".join(f"{name}={params[name]}" for name in sorted(params)).encode()


def signed(exchange: SimulatedExchange, **more: object) -> dict[str, Any]:
    params: dict[str, Any] = {"timestamp": exchange.now_ms(), "apiKey": exchange.account.api_key, **more}
    key = exchange.account.secret_key.encode()
    return params | {"signature": hmac.new(key, payload_of(params), hashlib.sha256).hexdigest()}


@pytest.mark.parametrize("name", ["time", "uds-subscribe-signature"])
def test_an_answer_has_the_names_of_its_example(
    exchange: SimulatedExchange, ask: Ask, stream_examples: dict[str, Any], name: str
) -> None:
    example = stream_examples["ws_api"][name]
    params = signed(exchange) if "params" in example["send"] else None

    answer = ask(example["send"]["method"], params, example["send"]["id"])

    expected = example["reply"]
    assert list(answer) == list(expected)
    assert (answer["id"], answer["status"], answer["result"]) == (expected["id"], 200, expected["result"])
    assert answer["rateLimits"][0] | {"count": 70} == expected["rateLimits"][0]


def test_what_is_kept_of_a_signed_request_shows_neither_key_nor_signature(
    exchange: SimulatedExchange, ask: Ask
) -> None:
    params = signed(exchange)

    assert ask("userDataStream.subscribe.signature", params)["status"] == 200

    assert exchange.requests[-1].params == {"timestamp": str(params["timestamp"])}


def test_market_requests_answer_as_the_rest_api_does(exchange: SimulatedExchange, ask: Ask) -> None:
    assert ask("ping")["result"] == {}
    depth = ask("depth", {"symbol": "BTCUSDT", "limit": 5})
    price = ask("ticker.price", {"symbol": "币安人生USDT"})

    assert (len(depth["result"]["bids"]), depth["id"]) == (5, "one")
    assert price["result"]["symbol"] == "币安人生USDT"
    assert [request.path for request in exchange.requests] == [
        "/ws-api/v3/ping",
        "/ws-api/v3/depth",
        "/ws-api/v3/ticker.price",
    ]
    assert price["rateLimits"][0]["count"] == 1 + 5 + 2


@pytest.mark.parametrize("kind", ["hmac", "ed25519", "rsa"])
def test_any_key_may_subscribe_once_and_unsubscribe(exchange: SimulatedExchange, ask: Ask, kind: str) -> None:
    account = exchange.account
    params = signed(exchange, recvWindow=5000)
    if kind != "hmac":
        params = {
            "timestamp": exchange.now_ms(),
            "apiKey": account.ed25519_api_key if kind == "ed25519" else account.rsa_api_key,
        }
        payload = payload_of(params)
        signature = (
            account.ed25519.sign(payload) if kind == "ed25519" else account.rsa.sign(payload, PKCS1v15(), SHA256())
        )
        params["signature"] = base64.b64encode(signature).decode()

    assert ask(SUBSCRIBE, params)["result"] == {"subscriptionId": 0}
    assert ask(SUBSCRIBE, signed(exchange))["error"]["code"] == -2035
    assert ask("userDataStream.unsubscribe", {"subscriptionId": 7})["error"]["code"] == -2036
    assert ask("userDataStream.unsubscribe", {"subscriptionId": 0})["result"] == {}
    assert ask(SUBSCRIBE, signed(exchange))["result"] == {"subscriptionId": 1}
    assert ask("userDataStream.unsubscribe")["result"] == {}


def test_an_active_subscription_is_refused_in_the_words_of_the_example(
    exchange: SimulatedExchange, ask: Ask, stream_examples: dict[str, Any]
) -> None:
    ask(SUBSCRIBE, signed(exchange))

    answer = ask(SUBSCRIBE, signed(exchange))

    expected = stream_examples["ws_api"]["already-subscribed"]["reply"]
    assert (answer["status"], answer["error"]) == (expected["status"], expected["error"])


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"apiKey": "short"}, 401, -2014),
        ({"apiKey": "x" * 64}, 401, -2015),
        ({"timestamp": 1}, 400, -1021),
        ({"timestamp": None}, 400, -1100),
        ({"signature": "00"}, 400, -1022),
        ({"signature": ""}, 400, -1105),
        ({"surplus": 1}, 400, -1022),
    ],
)
def test_a_subscription_that_is_not_signed_rightly_is_refused(
    exchange: SimulatedExchange, ask: Ask, change: dict[str, object], status: int, code: int
) -> None:
    answer = ask(SUBSCRIBE, signed(exchange) | change)

    assert (answer["status"], answer["error"]["code"]) == (status, code)
    assert "result" not in answer


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("depth", {"symbol": "NOSUCH"}, -1121),
        ("depth", {}, -1102),
        ("depth", {"symbol": "BTCUSDT", "speed": 1}, -1104),
        ("ping", {"x": 1}, -1101),
        ("order.dance", None, -1013),
        (None, None, -1135),
        ("ping", [1], -1135),
    ],
)
def test_a_wrong_request_is_refused_with_its_code(ask: Ask, method: object, params: object, code: int) -> None:
    answer = ask(method, params)

    assert (answer["status"], answer["error"]["code"]) == (400, code)


def test_what_is_not_json_is_refused_without_an_id(session: WsApiSession) -> None:
    (answer,) = session.receive("nonsense", 0)

    assert json.loads(answer)["id"] is None
    assert json.loads(answer)["error"]["code"] == -1135


@pytest.mark.night
@pytest.mark.slow
def test_a_used_up_minute_says_when_to_come_back_as_a_moment(
    exchange: SimulatedExchange, ask: Ask, clock: FakeClock, stream_examples: dict[str, Any]
) -> None:
    clock.set_wall(1_784_592_123_456)
    for _ in range(24):
        ask("depth", {"symbol": "BTCUSDT", "limit": 5000})

    refused = ask("depth", {"symbol": "BTCUSDT", "limit": 5000})
    banned = ask("depth", {"symbol": "BTCUSDT", "limit": 5000})

    examples = stream_examples["ws_api"]
    assert (refused["status"], refused["error"]) == (429, examples["rate-limited"]["reply"]["error"])
    assert (banned["status"], banned["error"]) == (418, examples["banned"]["reply"]["error"])
    assert exchange.requests[-1].status == 418


def test_the_life_of_a_connection_ends(exchange: SimulatedExchange, session: WsApiSession, clock: FakeClock) -> None:
    exchange.hub.life_ms = 10
    clock.advance(10)

    assert session.due(clock.now_ms()) == []
    assert session.ending == "life"
