"""Access tokens of an OAuth issuer: each signature is verified once and cached."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import SCOPES, Visitor
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated, bearer_token
from mcp_binance_server.transports.http.auth.jwks import KeyCache, KeySet, KeySource
from mcp_binance_server.transports.http.auth.trust import Trust

MOST = 512

# Limit of OpenID Connect Core, section 2. A longer subject is refused, because two shortened subjects could be equal.
LONGEST_SUBJECT = 255
# Types of access tokens. ID tokens and logout tokens of the same issuer must be refused: RFC 8725, section 3.11.
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})


@dataclass(frozen=True, slots=True)
class Proof:
    """A verified payload, with the keys that verified it. After a change of keys it must be verified again."""

    payload: bytes = field(repr=False)
    keys: KeySet


class Proven:
    """LRU cache of verified payloads, by the hash of the token.

    Neither tokens nor invalid tokens' hashes are stored.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._proofs: dict[bytes, Proof] = {}

    def find(self, token: str) -> Proof | None:
        digest = _digest(token)
        proof = self._proofs.pop(digest, None)
        if proof is not None:
            self._proofs[digest] = proof  # move to the end, which is evicted last
        return proof

    def keep(self, token: str, proof: Proof) -> None:
        self._proofs[_digest(token)] = proof
        if len(self._proofs) > self._most:
            del self._proofs[next(iter(self._proofs))]

    def __len__(self) -> int:
        return len(self._proofs)


def _digest(token: str) -> bytes:
    return sha256(token.encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class Presented:
    """An unverified token, and the name of its signing key."""

    text: str = field(repr=False)
    algorithm: str
    kid: str | None


class _Claims(msgspec.Struct):
    iss: str
    sub: str
    aud: str | list[str]
    exp: int | float
    nbf: int | float | None = None
    scope: str | list[str] | None = None
    scp: str | list[str] | None = None


def presented(text: str, algorithms: Sequence[str]) -> Presented:
    """Read the header of a token.

    The headers jku, jwk, x5u and x5c are ignored, because keys come only from the issuer.

    Raises:
        Unauthenticated: it is not a JWT, or its algorithm is not accepted.
    """
    from jwt.api_jws import PyJWS  # noqa: PLC0415 - takes a quarter of a second, needed only with an issuer
    from jwt.exceptions import PyJWTError  # noqa: PLC0415 - as above

    try:
        header = PyJWS().get_unverified_header(text)
    except PyJWTError:
        raise Unauthenticated("The token is not a readable JWT.") from None
    if "crit" in header:
        raise Unauthenticated("The token needs an extension that this server does not know.")
    algorithm, kind = header.get("alg"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise Unauthenticated(f"The token must be signed with one of {', '.join(algorithms)}.")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise Unauthenticated("The token is not an access token.")
    return Presented(text, algorithm, header.get("kid"))


def signed_payload(shown: Presented, keys: KeySet) -> bytes | None:
    """Return the payload if one of the keys verifies the signature, otherwise None."""
    from jwt.api_jws import PyJWS  # noqa: PLC0415 - as above
    from jwt.exceptions import PyJWTError  # noqa: PLC0415 - as above

    for key in keys.fitting(shown.kid, shown.algorithm):
        try:
            return PyJWS().decode(shown.text, key.verifier, algorithms=[key.algorithm])
        except PyJWTError:
            continue
    return None


def visitor_of(payload: bytes, trust: Trust, now_ms: int) -> Visitor:
    """Return the visitor of a verified token. The claims are checked here, because PyJWT uses its own clock.

    Raises:
        Unauthenticated: issuer or audience differ, the token is expired or not yet valid, or a claim is malformed.
    """
    try:
        claims = msgspec.json.decode(payload, type=_Claims)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unauthenticated("The token must have iss, sub, aud and exp, each as in RFC 9068.") from None
    if claims.iss != trust.issuer:
        raise Unauthenticated("The token is from another issuer.")
    # The whole audience must match. A token for another resource on the same host is not for this server.
    if trust.resource not in ([claims.aud] if isinstance(claims.aud, str) else claims.aud):
        raise Unauthenticated("The token is for another audience.")
    if now_ms >= (claims.exp + trust.leeway_secs) * 1000:
        raise Unauthenticated("The token has expired.")
    if claims.nbf is not None and now_ms < (claims.nbf - trust.leeway_secs) * 1000:
        raise Unauthenticated("The token is not valid yet.")
    if not 0 < len(claims.sub) <= LONGEST_SUBJECT or not claims.sub.isprintable():
        raise Unauthenticated(f"The subject must be 1 to {LONGEST_SUBJECT} printable characters.")
    granted = claims.scp if claims.scope is None else claims.scope
    words = granted.split() if isinstance(granted, str) else granted or ()
    # The separator is a space, which an issuer's URL cannot contain. So each issuer and subject have a name of their
    # own.
    return Visitor(f"{claims.iss} {claims.sub}", SCOPES.intersection(words))


class OAuth:
    """Authenticator for access tokens of one issuer. Keys are fetched when the first token arrives."""

    def __init__(self, trust: Trust, channel: Channel, clock: Clock) -> None:
        self._trust = trust
        self._clock = clock
        self._proven = Proven()
        self._keys = KeyCache(KeySource(trust, channel), clock, keep_ms=trust.keep_secs * 1000)

    async def visitor(self, headers: Headers, query: bytes) -> Visitor:
        token = bearer_token(headers, query)
        proof = self._proven.find(token)
        if proof is None or proof.keys is not await self._keys.current():
            proof = await self._prove(token)
            self._proven.keep(token, proof)
        # Check the claims every time. A cached signature stays valid, but the token expires.
        return visitor_of(proof.payload, self._trust, self._clock.now_ms())

    def edition(self) -> object:
        """Return the current second, because tokens expire with time."""
        return self._clock.now_ms() // 1000

    async def close(self) -> None:
        """Cancel a fetch in progress. The HTTP channel is closed by its owner."""
        await self._keys.close()

    async def _prove(self, token: str) -> Proof:
        shown = presented(token, self._trust.algorithms)
        keys = await self._keys.current()
        payload = signed_payload(shown, keys)
        # No known key verifies the token. The issuer may have replaced its keys.
        if payload is None and (newer := await self._keys.newer_than(keys)) is not None:
            keys, payload = newer, signed_payload(shown, newer)
        if payload is None:
            raise Unauthenticated("The token is not signed with a key of the issuer.")
        return Proof(payload, keys)
