"""Well-behaved clients: they ask, wait, try again what failed, open a new session when theirs is over, and check."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import anyio
import httpx2

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.sessions.model import giver_of
from support.chaos.exchange import GUESTS, guest
from support.chaos.fleet import HarmedFleet
from support.chaos.futures_past import PERPETUAL, WholeMarketPast
from support.chaos.past import GivenAnswer, OlderThanSaid, Past, WrongAnswer, moment
from support.webapp import ENVELOPE, MODERN, initialize, request

CLOCK = SystemClock()
SYMBOLS = ("BTCUSDT", "ETHUSDT", "BNBUSDT")
WHOLE_MARKET = ("scan_market", "get_derivatives")
HANG_SECS = 45
AGAIN_MS = 250
SPREAD_MS = 500
ACCEPT = {"accept": "application/json, text/event-stream"}
JSON_ONLY = {"accept": "application/json"}
# Shorter than the server keeps one: a request on a connection that is just being closed would look unanswered.
KEPT = httpx2.Limits(keepalive_expiry=3)


class SessionOver(Exception):
    """The server does not know the session any more."""


class OurError(Exception):
    """An error of ours that says that asking again may help."""

    def __init__(self, kind: str, told: str = "") -> None:
        super().__init__(kind)
        self.told = told


class ForeignAnswer(Exception):
    """Neither an answer nor an error that such a client should ever see."""


@dataclass(frozen=True, slots=True)
class MarketQuestion:
    """Something to ask, and how to tell whether the answer is true."""

    method: str
    params: dict[str, Any]
    check: Callable[[GivenAnswer], None]

    @property
    def name(self) -> str:
        return str(self.params.get("name") or self.params["uri"])


def called(tool: str, check: Callable[[GivenAnswer], None], **arguments: Any) -> MarketQuestion:  # noqa: ANN401 - JSON
    return MarketQuestion("tools/call", {"name": tool, "arguments": arguments}, check)


def market_questions(past: Past) -> list[MarketQuestion]:
    """Return every question about the market."""
    found: list[MarketQuestion] = []
    for symbol in SYMBOLS:
        uri = f"binance://market/{symbol.lower()}"
        found += [
            called("get_ticker", partial(past.check_ticker, symbol), symbol=symbol),
            called("get_order_book", partial(past.check_book, symbol), symbol=symbol, limit=10),
            called("get_orderbook_depth", partial(past.check_depth, symbol), symbol=symbol),
            called("get_klines", partial(past.check_candles, symbol), symbol=symbol, interval="1m", limit=5),
            MarketQuestion("resources/read", {"uri": uri}, partial(past.check_page, symbol)),
        ]
    return found


def whole_market_questions(past: Past) -> list[MarketQuestion]:
    """Return the questions about all pairs, and about a perpetual."""
    whole = WholeMarketPast(past)
    shown = {"market": "perpetual", "limit": 3, "show": ["mark_vs_index_bps"]}
    return [
        called("scan_market", partial(whole.check_movers, "spot"), limit=3),
        called("scan_market", partial(whole.check_movers, "perpetual"), **shown),
        called("get_derivatives", whole.check_derivatives, symbol=PERPETUAL),
    ]


@dataclass(eq=False)
class ModestClient:
    """One client at an address of its own; with a session or without, with keys or without."""

    number: int
    fleet: HarmedFleet
    has_session: bool
    pause_ms: float
    hurry: Callable[[], anyio.Event]
    guest: int | None = None
    good_ms: float = 0.0
    said: str = ""
    _session: str | None = None
    _opened_ms: float = 0.0
    _asked: int = 0
    chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = Random(self.number)
        past = self.fleet.past
        self._questions = [*market_questions(past), *whole_market_questions(past)]
        if self.guest is not None:
            self._questions = [called("get_account_info", partial(past.check_account, self.guest))]

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[httpx2.AsyncClient]:
        # Each at an address of its own, so that no limit takes them for one.
        address = f"127.0.{1 + self.number // 200}.{1 + self.number % 200}"
        way = httpx2.AsyncHTTPTransport(verify=False, local_address=address, limits=KEPT)
        headers = {}
        if self.guest is not None:
            account = guest(self.guest).account
            headers = {"x-binance-api-key": account.api_key, "x-binance-secret-key": account.secret_key}
        url = self.fleet.url
        async with httpx2.AsyncClient(transport=way, base_url=url, timeout=HANG_SECS, headers=headers) as http:
            yield http

    async def live(self) -> None:
        """Ask and ask until cancelled."""
        async with self.connected() as http:
            await CLOCK.sleep_ms(self.chance.uniform(0, SPREAD_MS))
            while True:
                pause_ms = self.pause_ms if await self.turn(http) else AGAIN_MS
                with anyio.move_on_after(pause_ms * self.chance.uniform(0.5, 1.5) / 1000):
                    await self.hurry().wait()
                    await CLOCK.sleep_ms(self.chance.uniform(0, SPREAD_MS))

    async def turn(self, http: httpx2.AsyncClient) -> bool:
        """Ask once; return whether the answer was a good one."""
        tally, question = self.fleet.tally, self.chance.choice(self._questions)
        async with self.judged(question.name):
            heard = await self.ask(http, question)
            question.check(heard)
            self._note_age(heard)
            self.good_ms = CLOCK.monotonic_ms()
            tally.current.good += 1
            if question.name in WHOLE_MARKET:
                tally.whole_market[question.name] += 1
            return True
        return False

    @asynccontextmanager
    async def judged(self, name: str) -> AsyncGenerator[None]:
        """Sort whatever goes wrong inside; nothing of it gets out."""
        tally = self.fleet.tally
        try:
            yield
        except WrongAnswer as wrong:
            tally.wrong.append(self._told(name, wrong))
        except OlderThanSaid as older:
            tally.older.append(self._told(name, older))
        except OurError as ours:
            self.said = str(ours)
            tally.current.errors[str(ours)] += 1
            tally.current.last_said[str(ours)] = ours.told
        except SessionOver:
            tally.current.errors["session over"] += 1
        except ForeignAnswer as foreign:
            tally.foreign.append(self._told(name, foreign))
        except httpx2.TimeoutException as silence:
            tally.hung.append(self._told(name, silence))
        except httpx2.TransportError as cut:
            tally.current.errors["connection cut"] += 1
            tally.cuts.append((CLOCK.monotonic_ms(), self._told(name, cut)))

    def _told(self, name: str, what: Exception) -> str:
        return f"{self.fleet.tally.current.name}: client {self.number}: {name}: {what!r}"

    async def ask(self, http: httpx2.AsyncClient, question: MarketQuestion) -> GivenAnswer:
        asked_ms = CLOCK.now_ms()
        if self.has_session:
            result = await self.in_session(http, question.method, question.params)
        else:
            named = {"mcp-protocol-version": MODERN, "mcp-method": question.method, "mcp-name": question.name}
            result = await self.post(http, question.method, {**question.params, "_meta": ENVELOPE}, {**ACCEPT, **named})
        contents = result.get("content") or result["contents"]
        return GivenAnswer(result.get("structuredContent", {}), contents[0]["text"], asked_ms, CLOCK.now_ms())

    async def in_session(self, http: httpx2.AsyncClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask in the session, which is opened if there is none."""
        session = await self.opened(http)
        try:
            return await self.post(http, method, params, {**JSON_ONLY, "mcp-session-id": session})
        except SessionOver:
            self.lose_session()
            raise

    async def opened(self, http: httpx2.AsyncClient) -> str:
        """Return the id of the session, opened now if there is none."""
        if self._session is None:
            opened_ms = CLOCK.monotonic_ms()
            response = await http.post("/mcp", json=initialize(), headers=ACCEPT)
            result_of(response, 1)
            self._session, self._opened_ms = response.headers["mcp-session-id"], opened_ms
            message = request("notifications/initialized", None, None)
            told = await http.post("/mcp", json=message, headers={**ACCEPT, "mcp-session-id": self._session})
            if told.status_code == 404:
                self.lose_session()
                raise SessionOver
            if told.status_code != 202:
                result_of(told, None)
        return self._session

    def lose_session(self) -> None:
        assert self._session is not None
        worker, now_ms = giver_of(self._session, self.fleet.workers), CLOCK.monotonic_ms()
        assert worker is not None
        self.fleet.tally.lose(worker, self._opened_ms, now_ms)
        self._session = None

    async def post(
        self, http: httpx2.AsyncClient, method: str, params: dict[str, Any], headers: dict[str, str]
    ) -> dict[str, Any]:
        self._asked += 1
        number = self.number * 1_000_000 + self._asked
        return result_of(await http.post("/mcp", json=request(method, params, number), headers=headers), number)

    def _note_age(self, heard: GivenAnswer) -> None:
        if (as_of := heard.structure.get("as_of")) is not None:
            age_ms = heard.heard_ms - self.fleet.past.machine_time(moment(as_of))
            self.fleet.tally.oldest_ms = max(self.fleet.tally.oldest_ms, age_ms)


