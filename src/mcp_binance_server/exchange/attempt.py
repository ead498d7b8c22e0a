"""A single request to Binance: book its weight, sign it, send it, and adopt the weight that the answer reports."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import overload

from mcp_binance_server.channel import Channel, HttpAnswer, NoAnswer
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.exchange.breaker import Breaker
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.endpoints import TIME, Endpoint, Network, RestCall, host_of
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Principal, rest_query, signed_query
from mcp_binance_server.exchange.wire import RESTRICTED, SERVER_ERROR, ExchangeRefusal, read_refusal

Params = Mapping[str, str | int]

RECV_WINDOW_MS = 5_000
OK = 200


@dataclass(frozen=True, slots=True)
class AnswerBody:
    """The body of a successful answer, and the host that sent it."""

    content: bytes = field(repr=False)
    host: str


class ExchangeRefused(Exception):
    """The exchange answered with an error."""

    def __init__(self, refusal: ExchangeRefusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclass
class Attempts:
    """Sender of single requests, without retries, to the current host of a network."""

    network: Network
    channel: Channel
    budget: Budget
    time: ServerTime
    time_call: RestCall = TIME
    """The host's cheapest call. Its answer reports the weight used in this minute."""
    silence_ms: int = 0
    """Time in which nothing is sent to a host that does not serve this location."""
    _rerouted: bool = field(default=False, init=False)
    _breakers: dict[str, Breaker] = field(default_factory=dict[str, Breaker], init=False, repr=False)

    @overload
    async def send(self, endpoint: RestCall, params: Params) -> AnswerBody: ...

    @overload
    async def send(self, endpoint: Endpoint, params: Params, principal: Principal | None) -> AnswerBody: ...

    async def send(self, endpoint: RestCall, params: Params, principal: Principal | None = None) -> AnswerBody:
        """Send one request and return the body of a successful answer.

        Raises:
            ExchangeRefused: the exchange answered with an error.
            NoAnswer: no usable answer arrived.
            RateLimited: nothing was sent, because the budget does not allow it.
            ExchangeUnavailable: nothing was sent, because the host is down and gets only one request a second.
        """
        base = self._base_url(endpoint)
        await self._keep_silence(base)
        breaker = self._breaker(host_of(base))
        await breaker.enter()
        if not await self.budget.spend(endpoint):
            await self._recount(breaker, base)
            if not await self.budget.spend(endpoint):
                raise NoAnswer("the weight of this minute could not be read", sent=False, answered=True)
        asked_at = self.budget.clock.monotonic_ms()
        try:
            answer = await self._exchange(breaker, base, endpoint, params, principal)
        finally:
            self.budget.landed(endpoint)
        await self._heed(answer, asked_at, base, tells_weight=endpoint.tells_weight)
        return AnswerBody(answer.body, host_of(base))

    @property
    def hosts_down(self) -> int:
        """Number of hosts whose circuit breaker is open."""
        return sum(breaker.is_open for breaker in self._breakers.values())

    def reroute(self, endpoint: RestCall) -> bool:
        """Send public reads to the public data host from now on.

        Return False for a signed call, if there is no such host, or if that host is already in use.
        """
        if _is_signed(endpoint) or self._rerouted or self.network.public_data_url is None:
            return False
        self._rerouted = True
        return True

    async def _recount(self, breaker: Breaker, base: str) -> None:
        """Restore a lost weight count from the header of the cheapest call, which is sent without booking."""
        asked_at = self.budget.clock.monotonic_ms()
        answer = await self._exchange(breaker, base, self.time_call, {}, None)
        await self._heed(answer, asked_at, base)
        await self.budget.recall(answer.headers)

    async def _heed(self, answer: HttpAnswer, asked_at_ms: float, base: str, *, tells_weight: bool = True) -> None:
        self.time.glimpse(answer.headers.get("date", ""), self.budget.clock.monotonic_ms() - asked_at_ms)
        if tells_weight:
            await self.budget.settle(answer.headers)
        refusal = None if answer.status == OK else read_refusal(answer)
        if refusal is None or not refusal.is_rate_limit:
            await self.budget.relent()
        if refusal is not None:
            if refusal.is_region and self.silence_ms:
                with suppress(EngineUnavailable):
                    await self.budget.engine.put(_refused_key(base), b"", ttl_ms=self.silence_ms)
            raise ExchangeRefused(refusal)

    async def _keep_silence(self, base: str) -> None:
        refused = None
        if self.silence_ms:
            with suppress(EngineUnavailable):  # without the engine the request is sent, and the host refuses it again
                refused = await self.budget.engine.get(_refused_key(base))
        if refused is not None:
            raise ExchangeRefused(ExchangeRefusal(RESTRICTED, None, "", None))

    async def _exchange(
        self, breaker: Breaker, base: str, endpoint: RestCall, params: Params, principal: Principal | None
    ) -> HttpAnswer:
        query, headers = self._written(params, principal if isinstance(endpoint, Endpoint) else None)
        url, sent_ms = f"{base}{endpoint.path}{query}", self.budget.clock.monotonic_ms()
        try:
            answer = await self.channel.get(url, headers, body_cap=endpoint.body_cap, patience=endpoint.patience)
        except NoAnswer as failure:
            if not failure.answered:
                breaker.failed(sent_ms, failure.reason, by_proxy=failure.by_proxy)
            raise
        if answer.status >= SERVER_ERROR:
            breaker.failed(sent_ms, f"HTTP {answer.status}")
        else:
            await breaker.answered()
        return answer

    def _breaker(self, host: str) -> Breaker:
        if host not in self._breakers:
            self._breakers[host] = Breaker(host, self.budget.clock, self.budget.engine)
        return self._breakers[host]

    def _written(self, params: Params, principal: Principal | None) -> tuple[str, dict[str, str]]:
        if principal is None:
            return (f"?{rest_query(params)}" if params else ""), {}
        stamped = {**params, "recvWindow": RECV_WINDOW_MS, "timestamp": self.time.likely_ms()}
        return f"?{signed_query(stamped, principal.signer)}", {"X-MBX-APIKEY": principal.credentials.api_key}

    def _base_url(self, endpoint: RestCall) -> str:
        if self._rerouted and not _is_signed(endpoint) and self.network.public_data_url:
            return self.network.public_data_url
        return self.network.rest_url


def _is_signed(endpoint: RestCall) -> bool:
    return isinstance(endpoint, Endpoint) and endpoint.signed


def _refused_key(base: str) -> str:
    return f"region:{host_of(base)}"
