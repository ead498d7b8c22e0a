"""One call to Binance within one deadline: retries temporary failures, and translates the others into our errors."""

from dataclasses import dataclass, field
from random import Random
from typing import Generic, Literal, TypeVar, overload

import anyio
import msgspec

from mcp_binance_server.channel import NoAnswer
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import (
    AppError,
    ExchangeRejected,
    ExchangeUnavailable,
    InvalidSymbol,
    RegionRestricted,
)
from mcp_binance_server.exchange.attempt import Attempts, ExchangeRefused, Params
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.diagnosis import can_be_sent
from mcp_binance_server.exchange.endpoints import Endpoint, Network, RestCall
from mcp_binance_server.exchange.key_probe import OtherNetworks, credentials_error, explain_refusal
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import AcceptedKeys, Principal
from mcp_binance_server.exchange.wire import UNREADABLE, ExchangeRefusal, TimeWire
from mcp_binance_server.proxies.errors import ProxyUnavailable

WireT = TypeVar("WireT")

ATTEMPTS = 3
BACKOFF_MS = 100
# A sample with this round trip has an error of at most an eighth of a second. That is precise enough for a signature.
GOOD_ROUND_TRIP_MS = 250
TIME_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Answered(Generic[WireT]):
    """A successful answer: its bytes and its decoded value."""

    content: bytes = field(repr=False)
    host: str
    value: WireT
    at_ms: int
    """The exchange's time of the request."""


@dataclass
class ExchangeCaller:
    """REST client: sends a call with its parameters, and returns a decoded answer or raises one of our errors."""

    attempts: Attempts
    clock: Clock
    others: OtherNetworks | None = None
    total_secs: float = 10.0
    market: Literal["perpetual"] | None = None
    """Market that is named in errors; None for spot."""
    random: Random = field(default_factory=Random, repr=False)
    accepted: AcceptedKeys = field(default_factory=AcceptedKeys, init=False, repr=False)
    network: Network = field(init=False)
    budget: Budget = field(init=False, repr=False)
    time: ServerTime = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.network, self.budget, self.time = self.attempts.network, self.attempts.budget, self.attempts.time

    def longest_ms(self, endpoint: RestCall) -> int:
        """Return the longest duration of a read, plus a margin; callers that share the read wait this long."""
        return int(self.total_secs * endpoint.patience * 1000) + 1_000

    @overload
    async def read(self, endpoint: RestCall, params: Params, shape: type[WireT]) -> Answered[WireT]: ...

    @overload
    async def read(
        self, endpoint: Endpoint, params: Params, shape: type[WireT], principal: Principal | None
    ) -> Answered[WireT]: ...

    async def read(
        self, endpoint: RestCall, params: Params, shape: type[WireT], principal: Principal | None = None
    ) -> Answered[WireT]:
        """Send a read within one total deadline, and decode the answer as `shape`.

        Raises:
            AppError: one of RateLimited, InvalidCredentials, InvalidSymbol, RegionRestricted, ExchangeRejected,
                ExchangeUnavailable.
        """
        if principal is not None and not can_be_sent(principal.credentials.api_key):
            raise credentials_error(self.network, None, principal)
        total_secs = self.total_secs * endpoint.patience
        try:
            with anyio.fail_after(total_secs):
                return await self._read_with_retries(endpoint, params, shape, principal)
        except TimeoutError:
            raise ExchangeUnavailable(reason=f"no answer within {total_secs:g} s") from None
        except ExchangeRefused as refused:
            raise await self._error(refused.refusal, params, principal) from None

    async def sync_time(self) -> None:
        """Read the exchange's clock, and keep the quickest of a few samples.

        The weight is charged to no party, because all of them use the time.
        """
        with acting_for(""):
            await self._sample_time()

    async def _sample_time(self) -> None:
        best_round_trip = float("inf")
        for _ in range(TIME_SAMPLES):
            asked_at = self.clock.monotonic_ms()
            body = await self.attempts.send(self.attempts.time_call, {})
            answered_at = self.clock.monotonic_ms()
            if answered_at - asked_at < best_round_trip:
                best_round_trip = answered_at - asked_at
                server_ms = msgspec.json.decode(body.content, type=TimeWire).server_time
                self.time.learn(server_ms, asked_at_ms=asked_at, answered_at_ms=answered_at)
            if best_round_trip <= GOOD_ROUND_TRIP_MS:
                return

    async def _read_with_retries(
        self, endpoint: RestCall, params: Params, shape: type[WireT], principal: Principal | None
    ) -> Answered[WireT]:
        resynced = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._read_once(endpoint, params, shape, principal)
            except ExchangeRefused as refused:
                if refused.refusal.is_timestamp and not resynced:
                    # The request was refused because of its timestamp, and not executed. Read the clock and try again.
                    resynced = True
                    self.time.forget()
                    continue
                if refused.refusal.is_region and self.attempts.reroute(endpoint):
                    continue
                if attempt == ATTEMPTS or not refused.refusal.is_passing:
                    raise
            except (NoAnswer, *UNREADABLE) as failure:
                if attempt == ATTEMPTS:
                    reason = failure.reason if isinstance(failure, NoAnswer) else "the answer could not be read"
                    is_proxys = isinstance(failure, NoAnswer) and failure.by_proxy
                    raise (ProxyUnavailable if is_proxys else ExchangeUnavailable)(reason=reason) from None
            await self.clock.sleep_ms(self.random.uniform(0.5, 1) * BACKOFF_MS * 2**attempt)
        raise ExchangeUnavailable(reason="the clocks or the hosts keep disagreeing")

    async def _read_once(
        self, endpoint: RestCall, params: Params, shape: type[WireT], principal: Principal | None
    ) -> Answered[WireT]:
        if principal is not None and self.time.is_due:
            await self.sync_time()
        asked_at = self.clock.monotonic_ms()
        if isinstance(endpoint, Endpoint):
            body = await self.attempts.send(endpoint, params, principal)
        else:
            body = await self.attempts.send(endpoint, params)
        # Count back from now. A time that was taken before the request may be wrong, because the answer can correct the
        # clock.
        at_ms = self.time.earliest_ms() - round(self.clock.monotonic_ms() - asked_at)
        if principal is not None:
            self.accepted.add(principal)
        return Answered(body.content, body.host, msgspec.json.decode(body.content, type=shape), at_ms)

    async def _error(self, refusal: ExchangeRefusal, params: Params, principal: Principal | None) -> AppError:
        if refusal.is_rate_limit:
            return await self.budget.halt(refusal)
        if refusal.is_credentials and self.market is None:
            return await explain_refusal(self.attempts, refusal, principal, self.others)
        if refusal.is_symbol:
            return InvalidSymbol(provided_symbol=str(params.get("symbol", "")), market=self.market)
        if refusal.is_region:
            return RegionRestricted(exchange_code=refusal.code, http_status=refusal.status, market=self.market)
        if refusal.may_pass:
            return ExchangeUnavailable(
                reason=f"HTTP {refusal.status}", exchange_code=refusal.code, http_status=refusal.status
            )
        return ExchangeRejected(exchange_message=refusal.text, exchange_code=refusal.code, http_status=refusal.status)
