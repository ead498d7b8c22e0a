"""Signatures: the documented vectors, ASCII and Unicode, and keys made here."""

import base64

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.errors import SettingsError
from mcp_binance_server.exchange.signing import (
    AcceptedKeys,
    HmacSigner,
    Principal,
    PrivateKeySigner,
    Signer,
    rest_query,
    signed_query,
    signer_for,
    socket_payload,
)

# Published by Binance as examples in its documentation; they open nothing.
HMAC_KEY = "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A"
HMAC_SECRET = "NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j"  # noqa: S105
ED25519_KEY = "4yNzx3yWC5bS6YTwEkSRaC0nRmSQIIStAUOh1b6kqaBrTLIhjCpI5lJH8q8R8WNO"
ED25519_PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u\n"
    "-----END PRIVATE KEY-----\n"
)
UNICODE = "１２３４５６"  # noqa: RUF001 - full-width digits, as in the documentation

ORDER: dict[str, str | int] = {
    "side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": 1, "price": "0.1",
    "recvWindow": 5000, "timestamp": 1499827319559,
}  # fmt: skip
SELL: dict[str, str | int] = {
    "side": "SELL", "type": "LIMIT", "timeInForce": "GTC", "quantity": 1, "price": "0.2",
    "timestamp": 1668481559918, "recvWindow": 5000,
}  # fmt: skip


def hmac_signer() -> Signer:
    return signer_for(Credentials(HMAC_KEY, HMAC_SECRET))


def ed25519_signer() -> Signer:
    return signer_for(Credentials(ED25519_KEY, ED25519_PEM))


def pem_of(key: PrivateKeyTypes) -> str:
    encoding, shape = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, shape, serialization.NoEncryption()).decode()


@pytest.mark.parametrize(
    ("symbol", "signature"),
    [
        ("LTCBTC", "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71"),
        (UNICODE, "e1353ec6b14d888f1164ae9af8228a3dbd508bc82eb867db8ab6046442f33ef3"),
    ],
)
def test_rest_requests_sign_with_hmac_as_documented(symbol: str, signature: str) -> None:
    assert signed_query({"symbol": symbol, **ORDER}, hmac_signer()).endswith(f"&signature={signature}")


@pytest.mark.parametrize(
    ("symbol", "signature"),
    [
        ("BTCUSDT", "inDT086KVIP8vgUfw5sV3VTkescWztiAGlf4x8FLKHM4NInsn0c1kYVLoGMO8cyjfR6vmTku2YQE0gtfVVlfCw=="),
        (UNICODE, "vECjNXSlVOz1DskXXQ866KhikKY8cxajBXKAU0COlYYemqEr45TXiRS/jNB3LyHHh48pu7z2S6pTFhmhWNRBBw=="),
    ],
)
def test_rest_requests_sign_with_ed25519(symbol: str, signature: str) -> None:
    query = rest_query({"symbol": symbol, **SELL})

    assert ed25519_signer().sign(query.encode()) == signature


def test_the_documented_fix_logon_signs_with_ed25519() -> None:
    message = "A|EXAMPLE|SPOT|1|20240627-11:17:25.223".replace("|", "\x01")

    expected = "4MHXelVVcpkdwuLbl6n73HQUXUf1dse2PCgT1DYqW9w8AVZ1RACFGM+5UdlGPrQHrgtS3CvsRURC1oj73j8gCA=="
    assert ed25519_signer().sign(message.encode()) == expected


