"""One call to Binance: spend, send, settle; retry what may be retried; say plainly what may not."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

import anyio
import msgspec

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.credentials import Credentials
from mcp_binance_server.errors import (
    AppError,
    ExchangeRejected,
    ExchangeUnavailable,
    InvalidCredentials,
    InvalidSymbol,
    RegionRestricted,
)
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.channel import Channel, NoAnswer
from mcp_binance_server.exchange.endpoints import TIME, Endpoint
from mcp_binance_server.exchange.faults import Refusal, classify, read_refusal
from mcp_binance_server.exchange.networks import Network, host_of
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Signer, rest_query, signed_query, signer_for
from mcp_binance_server.exchange.wire import TimeWire

Params = Mapping[str, str | int]
WireT = TypeVar("WireT")

ATTEMPTS = 3
BACKOFF_MS = 100
RECV_WINDOW_MS = 5_000
# A sample this quick is exact to an eighth of a second, which is all that a signature needs.
GOOD_ROUND_TRIP_MS = 250
TIME_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a success and the host they came from."""

    content: bytes = field(repr=False)
    host: str


@dataclass(frozen=True, slots=True)
class Principal:
    """Whose account a signed call is for."""

    credentials: Credentials
    signer: Signer = field(repr=False)

    @classmethod
    def of(cls, credentials: Credentials) -> "Principal":
        return cls(credentials, signer_for(credentials))


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


@dataclass
class Caller:
    """Turns an endpoint and parameters into the bytes of a success, or one of our errors."""

    network: Network
    channel: Channel
    budget: Budget
    time: ServerTime
    clock: Clock
    total_secs: float = 10.0
    random: Random = field(default_factory=Random, repr=False)
    _rerouted: bool = field(default=False, init=False)

    @property
    def longest_ms(self) -> int:
        """How long a read can take at the very most, with a margin: what others may wait for it."""
        return int(self.total_secs * 1000) + 1_000

    async def read(
        self, endpoint: Endpoint, params: Params, shape: type[WireT], principal: Principal | None = None
    ) -> Body:
        """Fetch a read whose body decodes as `shape`, within one total deadline.

        Raises:
            AppError: one of RateLimited, InvalidCredentials, InvalidSymbol, RegionRestricted, ExchangeRejected,
                ExchangeUnavailable.
        """
        try:
            with anyio.fail_after(self.total_secs):
                return await self._read_with_retries(endpoint, params, shape, principal)
        except TimeoutError:
            raise ExchangeUnavailable(reason=f"no answer within {self.total_secs:g} s") from None

    async def sync_time(self) -> None:
        """Learn the exchange's clock from the quickest of a few samples."""
        best_round_trip = float("inf")
        for _ in range(TIME_SAMPLES):
            asked_at = self.clock.monotonic_ms()
            body = await self._attempt(TIME, {}, None)
            answered_at = self.clock.monotonic_ms()
            if answered_at - asked_at < best_round_trip:
                best_round_trip = answered_at - asked_at
                server_ms = msgspec.json.decode(body.content, type=TimeWire).server_time
                self.time.learn(server_ms, asked_at_ms=asked_at, answered_at_ms=answered_at)
            if best_round_trip <= GOOD_ROUND_TRIP_MS:
                return

    async def _read_with_retries(
        self, endpoint: Endpoint, params: Params, shape: type[WireT], principal: Principal | None
    ) -> Body:
        resynced = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if principal is not None and self.time.is_due:
                    await self.sync_time()
                body = await self._attempt(endpoint, params, principal)
                msgspec.json.decode(body.content, type=shape)
            except _Refused as refused:
                refusal = refused.refusal
                if refusal.is_timestamp and not resynced:
                    # Nothing was executed; our idea of the exchange's clock was wrong. Learn it and ask once more.
                    resynced = True
                    self.time.forget()
                    continue
                if refusal.is_region and self._reroute(endpoint):
                    continue
                error = await self._error(refusal, params, principal)
            except NoAnswer as failure:
                error = ExchangeUnavailable(reason=failure.reason)
            except msgspec.MsgspecError:
                error = ExchangeUnavailable(reason="the answer could not be read")
            else:
                return body
            if attempt == ATTEMPTS or not isinstance(error, ExchangeUnavailable):
                raise error
            await self.clock.sleep_ms(self.random.uniform(0.5, 1) * BACKOFF_MS * 2**attempt)
        raise ExchangeUnavailable(reason="the clocks or the hosts keep disagreeing")

    async def _attempt(self, endpoint: Endpoint, params: Params, principal: Principal | None) -> Body:
        await self.budget.spend(endpoint)
        base = self._base_url(endpoint)
        query, headers = self._written(params, principal)
        answer = await self.channel.get(f"{base}{endpoint.path}{query}", headers, body_cap=endpoint.body_cap)
        self.time.glimpse(answer.headers.get("date", ""))
        await self.budget.settle(answer.headers)
        if answer.status != 200:
            raise _Refused(read_refusal(answer))
        return Body(answer.body, host_of(base))

    def _written(self, params: Params, principal: Principal | None) -> tuple[str, dict[str, str]]:
        if principal is None:
            return (f"?{rest_query(params)}" if params else ""), {}
        stamped = {**params, "recvWindow": RECV_WINDOW_MS, "timestamp": self.time.now_ms()}
        return f"?{signed_query(stamped, principal.signer)}", {"X-MBX-APIKEY": principal.credentials.api_key}

    def _base_url(self, endpoint: Endpoint) -> str:
        if self._rerouted and not endpoint.signed and self.network.public_data_url:
            return self.network.public_data_url
        return self.network.rest_url

    def _reroute(self, endpoint: Endpoint) -> bool:
        """Send public reads to the public data host from now on, if there is one and it was not tried yet."""
        if endpoint.signed or self._rerouted or self.network.public_data_url is None:
            return False
        self._rerouted = True
        return True

    async def _error(self, refusal: Refusal, params: Params, principal: Principal | None) -> AppError:
        if refusal.is_rate_limit:
            return await self.budget.halt(refusal)
        if refusal.is_credentials:
            masked = principal.credentials.masked if principal else "not set"
            return InvalidCredentials(masked_api_key=masked, help_url=self.network.help_url, reason=refusal.text)
        if refusal.is_symbol:
            return InvalidSymbol(provided_symbol=str(params.get("symbol", "")))
        if refusal.is_region:
            return RegionRestricted(exchange_code=refusal.code, http_status=refusal.status)
        if classify(refusal, is_write=False) == "retryable":
            return ExchangeUnavailable(
                reason=f"HTTP {refusal.status}", exchange_code=refusal.code, http_status=refusal.status
            )
        return ExchangeRejected(exchange_message=refusal.text, exchange_code=refusal.code, http_status=refusal.status)
