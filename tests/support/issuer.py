"""A small authorization server with real keys. It shares no line with what it tests: tokens are put together here."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import anyio
import httpx2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from starlette.types import Receive, Scope, Send

from support.clock import FakeClock

ISSUER = "https://login.example"
RESOURCE = "https://mcp.example/mcp"
METADATA = "/.well-known/oauth-authorization-server"
KEYS = "/keys"


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def compact(header: Mapping[str, Any], payload: bytes, sign: Callable[[bytes], bytes]) -> str:
    """Put a token together, whatever its header says."""
    signed = f"{b64(json.dumps(header).encode())}.{b64(payload)}"
    return f"{signed}.{b64(sign(signed.encode()))}"


def _number(number: int, size: int) -> str:
    return b64(number.to_bytes(size, "big"))


@dataclass(frozen=True)
class SigningKey:
    """A key pair: what it signs with, and what the world may see of it."""

    kid: str
    algorithm: str
    sign: Callable[[bytes], bytes] = field(repr=False)
    members: Mapping[str, str] = field(repr=False)

    @property
    def jwk(self) -> dict[str, Any]:
        return {"kid": self.kid, "alg": self.algorithm, "use": "sig", **self.members}


@cache
def rsa_key(kid: str = "rsa-1", bits: int = 2048, algorithm: str = "RS256") -> SigningKey:
    private = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    numbers = private.public_key().public_numbers()
    members = {"kty": "RSA", "n": _number(numbers.n, bits // 8), "e": _number(numbers.e, 3)}

    def sign(data: bytes) -> bytes:
        if algorithm == "PS256":
            salted = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=32)
            return private.sign(data, salted, hashes.SHA256())
        return private.sign(data, padding.PKCS1v15(), hashes.SHA256())

    return SigningKey(kid, algorithm, sign, members)


@cache
def ec_key(kid: str = "ec-1") -> SigningKey:
    private = ec.generate_private_key(ec.SECP256R1())
    numbers = private.public_key().public_numbers()
    members = {"kty": "EC", "crv": "P-256", "x": _number(numbers.x, 32), "y": _number(numbers.y, 32)}

    def sign(data: bytes) -> bytes:
        r, s = decode_dss_signature(private.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    return SigningKey(kid, "ES256", sign, members)


@cache
def ed_key(kid: str = "ed-1") -> SigningKey:
    private = ed25519.Ed25519PrivateKey.generate()
    members = {"kty": "OKP", "crv": "Ed25519", "x": b64(private.public_key().public_bytes_raw())}
    return SigningKey(kid, "EdDSA", private.sign, members)


class AuthorizationServer:
    """An ASGI application that publishes its metadata and keys, and hands out any token a test asks for."""

    def __init__(self, clock: FakeClock, *keys: SigningKey, issuer: str = ISSUER) -> None:
        self.clock = clock
        self.keys = list(keys or (ed_key(),))
        self.issuer = issuer
        self.asked: list[str] = []
        self.looked_ms: list[float] = []
        self.answers: dict[str, tuple[int, bytes]] = {}

    @property
    def looks(self) -> int:
        """How often the keys were asked for."""
        return len(self.looked_ms)

    def publish(self) -> None:
        """Let the world see the keys as they are now."""
        metadata = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}{KEYS}"}
        self.answers = {
            METADATA: (200, json.dumps(metadata).encode()),
            KEYS: (200, json.dumps({"keys": [key.jwk for key in self.keys]}).encode()),
        }

    def claims(self, **changes: object) -> dict[str, Any]:
        """Return the claims of a good token, changed; None leaves a claim out."""
        now = self.clock.now_ms() // 1000
        good = {
            "iss": self.issuer, "sub": "ada", "aud": RESOURCE, "iat": now, "exp": now + 300,
            "scope": "market:read account:read",
        }  # fmt: skip
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def token(self, key: SigningKey | None = None, header: Mapping[str, Any] | None = None, **claims: object) -> str:
        """Sign a token: a good one, unless its header or claims are changed."""
        key = key or self.keys[0]
        shown = {"alg": key.algorithm, "typ": "at+jwt", "kid": key.kid, **(header or {})}
        known = {name: value for name, value in shown.items() if value is not None}
        return compact(known, json.dumps(self.claims(**claims)).encode(), key.sign)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        path: str = scope["path"]
        status, body = self.answers.get(path, (404, b"{}"))
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body})


class Wire(httpx2.ASGITransport):
    """The way to that server. It writes down every address that is asked for, and can be cut or kept waiting."""

    def __init__(self, server: AuthorizationServer) -> None:
        super().__init__(server)
        self._server = server
        self.is_cut = False
        self.gate = anyio.Event()
        self.gate.set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._server.asked.append(str(request.url))
        if request.url.path == KEYS:
            self._server.looked_ms.append(self._server.clock.monotonic_ms())
        if self.is_cut:
            raise httpx2.ConnectError("cut")
        await self.gate.wait()
        return await super().handle_async_request(request)
