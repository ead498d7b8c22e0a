"""Access tokens that no server may take, each wrong in one way."""

import hashlib
import hmac
import json
from collections.abc import Callable

from support.issuer import ISSUER, RESOURCE, AuthorizationServer, b64, compact, ed_key, rsa_key

MakeToken = Callable[[AuthorizationServer], str]


def unsigned(spelling: str) -> MakeToken:
    return lambda issuer: compact({"alg": spelling}, json.dumps(issuer.claims()).encode(), lambda _: b"")


def signed_with_the_public_key(issuer: AuthorizationServer) -> str:
    # The classic confusion: a public key used as a shared secret.
    secret = json.dumps(rsa_key().jwk).encode()
    header = {"alg": "HS256", "kid": "rsa-1"}
    return compact(header, json.dumps(issuer.claims()).encode(), lambda data: hmac.digest(secret, data, hashlib.sha256))


def of_another_key(kid: str, **header: object) -> MakeToken:
    return lambda issuer: issuer.token(ed_key("another"), {"kid": kid, **header})


def stripped(issuer: AuthorizationServer) -> str:
    return issuer.token().rpartition(".")[0] + "."


def changed(issuer: AuthorizationServer) -> str:
    head, _, signature = issuer.token().split(".")
    return f"{head}.{b64(json.dumps(issuer.claims(sub='eve')).encode())}.{signature}"


def in_ms(issuer: AuthorizationServer, offset_secs: float) -> float:
    return issuer.clock.now_ms() / 1000 + offset_secs


BAD: dict[str, MakeToken] = {
    "expired": lambda issuer: issuer.token(exp=in_ms(issuer, -10)),
    "not valid yet": lambda issuer: issuer.token(nbf=in_ms(issuer, 11)),
    "no exp": lambda issuer: issuer.token(exp=None),
    "exp as text": lambda issuer: issuer.token(exp="2999999999"),
    "exp true": lambda issuer: issuer.token(exp=True),
    "aud wrong": lambda issuer: issuer.token(aud="https://other.example/mcp"),
    "aud a prefix of ours": lambda issuer: issuer.token(aud="https://mcp.example"),
    "aud longer than ours": lambda issuer: issuer.token(aud=f"{RESOURCE}/"),
    "aud in other case": lambda issuer: issuer.token(aud="https://MCP.example/mcp"),
    "no aud": lambda issuer: issuer.token(aud=None),
    "aud an empty list": lambda issuer: issuer.token(aud=[]),
    "aud with a null": lambda issuer: issuer.token(aud=[RESOURCE, None]),
    "iss wrong": lambda issuer: issuer.token(iss="https://login.example.evil"),
    "iss with a slash more": lambda issuer: issuer.token(iss=f"{ISSUER}/"),
    "no iss": lambda issuer: issuer.token(iss=None),
    "no sub": lambda issuer: issuer.token(sub=None),
    "empty sub": lambda issuer: issuer.token(sub=""),
    "sub too long": lambda issuer: issuer.token(sub="a" * 256),
    "sub with a line feed": lambda issuer: issuer.token(sub="ada\nroot"),
    "sub a number": lambda issuer: issuer.token(sub=7),
    "alg none": unsigned("none"),
    "alg nOnE": unsigned("nOnE"),
    "alg missing": lambda issuer: issuer.token(header={"alg": None}),
    "alg of another key": lambda issuer: issuer.token(header={"alg": "ES256"}),
    "alg not accepted": lambda issuer: issuer.token(rsa_key(algorithm="PS256")),
    "HS256 with the public key": signed_with_the_public_key,
    "another key under a known name": of_another_key("ed-1"),
    "a known key under an unknown name": lambda issuer: issuer.token(header={"kid": "ed-9"}),
    "another key without a name": lambda issuer: issuer.token(ed_key("another"), {"kid": None}),
    "kid a number": lambda issuer: issuer.token(header={"kid": 1}),
    "signature stripped": stripped,
    "payload changed": changed,
    "crit": lambda issuer: issuer.token(header={"crit": ["exp"], "exp": 1}),
    "crit b64": lambda issuer: issuer.token(header={"crit": ["b64"], "b64": True}),
    "b64 false": lambda issuer: issuer.token(header={"b64": False}),
    "an ID token's type": lambda issuer: issuer.token(header={"typ": "logout+jwt"}),
    "type a number": lambda issuer: issuer.token(header={"typ": 5}),
    "1 MB": lambda issuer: issuer.token(padding="x" * 1_000_000),
    "deep nesting": lambda _: f"{b64(b'[' * 5_000)}.{b64(b'{}')}.{b64(b'')}",
    "five parts, encrypted": lambda issuer: f"{issuer.token()}.a.b",
    "no token at all": lambda _: "nonsense",
    "only dots": lambda _: "...",
    "jku": of_another_key("x", jku="https://evil.example/keys"),
    "x5u": of_another_key("x", x5u="https://evil.example/cert.pem"),
    "jwk in the header": of_another_key("x", jwk=ed_key("another").jwk),
}
