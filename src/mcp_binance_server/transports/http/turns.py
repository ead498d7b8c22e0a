"""Whose request is begun next, when more of them come than the processor can take."""

import asyncio
from collections import deque

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.transports.http.leaving import LEAVING, Leaving

AHEAD = "mcp_binance_server.ahead"
"""Where a connection says that its client asks without waiting for answers."""

# Requests are begun at once until so much of a round of the loop is spent. Most are answered in one go, and nobody else
# is heard meanwhile.
ROUND_MS = 4.0
MOST_AT_ONCE = 16
# So many rounds those who ask ahead give way to others, if there are others all the time.
MOST_ROUNDS = 16

Turn = asyncio.Future[None]


class Turns:
    """Gives an application its requests, and lets those wait that would keep everybody else waiting.

    Each address has its turn. Whoever asks ahead gives way to those who wait for their answers. What is `first` costs
    next to nothing and waits for nobody: a balancer often has the address of its crowd.
    """

    def __init__(self, app: ASGIApp, clock: Clock, first: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._first = first
        self._clock = clock
        self._patient = _Waiting()
        self._ahead = _Waiting()
        self._since_ahead = 0
        self._began_ms = 0.0
        self._begun = 0
        self._is_watched = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get(AHEAD, False):
            await self._wait_among(self._ahead, scope)
        elif scope["path"] not in self._first:
            if self._has_room():
                self._begin()
            else:
                await self._wait_among(self._patient, scope)
        leaving: Leaving | None = scope.get(LEAVING)
        if leaving is None or not leaving.has_left:
            await self._app(scope, receive, send)

    async def _wait_among(self, others: "_Waiting", scope: Scope) -> None:
        client = scope.get("client")
        await others.add(client[0] if client else "", self._watch())

    def _has_room(self) -> bool:
        return not self._patient and (not self._begun or self._clock.monotonic_ms() - self._began_ms < ROUND_MS)

    def _begin(self) -> None:
        if not self._begun:
            self._began_ms = self._clock.monotonic_ms()
            self._watch()
        self._begun += 1

    def _watch(self) -> asyncio.AbstractEventLoop:
        """See to it that the next round of the loop is noticed."""
        loop = asyncio.get_running_loop()
        if not self._is_watched:
            self._is_watched = True
            loop.call_soon(self._next_round)
        return loop

    def _next_round(self) -> None:
        self._is_watched = False
        self._since_ahead += 1
        begun, self._begun = self._begun, 0
        # After a round with work comes one in which those are heard who have asked meanwhile.
        if self._since_ahead >= MOST_ROUNDS or not (begun or self._patient):
            self._since_ahead = 0
            self._let_go(self._ahead)
        # As many as would have fitted into the last round, if these are like those.
        took_ms = max(self._clock.monotonic_ms() - self._began_ms, 0.1)
        for _ in range(min(MOST_AT_ONCE, max(1, int(begun * ROUND_MS / took_ms)))):
            self._let_go(self._patient)
        if self._ahead:
            self._watch()

    def _let_go(self, waiting: "_Waiting") -> None:
        turn = waiting.next()
        if turn is not None:
            turn.set_result(None)
            self._begin()


class _Waiting:
    """Those who wait, by address, in the order in which the addresses have their turns."""

    def __init__(self) -> None:
        self._by_address: dict[str, deque[Turn]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_address)

    def add(self, address: str, loop: asyncio.AbstractEventLoop) -> Turn:
        turn: Turn = loop.create_future()
        self._by_address.setdefault(address, deque()).append(turn)
        return turn

    def next(self) -> Turn | None:
        """Take who is next; whoever has left meanwhile is passed over."""
        while self._by_address:
            address = next(iter(self._by_address))
            turns = self._by_address.pop(address)
            turn = turns.popleft()
            if turns:
                self._by_address[address] = turns
            if not turn.done():
                return turn
        return None
