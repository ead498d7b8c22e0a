"""Callers of a hosted server: each with a token, an era and a client at every worker, and all that each has heard."""

import json
import re
import ssl
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any, TypeVar

import anyio
import httpx2
from anyio.abc import TaskStatus
from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client

from mcp_binance_server.clock import SystemClock
from support.paper import Told

AnswerT = TypeVar("AnswerT")

SYMBOL = "BTCUSDT"
ERAS = ("legacy", "2026-07-28")
JOURNAL = "binance://orders/journal"
OTHER_PAGES = ("binance://orders/open", "binance://orders", "binance://account/balances", "binance://orders/history")
UNKNOWN_PREVIEW = "a" * 20
CLOCK = SystemClock()
PAUSE_MS, TRIES = 500, 120
PATIENCE_SECS = 60.0
# Nothing here is encrypted; to load the authorities of this machine for each caller takes seconds.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# Whoever gets one of these has not been answered yet.
NOT_YET = frozenset({"trading_not_ready", "order_unresolved"})
# Refused because an account is being opened, or because the book that was read is old by now.
PASSING = frozenset({"ready", "book"})


class WorkerGone(Exception):
    """The worker that was asked is not there any more."""


@dataclass(eq=False)
class Seat:
    """A client at one worker. It has a task of its own: with the worker it ends, and nobody else."""

    client: Client | None = None
    _is_gone: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_gone(self) -> bool:
        return self._is_gone.is_set()

    def leave(self) -> None:
        """Ask there no more."""
        self._is_gone.set()

    async def held(
        self, url: str, headers: dict[str, str], era: str, leaving: anyio.Event, *, task_status: TaskStatus[None]
    ) -> None:
        """Connect, and stay until everybody leaves or the worker is gone."""
        try:
            async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECS, verify=PLAIN) as http:
                transport = streamable_http_client(f"{url}/mcp", http_client=http)
                async with Client(transport, mode=era, cache=None) as client:
                    self.client = client
                    task_status.started()
                    await leaving.wait()
        except* httpx2.HTTPError:
            self.leave()

    async def asked(self, ask: Callable[[Client], Awaitable[AnswerT]]) -> AnswerT:
        """Ask the worker.

        Raises:
            WorkerGone: it is gone, and with it the answer.
        """
        answers: list[AnswerT] = []
        refused: list[MCPError] = []
        if self.client is None or self.is_gone:
            raise WorkerGone
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await self._is_gone.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            try:
                answers.append(await ask(self.client))
            except MCPError as error:
                refused.append(error)
            tasks.cancel_scope.cancel()
        if refused and refused[0].code == types.CONNECTION_CLOSED:  # told a moment before its task ends
            self.leave()
        if refused and not self.is_gone:
            raise refused[0]
        if not answers:
            raise WorkerGone
        return answers[0]


@dataclass(frozen=True, slots=True)
class Shown:
    """A preview, and the worker that has shown it."""

    worker: int
    preview_id: str
    takes: Decimal
    """The money that it takes."""


