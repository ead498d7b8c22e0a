"""Pages that say when they change, to clients of either era."""

import asyncio
from dataclasses import fields, replace
from itertools import product

import anyio
import pytest
from mcp import Client, MCPError, types

from binance_simulator.faults import Fault, StreamFault
from mcp_binance_server.app import App
from mcp_binance_server.services.live.updates import shown
from mcp_binance_server.surface.subscriptions import MOST_PAGES
from mcp_binance_server.surface.views.market import market_page
from support.raw import ask_in_memory
from support.requirement import requirement
from support.stepped import LiveMarket, live_market, settled
from support.updates import BTC, ETH, hearing, hub_of, readers, subscribe, tell_ticker, unsubscribe

SPELLINGS = [f"binance://market/{''.join(letters)}" for letters in product(*zip("btcusdt", "BTCUSDT", strict=True))]
REFUSED = {
    "binance://market/notasymbol": (-32003, "invalid_symbol"),
    "binance://market/btc-usdt": (-32003, "invalid_symbol"),
    "binance://market/lunausdt": (-32603, "not_streamed"),
    "binance://market/": (-32602, "invalid_arguments"),
    "binance://market/btcusdt/orderbook": (-32602, "invalid_arguments"),
    "binance://nowhere/btcusdt": (-32404, "resource_not_found"),
    "binance://account/nothing": (-32404, "resource_not_found"),
    "ftp://market/btcusdt": (-32404, "invalid_scheme"),
    "": (-32404, "invalid_scheme"),
    "binance://account/balances": (-32602, "invalid_arguments"),
    "binance://orders/open": (-32602, "invalid_arguments"),
    "guide://help": (-32602, "invalid_arguments"),
    "chart://1": (-32602, "invalid_arguments"),
}
PRICE, SHOWN = "54321.09", "$54,321.09"


async def asked(client: Client, era: str, *uris: str) -> None:
    """Ask to be told of pages, and leave it at that."""
    if era == "legacy":
        for uri in uris:
            await subscribe(client, uri)
    else:
        async with client.listen(resource_subscriptions=uris):
            pass


async def page_shown(market: LiveMarket) -> str:
    (content,) = (await market.client.read_resource(BTC)).contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


@requirement("resources/subscriptions", "ruling/02")
async def test_where_markets_are_streamed_pages_can_be_subscribed_to(era: str) -> None:
    async with live_market(era=era) as market:
        capabilities = market.client.server_capabilities

    assert capabilities.model_dump(by_alias=True, exclude_none=True) == {
        "prompts": {"listChanged": False},
        "resources": {"subscribe": True, "listChanged": False},
        "tools": {"listChanged": False},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
    }


@requirement("resources/subscriptions")
async def test_a_page_that_moves_is_told_of_once_a_second_by_the_address_it_was_asked_for(era: str) -> None:
    shouted = "binance://market/ BTCUSDT"
    async with live_market("busy") as market, hearing(market.app.server, era, BTC, shouted, ETH) as heard:
        await market.run(2)
        heard.clear()
        await market.run(5)

        assert {uri: heard.count(uri) for uri in heard} == {BTC: 5, shouted: 5, ETH: 5}


async def test_whoever_is_told_reads_what_is_new_without_a_request(era: str) -> None:
    async with live_market() as market, hearing(market.app.server, era, BTC) as heard:
        await market.run(3)
        await market.clock.run(1_100, lambda: None)
        before = await page_shown(market)
        heard.clear()
        market.asked()
        tell_ticker(market, PRICE, later_ms=1)
        await settled()

        assert heard == [BTC]
        assert SHOWN in await page_shown(market)
        assert SHOWN not in before
        assert market.asked() == []


async def test_a_page_that_stands_still_is_told_of_once_when_its_stream_begins(era: str) -> None:
    async with live_market("contract") as market, hearing(market.app.server, era, BTC) as heard:
        await market.run(10)
        assert heard == [BTC]
        async with hearing(market.app.server, era, BTC) as later:
            await market.run(5)

        assert later == []
        assert heard == [BTC]


async def test_who_subscribes_to_a_market_that_is_watched_already_can_read_it_and_is_told_nothing(era: str) -> None:
    async with live_market("contract") as market:
        await market.watch("BTCUSDT", 3)
        async with hearing(market.app.server, era, BTC) as heard:
            await market.run(3)

    assert heard == []


async def test_until_the_book_is_in_step_nothing_is_told_and_then_it_is_at_once(era: str) -> None:
    async with live_market("contract") as market:
        market.exchange.faults.add(Fault(kind="status", status=500, path="*/depth", times=None))
        async with hearing(market.app.server, era, BTC) as heard:
            await market.run(5)
            assert hub_of(market).watched()[0].feed.ticker is not None
            assert heard == []
            market.exchange.faults.clear()
            await market.run(30)

    assert heard == [BTC]


