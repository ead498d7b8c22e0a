"""Visitors with an access token of an OAuth 2.1 issuer; this server is the resource, never the issuer."""

from mcp_binance_server.channel import Channel
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.transports.http.auth.access_token import presented, signed_payload, visitor_of
from mcp_binance_server.transports.http.auth.authenticator import Headers, Unauthenticated
from mcp_binance_server.transports.http.auth.bearer import bearer_token
from mcp_binance_server.transports.http.auth.key_cache import KeyCache
from mcp_binance_server.transports.http.auth.key_source import KeySource
from mcp_binance_server.transports.http.auth.proven import Proof, Proven
from mcp_binance_server.transports.http.auth.trust import Trust


class OAuth:
    """Lets in whoever one issuer vouches for; nothing is fetched before the first token."""

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
        # Always: a signature stays good, a token does not.
        return visitor_of(proof.payload, self._trust, self._clock.now_ms())

    def edition(self) -> object:
        """Return the second: tokens cease to be good by the passing of time."""
        return self._clock.now_ms() // 1000

    async def close(self) -> None:
        """End what is under way; the channel is closed by whoever opened it."""
        await self._keys.close()

    async def _prove(self, token: str) -> Proof:
        shown = presented(token, self._trust.algorithms)
        keys = await self._keys.current()
        payload = signed_payload(shown, keys)
        # A new key, or an old name for a new key: perhaps the issuer has changed them.
        if payload is None and (newer := await self._keys.newer_than(keys)) is not None:
            keys, payload = newer, signed_payload(shown, newer)
        if payload is None:
            raise Unauthenticated("The token is not signed with a key of the issuer.")
        return Proof(payload, keys)
