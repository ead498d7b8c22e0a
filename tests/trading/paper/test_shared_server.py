"""Shared tables on a real server that freezes, is emptied or killed, and workers that are killed beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.trading.paper.matcher import LeaseLost
from mcp_binance_server.trading.paper.shared import LeaseRight, SharedTables
from support.engine_calls import is_answered
from support.process import clean_environment
from support.state_server import BINARY, StateServer, state_server
from trading.paper import dying
from trading.paper.generated import PAIR, START, SYMBOL
from trading.paper.shared_floor import agree, all_rows, exchange_of, matcher_of, order, workers_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed"),
]

ASKED_AGAIN = 200


@pytest.fixture(scope="module")
def server() -> Iterator[StateServer]:
    with state_server() as running:
        yield running


@pytest.fixture
async def workers(server: StateServer) -> AsyncGenerator[list[SharedTables]]:
    server.command("FLUSHALL")
    async with workers_of(server, 2) as made:
        yield made


async def names(tables: SharedTables) -> list[str]:
    return [each.order.client_order_id for each in await exchange_of(tables).orders("ann", SYMBOL, 99)]


async def reached(tables: SharedTables) -> None:
    """Wait until the engine answers this worker again."""
    for _ in range(ASKED_AGAIN):
        if await is_answered(tables.engine):
            return
        await SystemClock().sleep_ms(50)
    raise AssertionError("the engine does not answer")


async def test_a_frozen_server_refuses_orders_and_what_came_of_them_is_known_when_it_answers(
    server: StateServer, workers: list[SharedTables]
) -> None:
    one, other = workers
    await exchange_of(one).accept("ann", order("before"), PAIR)
    server.freeze()
    try:
        for tables in workers:
            with pytest.raises(EngineUnavailable):
                await exchange_of(tables).accept("ann", order("while away"), PAIR)
    finally:
        server.thaw()
    for tables in workers:
        await reached(tables)

    assert await names(one) == await names(other) == ["before"]
    await exchange_of(one).accept("ann", order("after"), PAIR)

    assert await names(other) == ["before", "after"]
    assert await agree(workers)


async def test_connections_that_are_cut_leave_each_order_once_for_all(
    server: StateServer, workers: list[SharedTables]
) -> None:
    one, other = workers
    for number in range(5):
        await exchange_of(one).accept("ann", order(f"a{number}"), PAIR)
        server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        for _ in range(ASKED_AGAIN):
            try:
                await exchange_of(one).accept("ann", order(f"b{number}"), PAIR)
                break
            except EngineUnavailable:
                await SystemClock().sleep_ms(50)

    await reached(other)
    assert await names(other) == [f"{name}{number}" for number in range(5) for name in "ab"]
    assert await agree(workers)


async def test_a_server_that_was_emptied_begins_anew_for_all_of_them(
    server: StateServer, workers: list[SharedTables]
) -> None:
    one, other = workers
    await exchange_of(one).accept("ann", order("a"), PAIR)
    matcher = await matcher_of(other, LeaseRight(other), "other")
    token = matcher.token
    server.command("FLUSHALL")

    with pytest.raises(LeaseLost):
        await matcher.meet((), exchange_of(other).now_ms())
    assert (await exchange_of(one).account("ann")).free == START
    assert all(not rows for rows in (await all_rows(other)).values())
    await exchange_of(other).accept("ann", order("b"), PAIR)
    again = await matcher_of(one, LeaseRight(one), "one")

    assert one.loss == other.loss != ""
    assert again.token > token
    assert await names(one) == ["b"]
    assert await agree(workers)


async def test_a_worker_killed_between_the_log_and_its_rows_has_placed_its_order(
    server: StateServer, workers: list[SharedTables]
) -> None:
    found = subprocess.run(  # noqa: ASYNC221 - nothing else is to happen meanwhile
        [sys.executable, dying.__file__, server.url],
        capture_output=True,
        check=False,
        timeout=60,
        env=clean_environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
    )

    assert found.returncode == -signal.SIGKILL
    placed = await exchange_of(workers[0]).accept("ann", order("in the log"), PAIR)
    assert placed.order.order_id == 2
    assert await names(workers[1]) == ["kept", "in the log"]
    assert await agree(workers)
