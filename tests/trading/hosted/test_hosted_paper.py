"""Twenty visitors trade on paper, on one machine and in a fleet: nobody sees, spends or stops what is another's."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from mcp_binance_server.trading.paper.account import account_of
from support.state_server import BINARY, state_server
from trading.hosted.callers import SYMBOL, HostedCaller, connected, leaks
from trading.hosted.guests import CALLERS
from trading.hosted.hosting import House, customers, house
from trading.hosted.story import look, of_all, pry, spares, until_refused

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.alone,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that their start costs little"),
    pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed"),
]

BEGINS_WITH = Decimal(5_000)
RULES = """
[limits]
orders_per_minute = 1000
open_orders = 1000
orders_per_day = {most}
[paper.balances]
USDT = "{begins_with}"
"""
# Each fourth caller does.
CANCELS = 4


def visitors(running: House, most: int, *, is_apart: bool) -> list[HostedCaller]:
    """Return callers who bring a token and no key."""
    floor = running.customers.floor(SYMBOL)
    return [
        HostedCaller(
            number,
            account_of(running.holders.visitor(name)),
            running.holders.bearer(name),
            Random(number),
            most,
            floor,
            is_apart=is_apart,
            secrets=(running.holders.tokens[name],),
        )
        for number, name in enumerate(running.holders.tokens)
    ]


async def balance(caller: HostedCaller) -> tuple[Decimal, Decimal]:
    """Return what is free of the caller's money, and what is held for orders."""
    (row,) = (await caller.call("get_trading_status")).data["balances"]
    return Decimal(row["free"]), Decimal(row["locked"])


async def count_money(caller: HostedCaller) -> None:
    taken = sum((each.takes for each in caller.placed.values()), Decimal(0))

    assert await balance(caller) == (BEGINS_WITH - taken, taken)


async def stop(stopper: HostedCaller, others: list[HostedCaller]) -> None:
    """Stop one visitor: at every worker, and nobody else."""
    stopper.reason = f"canary of {stopper.number} who stops"
    await stopper.call("stop_trading", reason=stopper.reason)

    for worker in range(len(stopper.seats)):
        told = await stopper.call("get_trading_status", worker)
        assert told.data.get("stopped_because") == stopper.reason, told.text
    assert stopper.reason in str((await stopper.preview()).data["refused_by"])
    for each in others:
        assert not (await each.call("get_trading_status")).data["is_stopped"]


@contextmanager
def paper_house(folder: Path, folders: list[str], rules: str, *, is_fleet: bool) -> Generator[House]:
    with ExitStack() as stack:
        settings = {"MCP_BINANCE_TRADING": "paper"}
        if is_fleet:
            settings["MCP_BINANCE_STATE_URL"] = stack.enter_context(state_server()).url
        exchange = stack.enter_context(customers())
        names = [f"visitor-{number}" for number in range(CALLERS)]
        yield stack.enter_context(house(folder, exchange, names, folders, rules, **settings))


@pytest.mark.parametrize(
    ("folders", "is_fleet"), [(["one"] * 2, False), (["one", "two", "three", "four"], True)], ids=["machine", "fleet"]
)
async def test_twenty_visitors_on_paper_have_accounts_of_their_own(
    folders: list[str], tmp_path: Path, scale: int, *, is_fleet: bool
) -> None:
    most = 2 * scale
    rules = RULES.format(most=most, begins_with=BEGINS_WITH)
    with paper_house(tmp_path, folders, rules, is_fleet=is_fleet) as running:
        callers = visitors(running, most, is_apart=not is_fleet)
        async with connected(callers, running.urls):
            spare = await spares(callers)
            await of_all(callers, until_refused)
            assert [len(each.placed) for each in callers] == [most] * CALLERS
            await of_all(callers, lambda each: pry(each, other := callers[each.number - 1], spare[other.number]))
            await of_all(callers, look)
            await of_all(callers, count_money)
            for each in callers[::CANCELS]:
                cancelled = await each.call("cancel_all_orders", symbol=SYMBOL)
                assert {*cancelled.data["cancelled"]} == {*each.placed}
                each.placed.clear()
            await of_all(callers, count_money)
            await stop(callers[0], callers[1:])
            assert leaks(callers) == []
        written = running.written()
        assert running.customers.accepted() == {}

    assert all(each.account in written for each in callers)
    assert [each.number for each in callers if any(secret in written for secret in each.secrets)] == []


def test_a_word_of_another_caller_is_noticed() -> None:
    one, two = (HostedCaller(number, f"account-{number}", {}, Random(number), 1, 100_000) for number in range(2))
    one.heard = ["account-0", "account-11", "xaccount-1"]
    assert leaks([one, two]) == []

    one.heard.append("of account-1.")

    assert leaks([one, two]) == ["0 heard of 1: account-1"]
