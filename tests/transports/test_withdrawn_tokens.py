"""A token that is withdrawn ends the streams that it holds open, within a second; those of others go on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from grpc import StatusCode
from grpc.aio import EOF

from mcp_binance_server.cli.serve_grpc import authenticating, standing_of
from mcp_binance_server.domain.access import Scope
from mcp_binance_server.transports.http.app import Authentication
from mcp_binance_server.transports.http.auth.token_file import TokenEntry, TokenFile, digest_of, new_token
from mcp_binance_server.transports.proto import provider_pb2 as pb
from mcp_binance_server.transports.standing import TokenRevocation
from support.clock import FakeClock
from support.provider import provided, refused, until
from support.stepped import LiveMarket, live_market
from support.updates import BTC, readers, run_slowly
from support.webapp import ENVELOPE, MODERN, HttpClient, assembled, request, served

pytestmark = pytest.mark.timeout(90)

PATIENCE_SECS = 60.0
ACCEPT = {"accept": "application/json, text/event-stream"}
EVENTS = {"accept": "text/event-stream"}
LISTEN = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
WISH = request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [BTC]}, "_meta": ENVELOPE}, "s")
MARKET: frozenset[Scope] = frozenset({"market:read"})


class File:
    """A token file with two holders."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tokens = {name: new_token() for name in ("eve", "ops")}
        self.write(self.tokens)

    def write(self, tokens: dict[str, str], scopes: frozenset[Scope] = MARKET) -> None:
        lines = [TokenEntry(name, digest_of(token), scopes).line for name, token in tokens.items()]
        self.path.write_text("".join(f"{line}\n" for line in lines))

    def bearer(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[name]}"}


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "tokens")


# What ends what eve holds: her line is taken out, or has another token, or fewer scopes.
WITHDRAWALS: dict[str, Callable[[File], None]] = {
    "taken out": lambda file: file.write({"ops": file.tokens["ops"]}),
    "another token": lambda file: file.write({**file.tokens, "eve": new_token()}),
    "the file is gone": lambda file: file.path.unlink(),
}


@dataclass(frozen=True)
class Floor:
    """A live market behind a lock."""

    market: LiveMarket
    client: HttpClient

    async def session(self, headers: dict[str, str]) -> str:
        self.client.headers.update(headers)
        return await self.client.initialize()


@asynccontextmanager
async def floor(file: File) -> AsyncGenerator[Floor]:
    async with (
        live_market("busy", environment={"MCP_BINANCE_FEED_LINGER_SECS": "5"}) as market,
        assembled(market.app, authentication=Authentication(TokenFile(file.path, market.app.clock))) as http,
        served(http) as url,
        HttpClient(base_url=url, headers=ACCEPT, timeout=PATIENCE_SECS) as client,
    ):
        client.http = http
        yield Floor(market, client)


async def first_line(stream: httpx2.Response) -> AsyncIterator[str]:
    lines = stream.aiter_lines()
    await anext(lines)
    return lines


async def rest(lines: AsyncIterator[str]) -> list[str]:
    with anyio.fail_after(PATIENCE_SECS):
        return [line async for line in lines]


@pytest.mark.parametrize("how", WITHDRAWALS)
async def test_streams_of_a_withdrawn_token_end_within_a_second(file: File, how: str) -> None:
    async with floor(file) as place, AsyncExitStack() as stack:
        eve, ops = file.bearer("eve"), file.bearer("ops")
        session = await place.session(eve)
        await place.client.ask("resources/subscribe", session, {"uri": BTC})
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("GET", "/mcp/sse", {"headers": {**EVENTS, **eve}}),
            ("POST", "/mcp", {"headers": {**LISTEN, **eve}, "json": WISH}),
            ("POST", "/mcp", {"headers": {**LISTEN, **ops}, "json": WISH}),
        ]
        streams = [
            await first_line(await stack.enter_async_context(place.client.stream(method, path, **how_asked)))
            for method, path, how_asked in asked
        ]
        listening = place.client.stream("GET", "/mcp", headers={**EVENTS, **eve, "mcp-session-id": session})
        streams.insert(0, (await stack.enter_async_context(listening)).aiter_lines())
        tasks = [asyncio.create_task(rest(each)) for each in streams]

        WITHDRAWALS[how](file)
        await run_slowly(place.market, 1)
        if how == "the file is gone":
            await asyncio.wait(tasks, timeout=PATIENCE_SECS)
            assert all(task.done() for task in tasks)
        else:
            *of_eve, of_ops = tasks
            await asyncio.wait(of_eve, timeout=PATIENCE_SECS)
            assert all(task.done() for task in of_eve)
            assert not of_ops.done()
            of_ops.cancel()
        again = await place.client.ask("ping", session)
        await until(lambda: place.market.app.context.updates.streams <= 1)

    assert again.status_code == 401


