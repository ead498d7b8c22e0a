"""Stream frames as Binance spells them; one-letter names that differ only by case are never folded.

https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams
"""

import msgspec

from mcp_binance_server.domain.market import BookDelta, Ticker
from mcp_binance_server.exchange.amounts import Amount, Count, EpochMs, SignedAmount, check_levels
from mcp_binance_server.exchange.wire import AggregateTradeWire, TickerWire

NOTHING = msgspec.Raw(b"null")
SHUTDOWN = "!serverShutdown"


class FrameWire(msgspec.Struct):
    """What a connection says: an event under the name of its stream, a notice, or the answer to a request."""

    stream: str = ""
    data: msgspec.Raw = NOTHING
    id: int | str | None = None
    code: int | None = None
    e: str = ""


class DepthEventWire(msgspec.Struct):
    """What changed in a book; the levels stay as written, so that nothing is lost and little is spent."""

    symbol: str = msgspec.field(name="s")
    event_time: EpochMs = msgspec.field(name="E")
    first_update_id: Count = msgspec.field(name="U")
    last_update_id: Count = msgspec.field(name="u")
    bids: list[tuple[str, str]] = msgspec.field(name="b")
    asks: list[tuple[str, str]] = msgspec.field(name="a")

    def __post_init__(self) -> None:
        if self.first_update_id > self.last_update_id:
            raise ValueError("an event of a book ends before it begins")
        check_levels(self.bids)
        check_levels(self.asks)

    def to_domain(self) -> BookDelta:
        return BookDelta(self.first_update_id, self.last_update_id, self.event_time, self.bids, self.asks)


class TradeEventWire(AggregateTradeWire):
    """An aggregate trade as it happens."""

    symbol: str = msgspec.field(name="s")


class QuoteEventWire(msgspec.Struct):
    """The best bid and ask after a change; the exchange gives no time with it."""

    symbol: str = msgspec.field(name="s")
    update_id: Count = msgspec.field(name="u")
    bid: Amount = msgspec.field(name="b")
    bid_size: Amount = msgspec.field(name="B")
    ask: Amount = msgspec.field(name="a")
    ask_size: Amount = msgspec.field(name="A")


class TickerEventWire(msgspec.Struct):
    """The statistics of the last 24 hours, sent once a second."""

    symbol: str = msgspec.field(name="s")
    price_change: SignedAmount = msgspec.field(name="p")
    price_change_percent: SignedAmount = msgspec.field(name="P")
    weighted_avg_price: Amount = msgspec.field(name="w")
    last_price: Amount = msgspec.field(name="c")
    bid_price: Amount = msgspec.field(name="b")
    ask_price: Amount = msgspec.field(name="a")
    open_price: Amount = msgspec.field(name="o")
    high_price: Amount = msgspec.field(name="h")
    low_price: Amount = msgspec.field(name="l")
    volume: Amount = msgspec.field(name="v")
    quote_volume: Amount = msgspec.field(name="q")
    open_time: EpochMs = msgspec.field(name="O")
    close_time: EpochMs = msgspec.field(name="C")
    count: Count = msgspec.field(name="n")

    def to_domain(self) -> Ticker:
        # The same members as in the answer to a request, under other names.
        return TickerWire(**msgspec.structs.asdict(self)).to_domain()


def control_message(method: str, names: list[str], identity: int) -> str:
    """Write a request to begin or end streams."""
    return msgspec.json.encode({"method": method, "params": names, "id": identity}).decode()
