"""Orders and cancels to the exchange: each leaves once, and every answer is one of four fates."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio

from mcp_binance_server.channel import WRITE_SECS, HttpAnswer, NoAnswer
from mcp_binance_server.domain.money import written
from mcp_binance_server.domain.order_requests import Fate, Gate, Kind, Outcome, Target, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.errors import AppError, EngineUnavailable, ExchangeUnavailable
from mcp_binance_server.exchange.attempt import OK, ExchangeRefused
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.diagnosis import can_be_sent
from mcp_binance_server.exchange.endpoints import WriteCall
from mcp_binance_server.exchange.key_probe import credentials_error
from mcp_binance_server.exchange.signing import Principal, signed_query
from mcp_binance_server.exchange.spot.endpoints import CANCEL_ORDER, PLACE_ORDER, TRY_ORDER
from mcp_binance_server.exchange.spot.order_counts import OrderCounts
from mcp_binance_server.exchange.spot.order_fates import UNREADABLE_SUCCESS, outcome_of, outcome_without_answer
from mcp_binance_server.exchange.spot.order_wire import is_object, read_cancelled, read_placed
from mcp_binance_server.exchange.wire import (
    IP_BANNED,
    TOO_MANY_ORDERS,
    TOO_MANY_REQUESTS,
    UNREADABLE,
    ExchangeRefusal,
    read_refusal,
)

LOG = logging.getLogger(__name__)

RECV_WINDOW_MS = 2_000
# Orders with an open price are not among them: https://developers.binance.com/docs/binance-spot-api-docs/rest-api
NEEDED: dict[Kind, frozenset[str]] = {
    "LIMIT": frozenset({"timeInForce"}),
    "LIMIT_MAKER": frozenset(),
    "STOP_LOSS_LIMIT": frozenset({"timeInForce", "stopPrice"}),
    "TAKE_PROFIT_LIMIT": frozenset({"timeInForce", "stopPrice"}),
}
Read = Callable[[bytes], Outcome]


@dataclass(frozen=True, slots=True)
class OrderClient:
    """Sends the orders of one account; what is not known of one is asked for by others, nothing is sent again."""

    caller: ExchangeCaller
    principal: Principal
    counts: OrderCounts
    recv_window_ms: int = RECV_WINDOW_MS
    longest_secs: float = WRITE_SECS

    async def place(self, order: WrittenOrder, gate: Gate, *, self_trade: str | None = None) -> Outcome:
        """Place an order; `gate` is awaited with the connection up and nothing sent, and what it raises is raised.

        Raises:
            AppError: nothing was sent: a limit, the exchange's clock, or the key.
        """
        self.counts.check()

        async def counted() -> None:
            await gate()
            self.counts.sent()

        params = _params(order, self_trade)
        return await self._send(PLACE_ORDER, params, counted, lambda body: _accepted(read_placed(body, order)))

    async def cancel(self, target: Target, gate: Gate, *, cancel_id: str) -> Outcome:
        """Cancel an order, by the exchange's own id where it is known; as `place` otherwise."""
        params: dict[str, str | int] = {"symbol": target.symbol}
        if target.order_id is None:
            params["origClientOrderId"] = target.client_order_id
        else:
            params["orderId"] = target.order_id
        params["newClientOrderId"] = cancel_id
        return await self._send(CANCEL_ORDER, params, gate, lambda body: _accepted(read_cancelled(body, target)))

    async def try_out(self, order: WrittenOrder) -> Outcome:
        """Let the exchange check an order as if it were placed; nothing is executed."""
        return await self._send(TRY_ORDER, _params(order, None), _open_gate, _tried)

    async def _send(self, call: WriteCall, params: dict[str, str | int], gate: Gate, read: Read) -> Outcome:
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
            return outcome_of(refusal)
        return read(answer.body)

    async def _know_time(self, call: WriteCall) -> None:
        """Read the exchange's clock if that was too long ago: what a signature says must not be a guess."""
        if not self.caller.time.is_rough:
            return
        try:
            await self._read_time()
        except AppError:
            # A cancel goes on by what is known: if that is wrong it is refused, and nobody is harmed.
            if call is not CANCEL_ORDER:
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
            await self._read_time()  # whose answer tells what the minute has cost
            if await budget.spend(call):
                return True
        except (EngineUnavailable, ExchangeUnavailable):
            if call is not CANCEL_ORDER:
                raise
        if call is not CANCEL_ORDER:
            raise ExchangeUnavailable(reason="the weight of this minute could not be found out, nothing was sent")
        return False  # without a count no order leaves; a cancel does

    async def _written(self, call: WriteCall, params: dict[str, str | int], gate: Gate) -> HttpAnswer:
        clock, longest_ms = self.caller.clock, self.recv_window_ms / 2
        stamped = {**params, "recvWindow": self.recv_window_ms, "timestamp": self.caller.time.likely_ms()}
        signed_ms = clock.monotonic_ms()

        async def fresh() -> None:
            # It was signed before the connection was up, and would come too late, or nearly.
            if clock.monotonic_ms() - signed_ms > longest_ms:
                raise NoAnswer(f"to connect took longer than {longest_ms / 1000:g} s", sent=False)
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
        """Take what the answer tells of limits and clocks; that this fails changes nothing of what it says."""
        self.counts.settle(answer.headers)
        if refusal is not None and refusal.is_timestamp:
            self.caller.time.forget()
        if refusal is not None and refusal.code == TOO_MANY_ORDERS:
            self.counts.close(refusal)  # the account's limit: what else this address asks goes on
        budget = self.caller.budget
        with anyio.CancelScope(shield=True), suppress(AppError):
            await budget.settle(answer.headers)
            if refusal is None or refusal.status not in {TOO_MANY_REQUESTS, IP_BANNED}:
                await budget.relent()
            elif refusal.code != TOO_MANY_ORDERS:
                await budget.halt(refusal)


def _tried(body: bytes) -> Outcome:
    return Outcome(Fate.ACCEPTED) if is_object(body) else _accepted(None)


def _accepted(order: Order | None) -> Outcome:
    if order is None:
        LOG.error("an order was answered with a success that cannot be read")
        return Outcome(Fate.UNKNOWN, reason=UNREADABLE_SUCCESS)
    return Outcome(Fate.ACCEPTED, order)


def _params(order: WrittenOrder, self_trade: str | None) -> dict[str, str | int]:
    needed = NEEDED.get(order.kind)
    if needed is None or (order.stop_price is not None) != ("stopPrice" in needed):
        raise ValueError(f"an order of this kind is never sent: {order.kind}")
    params: dict[str, str | int] = {"symbol": order.symbol, "side": order.side, "type": order.kind}
    if "timeInForce" in needed:
        params["timeInForce"] = order.time_in_force
    params |= {"quantity": written(order.quantity), "price": written(order.price)}
    if order.stop_price is not None:
        params["stopPrice"] = written(order.stop_price)
    params |= {"newClientOrderId": order.client_order_id, "newOrderRespType": "FULL"}
    return params if self_trade is None else {**params, "selfTradePreventionMode": self_trade}


async def _open_gate() -> None:
    return None
