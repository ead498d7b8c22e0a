"""Signed requests: three kinds of key, the time, and the very bytes."""

import base64
import hashlib
import hmac
from urllib.parse import quote

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_pem_private_key

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.rest.signing import hmac_valid, key_pair_valid
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

# The example keys and signatures of https://developers.binance.com/docs/binance-spot-api-docs/rest-api.
EXAMPLE_SECRET = "NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j"  # noqa: S105 - published example
EXAMPLE_ED25519 = "MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u"
FULL_WIDTH = "%EF%BC%91%EF%BC%92%EF%BC%93%EF%BC%94%EF%BC%95%EF%BC%96"
HMAC_REST = "&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000&timestamp=1499827319559"
ED25519_REST = "&side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&price=0.2&timestamp=1668481559918&recvWindow=5000"


def sign(exchange: SimulatedExchange, payload: str) -> str:
    return hmac.new(exchange.account.secret_key.encode(), payload.encode(), hashlib.sha256).hexdigest()


async def account(api: httpx2.AsyncClient, exchange: SimulatedExchange, query: str) -> httpx2.Response:
    return await api.get(f"/api/v3/account?{query}", headers={"X-MBX-APIKEY": exchange.account.api_key})


@pytest.mark.parametrize(
    ("symbol", "signature"),
    [
        ("LTCBTC", "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71"),
        (FULL_WIDTH, "e1353ec6b14d888f1164ae9af8228a3dbd508bc82eb867db8ab6046442f33ef3"),
    ],
)
def test_the_documented_hmac_signatures_are_valid_in_either_case(symbol: str, signature: str) -> None:
    payload = f"symbol={symbol}{HMAC_REST}".encode()

    assert hmac_valid(EXAMPLE_SECRET, payload, signature.encode())
    assert hmac_valid(EXAMPLE_SECRET, payload, signature.upper().encode())
    assert not hmac_valid(EXAMPLE_SECRET, payload + b"0", signature.encode())


@pytest.mark.parametrize(
    ("payload", "signature"),
    [
        (
            "A|EXAMPLE|SPOT|1|20240627-11:17:25.223".replace("|", "\x01"),
            "4MHXelVVcpkdwuLbl6n73HQUXUf1dse2PCgT1DYqW9w8AVZ1RACFGM+5UdlGPrQHrgtS3CvsRURC1oj73j8gCA==",
        ),
        (
            f"symbol=BTCUSDT{ED25519_REST}",
            "inDT086KVIP8vgUfw5sV3VTkescWztiAGlf4x8FLKHM4NInsn0c1kYVLoGMO8cyjfR6vmTku2YQE0gtfVVlfCw==",
        ),
        (
            f"symbol={FULL_WIDTH}{ED25519_REST}",
            "vECjNXSlVOz1DskXXQ866KhikKY8cxajBXKAU0COlYYemqEr45TXiRS/jNB3LyHHh48pu7z2S6pTFhmhWNRBBw==",
        ),
    ],
)
def test_the_known_ed25519_signatures_are_valid(payload: str, signature: str) -> None:
    key = load_der_private_key(base64.b64decode(EXAMPLE_ED25519), None)
    assert isinstance(key, Ed25519PrivateKey)

    assert key_pair_valid(key.public_key(), payload.encode(), signature.encode())
    assert not key_pair_valid(key.public_key(), payload.encode() + b"0", signature.encode())
    assert not key_pair_valid(key.public_key(), payload.encode(), b"not base64")


