"""Where an issuer's keys come from: an address in the settings, or the one its own metadata names."""

from urllib.parse import urlsplit

import httpx2
import msgspec

from mcp_binance_server.channel import Channel, NoAnswer
from mcp_binance_server.transports.http.auth.addresses import check_address, is_local_http
from mcp_binance_server.transports.http.auth.key_set import KeySet, read_key_set
from mcp_binance_server.transports.http.auth.trust import Trust

BODY_CAP = 262_144
_JSON = {"Accept": "application/json"}


class KeysNotFetched(Exception):
    """The keys could not be had; the text says why."""


class _Metadata(msgspec.Struct):
    issuer: str
    jwks_uri: str


class KeySource:
    """Fetches the keys of one issuer. Every address comes from the settings or the issuer, none from a token."""

    def __init__(self, trust: Trust, channel: Channel) -> None:
        self._trust = trust
        self._channel = channel
        self._found: str | None = None

    async def fetch(self) -> KeySet:
        """Fetch the keys as they are now.

        Raises:
            KeysNotFetched: no answer, or none that can be used.
        """
        address = self._trust.jwks_url or self._found or await self._discover()
        try:
            keys = read_key_set(await self._get(address), self._trust.algorithms)
        except (KeysNotFetched, ValueError) as problem:
            self._found = None  # they may have moved: the metadata is read again next time
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
            raise ValueError("the answer is no metadata with an issuer and a jwks_uri") from None
        # Exactly the same: RFC 8414, section 3.3. Otherwise one tenant of a host could speak for another.
        if metadata.issuer != self._trust.issuer:
            raise ValueError("the metadata is another issuer's")
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
    """Return where an issuer may describe itself: RFC 8414, then OpenID Connect in both of its spellings."""
    parts = urlsplit(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    inserted = f"{host}/.well-known/openid-configuration{path}"
    appended = f"{host}{path}/.well-known/openid-configuration"
    return tuple(dict.fromkeys((f"{host}/.well-known/oauth-authorization-server{path}", inserted, appended)))
