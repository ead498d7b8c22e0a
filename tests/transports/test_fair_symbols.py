"""Live markets are for everybody: whoever follows as many symbols as there are gives one to who follows few."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from grpc import StatusCode
from grpc.aio import EOF

from mcp_binance_server.cli.serve_grpc import authenticating
from mcp_binance_server.transports.http.auth.token_file import TokenFile
from mcp_binance_server.transports.proto import provider_pb2 as pb
from support.holders import Holders
from support.provider import provided, refused
from support.stepped import LiveMarket, live_market
from support.updates import BTC, ETH, readers, run_slowly
from support.webapp import ENVELOPE, MODERN, HttpClient, assembled, request, served

pytestmark = pytest.mark.timeout(90)

PATIENCE_SECS = 60.0
BNB = "binance://market/bnbusdt"
ACCEPT = {"accept": "application/json, text/event-stream"}
TWO = {"MCP_BINANCE_FEED_SYMBOLS": "2"}
GIVEN = "Too many symbols are streamed and you follow the most, so BTCUSDT was dropped: 2 at most."
FULL = "Too many symbols are streamed already: 2 at most."


@dataclass(frozen=True)
class Floor:
    """A market with two places, and who comes for them."""

    market: LiveMarket
    client: HttpClient
    holders: Holders

    async def metrics(self, name: str, symbol: str) -> str:
        """Return what somebody reads of a book."""
        asked = {"name": "get_orderbook_metrics", "arguments": {"symbol": symbol}}
        answer = await self.client.modern("tools/call", asked, **self.holders.bearer(name))
        return answer.json()["result"]["content"][0]["text"]

    async def subscribe(self, session: str, uri: str) -> dict[str, Any]:
        asked = await self.client.ask("resources/subscribe", session, {"uri": uri}, **self.holders.bearer("hog"))
        return asked.json()


@asynccontextmanager
async def floor(tmp_path: Path, environment: dict[str, str]) -> AsyncGenerator[Floor]:
    holders = Holders(tmp_path / "tokens", "hog", "bob")
    async with (
        live_market("busy", environment=environment) as market,
        assembled(market.app, authentication=holders.authentication(market.app.clock)) as http,
        served(http) as url,
        HttpClient(base_url=url, headers=ACCEPT, timeout=PATIENCE_SECS) as client,
    ):
        yield Floor(market, client, holders)


async def told(lines: AsyncIterator[str]) -> dict[str, Any]:
    with anyio.fail_after(PATIENCE_SECS):
        async for line in lines:
            if line.startswith("data: {"):
                return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream is over")


@pytest.mark.night
async def test_one_who_follows_all_there_are_keeps_no_other_from_a_live_market(tmp_path: Path) -> None:
    async with floor(tmp_path, TWO) as place:
        hog = place.holders.bearer("hog")
        place.client.headers.update(hog)
        session = await place.client.initialize()
        named = {**hog, "mcp-session-id": session, "accept": "text/event-stream"}
        accepted = [await place.subscribe(session, uri) for uri in (BTC, ETH, BNB)]
        await run_slowly(place.market, 3)
        await place.metrics("bob", "BNBUSDT")
        await run_slowly(place.market, 3)
        page = await place.metrics("bob", "BNBUSDT")
        again = await place.subscribe(session, BTC)
        held = readers(place.market)
        async with place.client.stream("GET", "/mcp", headers=named) as stream:
            lines = stream.aiter_lines()
            last = {(await told(lines))["params"]["uri"], (await told(lines))["params"]["uri"]}
            await run_slowly(place.market, 3)
            later = {(await told(lines))["params"]["uri"] for _ in range(2)}

    assert [each.get("result", each.get("error", {}).get("message")) for each in accepted] == [{}, {}, FULL]
    assert "live, " in page
    assert held == {"BNBUSDT": 0, "ETHUSDT": 1}
    assert again["error"]["message"] == FULL
    # The page that is not watched any more was told of once more, and then never again.
    assert (last, later) == ({BTC, ETH}, {ETH})


async def test_a_stream_whose_symbol_makes_room_ends_with_the_reason(tmp_path: Path) -> None:
    wish = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [BTC, ETH]}, "_meta": ENVELOPE})
    async with floor(tmp_path, TWO) as place:
        sent = {**place.holders.bearer("hog"), "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
        async with place.client.stream("POST", "/mcp", headers=sent, json=wish) as stream:
            lines = stream.aiter_lines()
            begun = await told(lines)
            await place.metrics("bob", "BNBUSDT")
            await run_slowly(place.market, 2)
            while "error" not in (ended := await told(lines)):
                pass
        refused_now = (await place.client.post("/mcp", headers=sent, json=wish)).json()
        await run_slowly(place.market, 1)
        held = readers(place.market)

    assert begun["method"] == "notifications/subscriptions/acknowledged"
    assert ended["error"]["message"] == GIVEN
    assert ended["error"]["data"]["error_type"] == "streams_full"
    assert refused_now["error"]["message"] == FULL
    assert (len(held), held["BNBUSDT"], sum(held.values())) == (2, 0, 0)


async def test_grpc_readers_are_told_at_once_however_seldom_they_want_to_hear(tmp_path: Path) -> None:
    holders = Holders(tmp_path / "tokens", "hog", "bob")
    wish = pb.StreamRequest(symbols=["BTCUSDT", "ETHUSDT"], limits=pb.StreamLimits(min_interval_ms=60_000))
    async with live_market(environment=TWO) as market:
        tokens = TokenFile(holders.path, market.app.clock)
        async with provided(market.app.dispatcher, authenticate=authenticating(tokens)) as provider:
            stream = provider.stream(wish, tuple(holders.bearer("hog").items()))
            assert isinstance(await stream.read(), pb.CloudEvent)
            await provider.invoke("get_order_flow", {"symbol": "BNBUSDT"}, tuple(holders.bearer("bob").items()))
            async with refused() as ended:
                with anyio.fail_after(PATIENCE_SECS):
                    while await stream.read() is not EOF:
                        pass

    assert (ended[0].status, ended[0].sentence) == (StatusCode.RESOURCE_EXHAUSTED, GIVEN)


async def test_pages_are_shared_as_symbols_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.services.live.updates.MOST_PAGES", 3)
    spellings = [BTC, BTC.replace("btc", "BTC"), BTC.replace("usdt", "USDT"), BTC.replace("btcusdt", "BtcUsdt")]
    wish = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [BTC]}, "_meta": ENVELOPE})
    async with floor(tmp_path, {}) as place:
        hog, bob = place.holders.bearer("hog"), place.holders.bearer("bob")
        place.client.headers.update(hog)
        session = await place.client.initialize()
        accepted = [await place.subscribe(session, uri) for uri in spellings]
        sent = {**bob, "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
        async with place.client.stream("POST", "/mcp", headers=sent, json=wish) as stream:
            lines = stream.aiter_lines()
            begun = await told(lines)
            again = await place.subscribe(session, BTC)
            held = readers(place.market)

    full = "Too many pages are watched: 3 at most."
    assert [each.get("result", each.get("error", {}).get("message")) for each in accepted] == [{}, {}, {}, full]
    assert begun["method"] == "notifications/subscriptions/acknowledged"
    assert again["error"]["message"] == full
    assert held == {"BTCUSDT": 2}  # one for each party