def result_of(response: httpx2.Response, number: int | None) -> dict[str, Any]:
    """Return the result, or raise what came instead of it."""
    told = f"{response.status_code} {response.text[:300]!r}"
    try:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            events = [json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:")]
            answer = next(each for each in events if "id" in each)
        else:
            answer = response.json()
    except (ValueError, StopIteration):
        raise ForeignAnswer(f"not readable: {told}") from None
    result, error = answer.get("result"), answer.get("error")
    if error is not None:
        raise _error(response.status_code, error.get("data") or {}, told)
    if response.status_code != 200 or answer["id"] != number:
        raise ForeignAnswer(f"asked as {number}: {told}")
    if result.get("isError"):
        raise _error(200, result.get("structuredContent") or {}, told)
    return result


def _error(status: int, data: dict[str, Any], told: str) -> Exception:
    kind = data.get("error_type") or data.get("reason")
    if status == 404 and kind == "session_not_found":
        return SessionOver()
    if kind == "region_restricted" and "futures API" in told:
        return OurError(kind, told)
    # The gate refuses with a status; behind it an error says itself whether to ask again.
    if kind is None or not (data.get("retryable") or status in {409, 429, 503}):
        return ForeignAnswer(told)
    return OurError(kind if status == 200 else f"{status} {kind}", told)


def modest_clients(
    fleet: HarmedFleet, count: int, pause_ms: float, hurry: Callable[[], anyio.Event]
) -> list[ModestClient]:
    """Return so many clients: half of them with sessions, the first few with keys of their own."""
    guests = min(GUESTS, count // 4)
    return [
        ModestClient(
            number,
            fleet,
            has_session=number % 2 == 0,
            # What is read of an account costs ten times the weight of a price, and is read less often.
            pause_ms=pause_ms * (3 if number < guests else 1),
            hurry=hurry,
            guest=number if number < guests else None,
        )
        for number in range(count)
    ]
