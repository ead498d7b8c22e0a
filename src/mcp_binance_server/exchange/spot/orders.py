"""Client that sends orders, order lists, changes and cancels: each is sent once and has one of four outcomes."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio

from mcp_binance_server.channel import WRITE_SECS, HttpAnswer, NoAnswer
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    Gate,
    Outcome,
    Replacement,
    Target,
    WrittenList,
    WrittenOrder,
)
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.errors import AppError, EngineUnavailable, ExchangeUnavailable
from mcp_binance_server.exchange.attempt import OK, ExchangeRefused
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.diagnosis import can_be_sent
from mcp_binance_server.exchange.endpoints import WriteCall
from mcp_binance_server.exchange.key_probe import credentials_error
from mcp_binance_server.exchange.signing import Principal, signed_query
from mcp_binance_server.exchange.spot.endpoints import (
    AMEND_ORDER,
    CANCEL_LIST,
    CANCEL_ORDER,
    LISTS,
    PLACE_ORDER,
    REPLACE_ORDER,
    TRY_ORDER,
)
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.order_fates import (
    NOT_REPLACED,
    UNREADABLE_SUCCESS,
    outcome_of,
    outcome_without_answer,
)
from mcp_binance_server.exchange.spot.order_list_wire import read_cancelled_list, read_list
from mcp_binance_server.exchange.spot.order_params import (
    Params,
    amendment_params,
    cancel_params,
    list_params,
    order_params,
    replacement_params,
)
from mcp_binance_server.exchange.spot.order_wire import is_object, read_cancelled, read_placed
from mcp_binance_server.exchange.spot.replacement_wire import outcome_of_replacement, read_amended, read_replaced
from mcp_binance_server.exchange.wire import (
    IP_BANNED,
    PARTIAL_CODE,
    TOO_MANY_ORDERS,
    TOO_MANY_REQUESTS,
    UNREADABLE,
    ExchangeRefusal,
    read_refusal,
)

LOG = logging.getLogger(__name__)

RECV_WINDOW_MS = 2_000
# `Read` returns the outcome of a success answer, or None if the answer is not plausible. `Judge` returns the outcome of
# an error answer.
Read = Callable[[bytes], Outcome | None]
Judge = Callable[[ExchangeRefusal, bytes], Outcome]


@dataclass(frozen=True, slots=True)
class OrderClient:
    """Client for the orders of one account.

    It never sends an order twice; the caller queries the exchange about an unknown outcome.
    """

    caller: ExchangeCaller
    principal: Principal
    counts: OrderCounts
    recv_window_ms: int = RECV_WINDOW_MS
    longest_secs: float = WRITE_SECS

    async def place(self, order: WrittenOrder, gate: Gate, *, self_trade: str | None = None) -> Outcome:
        """Place an order.

        `gate` is awaited when the connection is open and nothing is sent yet; its errors are raised here.

        Raises:
            AppError: nothing was sent, because of a limit, the exchange's clock, or the key.
        """
        params, counting = order_params(order, self_trade), self._counting(gate)
        return await self._send(PLACE_ORDER, params, counting, lambda body: _of_order(read_placed(body, order)))

    async def place_list(self, orders: WrittenList, gate: Gate, *, self_trade: str | None = None) -> Outcome:
        """Place all orders of a list in one request, each counted against the order limit; otherwise like `place`."""
        call, params = LISTS[orders.shape], list_params(orders, self_trade)
        counting = self._counting(gate, len(orders.orders))
        return await self._send(call, params, counting, lambda body: _of_list(read_list(body, orders)))

    async def replace(
        self, replacement: Replacement, gate: Gate, *, cancel_id: str, self_trade: str | None = None
    ) -> Outcome:
        """Cancel an order and place a new one in one request; otherwise like `place`.

        If only the cancel succeeds, the outcome is refused and contains the cancelled order.
        """
        return await self._send(
            REPLACE_ORDER,
            replacement_params(replacement, cancel_id, self_trade),
            self._counting(gate),
            lambda body: read_replaced(body, replacement),
            lambda refusal, body: outcome_of_replacement(refusal, body, replacement),
        )

    async def amend(self, amendment: Amendment, gate: Gate) -> Outcome:
        """Reduce the quantity of an order; this does not count against the order limit. Otherwise like `place`."""
        params = amendment_params(amendment)
        return await self._send(AMEND_ORDER, params, gate, lambda body: _of_order(read_amended(body, amendment)))

    async def cancel(self, target: Target, gate: Gate, *, cancel_id: str) -> Outcome:
        """Cancel an order or a whole order list; otherwise like `place`."""
        params = cancel_params(target, cancel_id)
        if target.is_list:
            return await self._send(CANCEL_LIST, params, gate, lambda body: _of_list(read_cancelled_list(body, target)))
        return await self._send(CANCEL_ORDER, params, gate, lambda body: _of_order(read_cancelled(body, target)))

    async def try_out(self, order: WrittenOrder, *, self_trade: str | None = None) -> Outcome:
        """Send a test order: the exchange checks it like a real one, but does not place it."""
        return await self._send(TRY_ORDER, order_params(order, self_trade), _open_gate, _tried)

    def _counting(self, gate: Gate, orders: int = 1) -> Gate:
        self.counts.check(orders)

        async def counted() -> None:
            await gate()
            self.counts.sent(orders)

        return counted

    async def _send(
        self, call: WriteCall, params: Params, gate: Gate, read: Read, judge: Judge | None = None
    ) -> Outcome:
        if not can_be_sent(self.principal.credentials.api_key):
            raise credentials_error(self.caller.network, None, self.principal)
        await self.caller.attempts.channel.prepare_writes()
        await self._know_time(call)
        is_booked = await self._booked(call)
        try:
            answer = await self._written(call, params, gate)
        except NoAnswer as failure:
            return outcome_without_answer(failure)
        finally:
            if is_booked:
                self.caller.budget.landed(call)
        refusal = None if answer.status == OK else read_refusal(answer)
        await self._heed(answer, refusal)
        if refusal is not None:
            return outcome_of(refusal) if judge is None else judge(refusal, answer.body)
        outcome = read(answer.body)
        if outcome is None:
            LOG.error("the success response of a write could not be read: %s", call.path)
            return Outcome(Fate.UNKNOWN, reason=UNREADABLE_SUCCESS)
        return outcome

    async def _know_time(self, call: WriteCall) -> None:
        """Read the exchange's clock if the last reading is too old: the timestamp of an order must not be a guess."""
        if not self.caller.time.is_rough:
            return
        try:
            await self._read_time()
        except AppError:
            # A cancel is sent with the estimated time. If the time is wrong the exchange refuses the cancel, which does
            # no harm.
            if not call.is_cancel:
                raise

    async def _read_time(self) -> None:
        try:
            await self.caller.sync_time()
        except ExchangeRefused as refused:
            if refused.refusal.is_rate_limit:
                raise await self.caller.budget.halt(refused.refusal) from None
            raise ExchangeUnavailable(
                reason=f"its clock could not be read, nothing was sent: HTTP {refused.refusal.status}"
            ) from None
        except (NoAnswer, *UNREADABLE):
            raise ExchangeUnavailable(reason="its clock could not be read, nothing was sent") from None

    async def _booked(self, call: WriteCall) -> bool:
        budget = self.caller.budget
        try:
            if await budget.spend(call):
                return True
            await self._read_time()  # any answer reports the weight used in this minute
            if await budget.spend(call):
                return True
        except (EngineUnavailable, ExchangeUnavailable):
            if not call.is_cancel:
                raise
        if not call.is_cancel:
            raise ExchangeUnavailable(reason="the weight of this minute could not be read, nothing was sent")
        return False  # without a booking only a cancel may be sent

    async def _written(self, call: WriteCall, params: Params, gate: Gate) -> HttpAnswer:
        clock, longest_ms = self.caller.clock, self.recv_window_ms / 2
        stamped = {**params, "recvWindow": self.recv_window_ms, "timestamp": self.caller.time.likely_ms()}
        signed_ms = clock.monotonic_ms()

        async def fresh() -> None:
            # The request was signed before the connection opened, and its timestamp is now too old or nearly so.
            if clock.monotonic_ms() - signed_ms > longest_ms:
                raise NoAnswer(f"connecting took longer than {longest_ms / 1000:g} s", sent=False)
            await gate()

        query = signed_query(stamped, self.principal.signer)
        return await self.caller.attempts.channel.write(
            call.method,
            f"{self.caller.network.rest_url}{call.path}?{query}",
            {"X-MBX-APIKEY": self.principal.credentials.api_key},
            fresh,
            body_cap=call.body_cap,
            longest_secs=self.longest_secs,
        )

    async def _heed(self, answer: HttpAnswer, refusal: ExchangeRefusal | None) -> None:
        """Adopt the limits and the time in an answer; a failure here does not change the outcome."""
        self.counts.settle(answer.headers)
        if refusal is not None and refusal.is_timestamp:
            self.caller.time.forget()
        if refusal is not None and _is_order_limit(refusal):
            self.counts.close(refusal)  # this limit is the account's: other requests of this address may continue
        budget = self.caller.budget
        with anyio.CancelScope(shield=True), suppress(AppError):
            await budget.settle(answer.headers)
            if refusal is None or refusal.status not in {TOO_MANY_REQUESTS, IP_BANNED}:
                await budget.relent()
            elif not _is_order_limit(refusal):
                await budget.halt(refusal)


def _is_order_limit(refusal: ExchangeRefusal) -> bool:
    # A failed replacement has the reason only in the two halves of its answer.
    is_half = refusal.status == TOO_MANY_REQUESTS and refusal.code in {PARTIAL_CODE, NOT_REPLACED}
    return refusal.code == TOO_MANY_ORDERS or is_half


def _of_order(order: Order | None) -> Outcome | None:
    return None if order is None else Outcome(Fate.ACCEPTED, order, reason=order.expiry_words)


def _of_list(legs: tuple[Order, ...] | None) -> Outcome | None:
    if legs is None:
        return None
    return Outcome(Fate.ACCEPTED, reason=next((each.expiry_words for each in legs if each.expiry_words), ""), legs=legs)


def _tried(body: bytes) -> Outcome | None:
    return Outcome(Fate.ACCEPTED) if is_object(body) else None


async def _open_gate() -> None:
    return None
