"""The live market as a stream: all kinds of events, every trade, no queue, and nothing left when the reader goes."""

import asyncio
import json
from datetime import datetime
from decimal import Decimal

import anyio
import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError, insecure_channel

from binance_simulator.faults import StreamFault
from mcp_binance_server.transports.grpc.answers import ProviderService
from mcp_binance_server.transports.grpc.errors import ServerStopping
from mcp_binance_server.transports.grpc.serving import ListeningAddress, running_service
from mcp_binance_server.transports.proto import provider_pb2 as pb
from support.desk import raw
from support.live_floor import BTC, Reader, open_floor
from support.provider import Provider, refused, until
from support.stepped import live_market, settled


async def test_a_reader_is_told_the_ticker_the_book_and_every_trade() -> None:
    async with open_floor("busy") as floor, floor.reading() as reader:
        await floor.run(5)
        depth = await raw(floor.market.exchange, "depth?symbol=BTCUSDT&limit=10")
        await until(lambda: reader.told("book")[-1]["last_update_id"] == depth["lastUpdateId"])
        printed = floor.hub.watched()[0].feed.tape.after(-1, 10_000)
        ticker = json.loads((await floor.provider.invoke("get_ticker", {"symbol": "BTCUSDT"})).structured_json)

    book, trades = reader.told("book")[-1], reader.told("trade")
    for side in ("bids", "asks"):
        assert [[*map(Decimal, level)] for level in book[side]] == [[*map(Decimal, level)] for level in depth[side]]
    assert [(each["trade_id"], Decimal(each["price"]), Decimal(each["quantity"])) for each in trades] == [
        (each.trade_id, each.price, each.quantity) for each in printed
    ]
    assert [each["aggressor"] == "sell" for each in trades] == [each.buyer_is_maker for each in printed]
    assert len(trades) > 20
    assert {each["missed"] for each in trades} == {0}
    assert len(reader.told("ticker")) >= 4
    assert {"success": True, **reader.told("ticker")[-1]} == ticker
    assert [each["state"] for each in reader.told("feed")][-1] == "live"


async def test_an_event_has_the_attributes_of_cloudevents_and_an_id_of_its_own() -> None:
    async with open_floor("busy") as floor, floor.reading() as reader:
        await floor.run(3)

    assert len({(event.source, event.id) for event in reader.events}) == len(reader.events) > 20
    for event in reader.events:
        assert (event.specversion, event.datacontenttype) == ("1.0", "application/json")
        assert (event.source, event.subject) == ("ws://exchange.test", "BTCUSDT")
        assert datetime.fromisoformat(event.time).tzinfo is not None
        assert json.loads(event.data)["symbol"] == "BTCUSDT"


@pytest.mark.night
async def test_no_book_is_told_before_it_is_in_step_and_a_cut_is_told() -> None:
    async with open_floor() as floor, floor.reading() as reader:
        await floor.run(3)
        floor.market.exchange.hub.faults.add(StreamFault(kind="cut", stream="btcusdt@depth@100ms"))
        await floor.run(8)

    states, is_live = list[str](), False
    for event in reader.events:
        if event.type == "provider.v1.feed":
            states.append(json.loads(event.data)["state"])
            is_live = states[-1] == "live"
        elif event.type == "provider.v1.book":
            assert is_live
    assert states[0] == "connecting"
    assert states.count("live") == 2
    assert reader.told("feed")[-1] == {"symbol": "BTCUSDT", "state": "live", "gaps": 1}


@pytest.mark.parametrize(
    ("kind", "told"), [("TICKER", "ticker"), ("BOOK", "book"), ("TRADES", "trade")], ids=lambda each: each
)
async def test_only_what_was_asked_for_is_told(kind: str, told: str) -> None:
    request = pb.StreamRequest(symbols=["BTCUSDT"], kinds=[f"EVENT_KIND_{kind}"])

    async with open_floor("busy") as floor, floor.reading(request) as reader:
        await floor.run(3)

    assert {event.type for event in reader.events} == {f"provider.v1.{told}", "provider.v1.feed"}


@pytest.mark.night
async def test_a_pause_thins_out_states_and_loses_no_trade() -> None:
    request = pb.StreamRequest(symbols=["BTCUSDT"], limits=pb.StreamLimits(min_interval_ms=1_000, book_levels=3))

    async with open_floor("busy") as floor, floor.reading(request) as reader:
        await floor.run(10)
        tape = floor.hub.watched()[0].feed.tape
        newest = tape.newest
        assert newest is not None

    ids = [trade["trade_id"] for trade in reader.told("trade")]
    assert 5 <= len(reader.told("book")) <= 11
    assert len(reader.told("book")[-1]["bids"]) == 3
    assert ids == [*range(ids[0], ids[-1] + 1)]
    assert len(ids) > len(tape) // 2


