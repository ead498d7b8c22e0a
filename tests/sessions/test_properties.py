"""Whatever happens in whatever order, the registry is what a plain list of sessions would be."""

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import ceil
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.sessions.errors import SessionNotFound, TooManySessions
from mcp_binance_server.sessions.model import Session
from mcp_binance_server.sessions.registry import Registry, SessionCounts
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.stepped import settled

T = TypeVar("T")

CAP, IDLE_MS, PER_CLIENT = 5, 3_000, 2
VISITORS = (LOCAL, Visitor("ann"), Visitor("ben"))
ADDRESSES = ("192.0.2.1", "192.0.2.2")

visitors = st.sampled_from(VISITORS)
addresses = st.sampled_from(ADDRESSES)
picks = st.integers(0, 50)


@dataclass(eq=False)
class Known:
    """A session as the model sees it: when it was last used, by how many it is held, how it ended."""

    session: Session[str]
    secret: str
    visitor: Visitor
    remote_addr: str
    used_ms: float
    uses: list[ExitStack] = field(default_factory=list[ExitStack])
    fate: str = "live"
    cleanups: int = 0

    def settle_fate(self, now: float) -> None:
        if self.fate == "live" and not self.uses and now - self.used_ms >= IDLE_MS:
            self.fate = "expired"


class Sessions(RuleBasedStateMachine):
    """Opens, finds, uses and ends sessions while time passes, with and without a sweep in between."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.engine = MemoryEngine(self.clock)
        self.registry = Registry[str](self.engine, self.clock, cap=CAP, idle_ms=IDLE_MS, per_client=PER_CLIENT)
        self.known: list[Known] = []
        self.refused = 0
        self.is_swept = True
        self.closing = asyncio.Event()
        self.host: asyncio.Task[None] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def start(self) -> None:
        async def host() -> None:
            async with self.registry.running():
                await self.closing.wait()

        async def begin() -> None:
            self.host = asyncio.get_running_loop().create_task(host())
            await settled()

        self.run(begin())

    def live(self) -> list[Known]:
        for known in self.known:
            known.settle_fate(self.clock.monotonic_ms())
        return [known for known in self.known if known.fate == "live"]

    @rule(visitor=visitors, remote_addr=addresses)
    def open(self, visitor: Visitor, remote_addr: str) -> None:
        live, now = self.live(), self.clock.monotonic_ms()
        neighbours = [each for each in live if each.visitor is LOCAL and each.remote_addr == remote_addr]
        has_share = visitor is LOCAL and len(neighbours) >= PER_CLIENT
        secret = f"secret {len(self.known)}"
        if has_share or len(live) >= CAP:
            with pytest.raises(TooManySessions) as caught:
                self.run(self.registry.open(visitor, remote_addr=remote_addr, credentials=secret))
            self.refused += 1
            holders = neighbours if has_share else live
            wait_ms = min(IDLE_MS if each.uses else each.used_ms + IDLE_MS - now for each in holders)
            assert caught.value.reason == ("too_many_from_you" if has_share else "too_many_sessions")
            assert caught.value.retry_after_secs == max(1, ceil(wait_ms / 1000))
            return
        session = self.run(self.registry.open(visitor, remote_addr=remote_addr, credentials=secret))
        known = Known(session, secret, visitor, remote_addr, now)
        self.known.append(known)

        async def part() -> None:
            known.cleanups += 1

        session.on_end(part)

    @precondition(lambda self: self.known)
    @rule(pick=picks)
    def begin_use(self, pick: int) -> None:
        known, now = self.known[pick % len(self.known)], self.clock.monotonic_ms()
        known.settle_fate(now)
        use = ExitStack()
        try:
            use.enter_context(self.registry.in_use(known.session))
        except SessionNotFound:
            assert known.fate != "live"
        else:
            assert known.fate == "live"
            known.used_ms = now
            known.uses.append(use)

    @precondition(lambda self: any(known.uses for known in self.known))
    @rule(pick=picks)
    def finish_use(self, pick: int) -> None:
        used = [known for known in self.known if known.uses]
        known = used[pick % len(used)]
        known.uses.pop().close()
        known.used_ms = self.clock.monotonic_ms()

    @precondition(lambda self: self.known)
    @rule(pick=picks)
    def touch(self, pick: int) -> None:
        known, now = self.known[pick % len(self.known)], self.clock.monotonic_ms()
        known.settle_fate(now)
        self.registry.touch(known.session)
        known.used_ms = now if known.fate == "live" else known.used_ms

    @precondition(lambda self: self.known)
    @rule(pick=picks)
    def end(self, pick: int) -> None:
        known = self.known[pick % len(self.known)]
        known.settle_fate(self.clock.monotonic_ms())
        self.run(self.registry.end(known.session))
        if known.fate == "live":
            known.fate = "ended"
        assert known.session.credentials is None

    @rule(ms=st.one_of(st.integers(0, IDLE_MS), st.sampled_from((1, IDLE_MS - 1, IDLE_MS, 20 * IDLE_MS))))
    def let_time_pass(self, ms: int) -> None:
        self.clock.advance(ms)
        self.is_swept = False

    @rule()
    def sweep(self) -> None:
        self.run(settled())
        self.is_swept = True

    @invariant()
    def each_is_found_by_its_owner_alone_and_only_while_it_lives(self) -> None:
        live = self.live()
        for known in self.known:
            for visitor in VISITORS:
                found = self.registry.find(known.session.connection_id, visitor)
                assert (found is known.session) == (known in live and visitor is known.visitor)
        assert all(known.session.credentials == known.secret for known in live)

    @invariant()
    def the_counts_are_right_and_the_cap_holds(self) -> None:
        fates = [known.fate for known in self.known]
        assert self.registry.snapshot() == SessionCounts(
            live=len(self.live()),
            opened=len(self.known),
            refused=self.refused,
            expired=fates.count("expired"),
            ended=fates.count("ended"),
        )
        assert fates.count("live") <= CAP

    @invariant()
    def after_a_sweep_the_places_are_those_of_the_living_and_the_dead_have_had_their_farewell(self) -> None:
        if self.is_swept:
            assert self.run(self.engine.members("sessions")) == len(self.live())
            self.run(settled())
            assert all(known.cleanups == (known.fate != "live") for known in self.known)

    def teardown(self) -> None:
        async def close() -> None:
            self.closing.set()
            assert self.host is not None
            await self.host
            assert await self.engine.members("sessions") == 0

        self.run(close())
        self.runner.close()
        assert all(known.cleanups == 1 and known.session.credentials is None for known in self.known)


@pytest.mark.flood  # thousands of steps
def test_every_history_agrees_with_a_plain_list_of_sessions(scale: int) -> None:
    run_state_machine_as_test(
        Sessions, settings=settings(max_examples=60 * scale, stateful_step_count=60, deadline=None)
    )
