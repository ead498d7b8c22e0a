"""Rows that make no sense in what the exchange says of all symbols, or of many hours: the answer does without them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import read_settings
from support.breaking import MARK
from support.broken_rows import CONTRACTS, ROWS, RowBreaker
from support.clock import FakeClock
from support.desk import Loop
from support.planting import Unread
from support.whole_market import WITH_FUTURES

pytestmark = [pytest.mark.flood, pytest.mark.anyio]

TURNS, TURNS_OF_A_COMMIT = 12, 6
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_derivatives", {"symbol": "BTCUSDT"}),
    ("scan_market", {"limit": 50, "sort": "price", "show": ["spread_bps", "range_24h", "trades_24h"]}),
    (
        "scan_market",
        {"market": "perpetual", "limit": 50, "underlying": "all", "sort": "-price", "min_volume": "0",
         "show": ["spread_bps", "range_24h", "funding_apr", "mark_vs_index_bps", "trades_24h"]},
    ),
)  # fmt: skip
ANALYSIS = ("get_analysis", {"kind": "trading_analysis", "symbol": "BTCUSDT"})


Making = Callable[[RowBreaker, str, bytes], tuple[bytes, int]]


def broken(breaker: RowBreaker, path: str, content: bytes) -> tuple[bytes, int]:
    made = breaker.broken(path, content)
    return (content, 0) if made is None else (made[0], made[2])


def without(breaker: RowBreaker, path: str, content: bytes) -> tuple[bytes, int]:
    made = breaker.broken(path, content)
    return (content, 0) if made is None else (made[1], made[2])


def at_the_edge(breaker: RowBreaker, path: str, content: bytes) -> tuple[bytes, int]:
    return breaker.at_the_edge(path, content), 0


@dataclass
class ChangedLoop(httpx2.AsyncBaseTransport):
    """The simulated network, of which each answer is asked for once, and changed anew by every seed."""

    true: Loop
    kept: dict[str, httpx2.Response] = field(default_factory=dict[str, httpx2.Response])
    seed: int = 0
    making: Making = broken
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def begin(self, seed: int, making: Making) -> None:
        self.seed, self.making = seed, making
        self.counts.clear()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path, asked = request.url.path, f"{request.url.path}?{request.url.query.decode()}"
        if asked not in self.kept:
            response = await self.true.handle_async_request(request)
            content = await response.aread()
            self.kept[asked] = httpx2.Response(response.status_code, headers=response.headers, content=content)
        kept = self.kept[asked]
        # By what is asked, not when: two servers that ask in another order meet the same.
        content, self.counts[asked] = self.making(RowBreaker(f"{self.seed} {asked}"), path, kept.content)
        headers = {name: value for name, value in kept.headers.items() if name != "content-length"}
        return httpx2.Response(kept.status_code, headers=headers, stream=Unread(content))

    @property
    def counted(self) -> int:
        """How many rows are changed."""
        return sum(self.counts.values())

    async def answers(self, clock: FakeClock, *more: tuple[str, dict[str, Any]]) -> tuple[list[Any], int]:
        """Return what a new server tells, and how many rows it left out."""
        async with running_app(read_settings({}), clock=clock, network=WITH_FUTURES, transport=self) as app:
            told = [
                (await app.dispatcher.call_tool(None, *each)).model_dump(mode="json") for each in (*QUESTIONS, *more)
            ]
            assert app.futures is not None
            return told, app.futures.client.reads.dropped + app.market.client.reads.dropped


@pytest.mark.night
async def test_an_answer_with_broken_rows_is_the_answer_without_them_and_each_is_counted(
    clock: FakeClock, exchange: SimulatedExchange, sized: Callable[[int, int], int]
) -> None:
    turns = sized(TURNS, TURNS_OF_A_COMMIT)
    network, met, refused = ChangedLoop(Loop(exchange)), set[str](), 0
    for seed in range(turns):
        network.begin(seed, without)
        expected, none = await network.answers(clock)
        network.begin(seed, broken)
        told, count = await network.answers(clock)

        assert told == expected, f"seed {seed}"
        assert MARK not in str(told).replace(",", "")
        assert (none, count) == (0, network.counted), f"seed {seed}"
        met |= {asked.partition("?")[0] for asked, broken_rows in network.counts.items() if broken_rows}
        refused += sum(each["is_error"] for each in told)

    assert met == {*ROWS, CONTRACTS}
    assert refused < turns / 4


@pytest.mark.night
async def test_numbers_at_the_edge_of_what_can_be_written_end_in_an_answer(
    clock: FakeClock, exchange: SimulatedExchange, sized: Callable[[int, int], int]
) -> None:
    turns = sized(TURNS, TURNS_OF_A_COMMIT)
    network = ChangedLoop(Loop(exchange))
    for seed in range(turns):
        network.begin(seed, at_the_edge)
        told, _ = await network.answers(clock, ANALYSIS)

        assert not re.search(r"\b(nan|inf|infinity)\b", str(told), re.IGNORECASE), f"seed {seed}"