async def test_a_scope_that_is_taken_away_ends_a_stream_too(file: File) -> None:
    async with floor(file) as place:
        eve = file.bearer("eve")
        async with place.client.stream("POST", "/mcp", headers={**LISTEN, **eve}, json=WISH) as stream:
            lines = await first_line(stream)
            assert readers(place.market) == {"BTCUSDT": 1}
            file.write(file.tokens, frozenset({"account:read"}))
            await run_slowly(place.market, 1)
            await rest(lines)
        await until(lambda: readers(place.market) == {"BTCUSDT": 0})


async def test_a_call_under_way_is_answered_that_its_token_was_withdrawn(file: File) -> None:
    async with floor(file) as place:
        eve = file.bearer("eve")
        heart = place.client.http.heart

        async def never(*_: object) -> None:
            await anyio.sleep_forever()

        heart._routes["/mcp/message"] = never  # pyright: ignore[reportPrivateUsage] - a call without end
        asked = asyncio.create_task(place.client.post("/mcp/message", headers=eve, json=request("ping")))
        standing = heart._standing  # pyright: ignore[reportPrivateUsage] - when it is inside
        assert standing is not None
        await until(lambda: standing.count == 1)
        file.write({})
        await run_slowly(place.market, 1)
        with anyio.fail_after(PATIENCE_SECS):
            answer = await asked

    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "The token was revoked."


@pytest.mark.parametrize("how", WITHDRAWALS)
async def test_grpc_streams_of_a_withdrawn_token_end_too(file: File, how: str) -> None:
    async with live_market("busy") as market:
        tokens = TokenFile(file.path, market.app.clock)
        metadata = tuple(file.bearer("eve").items())
        async with provided(
            market.app.dispatcher,
            authenticate=authenticating(tokens),
            standing=standing_of(tokens, market.app.clock),
        ) as provider:
            stream = provider.stream(pb.StreamRequest(symbols=["BTCUSDT"]), metadata)
            first = await stream.read()
            WITHDRAWALS[how](file)
            await run_slowly(market, 1)
            async with refused() as seen:
                with anyio.fail_after(PATIENCE_SECS):
                    while await stream.read() is not EOF:
                        pass

    assert first is not EOF
    assert (seen[0].status, seen[0].error["data"]["reason"]) == (StatusCode.UNAUTHENTICATED, "invalid_token")


async def test_who_cannot_be_asked_about_stays_and_ends_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    clock, edition = FakeClock(), [0]
    standing = TokenRevocation(lambda: edition[0], clock)

    async def fails() -> bool:
        raise RuntimeError

    async def is_gone() -> bool:
        return False

    async with standing.running(), anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def stay() -> None:
            with standing.watching(is_gone):
                await anyio.sleep_forever()
            ended.set()

        with standing.watching(fails) as other:
            tasks.start_soon(stay)
            await until(lambda: standing.count == 2)
            clock.advance(300)  # nothing has changed: nobody is asked about
            await anyio.wait_all_tasks_blocked()
            assert not ended.is_set()
            edition[0] += 1
            clock.advance(300)
            with anyio.fail_after(PATIENCE_SECS):
                await ended.wait()
        assert not other.was_ended

    assert "the check of an open call's token failed" in caplog.text
