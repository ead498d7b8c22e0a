"""Messages of the user data stream on the WebSocket API: answers, events, and order updates.

Field names differ only by case: `E` and `e`, `t` and `T`.

https://developers.binance.com/docs/binance-spot-api-docs/user-data-stream
"""

import msgspec

from mcp_binance_server.domain.orders import NOTHING, Order, Report
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.order_wire import NO_REASON, NOT_YET, read_expiry, read_start
from mcp_binance_server.exchange.wire import Amount, Count, CountOrNone, EpochMs, ExchangeRefusal, price, quantity
from mcp_binance_server.words import word

NO_EVENT = msgspec.Raw(b"null")
OK = 200


class _WaitWire(msgspec.Struct):
    retry_after: EpochMs | None = msgspec.field(default=None, name="retryAfter")


class _UserErrorWire(msgspec.Struct):
    code: int
    msg: str = ""
    data: _WaitWire | None = None


class SubscriptionWire(msgspec.Struct):
    subscription_id: Count = msgspec.field(name="subscriptionId")


class UserFrameWire(msgspec.Struct):
    """A frame: an event of a subscription, a notice, or the answer to a request."""

    id: int | str | None = None
    status: int | None = None
    subscription_id: Count | None = msgspec.field(default=None, name="subscriptionId")
    event: msgspec.Raw = NO_EVENT
    result: msgspec.Raw = NO_EVENT
    error: _UserErrorWire | None = None

    def refusal(self, now_ms: int) -> ExchangeRefusal | None:
        """Return the refusal in an answer, or None for a success.

        The answer gives the end of a wait as a timestamp; the refusal gives its length in seconds.
        """
        if self.error is None:
            return None if self.status == OK else ExchangeRefusal(self.status or 0, None, "", None)
        until_ms = None if self.error.data is None else self.error.data.retry_after
        wait_secs = None if until_ms is None else max(0, -(-(until_ms - now_ms) // 1000))
        return ExchangeRefusal(self.status or 0, self.error.code, word(self.error.msg), wait_secs)


class EventHeadWire(msgspec.Struct):
    """The kind of an event."""

    kind: str = msgspec.field(default="", name="e")


class ExecutionReportWire(msgspec.Struct):
    """An order update; the exchange adds fields without notice, and omits empty ones."""

    event_time: EpochMs = msgspec.field(name="E")
    symbol: str = msgspec.field(name="s")
    client_order_id: str = msgspec.field(name="c")
    side: str = msgspec.field(name="S")
    type: str = msgspec.field(name="o")
    time_in_force: str = msgspec.field(name="f")
    quantity: Amount = msgspec.field(name="q")
    price: Amount = msgspec.field(name="p")
    execution: str = msgspec.field(name="x")
    status: str = msgspec.field(name="X")
    order_id: Count = msgspec.field(name="i")
    executed: Amount = msgspec.field(name="z")
    spent: Amount = msgspec.field(name="Z")
    traded: Amount = msgspec.field(name="l")
    trade_id: CountOrNone = msgspec.field(name="t")
    execution_id: Count = msgspec.field(name="I")
    transacted: EpochMs = msgspec.field(name="T")
    created: EpochMs = msgspec.field(name="O")
    stop_price: Amount = msgspec.field(default="0", name="P")
    original_client_order_id: str = msgspec.field(default="", name="C")
    reject_reason: str = msgspec.field(default=NO_REASON, name="r")
    expiry_reason: str | int | None = msgspec.field(default=None, name="eR")
    trailing_delta: Count = msgspec.field(default=0, name="d")
    trailing_time: CountOrNone = msgspec.field(default=NOT_YET, name="D")

    def __post_init__(self) -> None:
        # Here a quantity of zero is a real value, unlike in other messages. The executed quantity must not exceed it.
        if not quantity(self.traded) <= quantity(self.executed) <= quantity(self.quantity):
            raise ValueError("more was traded than executed, or more executed than ordered")

    def to_domain(self) -> Report:
        has_trade = self.trade_id >= 0
        return Report(
            order=Order(
                order_id=self.order_id,
                # The event of a cancel or an amendment has a client ID of its own. The order's ID is in the field of
                # the original ID.
                client_order_id=word(self.original_client_order_id or self.client_order_id),
                symbol=Symbol(word(self.symbol)),
                side=word(self.side),
                kind=word(self.type),
                status=word(self.status),
                time_in_force=word(self.time_in_force),
                price=price(self.price),
                stop_price=price(self.stop_price),
                quantity=quantity(self.quantity),
                executed=quantity(self.executed),
                quote_spent=quantity(self.spent),
                created_ms=self.created,
                updated_ms=self.transacted,
                expiry_reason=read_expiry(self.expiry_reason),
                trailing_bps=self.trailing_delta or None,
                trailing_ms=read_start(self.trailing_delta, self.trailing_time),
            ),
            event=word(self.execution),
            execution_id=self.execution_id,
            trade_id=self.trade_id if has_trade else None,
            reason=self._reason(),
            at_ms=self.event_time,
            traded=quantity(self.traded) if has_trade else NOTHING,
        )

    def _reason(self) -> str:
        if self.reject_reason != NO_REASON:
            return word(self.reject_reason)
        return read_expiry(self.expiry_reason)
