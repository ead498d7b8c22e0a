"""What readers and senders over gRPC can make a server hold in memory."""

import asyncio
from pathlib import Path

import grpc
import msgspec
import pytest
from grpc.aio import AioRpcError

from mcp_binance_server.transports.proto import provider_pb2 as pb
from support.live_floor import Floor, Reader, open_floor
from support.process import Process
from support.provider import until
from support.provider_process import started

MIB = 2**20


def resident_kib() -> int:
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4


def print_trades(floor: Floor, count: int) -> int:
    """Let so many more trades come by the stream at once, and return the id of the last."""
    newest = floor.hub.watched()[0].feed.tape.newest
    assert newest is not None
    for trade_id in range(newest.trade_id + 1, newest.trade_id + 1 + count):
        trade = {"s": "BTCUSDT", "a": trade_id, "p": "1.0", "q": "1", "f": trade_id, "l": trade_id, "m": True}
        trade |= {"T": newest.time_ms}
        floor.hub.on_event("btcusdt@aggTrade", msgspec.Raw(msgspec.json.encode(trade)))
    return newest.trade_id + count


async def test_who_reads_slowly_is_told_what_was_missed_and_costs_no_memory(scale: int) -> None:
    # Half a thousand trades are kept of each symbol, and a book of a thousand levels is 50 kB, ten times a second.
    environment = {"MCP_BINANCE_FEED_SYMBOLS": "1000"}
    request = pb.StreamRequest(symbols=["BTCUSDT"], limits=pb.StreamLimits(book_levels=1_000))
    async with open_floor("busy", environment) as floor:
        reader = Reader(floor.provider.stream(request))
        await until(lambda: floor.readers == [1])
        await floor.run(15)
        before = resident_kib()
        await floor.run(15 * scale)
        grown = resident_kib() - before
        last_trade, last_book = print_trades(floor, 2_000), floor.hub.watched()[0].feed.book.last_update_id
        task = asyncio.create_task(reader.read())
        await until(lambda: reader.told("trade") and reader.told("trade")[-1]["trade_id"] == last_trade)
        await until(lambda: reader.told("book")[-1]["last_update_id"] == last_book)
        reader.call.cancel()
        await asyncio.gather(task, return_exceptions=True)

    trades, books = reader.told("trade"), reader.told("book")
    missed = sum(trade["missed"] for trade in trades)
    print(f"{grown} KiB more, {len(books)} books of {150 * (scale + 1)}, {missed} trades missed")  # noqa: T201 - figures
    assert grown < 5_000  # a queue would hold 7,500 for every 15 seconds
    assert len(books) < 140
    assert missed > 1_000
    assert len(trades) + missed == last_trade - trades[0]["trade_id"] + 1


def peak_mib(process: Process) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


async def test_a_small_message_that_unpacks_into_a_large_one_takes_no_memory() -> None:
    async with started() as (process, provider):
        await provider.capabilities()
        before = peak_mib(process)
        with pytest.raises(AioRpcError):
            await provider.channel.unary_unary("/provider.v1.Provider/Invoke")(
                bytes(64 * MIB), timeout=60, compression=grpc.Compression.Gzip
            )
        peak = peak_mib(process)

    assert peak - before < 24
