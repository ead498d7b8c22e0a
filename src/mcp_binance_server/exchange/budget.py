"""Request-weight budget of the outgoing IP address, kept in the state engine so that a fleet shares it.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import anyio

from mcp_binance_server.channel import LONGEST_RETRY_AFTER_SECS, count_in
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.errors import AppError, EngineUnavailable, ExchangeUnavailable, RateLimited
from mcp_binance_server.exchange.allowance import WHOLE_KIND, Allowance
from mcp_binance_server.exchange.breaker import Breaker
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, RestCall
from mcp_binance_server.exchange.server_time import ServerTime, minute_of
from mcp_binance_server.exchange.wire import IP_BANNED, ExchangeRefusal
from mcp_binance_server.state.engine import Grant, StateEngine

# The smallest limit that Binance has ever published, used until exchangeInfo reports the true one. The exchangeInfo
# call itself is booked under the usual limit. Its weight of 20 still fits if nine tenths of the smallest limit are used
# up.
BOOTSTRAP_LIMIT, USUAL_LIMIT = 1_200, 6_000
LONGEST_LEARNING_SECS = 5.0
BAN_SECS = 120
USED_WEIGHT = "x-mbx-used-weight-1m"
SECOND_MS, MINUTE_MS = 1_000, 60_000
# Longest wait of a call while another caller restores a lost count, and the interval between its checks.
LONGEST_RECOUNT_MS, BETWEEN_LOOKS_MS = 3_000, 200
# Reasons of a refusal that end with the next minute or with a larger limit.
USED_UP = frozenset({"budget", "share"})


@dataclass
class Budget:
    """Weight budget: books each call before it is sent, and adopts the count that the exchange reports."""

    engine: StateEngine
    time: ServerTime
    clock: Clock
    egress_id: str
    patience_ms: int = 2_000
    least_limit: int = BOOTSTRAP_LIMIT
    usual_limit: int = USUAL_LIMIT
    has_private_calls: bool = True
    """Whether private calls are made here; if not, the engine's reserve for them can be spent too."""
    counters: Mapping[str, Allowance] = field(default_factory=dict[str, Allowance], repr=False)
    """Counters of requests, in addition to the weight, by the names that calls use for them."""
    limit: int = field(init=False)
    find_limit: Callable[[], Awaitable[object]] | None = field(default=None, init=False, repr=False)
    """Callback that passes the true limit to `learn_limit`; called if the smallest limit is not enough."""
    _is_limit_known: bool = field(default=False, init=False)
    spent_locally: int = field(default=0, init=False)
    """Weight spent by this process since its start, while the engine was away."""
    _told: tuple[int, int] = field(default=(0, 0), init=False)
    _under_way: int = field(default=0, init=False)
    _asked_until_ms: float = field(default=0, init=False)
    _stopped_until_ms: float = field(default=0, init=False)
    _after_stop: Breaker = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.limit = self.least_limit
        self._after_stop = Breaker(f"the limit of address {self.egress_id}", self.clock, self.engine)

    async def spend(self, endpoint: RestCall) -> bool:
        """Book a call's weight for the current party before the call is sent.

        If the next minute is near, wait for it. Every booking must be ended with `landed`. Return False, without a
        booking, if the engine has lost the minute's count. Then the caller must restore it with `recall`.

        Raises:
            RateLimited: the budget or the party's share of it is used up, or the exchange has ordered a stop.
        """
        grant = await self._ask_until_counted(endpoint)
        if grant.reason in USED_UP and await self._finds_limit(endpoint):
            grant = await self._ask_until_counted(endpoint)
        if grant.reason == "forgotten" and grant.retry_ms == 0:
            return False
        if grant.reason in USED_UP and grant.retry_ms <= self.patience_ms and endpoint.may_queue:
            await self.clock.sleep_ms(grant.retry_ms)
            grant = await self._ask(endpoint)
        if grant.reason == "stopped":
            self._note_stop(grant.retry_ms)
        if not grant:
            raise self._error(grant.retry_ms, grant)
        self.spent_locally += endpoint.weight if grant.is_local else 0
        if endpoint.counter:
            await self.counters[endpoint.counter].spend(party=_payer(endpoint))
        try:
            # The exchange may still refuse requests after the stop: one request finds out, and the others wait for its
            # answer.
            await self._after_stop.enter()
        except ExchangeUnavailable as alone:
            raise self._error(SECOND_MS * (alone.retry_after_secs or 1)) from None
        self._under_way += endpoint.weight
        return True

    def learn_limit(self, limit: int) -> None:
        """Set the limit that the exchange publishes."""
        self.limit, self._is_limit_known = limit, True

    def landed(self, endpoint: RestCall) -> None:
        """Record that a booked call has ended, with or without an answer."""
        self._under_way -= endpoint.weight

    async def used(self) -> int:
        """Return the weight used so far in this minute, as counted by the state engine."""
        return await self.engine.read_weight(self.egress_id, now_ms=self.time.likely_ms())

    async def settle(self, headers: Mapping[str, str]) -> None:
        """Raise our count to the one in an answer's header, if both belong to the same minute."""
        self._asked_until_ms = 0
        used, minute = count_in(headers, USED_WEIGHT), minute_of(headers.get("date", ""))
        if used is not None and minute is not None:
            known = self._told if self._told[0] <= self._minute + 1 else (0, 0)
            self._told = max(known, (minute, used))  # answers can arrive out of order
            with suppress(EngineUnavailable):  # the next answer's header has the count again
                await self.engine.report_weight(self.egress_id, used, minute=minute)

    async def relent(self) -> None:
        """Record an answer other than a rate limit error. If the wait of a stop is over, this answer ends the stop."""
        if self._after_stop.is_open and self.clock.monotonic_ms() >= self._stopped_until_ms:
            await self._after_stop.answered()

    async def recall(self, headers: Mapping[str, str]) -> None:
        """Restore the count that the state engine has lost, from an answer's header."""
        used, minute = count_in(headers, USED_WEIGHT), minute_of(headers.get("date", ""))
        if used is not None and minute is not None:
            # The header may not include our requests in flight.
            await self.engine.recall_weight(self.egress_id, used + self._under_way, minute=minute)

    async def halt(self, refusal: ExchangeRefusal) -> RateLimited:
        """Stop all callers on this IP for the time that the exchange demands, at most ten minutes; return the error."""
        self._asked_until_ms = self.clock.monotonic_ms() + (self._asked_ms(refusal) or 0)
        left_ms = self._pause_ms(refusal)
        # without the engine the stop applies to this process, and is passed to the engine later
        with suppress(EngineUnavailable):
            left_ms = await self.engine.stop_weight(self.egress_id, ms=left_ms, reason=f"HTTP {refusal.status}")
        self._note_stop(left_ms)
        return self._error(left_ms)

    def _note_stop(self, left_ms: float) -> None:
        self._stopped_until_ms = self.clock.monotonic_ms() + left_ms
        self._after_stop.open("HTTP 429 or 418", first_try_ms=self._stopped_until_ms)

    async def _finds_limit(self, endpoint: RestCall) -> bool:
        if self._is_limit_known or self.find_limit is None or endpoint.name == EXCHANGE_INFO.name:
            return False
        with anyio.move_on_after(LONGEST_LEARNING_SECS), suppress(AppError):
            await self.find_limit()
        return self._is_limit_known

    async def _ask_until_counted(self, endpoint: RestCall) -> Grant:
        grant = await self._ask(endpoint)
        until_ms = self.clock.monotonic_ms() + (LONGEST_RECOUNT_MS if endpoint.may_queue else 0)
        while grant.reason == "forgotten" and grant.retry_ms and self.clock.monotonic_ms() < until_ms:
            await self.clock.sleep_ms(min(grant.retry_ms, BETWEEN_LOOKS_MS))
            grant = await self._ask(endpoint)
        return grant

    async def _ask(self, endpoint: RestCall) -> Grant:
        return await self.engine.acquire_weight(
            self.egress_id,
            endpoint.kind if self.has_private_calls else WHOLE_KIND,
            endpoint.weight,
            limit=self._limit_of(endpoint),
            now_ms=self.time.likely_ms(),
            party=_payer(endpoint),
            local_limit=self._local_limit_of(endpoint),
        )

    def _local_limit_of(self, endpoint: RestCall) -> int:
        """Return the limit of a call while the engine is unavailable: the full limit or zero.

        It is zero for orders, background calls and calls with a counter. It is also zero while the limit or the
        exchange's time is unknown.
        """
        is_no_more = endpoint.kind == "order" or endpoint.in_background or bool(endpoint.counter)
        return self.limit if self._is_limit_known and self.time.is_known and not is_no_more else 0

    def _limit_of(self, endpoint: RestCall) -> int:
        if not self._is_limit_known and endpoint.name == EXCHANGE_INFO.name:
            return self.usual_limit
        # Background calls get half of the limit. The engine allows nine tenths of a limit, and 9/10 of 5/9 is a half.
        return self.limit * 5 // 9 if endpoint.in_background else self.limit

    def _asked_ms(self, refusal: ExchangeRefusal) -> int | None:
        """Return the wait demanded by the exchange, from its header or else from its text; None without a demand."""
        if refusal.retry_after_secs is not None:
            return refusal.retry_after_secs * 1000
        left_ms = (refusal.banned_until_ms or 0) - self.time.likely_ms()
        return left_ms if left_ms > 0 else None

    def _pause_ms(self, refusal: ExchangeRefusal) -> int:
        if (asked_ms := self._asked_ms(refusal)) is not None:
            return min(asked_ms, LONGEST_RETRY_AFTER_SECS * 1000)
        if refusal.status == IP_BANNED:
            return BAN_SECS * 1000
        return MINUTE_MS - self.time.likely_ms() % MINUTE_MS + 1000

    def _error(self, retry_ms: int, grant: Grant | None = None) -> RateLimited:
        minute, used = self._told
        outgrown = grant if grant is not None and grant.reason == "share" else None
        asked_ms = self._asked_until_ms - self.clock.monotonic_ms()
        return RateLimited(
            retry_after_secs=max(1, math.ceil(retry_ms / 1000)),
            # Clients get the exchange's count: ours includes booked calls that have no answer yet.
            current_weight=used if minute == self._minute else None,
            weight_limit=self.limit,
            exchange_wait_secs=math.ceil(asked_ms / 1000) if asked_ms > retry_ms + SECOND_MS else None,
            own_weight=None if outgrown is None else outgrown.own,
            weight_share=None if outgrown is None else outgrown.share,
        )

    @property
    def _minute(self) -> int:
        return self.time.likely_ms() // MINUTE_MS


def _payer(endpoint: RestCall) -> str:
    # Shared and background calls are charged to no party: otherwise the first caller would pay for all.
    return "" if endpoint.for_all or endpoint.in_background else PARTY.get()