async def test_many_changes_within_a_second_are_one_at_once_and_one_at_its_end(era: str) -> None:
    async with live_market("contract") as market, hearing(market.app.server, era, BTC) as heard:
        await market.run(3)
        heard.clear()
        for cents in range(10):
            tell_ticker(market, f"500.{cents}0", later_ms=1)
            await settled()
        at_once = len(heard)
        await market.clock.run(900, lambda: None)
        before_its_end = len(heard)
        await market.clock.run(200, lambda: None)

        assert (at_once, before_its_end, len(heard)) == (1, 1, 2)


async def test_that_time_has_passed_is_no_news(era: str) -> None:
    async with live_market("contract") as market, hearing(market.app.server, era, BTC) as heard:
        await market.run(3)
        tell_ticker(market, PRICE, later_ms=1)
        await market.clock.run(1_100, lambda: None)
        heard.clear()
        for _ in range(3):
            tell_ticker(market, PRICE, later_ms=1_000)
            await market.clock.run(1_100, lambda: None)

        assert heard == []


async def test_what_counts_is_what_the_page_shows() -> None:
    async with live_market() as market:
        view = await market.app.market.ticker("BTCUSDT")
        ticker, page = view.ticker, market_page(view)
        counts = dict[str, tuple[bool, bool]]()
        for each in fields(ticker):
            if each.name not in ("symbol", "close_time_ms"):
                other = replace(ticker, **{each.name: getattr(ticker, each.name) + 1_000})
                counts[each.name] = market_page(replace(view, ticker=other)) != page, shown(other) != shown(ticker)

    assert [name for name, (on_the_page, as_news) in counts.items() if on_the_page != as_news] == []
    assert counts["last_price"] == (True, True)


async def test_after_a_lost_stream_a_page_is_told_of_once_though_it_looks_the_same(era: str) -> None:
    async with live_market("contract") as market, hearing(market.app.server, era, BTC) as heard:
        await market.run(3)
        heard.clear()
        market.exchange.hub.faults.add(StreamFault(kind="cut"))
        await market.run(15)

        assert hub_of(market).watched()[0].feed.counts.lost == 1
        assert heard == [BTC]


async def test_a_stream_lost_and_back_within_the_pause_is_told_of_too(era: str) -> None:
    async with live_market("contract") as market, hearing(market.app.server, era, BTC) as heard:
        await market.run(3)
        tell_ticker(market, PRICE, later_ms=1)
        await settled()
        heard.clear()
        (watched,) = hub_of(market).watched()
        watched.feed.counts.lost += 1
        tell_ticker(market, PRICE, later_ms=0)
        await market.clock.run(1_100, lambda: None)

        assert heard == [BTC]


async def test_all_who_wait_share_one_stream_and_the_last_to_leave_ends_it(era: str) -> None:
    async with live_market(environment={"MCP_BINANCE_FEED_LINGER_SECS": "10"}) as market:
        await market.client.read_resource(BTC)
        before = len(asyncio.all_tasks())
        async with hearing(market.app.server, era, BTC, BTC.upper().replace("BINANCE://MARKET", "binance://market")):
            async with hearing(market.app.server, era, BTC, BTC, ETH):
                await market.run(2)
                assert readers(market) == {"BTCUSDT": 1, "ETHUSDT": 1}
            await settled()
            assert readers(market) == {"BTCUSDT": 1, "ETHUSDT": 0}
        await settled()

        assert readers(market) == {"BTCUSDT": 0, "ETHUSDT": 0}
        await market.run(12)
        assert readers(market) == {}
        assert market.exchange.hub.open_connections == 0
        assert len(asyncio.all_tasks()) == before


async def test_whoever_unsubscribes_hears_no_more() -> None:
    async with (
        live_market("busy", environment={"MCP_BINANCE_FEED_LINGER_SECS": "5"}) as market,
        Client(market.app.server, mode="legacy", cache=None) as client,
    ):
        await client.read_resource(BTC)
        before = len(asyncio.all_tasks())
        await subscribe(client, BTC)
        await subscribe(client, BTC)
        await unsubscribe(client, ETH)
        await market.run(2)
        assert readers(market) == {"BTCUSDT": 1}
        await unsubscribe(client, BTC)
        await unsubscribe(client, BTC)
        await settled()

        assert readers(market) == {"BTCUSDT": 0}
        await market.run(7)
        assert len(asyncio.all_tasks()) == before


