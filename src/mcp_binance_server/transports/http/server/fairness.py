"""Fair scheduling of requests on the event loop under load."""

import asyncio
from collections import deque
from collections.abc import Generator
from functools import partial
from math import inf
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_binance_server.clock import Clock
from mcp_binance_server.transports.http.admission.keys import Claims
from mcp_binance_server.transports.http.server.disconnect import DISCONNECT, Disconnect
from mcp_binance_server.transports.http.server.loop_use import LOOP_REQUEST, STILL_MS, LoopAccount, LoopRequest, LoopUse

AHEAD = "mcp_binance_server.ahead"
"""Scope key of a boolean: True if the client sends requests without waiting for answers."""

# Time per round of the event loop in which requests start without waiting, in ms. Most requests take a single step,
# during which the loop does nothing else.
ROUND_MS = 4.0
MOST_AT_ONCE = 16
# Pipelined requests wait for other requests, but at most this many rounds.
MOST_ROUNDS = 16


class Turns:
    """Middleware that starts requests in fair order, and delays requests that would block all others.

    A party is a token, an API key or an address. The next request comes from the party with the least use of the event
    loop. A heavy party has one request at a time, between the requests of other parties. Requests from clients that do
    not wait for answers (pipelining) come last. Paths in `first` cost little and never wait, because a load balancer
    often shares its address with many clients.
    """

    def __init__(
        self, app: ASGIApp, clock: Clock, first: frozenset[str] = frozenset(), *, use: LoopUse | None = None
    ) -> None:
        self._app = app
        self._first = first
        self._clock = clock
        self._use = use or LoopUse()
        self._claims = Claims()
        self._patient = _WaitingRequest(self._use)
        self._ahead = _WaitingRequest(self._use)
        self._since_ahead = 0
        self._began_ms = 0.0
        self._begun = 0
        self._is_watched = False
        self._is_crowded = False
        self._looks_ms = inf
        self._rest: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._take(self._app, scope, receive, send)

    def at(self, app: ASGIApp) -> ASGIApp:
        """Wrap another application whose requests share this queue."""
        return partial(self._take, app)

    async def _take(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        is_ahead = scope.get(AHEAD, False)
        if scope["path"] in self._first and not is_ahead:
            if not _has_left(scope):
                await app(scope, receive, send)
            return
        claim = self._claims.claim(scope)
        request = scope[LOOP_REQUEST] = self._use.asked(self._claims.party(claim, scope))
        try:
            if is_ahead or not self._begins_at_once(request):
                await self._wait_among(self._ahead if is_ahead else self._patient, request, scope.get(DISCONNECT))
            if not _has_left(scope):
                await request.charging(app(scope, receive, send))
                if self._claims.learn(claim, scope):
                    self._use.forget(request.account)
        finally:
            self._use.end(request)
            if self._patient or self._ahead:
                self._watch()

    def _begins_at_once(self, request: LoopRequest) -> bool:
        account, now = request.account, self._use.now_ms()
        is_full = self._begun and self._clock.monotonic_ms() - self._began_ms >= ROUND_MS
        if self._is_crowded or account.waiting or is_full:
            return False
        if self._use.is_heavy(account, now) and (self._patient or self._use.has_to_wait(account, now)):
            return False
        self._begin(request)
        return True

    async def _wait_among(self, others: "_WaitingRequest", request: LoopRequest, disconnect: Disconnect | None) -> None:
        if others is self._patient and not self._use.is_heavy(request.account, self._use.now_ms()):
            self._is_crowded = True
        woken = others.add(request, self._watch())
        if disconnect is not None:
            disconnect.ends_wait(woken)
        await woken

    def _begin(self, request: LoopRequest) -> None:
        if not self._begun:
            self._began_ms = self._clock.monotonic_ms()
            self._watch()
        self._begun += 1
        self._use.begin(request)

    def _watch(self) -> asyncio.AbstractEventLoop:
        """Schedule `_next_round` for the next round of the event loop."""
        loop = asyncio.get_running_loop()
        if not self._is_watched:
            self._is_watched = True
            loop.call_soon(self._next_round)
        return loop

    def _next_round(self) -> None:
        self._is_watched = False
        self._since_ahead += 1
        begun, self._begun = self._begun, 0
        # Pipelined requests begin after a round without work, in which newly arrived requests were read, or after
        # `MOST_ROUNDS`.
        if self._since_ahead >= MOST_ROUNDS or not (begun or self._patient):
            self._since_ahead = 0
            self._let_go(self._ahead, 1)
        # Begin as many requests as fit into a round. Requests of the last round give the expected duration.
        took_ms = max(self._clock.monotonic_ms() - self._began_ms, 0.1)
        self._is_crowded = not self._let_go(self._patient, min(MOST_AT_ONCE, max(1, int(begun * ROUND_MS / took_ms))))
        now = self._use.now_ms()
        if self._ahead.can_begin(now):
            self._watch()
        elif (self._patient or self._ahead) and not self._begun:
            self._look_again(min(self._patient.rest_ms(now), self._ahead.rest_ms(now)))

    def _let_go(self, waiting: "_WaitingRequest", most: int) -> bool:
        """Begin up to `most` waiting requests. Return True if no other request could begin."""
        for number, turn in enumerate(waiting.in_order(self._use.now_ms())):
            if number == most:
                return False
            waiting.drop(turn)
            turn.woken.set_result(None)
            self._begin(turn.request)
        return True

    def _look_again(self, rest_ms: float) -> None:
        looks_ms = self._use.now_ms() + rest_ms
        if looks_ms < self._looks_ms:
            self._looks_ms = looks_ms
            if self._rest is not None:
                self._rest.cancel()
            self._rest = asyncio.get_running_loop().call_later(rest_ms / 1000, self._rested)

    def _rested(self) -> None:
        self._rest, self._looks_ms = None, inf
        if self._patient or self._ahead:
            self._watch()


def _has_left(scope: Scope) -> bool:
    disconnect: Disconnect | None = scope.get(DISCONNECT)
    return disconnect is not None and disconnect.has_left


class _Turn(NamedTuple):
    """A waiting request. `woken` is set when the request begins or its client disconnects."""

    request: LoopRequest
    woken: asyncio.Future[None]


class _WaitingRequest:
    """Queue of waiting requests, first in first out for each party."""

    def __init__(self, use: LoopUse) -> None:
        self._use = use
        self._by_party: dict[LoopAccount, deque[_Turn]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_party)

    def add(self, request: LoopRequest, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        turn = _Turn(request, loop.create_future())
        self._by_party.setdefault(request.account, deque()).append(turn)
        request.account.waiting += 1
        return turn.woken

    def in_order(self, now_ms: float) -> Generator[_Turn]:
        """Yield waiting requests in fair order: one per party in turn, the least active party first.

        Heavy parties that have to wait are skipped. Requests of disconnected clients are dropped.
        """
        accounts = sorted(self._by_party, key=lambda account: account.used(now_ms))
        while accounts:
            again: list[LoopAccount] = []
            for account in accounts:
                turn = self._first_of(account)
                if turn is not None and not self._use.has_to_wait(account, now_ms):
                    yield turn
                    again.append(account)
            accounts = again

    def can_begin(self, now_ms: float) -> bool:
        return next(self.in_order(now_ms), None) is not None

    def rest_ms(self, now_ms: float) -> float:
        """Return the time in ms until another waiting request may begin."""
        rests = [account.rests_until_ms - now_ms for account in self._by_party]
        return min([rest for rest in rests if rest > 0], default=STILL_MS)

    def drop(self, turn: _Turn) -> None:
        account = turn.request.account
        turns = self._by_party[account]
        turns.popleft()
        account.waiting -= 1
        if not turns:
            del self._by_party[account]

    def _first_of(self, account: LoopAccount) -> _Turn | None:
        turns = self._by_party.get(account)
        while turns and turns[0].woken.done():
            self.drop(turns[0])
        return turns[0] if turns else None