SOCKET_ASCII: dict[str, str | int] = {
    "type": "LIMIT", "symbol": "BTCUSDT", "side": "SELL", "price": "52000.00", "quantity": "0.01000000",
    "timeInForce": "GTC", "timestamp": 1645423376532, "recvWindow": 100,
}  # fmt: skip
SOCKET_UNICODE: dict[str, str | int] = {
    "type": "LIMIT", "symbol": UNICODE, "side": "BUY", "price": "0.10000000", "quantity": "1.00000000",
    "timeInForce": "GTC", "timestamp": 1645423376532, "recvWindow": 5000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("params", "hmac_signature", "ed25519_signature"),
    [
        (
            SOCKET_ASCII,
            "aa1b5712c094bc4e57c05a1a5c1fd8d88dcd628338ea863fec7b88e59fe2db24",
            "82wlF5RobwT7JZehRQgOaupNEm5GrAqJj5tqZeCCE6ZxkhlUbWBThOx00q3FVnCKn882P+9p85phztjk4bOMAQ==",
        ),
        (
            SOCKET_UNICODE,
            "b33892ae8e687c939f4468c6268ddd4c40ac1af18ad19a064864c47bae0752cd",
            "c54NpyUZhXB0TQWxM60+OHcwRu50TfjPg5I3J3mPeFasLGjHZnuNGE6Ych+fRF6te6sr6URRF4lxUmYXbQ/rCA==",
        ),
    ],
)
def test_socket_requests_sign_sorted_raw_text(
    params: dict[str, str | int], hmac_signature: str, ed25519_signature: str
) -> None:
    with_hmac = socket_payload({**params, "apiKey": HMAC_KEY})
    with_ed25519 = socket_payload({**params, "apiKey": ED25519_KEY})

    assert hmac_signer().sign(with_hmac.encode()) == hmac_signature
    assert ed25519_signer().sign(with_ed25519.encode()) == ed25519_signature


def test_rsa_signatures_verify_with_the_public_key() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    signature = PrivateKeySigner(pem_of(key)).sign(b"payload")

    key.public_key().verify(base64.b64decode(signature), b"payload", padding.PKCS1v15(), hashes.SHA256())


def test_a_blank_and_an_ampersand_are_percent_encoded() -> None:
    assert rest_query({"a": "x y&side=SELL", "b": "+"}) == "a=x%20y%26side%3DSELL&b=%2B"


@pytest.mark.parametrize("pem", ["-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----", "", "secret"])
def test_a_pem_that_is_none_is_refused_without_showing_it(pem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        PrivateKeySigner(pem)

    assert "nonsense" not in caught.value.message


def test_a_key_of_another_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="Ed25519 or RSA"):
        PrivateKeySigner(pem_of(ec.generate_private_key(ec.SECP256R1())))


def test_a_signer_does_not_show_its_secret() -> None:
    assert HMAC_SECRET not in repr(HmacSigner(HMAC_SECRET))
    assert "MC4CAQ" not in repr(ed25519_signer())


def principal(number: int, secret: str = HMAC_SECRET) -> Principal:
    return Principal.of(Credentials(f"{number:064}", secret))


def remembered(accepted: AcceptedKeys, numbers: range) -> list[int]:
    return [number for number in numbers if principal(number) in accepted]


def test_accepted_keys_keep_as_many_as_fit_and_drop_the_oldest() -> None:
    accepted = AcceptedKeys(most=3)

    for number in range(3):
        accepted.add(principal(number))
    full = remembered(accepted, range(4))
    accepted.add(principal(3))

    assert full == [0, 1, 2]
    assert remembered(accepted, range(4)) == [1, 2, 3]


def test_a_key_accepted_again_becomes_the_newest_and_takes_no_second_place() -> None:
    accepted = AcceptedKeys(most=3)
    for number in (0, 1, 2, 0):
        accepted.add(principal(number))

    again = remembered(accepted, range(4))
    accepted.add(principal(3))

    assert again == [0, 1, 2]
    assert remembered(accepted, range(4)) == [0, 2, 3]


def test_accepted_keys_keep_4096_unless_the_size_is_given() -> None:
    accepted = AcceptedKeys()

    for number in range(4_096):
        accepted.add(principal(number))
    full = remembered(accepted, range(1))
    accepted.add(principal(4_096))

    assert full == [0]
    assert remembered(accepted, range(2)) == [1]


def test_an_accepted_api_key_does_not_vouch_for_another_secret() -> None:
    accepted = AcceptedKeys()
    accepted.add(principal(1))

    assert principal(1) in accepted
    assert principal(1, "another secret") not in accepted
    assert principal(2) not in accepted


def test_a_principal_does_not_show_its_signer() -> None:
    assert "signer" not in repr(principal(1))


def test_a_principal_is_known_by_the_id_of_its_key() -> None:
    assert principal(1).key_id == principal(1).credentials.key_id
    assert principal(1).key_id != principal(2).key_id