@pytest.mark.night
async def test_readers_share_one_stream_and_nothing_is_left_when_they_go() -> None:
    async with open_floor(environment={"MCP_BINANCE_FEED_LINGER_SECS": "5"}) as floor:
        await floor.provider.capabilities()
        before = len(asyncio.all_tasks())
        both = pb.StreamRequest(symbols=["BTCUSDT", "ethusdt", "BTCUSDT"])
        async with floor.reading(both), floor.reading() as reader:
            await floor.run(2)
            assert floor.readers == [2, 1]
            assert floor.market.exchange.hub.open_connections == 1
            assert reader.told("book")
        await until(lambda: floor.readers == [0, 0])

        await floor.market.run(7)
        assert floor.hub.watched() == []
        assert floor.market.exchange.hub.open_connections == 0
        assert len(asyncio.all_tasks()) <= before


async def test_a_deadline_ends_a_stream() -> None:
    async with open_floor() as floor:
        with pytest.raises(AioRpcError) as caught:
            await Reader(floor.provider.stream(BTC, timeout=0.3)).read()
        await until(lambda: floor.readers == [0])

    assert caught.value.code() is StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize(
    ("request_", "code", "status"),
    [
        (pb.StreamRequest(), -32602, StatusCode.INVALID_ARGUMENT),
        (pb.StreamRequest(symbols=["BTCUSDT"] * 51), -32602, StatusCode.INVALID_ARGUMENT),
        (pb.StreamRequest(symbols=["BTC/USDT"]), -32003, StatusCode.INVALID_ARGUMENT),
        (pb.StreamRequest(symbols=["BTCUSDT"], kinds=[pb.EVENT_KIND_UNSPECIFIED]), -32602, StatusCode.INVALID_ARGUMENT),
        (pb.StreamRequest(symbols=["BTCUSDT", "LUNAUSDT"]), -32603, StatusCode.FAILED_PRECONDITION),
        (
            pb.StreamRequest(symbols=["BTCUSDT"], limits=pb.StreamLimits(book_levels=1_001)),
            -32602,
            StatusCode.INVALID_ARGUMENT,
        ),
        (
            pb.StreamRequest(symbols=["BTCUSDT"], limits=pb.StreamLimits(min_interval_ms=60_001)),
            -32602,
            StatusCode.INVALID_ARGUMENT,
        ),
    ],
)
async def test_a_wish_that_makes_no_sense_is_refused(request_: pb.StreamRequest, code: int, status: StatusCode) -> None:
    async with open_floor() as floor:
        async with refused() as seen:
            await floor.provider.stream(request_).read()

        assert (seen[0].status, seen[0].error["code"]) == (status, code)
        assert not any(floor.readers)


async def test_a_kind_from_the_future_is_refused(provider: Provider) -> None:
    async with refused() as seen:
        await provider.raw("Stream", pb.StreamRequest(symbols=["BTCUSDT"]).SerializeToString() + b"\x10\x63")

    assert seen[0].sentence == "kinds: unknown kind 99"


async def test_without_streams_or_room_there_is_nothing_to_follow(provider: Provider) -> None:
    async with refused() as off:
        await provider.stream(BTC).read()
    async with (
        open_floor(environment={"MCP_BINANCE_FEED_SYMBOLS": "1"}) as floor,
        floor.reading(),
        refused() as full,
    ):
        await floor.provider.stream(pb.StreamRequest(symbols=["ETHUSDT"])).read()

    assert (off[0].status, off[0].error["data"]["error_type"]) == (StatusCode.FAILED_PRECONDITION, "not_streamed")
    assert (full[0].status, full[0].error["data"]["most"]) == (StatusCode.RESOURCE_EXHAUSTED, 1)
    assert full[0].error["data"]["retryable"] is True


async def test_so_many_streams_and_no_more() -> None:
    async with live_market() as market, anyio.create_task_group() as tasks:
        service = ProviderService(market.app.dispatcher, most_streams=2)
        told = list[pb.CloudEvent]()

        async def write(event: pb.CloudEvent) -> None:
            told.append(event)

        async def stream() -> None:
            with pytest.raises(ServerStopping):
                await service.stream(BTC, None, write)

        tasks.start_soon(stream)
        tasks.start_soon(stream)
        await settled()
        with pytest.raises(Exception, match="Too many streams are open: 2 at most"):
            await service.stream(BTC, None, write)
        service.stop_streams()
        with pytest.raises(ServerStopping):
            await service.stream(BTC, None, write)
        assert told


@pytest.mark.parametrize("turns", range(0, 40, 2))
async def test_a_server_that_stops_tells_its_readers_at_once(turns: int) -> None:
    """Also one to which the very first message is on its way."""
    async with open_floor() as floor, floor.reading(), anyio.create_task_group() as tasks:
        bound, is_time = list[ListeningAddress](), anyio.Event()

        async def serve() -> None:
            async with running_service(floor.market.app.dispatcher, ListeningAddress("127.0.0.1", 0)) as address:
                bound.append(address)
                await is_time.wait()

        tasks.start_soon(serve)
        await until(lambda: bound)
        async with insecure_channel(str(bound[0])) as channel:
            reader = Reader(Provider(channel).stream(BTC))
            await until(lambda: floor.readers == [2])
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            is_time.set()
            async with refused() as seen:
                await reader.read()
        assert (seen[0].status, seen[0].error["data"]["error_type"]) == (StatusCode.UNAVAILABLE, "server_stopping")
        assert seen[0].error["data"]["retryable"] is True
