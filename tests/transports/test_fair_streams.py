"""Streams are for everybody: when all are open, whoever has the most loses the oldest to one who has few."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
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
from support.provider import Provider, provided, refused
from support.stepped import LiveMarket, live_market
from support.updates import BTC, readers, run_slowly
from support.webapp import ENVELOPE, MODERN, HttpClient, assembled, request, served

pytestmark = pytest.mark.timeout(90)

PATIENCE_SECS = 60.0
MOST = 4
LISTEN = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": MODERN,
    "mcp-method": "subscriptions/listen",
}
WISH = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [BTC]}, "_meta": ENVELOPE}, "s")
GIVEN = f"Too many streams are open and you had the most, so this one was closed: {MOST} at most."
FULL = f"Too many streams are open: {MOST} at most."


@pytest.fixture
def holders(tmp_path: Path) -> Holders:
    return Holders(tmp_path / "tokens", "hog", "ann", "bob")


@asynccontextmanager
async def http_floor(holders: Holders) -> AsyncGenerator[tuple[LiveMarket, HttpClient]]:
    async with (
        live_market() as market,
        assembled(market.app, authentication=holders.authentication(market.app.clock)) as http,
        served(http) as url,
        HttpClient(base_url=url, timeout=PATIENCE_SECS) as client,
    ):
        yield market, client


async def told(lines: AsyncIterator[str]) -> dict[str, Any]:
    with anyio.fail_after(PATIENCE_SECS):
        async for line in lines:
            if line.startswith("data: {"):
                return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream is over")


async def test_a_listener_with_most_streams_loses_the_oldest_to_one_with_few(
    holders: Holders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_binance_server.services.live.updates.MOST_STREAMS", MOST)
    async with http_floor(holders) as (market, client), AsyncExitStack() as stack:

        async def listen(name: str) -> AsyncIterator[str]:
            asked = client.stream("POST", "/mcp", headers={**LISTEN, **holders.bearer(name)}, json=WISH)
            return (await stack.enter_async_context(asked)).aiter_lines()

        hog = [await listen("hog") for _ in range(MOST)]
        begun = [(await told(each))["method"] for each in hog]
        one_more = await client.post("/mcp", headers={**LISTEN, **holders.bearer("hog")}, json=WISH)
        of_ann, of_bob = await listen("ann"), await listen("bob")
        begun += [(await told(each))["method"] for each in (of_ann, of_bob)]
        ended = [await told(each) for each in hog[:2]]
        again = await client.post("/mcp", headers={**LISTEN, **holders.bearer("hog")}, json=WISH)
        held = market.app.context.updates.streams, readers(market)

    assert begun == ["notifications/subscriptions/acknowledged"] * (MOST + 2)
    assert [(each["id"], each["error"]["message"]) for each in ended] == [("s", GIVEN)] * 2
    assert ended[0]["error"]["data"]["error_type"] == "streams_full"
    assert ended[0]["error"]["data"]["retryable"] is True
    assert [each.json()["error"]["message"] for each in (one_more, again)] == [FULL] * 2
    assert held == (MOST, {"BTCUSDT": 3})  # one reader for each party


async def test_grpc_streams_are_given_to_those_with_few_as_well(
    holders: Holders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_binance_server.transports.grpc.answers.MOST_STREAMS", MOST)
    async with live_market() as market:
        tokens = TokenFile(holders.path, market.app.clock)
        async with provided(market.app.dispatcher, authenticate=authenticating(tokens)) as provider:
            hog = [await opened(provider, holders, "hog") for _ in range(MOST)]
            async with refused() as one_more:
                await opened(provider, holders, "hog")
            ann = await opened(provider, holders, "ann")
            async with refused() as ended:
                while await hog[0].read() is not EOF:
                    pass
            async with refused() as again:
                await opened(provider, holders, "hog")
            await run_slowly(market, 3)
            going_on = [await each.read() for each in (*hog[1:], ann)]

    assert (ended[0].status, ended[0].sentence) == (StatusCode.RESOURCE_EXHAUSTED, GIVEN)
    assert [(each[0].status, each[0].sentence) for each in (one_more, again)] == [
        (StatusCode.RESOURCE_EXHAUSTED, FULL)
    ] * 2
    assert all(isinstance(each, pb.CloudEvent) for each in going_on)


async def opened(provider: Provider, holders: Holders, name: str) -> Any:  # noqa: ANN401 - gRPC's call
    stream = provider.stream(pb.StreamRequest(symbols=["BTCUSDT"]), tuple(holders.bearer(name).items()))
    with anyio.fail_after(PATIENCE_SECS):
        assert isinstance(await stream.read(), pb.CloudEvent)
    return stream
