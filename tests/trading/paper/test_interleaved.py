"""Generated histories of workers that share tables on paper: one after another, all at once, and killed."""

import random
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.trading.journal.store import opened_store
from mcp_binance_server.trading.paper.matcher import MatchingRight, RowRight, SymbolMatcher
from mcp_binance_server.trading.paper.shared import DAY_MS, LeaseRight, SharedTables
from mcp_binance_server.trading.paper.store import PaperStore
from mcp_binance_server.trading.paper.tables import LAST_MS, forget_old
from support.state_server import BINARY, StateServer, state_server
from trading.paper.auditing import audit_rows
from trading.paper.generated import ACCOUNTS, PAIR, RATES, START, STEP, SYMBOL, ShownBook
from trading.paper.member import Member
from trading.paper.shared_floor import ALIKE, Written, agree, all_rows, exchange_of, rights_of, workers_of

pytestmark = pytest.mark.anyio

HISTORIES, HISTORIES_OF_A_COMMIT, STEPS = {"memory": 60, "redis": 40}, 15, 8
# The market of these histories has a time of its own.
LONG_MS = 10 * 365 * DAY_MS


@pytest.fixture(scope="module")
def server() -> Iterator[StateServer]:
    if BINARY is None:
        pytest.skip("shared tables are not tested on a real server here: no redis-server or valkey-server is installed")
    with state_server() as running:
        yield running


@pytest.fixture(params=["memory", "redis"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[2, 4])
async def workers(kind: str, request: pytest.FixtureRequest) -> AsyncGenerator[list[SharedTables]]:
    server: StateServer | None = request.getfixturevalue("server") if kind == "redis" else None
    if server is not None:
        server.command("FLUSHALL")
    async with workers_of(server, request.param) as made:
        for each in made:
            each.trim_at, each.keep_ms = 40, LONG_MS
        yield made


@dataclass
class History:
    """What is done to tables: each step by a worker that chance names, and by the same chance on one host."""

    stores: list[PaperStore]
    rights: list[MatchingRight]
    folder: Path
    number: int = 0
    _matcher: tuple[int, SymbolMatcher] | None = None

    async def run(self, seed: int) -> Written:
        """Do the steps of one history; return the rows in the end."""
        chance, whose = random.Random(seed), random.Random(seed + 1)
        book = ShownBook(self.number)
        member = Member(self.stores[0], self.folder, chance, f"h{seed}", book)
        for _ in range(STEPS):
            at = whose.randrange(1_000)
            member.store = self.stores[at % len(self.stores)]
            book.number += chance.randint(1, 4)
            way = chance.random()
            if way < 0.25:
                await member.meet(await self._matching(at // 4, book), is_replay=False)
            elif way < 0.28:
                await member.exchange.reset(chance.choice(ACCOUNTS))
            else:
                await member.trade()
        self.number = book.number
        found = await all_rows(member.store, ALIKE)
        orders = {row[0] for row in found["paper_order"]}
        # The last fill of the history before stays for its number, until a snapshot is made or the next one ends.
        return {**found, "paper_fill": [row for row in found["paper_fill"] if row[1] in orders]}

    async def end(self) -> None:
        """Cancel everything and forget it."""
        for account in ACCOUNTS:
            await exchange_of(self.stores[0]).reset(account)
        await self.stores[-1].write(lambda rows: forget_old(rows, LAST_MS))

    async def _matching(self, at: int, book: ShownBook) -> SymbolMatcher:
        """Have another match now and then."""
        which = at % 3 % len(self.stores)
        if self._matcher is not None and self._matcher[0] != which:
            await self.rights[self._matcher[0]].give_back(self._matcher[1].token)
            self._matcher = None
        if self._matcher is None:
            token = await self.rights[which].take(f"w{which}", 0)
            assert token is not None
            matcher = SymbolMatcher(SYMBOL, PAIR, self.stores[which], START, RATES, token, book, STEP)
            await matcher.load()
            self._matcher = which, matcher
        self._matcher[1].book = book
        return self._matcher[1]


async def test_histories_of_several_workers_are_those_of_one_host(
    workers: list[SharedTables], kind: str, tmp_path: Path, sized: Callable[[int, int], int]
) -> None:
    histories = sized(HISTORIES[kind], HISTORIES_OF_A_COMMIT)
    async with opened_store(tmp_path) as store:
        store.db.execute("PRAGMA synchronous=OFF")
        alone = History([store] * len(workers), [RowRight(store)] * len(workers), tmp_path)
        shared = History([*workers], [*rights_of(workers)], tmp_path)

        orders = fills = 0
        for seed in range(histories):
            one_host, fleet = await alone.run(seed), await shared.run(seed)
            assert fleet == one_host, f"history {seed}"
            assert await agree(workers), f"history {seed}"
            await alone.end()
            await shared.end()
            orders, fills = orders + len(fleet["paper_order"]), fills + len(fleet["paper_fill"])

    assert min(orders, 2 * fills) > histories


async def test_what_workers_do_at_once_adds_up_and_is_the_same_for_all(
    workers: list[SharedTables], tmp_path: Path, scale: int
) -> None:
    book = ShownBook(1)

    async def act(number: int) -> None:
        member = Member(workers[number], tmp_path, random.Random(number), f"w{number}", book)
        right = LeaseRight(workers[number])
        for _ in range(25 * scale):
            await member.trade()
            if number == 0:  # the market stands while it is met
                book.number += 1
                await match(member, right)

    matcher: SymbolMatcher | None = None

    async def match(member: Member, right: LeaseRight) -> None:
        nonlocal matcher
        if matcher is None:
            token = await right.take("w0", 0)
            assert token is not None
            matcher = SymbolMatcher(SYMBOL, PAIR, member.store, START, RATES, token, book, STEP)
            await matcher.load()
        await member.meet(matcher, is_replay=False)

    async with anyio.create_task_group() as tasks:
        for number in range(len(workers)):
            tasks.start_soon(act, number)

    assert await agree(workers)
    assert await workers[-1].read(lambda rows: audit_rows(rows, tmp_path)) == []
    found = await all_rows(workers[0])
    assert len(found["paper_order"]) > 10 * len(workers)
    assert len(found["paper_fill"]) > 0
