"""Fairness that must hold for every history of parties that ask, and a control that it does not hold by itself."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_binance_server.state.engine import CallKind
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock

pytestmark = pytest.mark.flood  # hundreds of cases each

LIMIT, CEILING = 6_000, 5_400
RESERVE: dict[CallKind, int] = {"order": 1_080, "private": 2_700, "public": 1_620}
LEAST: dict[CallKind, int] = {"order": 50, "private": 80, "public": 50}
KINDS: tuple[CallKind, ...] = ("order", "private", "public")
PARTIES = "abcdef"
# A busy machine is not a broken promise.
PATIENT = settings(deadline=None, max_examples=150)

Ask = tuple[str, CallKind, int]
"""A party, a kind of call, and what it costs."""


def asks() -> st.SearchStrategy[list[Ask]]:
    costs = st.sampled_from((1, 5, 25, 50, 80, 300, 900))
    return st.lists(st.tuples(st.sampled_from(PARTIES), st.sampled_from(KINDS), costs), max_size=80)


@dataclass
class Minute:
    """What an onlooker knows of a minute: who asked for what, and what was granted."""

    spent: Counter[tuple[CallKind, str]] = field(default_factory=Counter[tuple[CallKind, str]])
    asked: set[tuple[CallKind, str]] = field(default_factory=set[tuple[CallKind, str]])

    def of(self, kind: CallKind) -> int:
        return sum(spent for (each, _), spent in self.spent.items() if each == kind)

    def left(self, kind: CallKind) -> int:
        above = KINDS[: KINDS.index(kind)]
        return CEILING - self.spent.total() - sum(max(0, RESERVE[each] - self.of(each)) for each in above)


async def ask(engine: MemoryEngine, number: int, party: str, kind: CallKind, cost: int) -> bool:
    now_ms = number * 60_000 + 30_000
    return bool(await engine.acquire_weight("ip", kind, cost, limit=LIMIT, now_ms=now_ms, party=party))


@pytest.mark.night
@PATIENT
@given(st.lists(asks(), min_size=2, max_size=3))
def test_a_party_within_its_share_is_granted_whenever_there_is_room(history: list[list[Ask]]) -> None:
    async def play() -> None:
        engine, before = MemoryEngine(FakeClock()), Minute()
        for number, asked in enumerate(history, 100):
            minute = Minute()
            for party, kind, cost in asked:
                minute.asked.add((kind, party))
                active = sum(each == kind for each, _ in minute.asked | before.asked)
                share = max(RESERVE[kind] // (active + 1), LEAST[kind])
                assured = share if (kind, party) in before.asked else LEAST[kind]
                fits = minute.left(kind) >= cost

                granted = await ask(engine, number, party, kind, cost)

                if not fits:
                    assert not granted
                elif minute.spent[kind, party] + cost <= assured:
                    assert granted
                if granted:
                    minute.spent[kind, party] += cost
            assert minute.spent.total() <= CEILING
            before = minute

    asyncio.run(play())


def refused_within_their_share(asked: list[Ask], greedy: set[str], *, without_parties: bool = False) -> list[Ask]:
    """Play a minute in which the greedy take all they can; return what the others were refused within their shares."""

    async def play() -> list[Ask]:
        engine, refused, spent = MemoryEngine(FakeClock()), list[Ask](), Counter[tuple[CallKind, str]]()
        for kind in KINDS:
            for party in PARTIES:
                assert await ask(engine, 100, party, kind, 1)
        for party, kind, cost in asked:
            name = "" if without_parties else party
            if party in greedy:
                while await ask(engine, 101, name, kind, cost):
                    pass
            elif spent[kind, party] + cost <= RESERVE[kind] // (len(PARTIES) + 1):
                spent[kind, party] += cost
                if not await ask(engine, 101, name, kind, cost):
                    refused.append((party, kind, cost))
        return refused

    return asyncio.run(play())


@pytest.mark.night
@PATIENT
@given(asks(), st.sets(st.sampled_from(PARTIES)))
def test_nobody_within_its_share_is_refused_whatever_the_greedy_do(asked: list[Ask], greedy: set[str]) -> None:
    assert refused_within_their_share(asked, greedy) == []


def test_without_parties_the_greedy_leave_nothing_to_the_others() -> None:
    asked: list[Ask] = [("a", "order", 1), ("b", "public", 5), ("c", "private", 20)]

    assert refused_within_their_share(asked, {"a"}) == []
    assert refused_within_their_share(asked, {"a"}, without_parties=True) == asked[1:]


def test_the_next_callers_find_something_in_every_order_of_coming() -> None:
    async def play(greedy: CallKind) -> list[bool]:
        engine = MemoryEngine(FakeClock())
        while await ask(engine, 100, "greedy", greedy, 5):
            pass
        return [await ask(engine, 100, f"next {kind}", kind, 20) for kind in KINDS]

    assert [asyncio.run(play(kind)) for kind in KINDS] == [[True] * 3] * 3