async def test_a_stream_that_is_cancelled_is_let_go() -> None:
    async with live_market() as market, anyio.create_task_group() as group:

        async def listen() -> None:
            async with hearing(market.app.server, "auto", BTC):
                await anyio.sleep_forever()

        group.start_soon(listen)
        await market.run(1)
        assert readers(market) == {"BTCUSDT": 1}
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await settled()
            assert readers(market) == {"BTCUSDT": 0}


async def test_the_end_of_the_server_is_the_end_of_what_was_subscribed_to(era: str) -> None:
    before = len(asyncio.all_tasks())
    async with live_market() as market, hearing(market.app.server, era, BTC, ETH):
        await market.run(1)
    await settled()

    assert len(asyncio.all_tasks()) == before


async def test_one_client_hears_of_fifty_pages_and_no_more(era: str) -> None:
    async with live_market("busy") as market:
        async with hearing(market.app.server, era, *SPELLINGS[:MOST_PAGES]) as heard:
            await market.run(2)
            assert set(heard) == {*SPELLINGS[:MOST_PAGES]}
        async with Client(market.app.server, mode=era, cache=None) as client:
            with pytest.raises(MCPError) as refused:
                await asked(client, era, *SPELLINGS[: MOST_PAGES + 1])

    assert refused.value.message == "Too many pages for one client: 50 at most."
    assert refused.value.data["error_type"] == "streams_full"


async def test_a_symbol_that_finds_no_place_is_refused_and_holds_none(era: str) -> None:
    async with (
        live_market(environment={"MCP_BINANCE_FEED_SYMBOLS": "1"}) as market,
        Client(market.app.server, mode=era, cache=None) as client,
    ):
        with pytest.raises(MCPError) as refused:
            await asked(client, era, BTC, ETH)
        held = readers(market)

    assert refused.value.code == -32603
    assert refused.value.message == "Too many symbols are streamed already: 1 at most."
    assert refused.value.data["retryable"]
    # In the first era each page is asked for by itself: the one that was granted stays.
    assert held == {"BTCUSDT": 1 if era == "legacy" else 0}


@requirement("resources/subscriptions")
async def test_what_cannot_be_subscribed_to_is_refused_by_name(era: str) -> None:
    async with live_market() as market, Client(market.app.server, mode=era, cache=None) as client:
        for uri, (code, error_type) in REFUSED.items():
            with pytest.raises(MCPError) as refused:
                await asked(client, era, uri)

            assert (refused.value.code, refused.value.data["error_type"]) == (code, error_type), uri
            assert refused.value.data["uri"] == uri
            if error_type == "invalid_arguments":
                said = f"{uri} sends no updates: only binance://market/{{symbol}} can be subscribed to"
                assert refused.value.message == said
        assert readers(market) == {}


@pytest.mark.parametrize("modern", [False, True])
async def test_without_streams_nobody_can_subscribe(app: App, *, modern: bool) -> None:
    method = "subscriptions/listen" if modern else "resources/subscribe"
    params = {"notifications": {"resourceSubscriptions": [BTC]}} if modern else {"uri": BTC}

    error = await ask_in_memory(app.server, method, params, modern=modern)

    assert error["code"] == -32601


@pytest.mark.parametrize(
    "environment", [{"MCP_BINANCE_ORDERBOOK_ANALYTICS": "false"}, {"MCP_BINANCE_TOOLSETS": "account,guide"}]
)
async def test_a_server_without_live_pages_says_so(era: str, environment: dict[str, str]) -> None:
    async with live_market(era=era, environment=environment) as market:
        resources = market.client.server_capabilities.resources

    assert resources is not None
    assert resources.subscribe is False


async def test_only_so_many_streams_are_open_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.services.live.updates.MOST_STREAMS", 1)
    async with live_market() as market, Client(market.app.server, cache=None) as client:
        async with hearing(market.app.server, "auto", BTC):
            with pytest.raises(MCPError) as refused:
                await asked(client, "auto", BTC)
        await settled()
        await asked(client, "auto", BTC)

    assert refused.value.message == "Too many streams are open: 1 at most."


async def test_a_stream_says_which_wishes_it_will_keep() -> None:
    async with (
        live_market() as market,
        market.client.listen(tools_list_changed=True, resource_subscriptions=[BTC, BTC]) as stream,
    ):
        kept = stream.honored

    assert kept.model_dump(exclude_none=True) == {"resource_subscriptions": [BTC]}


async def test_a_server_that_winds_down_ends_its_streams_politely() -> None:
    async with live_market() as market, market.client.listen(resource_subscriptions=[BTC]) as stream:
        market.app.context.updates.wind_down()
        await settled()

        assert [event async for event in stream] == []  # an abrupt end would raise
        assert readers(market) == {"BTCUSDT": 0}