@dataclass(eq=False)
class HostedCaller:
    """One caller. `account` is how the server names the account, `most` how many orders the limits leave it."""

    number: int
    account: str
    headers: dict[str, str] = field(repr=False)
    chance: Random
    most: int
    floor: int
    """Of prices, far below the market."""
    is_apart: bool = False
    """Whether a preview is known to the worker alone that has shown it."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    holds: str = ""
    """What the account began with, if nobody else's did with as much."""
    seats: list[Seat] = field(default_factory=list[Seat], repr=False)
    """One at each worker."""
    previews: dict[str, Shown] = field(default_factory=dict[str, Shown])
    placed: dict[str, Shown] = field(default_factory=dict[str, Shown])
    """What stands or stood, by its client order id."""
    unplaced: Counter[str] = field(default_factory=Counter[str])
    """What was claimed and does not stand, by how the journal says so: it may keep its part of a limit."""
    heard: list[str] = field(default_factory=list[str], repr=False)
    reason: str = ""
    _orders: int = 0

    @property
    def quantity(self) -> Decimal:
        """The size of each order, which nobody else has."""
        return Decimal(50 + self.number).scaleb(-5)

    @property
    def marks(self) -> set[str]:
        """What nobody else may ever hear."""
        prices = {f"{self._price(each)}" for each in range(self._orders)}
        return {self.account, *self.placed, *self.previews, *prices, *self.secrets, self.reason, self.holds} - {""}

    def _price(self, order: int) -> Decimal:
        return Decimal(self.floor + 100 * order + self.number) + Decimal(self.number).scaleb(-2)

    def worker(self) -> int:
        """Return any worker that lives."""
        return self.chance.choice([number for number, seat in enumerate(self.seats) if not seat.is_gone])

    async def call(self, tool: str, at: int | None = None, **arguments: Any) -> Told:  # noqa: ANN401 - as the tool has it
        """Call a tool at a worker, or at any that lives; whatever is answered is kept.

        A state that had no time for it is asked again: what was placed is the same order.
        """
        for _ in range(TRIES):
            told = await self._called(tool, at, arguments)
            if error_of(told) != "engine_unavailable":
                return told
            await CLOCK.sleep_ms(PAUSE_MS)
        raise AssertionError(f"caller {self.number} is told of no state")

    async def _called(self, tool: str, at: int | None, arguments: dict[str, Any]) -> Told:
        try:
            result = await self._asked(lambda client: client.call_tool(tool, arguments), at)
        except MCPError as error:
            return self._refused(error)
        text = "".join(each.text for each in result.content if isinstance(each, types.TextContent))
        data: dict[str, Any] = result.structured_content or {}
        self._keep(text, data)
        return Told(text, data, bool(result.is_error))

    async def read(self, uri: str, at: int | None = None) -> str:
        """Read a page; what it says, or why it cannot be read."""
        try:
            contents = (await self._asked(lambda client: client.read_resource(uri), at)).contents
        except MCPError as error:
            return self._refused(error).text
        text = "".join(each.text for each in contents if isinstance(each, types.TextResourceContents))
        self._keep(text, {})
        return text

    async def _asked(self, ask: Callable[[Client], Awaitable[AnswerT]], at: int | None) -> AnswerT:
        while at is None:
            with suppress(WorkerGone):
                return await self.seats[self.worker()].asked(ask)
        return await self.seats[at].asked(ask)

    def _refused(self, error: MCPError) -> Told:
        data: dict[str, Any] = error.data or {}
        self._keep(error.message, data)
        return Told(error.message, data, is_error=True)

    def _keep(self, text: str, data: dict[str, Any]) -> None:
        self.heard.append(f"{text} {json.dumps(data)}".replace(",", ""))

    async def answered(self, ask: Callable[[], Awaitable[Told]]) -> Told:
        """Ask until there is an answer: a worker may be starting, or gone."""
        told = None
        for _ in range(TRIES):
            try:
                told = await ask()
            except WorkerGone:
                await CLOCK.sleep_ms(PAUSE_MS)
                continue
            if not _is_early(told):
                return told
            await CLOCK.sleep_ms(PAUSE_MS)
        raise AssertionError(f"caller {self.number} has no answer: {told}")

    async def preview(self, times: int = 1) -> Told:
        """Preview the next order; it would wait below the market, at a price that is this caller's alone."""
        order = self._orders
        self._orders += 1
        price, quantity = self._price(order), times * self.quantity
        asked = {"symbol": SYMBOL, "side": "BUY", "price": str(price), "quantity": str(quantity)}
        worker = 0

        async def ask() -> Told:
            nonlocal worker
            worker = self.worker()
            return await self.call("preview_order", worker, **asked)

        told = await self.answered(ask)
        if preview_id := told.data.get("preview_id"):
            self.previews[preview_id] = Shown(worker, preview_id, price * quantity)
        return told

    async def shown(self) -> Shown:
        """Return a preview that can be placed."""
        told = await self.preview()
        assert told.data.get("preview_id"), f"caller {self.number}: {told.text}"
        return self.previews[told.data["preview_id"]]

    async def place(self, shown: Shown, at: int | None = None) -> Told:
        """Place a preview, at any worker that knows it, until it was placed or refused."""
        where = shown.worker if self.is_apart else at
        told = await self.answered(lambda: self.call("place_order", where, preview_id=shown.preview_id))
        name = told.data.get("client_order_id")
        if told.data.get("outcome") == "placed" and name:
            self.placed[name] = shown
        elif name:
            self.unplaced[str(told.data.get("journal"))] += 1
        return told

    async def look(self) -> str:
        """Look at how an account stands, at its journal and at one more page; return it as one text."""
        status = (await self.call("get_trading_status")).text
        pages = [await self.read(uri) for uri in (JOURNAL, OTHER_PAGES[self.number % len(OTHER_PAGES)])]
        return "\n".join([status, *pages]).replace(",", "")


def _is_early(told: Told) -> bool:
    """Tell whether to ask again: nobody knows yet what became of an order, or a busy machine was too slow for it."""
    refused_by: list[str] = told.data.get("refused_by") or []
    guards = {each.partition(":")[0] for each in refused_by} | {told.data.get("guard")}
    # What was not found at the exchange is watched for a day; nobody waits for that.
    is_unknown = told.data.get("outcome") == "unknown" and told.data.get("journal") != "NOT_PLACED"
    return bool(guards & PASSING) or error_of(told) in NOT_YET or is_unknown


def error_of(told: Told) -> str:
    return str(told.data.get("error_type", ""))


def without_ids(told: Told, *ids: str) -> str:
    """Return an answer without the ids that were asked for, and without its time."""
    text = f"{told.text} {json.dumps({name: each for name, each in told.data.items() if name != 'as_of'})}"
    for each in ids:
        text = text.replace(each, "<id>")
    return re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?", "<time>", text)


@asynccontextmanager
async def connected(callers: Iterable[HostedCaller], urls: list[str]) -> AsyncGenerator[None]:
    """Give each caller a client at each worker: half of them have sessions there, half have none."""
    leaving = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for caller in callers:
            caller.seats += [Seat() for _ in urls]
            for seat, url in zip(caller.seats, urls, strict=True):
                await tasks.start(seat.held, url, caller.headers, ERAS[caller.number % len(ERAS)], leaving)
        yield
        leaving.set()


def leaks(callers: list[HostedCaller]) -> list[str]:
    """Name what a caller has heard that is another's."""
    found: list[str] = []
    for caller in callers:
        heard = "\n".join(caller.heard)
        theirs = [(other.number, mark) for other in callers for mark in sorted(other.marks - caller.marks)]
        found += [f"{caller.number} heard of {other}: {mark}" for other, mark in theirs if _is_in(mark, heard)]
    return found


def _is_in(mark: str, heard: str) -> bool:
    return mark in heard and re.search(rf"(?<![\w.]){re.escape(mark)}(?![\w])", heard) is not None