async def test_an_hmac_signature_opens_the_account(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    payload = f"omitZeroBalances=true&timestamp={exchange.now_ms()}"

    answer = await account(api, exchange, f"{payload}&signature={sign(exchange, payload)}")

    assert answer.status_code == 200
    assert [balance["asset"] for balance in answer.json()["balances"]] == ["BTC", "ETH", "USDT", "BNB", "币安人生"]


async def test_an_ed25519_signature_opens_the_account(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    key = load_pem_private_key(exchange.account.ed25519_private_key_pem.encode(), None)
    assert isinstance(key, Ed25519PrivateKey)
    payload = f"timestamp={exchange.now_ms()}"
    signature = quote(base64.b64encode(key.sign(payload.encode())), safe="")

    answer = await api.get(
        f"/api/v3/account?{payload}&signature={signature}",
        headers={"X-MBX-APIKEY": exchange.account.ed25519_api_key},
    )

    assert answer.status_code == 200


@pytest.mark.slow
async def test_an_rsa_signature_opens_the_account(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    key = load_pem_private_key(exchange.account.rsa_private_key_pem.encode(), None)
    assert isinstance(key, RSAPrivateKey)
    payload = f"timestamp={exchange.now_ms()}"
    signature = quote(base64.b64encode(key.sign(payload.encode(), PKCS1v15(), SHA256())), safe="")
    headers = {"X-MBX-APIKEY": exchange.account.rsa_api_key}

    accepted = await api.get(f"/api/v3/account?{payload}&signature={signature}", headers=headers)
    spoilt = await api.get(f"/api/v3/account?{payload}0&signature={signature}", headers=headers)

    assert accepted.status_code == 200
    assert spoilt.json()["code"] == -1021


@pytest.mark.parametrize("key", ["", "short", "x" * 65, "ä" * 64])
async def test_an_ill_formed_key_is_refused(api: httpx2.AsyncClient, exchange: SimulatedExchange, key: str) -> None:
    headers = {b"X-MBX-APIKEY": key.encode("latin-1")}

    answer = await api.get("/api/v3/account", headers=headers)
    nothing = await api.get("/api/v3/account")

    assert (answer.status_code, answer.json()) == (401, {"code": -2014, "msg": "API-key format invalid."})
    assert nothing.json() == answer.json()
    assert exchange.requests[0].status == 401


async def test_an_unknown_key_is_rejected(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/api/v3/account", headers={"X-MBX-APIKEY": "A" * 64})

    assert answer.status_code == 401
    assert answer.json() == {"code": -2015, "msg": "Invalid API-key, IP, or permissions for action."}


async def test_a_signature_that_is_wrong_misplaced_or_made_otherwise_is_refused(
    api: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    payload = f"recvWindow=5000&timestamp={exchange.now_ms()}"
    good = sign(exchange, payload)
    queries = [
        f"{payload}&signature={good[:-1]}0" if good[-1] != "0" else f"{payload}&signature={good[:-1]}1",
        f"signature={good}&{payload}",
        f"{payload}&signature={good}&omitZeroBalances=true",
        f"{payload}&signature={base64.b64encode(bytes.fromhex(good)).decode()}",
    ]

    for query in queries:
        answer = await account(api, exchange, query)

        assert answer.status_code == 400
        assert answer.json() == {"code": -1022, "msg": "Signature for this request is not valid."}


async def test_characters_must_be_percent_encoded_before_signing(exchange: SimulatedExchange) -> None:
    from binance_simulator.refusals import Refusal
    from binance_simulator.rest.signing import split_signature

    payload = f"symbol=币安人生USDT&timestamp={exchange.now_ms()}"

    with pytest.raises(Refusal) as caught:
        split_signature(f"{payload}&signature={sign(exchange, payload)}".encode())

    assert caught.value.code == -1022


async def test_an_encoded_unicode_symbol_is_signed_as_it_is_sent(
    api: httpx2.AsyncClient, exchange: SimulatedExchange
) -> None:
    payload = f"symbol={quote('币安人生USDT')}&timestamp={exchange.now_ms()}"
    headers = {"X-MBX-APIKEY": exchange.account.api_key}

    answer = await api.get(f"/api/v3/openOrders?{payload}&signature={sign(exchange, payload)}", headers=headers)

    assert (answer.status_code, answer.json()) == (200, [])


async def test_the_signature_covers_the_body_as_well(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    query, body = "omitZeroBalances=true&", f"timestamp={exchange.now_ms()}"
    signed = f"{body}&signature={sign(exchange, query + body)}"

    answer = await api.request(
        "GET",
        f"/api/v3/account?{query}",
        content=signed.encode(),
        headers={"X-MBX-APIKEY": exchange.account.api_key},
    )

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("offset_ms", "window", "msg"),
    [
        (999, "5000", None),
        (1000, "5000", "Timestamp for this request was 1000ms ahead of the server's time."),
        (-5000, None, None),
        (-5001, None, "Timestamp for this request is outside of the recvWindow."),
        (-60_000, "60000", None),
        (-60_001, "60000", "Timestamp for this request is outside of the recvWindow."),
        (-1, "0.999", "Timestamp for this request is outside of the recvWindow."),
        (-1, "1.001", None),
    ],
)
async def test_the_timestamp_must_fit_the_window(
    api: httpx2.AsyncClient, exchange: SimulatedExchange, offset_ms: int, window: str | None, msg: str | None
) -> None:
    payload = f"timestamp={exchange.now_ms() + offset_ms}" + (f"&recvWindow={window}" if window else "")

    answer = await account(api, exchange, f"{payload}&signature={sign(exchange, payload)}")

    assert answer.status_code == (200 if msg is None else 400)
    assert msg is None or answer.json() == {"code": -1021, "msg": msg}


async def test_a_timestamp_may_be_in_microseconds(
    api: httpx2.AsyncClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    payload = f"timestamp={clock.now_ms() * 1000 + 999}"

    answer = await account(api, exchange, f"{payload}&signature={sign(exchange, payload)}")

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ("", -1102),
        ("timestamp=", -1105),
        ("timestamp=now", -1100),
        ("timestamp={now}&recvWindow=60001", -1131),
        ("timestamp={now}&recvWindow=1.0001", -1100),
        ("timestamp={now}&recvWindow=-1", -1100),
    ],
)
async def test_a_signed_request_without_a_usable_time_is_refused(
    api: httpx2.AsyncClient, exchange: SimulatedExchange, payload: str, code: int
) -> None:
    query = payload.format(now=exchange.now_ms())

    answer = await account(api, exchange, f"{query}&signature={sign(exchange, query)}")

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_a_signature_must_be_sent(api: httpx2.AsyncClient, exchange: SimulatedExchange) -> None:
    answer = await account(api, exchange, f"timestamp={exchange.now_ms()}")

    assert answer.json()["msg"] == "Mandatory parameter 'signature' was not sent, was empty/null, or malformed."


async def test_a_skewed_server_refuses_honest_clocks_both_ways(
    api: httpx2.AsyncClient, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    payload = f"timestamp={clock.now_ms()}"
    query = f"{payload}&signature={sign(exchange, payload)}"

    exchange.skew_ms = 6000
    late = await account(api, exchange, query)
    exchange.skew_ms = -6000
    early = await account(api, exchange, query)

    assert late.json()["msg"] == "Timestamp for this request is outside of the recvWindow."
    assert early.json()["msg"] == "Timestamp for this request was 1000ms ahead of the server's time."


def test_the_keys_follow_from_the_seed_and_never_show(clock: FakeClock) -> None:
    one, same, other = (SimulatedExchange(clock, seed=seed).account for seed in (7, 7, 8))

    assert (one.api_key, one.secret_key, one.ed25519_private_key_pem) == (
        same.api_key,
        same.secret_key,
        same.ed25519_private_key_pem,
    )
    assert len({one.api_key, one.secret_key, one.ed25519_api_key, one.rsa_api_key, other.api_key}) == 5
    assert one.secret_key.isalnum()
    assert len(one.secret_key) == 64
    assert one.secret_key not in repr(one) + str(one)
