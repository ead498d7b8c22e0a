"""The recorded streams beside the checkout, and short ways to write books, deltas and trades."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Literal

import msgspec

from mcp_binance_server.domain.market import BookDelta, BookSnapshot, PriceLevel, Trade, WrittenLevel
from mcp_binance_server.domain.money import Price, Quantity
from support.fixtures import RECORDED_MARKET, UNPUBLISHED

Pair = Literal["btcusdt", "ethusdt"]
DAYS = ("20240808", "20240809")


class DepthRow(msgspec.Struct, rename={"event_ms": "E", "first": "U", "last": "u", "bids": "b", "asks": "a"}):
    event_ms: int
    first: int
    last: int
    bids: list[WrittenLevel]
    asks: list[WrittenLevel]


class QuoteRow(msgspec.Struct, rename={"update_id": "u", "bid": "b", "bid_size": "B", "ask": "a", "ask_size": "A"}):
    update_id: int
    bid: str
    bid_size: str
    ask: str
    ask_size: str


class TradeRow(
    msgspec.Struct, rename={"trade_id": "t", "price": "p", "size": "q", "time_ms": "T", "buyer_is_maker": "m"}
):
    trade_id: int
    price: str
    size: str
    time_ms: int
    buyer_is_maker: bool


class SnapshotRow(msgspec.Struct, rename="camel"):
    last_update_id: int
    bids: list[WrittenLevel]
    asks: list[WrittenLevel]


class DepthFrame(msgspec.Struct):
    data: DepthRow


class QuoteFrame(msgspec.Struct):
    data: QuoteRow


class TradeFrame(msgspec.Struct):
    data: TradeRow


decode_depth = msgspec.json.Decoder(DepthFrame).decode
decode_quote = msgspec.json.Decoder(QuoteFrame).decode
decode_trade = msgspec.json.Decoder(TradeFrame).decode
decode_snapshot = msgspec.json.Decoder(SnapshotRow).decode


@dataclass(frozen=True)
class Recording:
    """Eleven minutes of one symbol, by kind, in the order of arrival."""

    snapshot: BookSnapshot
    snapshot_rows: SnapshotRow
    deltas: tuple[BookDelta, ...]
    before_snapshot: int
    quotes: tuple[QuoteRow, ...]
    trades: tuple[Trade, ...]


@cache
def recording(pair: Pair) -> Recording:
    """Return a recording; a test that asks for one is marked as needing it."""
    deltas: list[BookDelta] = []
    quotes: list[QuoteRow] = []
    trades: list[Trade] = []
    snapshots: list[tuple[SnapshotRow, int]] = []
    for payload in _payloads(pair):
        head = payload[:48]
        if b"@depth" in head:
            row = decode_depth(payload).data
            deltas.append(BookDelta(row.first, row.last, row.event_ms, row.bids, row.asks))
        elif b"@bookTicker" in head:
            quotes.append(decode_quote(payload).data)
        elif b"@trade" in head:
            trades.append(_trade(decode_trade(payload).data))
        else:
            snapshots.append((decode_snapshot(payload), len(deltas)))
    ((rows, before),) = snapshots
    snapshot = book_of(rows.last_update_id, rows.bids, rows.asks)
    return Recording(snapshot, rows, tuple(deltas), before, tuple(quotes), tuple(trades))


def _payloads(pair: Pair) -> Iterator[bytes]:
    for day in DAYS:
        with gzip.open(UNPUBLISHED[RECORDED_MARKET].path / f"{pair}_{day}.gz") as file:
            for line in file:
                yield line.partition(b" ")[2]


def _trade(row: TradeRow) -> Trade:
    # Only single trades were recorded; their ids are contiguous as well, and each covers itself.
    return Trade(
        trade_id=row.trade_id,
        price=Price(Decimal(row.price)),
        quantity=Quantity(Decimal(row.size)),
        time_ms=row.time_ms,
        buyer_is_maker=row.buyer_is_maker,
        first_id=row.trade_id,
        last_id=row.trade_id,
    )


def level(written: WrittenLevel) -> PriceLevel:
    return PriceLevel(Price(Decimal(written[0])), Quantity(Decimal(written[1])))


def book_of(last_update_id: int, bids: list[WrittenLevel], asks: list[WrittenLevel]) -> BookSnapshot:
    return BookSnapshot(last_update_id, tuple(map(level, bids)), tuple(map(level, asks)))


def delta_of(
    first: int,
    last: int | None = None,
    *,
    bids: list[WrittenLevel] | None = None,
    asks: list[WrittenLevel] | None = None,
    event_ms: int = 0,
) -> BookDelta:
    return BookDelta(first, first if last is None else last, event_ms, bids or [], asks or [])


def trade_of(trade_id: int, time_ms: int, quantity: str = "1", *, buyer_is_maker: bool = False) -> Trade:
    return Trade(
        trade_id, Price(Decimal(100)), Quantity(Decimal(quantity)), time_ms, buyer_is_maker, trade_id, trade_id
    )
