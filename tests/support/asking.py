"""A tool that asks its user before it does something, what it has done, and users who answer in every way."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
from mcp import Client, types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mcp_binance_server.app import App
from mcp_binance_server.surface.catalogue import Catalogue
from mcp_binance_server.surface.confirm import Question
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.server import build_server
from mcp_binance_server.surface.spec import Answer, Arguments, ToolAnswer, ToolSpec
from support.every_transport import piped
from support.webapp import served_http

YES, NO = "place this order", "do not place it"
CHOSEN = {"decision": YES}
Action = Literal["accept", "decline", "cancel"]


class Thing(Arguments):
    """What is asked for, by its id."""

    thing: str


class Fate(Answer):
    """What became of it."""

    outcome: str


@dataclass
class Effects:
    """What was done with which thing; done once, it is the same thing that is told again."""

    done: list[str] = field(default_factory=list[str])
    declined: set[str] = field(default_factory=set[str])
    price: str = "61,900.00"

    def question(self, thing: str) -> Question:
        return Question(thing, f"PAPER: BUY 0.01 BTCUSDT ({thing}), never above {self.price} USDT.", YES, NO)

    async def run(self, context: Context, given: Thing) -> ToolAnswer:
        outcome = await self._outcome(context, given.thing)
        return ToolAnswer(outcome, Fate(outcome=outcome))

    async def _outcome(self, context: Context, thing: str) -> str:
        if thing in self.done:
            return "done"
        if thing in self.declined:
            return "declined"
        if context.asker is None:
            return "impossible"
        decision = await context.asker.ask(self.question(thing))
        if decision == "no":
            self.declined.add(thing)
            return "declined"
        if decision != "yes":
            return decision
        if thing not in self.done:  # the claim
            self.done.append(thing)
        return "done"

    def offered_by(self, app: App, *, ask_secs: float | None = None, round_key: bytes | None = None) -> App:
        """Return the same server with nothing to offer but this, under two names."""
        tools = tuple(self._spec(name) for name in ("place_thing", "cancel_thing"))
        secs = app.dispatcher.ask_secs if ask_secs is None else ask_secs
        dispatcher = replace(app.dispatcher, catalogue=Catalogue(tools=tools), ask_secs=secs)
        return replace(app, dispatcher=dispatcher, server=build_server(dispatcher, round_key))

    def _spec(self, name: str) -> ToolSpec[Thing]:
        return ToolSpec(
            name=name,
            title="Do a thing",
            description="Do a thing, once; asks the user.",
            arguments=Thing,
            answer=Fate,
            run=self.run,
            read_only=False,
            toolset="market",
            asks=True,
        )


@dataclass
class User:
    """Answers forms, each in the same way, and remembers what they read; a slow one waits until they may."""

    action: Action = "accept"
    content: Any = None
    read: list[types.ElicitRequestFormParams] = field(default_factory=list[types.ElicitRequestFormParams])
    sees: anyio.Event = field(default_factory=anyio.Event)
    may: anyio.Event | None = None

    async def answer(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert context is not None
        assert isinstance(params, types.ElicitRequestFormParams)
        self.read.append(params)
        self.sees.set()
        if self.may is not None:
            await self.may.wait()
        # As a client sends it, who may send anything.
        return types.ElicitResult.model_construct(action=self.action, content=self.content)


def willing(*, may: anyio.Event | None = None) -> User:
    return User("accept", dict(CHOSEN), may=may)


@asynccontextmanager
async def _in_memory(app: App, user: User | None, era: str) -> AsyncGenerator[Client]:
    async with _client(app.server, user, era) as client:
        yield client


@asynccontextmanager
async def _over_pipes(app: App, user: User | None, era: str) -> AsyncGenerator[Client]:
    async with _client(piped(app), user, era) as client:
        yield client


@asynccontextmanager
async def _over_http(app: App, user: User | None, era: str) -> AsyncGenerator[Client]:
    async with served_http(app) as url, _client(f"{url}/mcp", user, era) as client:
        yield client


@asynccontextmanager
async def _over_events(app: App, user: User | None) -> AsyncGenerator[Client]:
    async with served_http(app) as url, _client(sse_client(f"{url}/mcp/sse"), user, "legacy") as client:
        yield client


@asynccontextmanager
async def holding(url: str, token: dict[str, str], user: User, era: str = "auto") -> AsyncGenerator[Client]:
    """Return the client of a token's holder."""
    async with create_mcp_http_client(headers=token) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with _client(transport, user, era) as client:
            yield client


def _client(server: Any, user: User | None, era: str) -> Client:  # noqa: ANN401 - whatever the SDK connects to
    callback = None if user is None else user.answer
    return Client(server, mode=era, cache=None, elicitation_callback=callback)


Connect = Callable[[App, User | None], AbstractAsyncContextManager[Client]]
HANDSHAKE: dict[str, Connect] = {
    "memory, handshake": lambda app, user: _in_memory(app, user, "legacy"),
    "http, handshake": lambda app, user: _over_http(app, user, "legacy"),
    "stdio, handshake": lambda app, user: _over_pipes(app, user, "legacy"),
    "events, handshake": _over_events,
}
ROUNDS: dict[str, Connect] = {
    "memory, 2026-07-28": lambda app, user: _in_memory(app, user, "auto"),
    "http, 2026-07-28": lambda app, user: _over_http(app, user, "auto"),
    "stdio, 2026-07-28": lambda app, user: _over_pipes(app, user, "auto"),
}
EVERYWHERE = HANDSHAKE | ROUNDS


async def outcome_of(client: Client, thing: str = "one", **more: Any) -> str:  # noqa: ANN401 - arguments
    """Call the tool and return what it says has happened."""
    result = await client.call_tool("place_thing", {"thing": thing, **more})
    told: dict[str, Any] = result.structured_content or {}
    return told.get("outcome", "refused")
