"""Public keys of an OAuth issuer (JWKS): fetched, checked and cached."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from mcp_binance_server.channel import Channel, NoAnswer
from mcp_binance_server.clock import Clock
from mcp_binance_server.transports.http.auth.authenticator import Unauthenticated
from mcp_binance_server.transports.http.auth.trust import FAMILIES, Trust, check_address, is_local_http

if TYPE_CHECKING:
    from jwt import PyJWK


LOG = logging.getLogger(__name__)

MOST_KEYS = 64

BODY_CAP = 262_144
_JSON = {"Accept": "application/json"}

# Minimum interval between fetches, so that invalid tokens cannot flood the issuer.
BETWEEN_LOOKS_MS = 60_000
# Interval until the first keys arrive. It is shorter, because an issuer often starts later than this server.
BETWEEN_FIRST_LOOKS_MS = 10_000
# Maximum age of keys during an outage of the issuer. After a day, old keys may have been withdrawn.
OLDEST_MS = 86_400_000


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """One public key, with the only algorithm that it verifies. A token cannot choose another algorithm."""

    kid: str | None
    algorithm: str
    verifier: "PyJWK" = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class KeySet:
    """Keys of an issuer. `document` identifies the version of the set."""

    keys: tuple[Key, ...]
    document: bytes = field(repr=False)

    def fitting(self, kid: str | None, algorithm: str) -> tuple[Key, ...]:
        """Return the keys that may verify a token: the key that it names, otherwise all keys of its algorithm."""
        return tuple(key for key in self.keys if key.algorithm == algorithm and kid in (None, key.kid))


class _Document(msgspec.Struct):
    keys: list[dict[str, Any]]


def read_key_set(document: bytes, algorithms: Sequence[str]) -> KeySet:
    """Parse a JWKS document. Broken keys, and keys for other purposes or algorithms, are left out.

    Raises:
        ValueError: the document is not a JWKS.
    """
    try:
        listed = msgspec.json.decode(document, type=_Document).keys
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the answer is not a JWKS") from None
    if len(listed) > MOST_KEYS:
        raise ValueError(f"there are more than {MOST_KEYS} keys")
    keys = tuple(key for jwk in listed for key in _keys_of(jwk, algorithms))
    if not keys:
        LOG.warning("the issuer publishes no key for %s: no token can be accepted", ", ".join(algorithms))
    return KeySet(keys, document)


def _keys_of(jwk: dict[str, Any], algorithms: Sequence[str]) -> list[Key]:
    from jwt import PyJWK  # noqa: PLC0415 - takes a quarter of a second, needed only with an issuer
    from jwt.exceptions import PyJWTError  # noqa: PLC0415 - as above

    keys: list[Key] = []
    for algorithm in algorithms:
        if not _may_verify(jwk, algorithm):
            continue
        try:
            verifier = PyJWK(jwk, algorithm)
            weakness = verifier.Algorithm.check_key_length(verifier.key)
        except (PyJWTError, ValueError, TypeError, KeyError):
            weakness = "it cannot be read"
        else:
            if weakness is None:
                keys.append(Key(verifier.key_id, algorithm, verifier))
                continue
        LOG.warning("a key of the issuer is ignored: %s", weakness)
    return keys


def _may_verify(jwk: dict[str, Any], algorithm: str) -> bool:
    family = FAMILIES[algorithm]
    operations = jwk.get("key_ops")
    return (
        jwk.get("kty") == family.kty
        and (family.crv is None or jwk.get("crv") == family.crv)
        and jwk.get("alg", algorithm) == algorithm
        and jwk.get("use", "sig") == "sig"
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and isinstance(jwk.get("kid", ""), str)
        and "d" not in jwk  # a private key that was published is compromised
    )


class KeysNotFetched(Exception):
    """The keys could not be fetched. The text gives the reason."""


class _Metadata(msgspec.Struct):
    issuer: str
    jwks_uri: str


class KeySource:
    """Fetcher of one issuer's keys.

    All addresses come from the settings or from the issuer's metadata, never from a token.
    """

    def __init__(self, trust: Trust, channel: Channel) -> None:
        self._trust = trust
        self._channel = channel
        self._found: str | None = None

    async def fetch(self) -> KeySet:
        """Fetch the current keys.

        Raises:
            KeysNotFetched: there is no answer, or an unusable one.
        """
        address = self._trust.jwks_url or self._found or await self._discover()
        try:
            keys = read_key_set(await self._get(address), self._trust.algorithms)
        except (KeysNotFetched, ValueError) as problem:
            self._found = None  # the keys may have moved, so read the metadata again next time
            raise KeysNotFetched(f"{address}: {problem}") from None
        self._found = address
        return keys

    async def _discover(self) -> str:
        problems: list[str] = []
        for address in metadata_addresses(self._trust.issuer):
            try:
                return self._jwks_address(await self._get(address))
            except (KeysNotFetched, ValueError) as problem:
                problems.append(f"{address}: {problem}")
        raise KeysNotFetched("; ".join(problems))

    def _jwks_address(self, document: bytes) -> str:
        try:
            metadata = msgspec.json.decode(document, type=_Metadata)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise ValueError("the answer is not metadata with an issuer and a jwks_uri") from None
        # Compare exactly (RFC 8414, section 3.3). Otherwise one tenant of a shared host could impersonate another.
        if metadata.issuer != self._trust.issuer:
            raise ValueError("the metadata belongs to another issuer")
        try:
            check_address(metadata.jwks_uri)
        except ValueError as problem:
            raise ValueError(f"jwks_uri {problem}") from None
        if is_local_http(metadata.jwks_uri) and not is_local_http(self._trust.issuer):
            raise ValueError("jwks_uri points to this machine")
        return metadata.jwks_uri

    async def _get(self, address: str) -> bytes:
        try:
            answer = await self._channel.get(address, _JSON, body_cap=BODY_CAP)
        except NoAnswer as failure:
            raise KeysNotFetched(failure.reason) from None
        except httpx2.InvalidURL:
            raise KeysNotFetched("the address cannot be used") from None
        if answer.status != 200:
            raise KeysNotFetched(f"HTTP {answer.status}")
        return answer.body


def metadata_addresses(issuer: str) -> tuple[str, ...]:
    """Return the possible addresses of an issuer's metadata: RFC 8414, then two forms of OpenID Connect."""
    parts = urlsplit(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    inserted = f"{host}/.well-known/openid-configuration{path}"
    appended = f"{host}{path}/.well-known/openid-configuration"
    return tuple(dict.fromkeys((f"{host}/.well-known/oauth-authorization-server{path}", inserted, appended)))


class KeyCache:
    """Cache of the newest keys. Waiting requests share one fetch."""

    def __init__(self, source: KeySource, clock: Clock, *, keep_ms: int) -> None:
        self._source = source
        self._clock = clock
        self._keep_ms = keep_ms
        self._held: KeySet | None = None
        self._fetched_ms = 0.0
        self._next_look_ms: float | None = None
        self._look: asyncio.Task[None] | None = None

    async def current(self) -> KeySet:
        """Return the cached keys. Outdated keys are still returned while new keys are fetched.

        Raises:
            Unauthenticated: there are no keys, and the issuer does not answer.
        """
        if self._held is None or self._age_ms >= 2 * self._keep_ms:
            await self._finished_look()
        elif self._age_ms >= self._keep_ms:
            self._started_look()
        if self._held is None or self._age_ms >= OLDEST_MS:
            raise Unauthenticated(
                "The keys of the authorization server cannot be fetched, so the token cannot be checked.",
                error="temporarily_unavailable",
                status=503,
                retry_after_secs=BETWEEN_FIRST_LOOKS_MS // 1000,
            )
        return self._held

    async def newer_than(self, seen: KeySet) -> KeySet | None:
        """Return newer keys than `seen`, or None. Keys are fetched at most once a minute."""
        if self._held is seen:
            await self._finished_look()
        return self._held if self._held is not seen else None

    async def close(self) -> None:
        """Cancel a fetch in progress."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait((self._look,))

    @property
    def _age_ms(self) -> float:
        return self._clock.monotonic_ms() - self._fetched_ms

    async def _finished_look(self) -> None:
        look = self._started_look()
        if look is not None:
            # The fetch has its own task, so that a cancelled caller does not cancel the fetch for others.
            await asyncio.wait((look,))

    def _started_look(self) -> asyncio.Task[None] | None:
        if self._look is not None and not self._look.done():
            return self._look
        now = self._clock.monotonic_ms()
        if self._next_look_ms is not None and now < self._next_look_ms:
            return None
        self._next_look_ms = now + (BETWEEN_FIRST_LOOKS_MS if self._held is None else BETWEEN_LOOKS_MS)
        self._look = asyncio.get_running_loop().create_task(self._fetch())
        return self._look

    async def _fetch(self) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            keys = await self._source.fetch()
        except KeysNotFetched as problem:
            LOG.warning("the issuer's keys could not be fetched, %s: %s", self._fallback, problem)
            return
        self._next_look_ms = started_ms + BETWEEN_LOOKS_MS
        self._fetched_ms = started_ms
        if self._held is None or self._held.document != keys.document:
            self._held = keys
            LOG.info("the issuer has %d usable keys", len(keys.keys))

    @property
    def _fallback(self) -> str:
        return "all tokens are refused" if self._held is None else "the cached keys are used"
