"""Twenty callers trade with keys of their own on four workers: nobody sees, stops or spends what is another's."""

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from support.state_server import BINARY
from support.updates import hearing
from trading.hosted.callers import CLOCK, ERAS, PATIENCE_SECS, PLAIN, SYMBOL, HostedCaller, Shown, error_of, leaks
from trading.hosted.holding import ROOMY, VICTIM, HostedKeys, all_connected, counts_orders, hosted_keys, visitor_of
from trading.hosted.story import look, of_all, pry, spares, until_refused

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.alone,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that their start costs little"),
    pytest.mark.skipif(BINARY is None, reason="no redis-server or valkey-server is installed"),
]

ORDER_PAGES = ("binance://orders/open", "binance://orders/journal")
KILLED, LIVING = 3, (0, 1, 2)
CANCELS = 6
STOP_MS, LOOK_MS = 1_000, 100
PIECE = 16
STANDING, IN_HAND = {"ACKED", "ADOPTED"}, {"PREPARED", "SENT", "UNKNOWN"}


async def accepted(hosted: HostedKeys) -> dict[int, list[str]]:
    """Return what the exchange has ever taken, by the number of the caller whose account it is; -1 is our own."""
    found = await anyio.to_thread.run_sync(hosted.exchange.accepted)
    return {number - 1: names for number, names in found.items()}


async def kill_in_the_middle(hosted: HostedKeys) -> None:
    """Kill a worker when a third of what limits leave has been placed."""
    third = sum(each.most for each in hosted.callers[ROOMY:]) // 3
    while sum(map(len, (await accepted(hosted)).values())) < third:
        await CLOCK.sleep_ms(LOOK_MS)
    hosted.running.workers[KILLED].kill()


async def race(hosted: HostedKeys) -> None:
    """Have all but the first use their limits up while a worker is killed."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill_in_the_middle, hosted)
        tasks.start_soon(of_all, hosted.callers[ROOMY:], until_refused)
    for each in hosted.everybody:
        each.seats[KILLED].leave()


async def count_orders(hosted: HostedKeys) -> None:
    """Make sure that each account has just what its holder has placed, and that each limit is used up exactly."""
    found = await accepted(hosted)
    assert {number: {*names} for number, names in found.items()} == {
        each.number: {*each.placed} for each in hosted.callers if each.placed
    }
    assert sum(map(len, found.values())) == sum(len(each.placed) for each in hosted.callers)
    for each in hosted.callers[ROOMY:]:
        # What was refused counts as an order too, and what nobody has found as its money.
        kept = each.unplaced.total() if counts_orders(each.number) else each.unplaced["NOT_PLACED"]
        assert len(each.placed) + kept == each.most, (each.number, each.placed, each.unplaced)


@asynccontextmanager
async def told_of(caller: HostedCaller, url: str, era: str) -> AsyncGenerator[list[str]]:
    async with httpx2.AsyncClient(headers=caller.headers, timeout=PATIENCE_SECS, verify=PLAIN) as http:
        transport: Any = streamable_http_client(f"{url}/mcp", http_client=http)
        async with hearing(transport, era, *ORDER_PAGES) as heard:
            yield heard


async def quiet_until_own(caller: HostedCaller, *heard: list[str]) -> None:
    """Hear nothing of others' orders, and of one's own at every worker that was asked to tell."""
    assert [*heard] == [[] for _ in heard]
    await caller.place(await caller.shown())
    with anyio.fail_after(PATIENCE_SECS):
        while any({*each} != {*ORDER_PAGES} for each in heard):
            await CLOCK.sleep_ms(LOOK_MS)


async def too_large(caller: HostedCaller) -> None:
    told = await caller.preview(times=2)

    assert told.data["preview_id"] is None
    assert "per_order" in str(told.data["refused_by"])


async def intrude(caller: HostedCaller, victim: HostedCaller, spare: Shown) -> None:
    """Try everything on another's account with a key that opens nothing here: nothing is done or said."""
    name = next(iter(victim.placed))
    caller.reason = f"canary of {caller.number} who stops"
    for told in (
        await caller.call("get_trading_status"),
        await caller.call("stop_trading", reason=caller.reason),
        await caller.call("place_order", preview_id=spare.preview_id),
        await caller.call("get_order", symbol=SYMBOL, client_order_id=name),
        await caller.call("cancel_order", symbol=SYMBOL, client_order_id=name),
        await caller.call("cancel_all_orders", symbol=SYMBOL),
    ):
        assert told.is_error, told.text
    assert not (await caller.preview()).data.get("preview_id")
    caller.heard = [each.replace(name, "") for each in caller.heard]  # as it was asked for
    for page in ORDER_PAGES:
        await caller.read(page)


async def share(caller: HostedCaller, victim: HostedCaller, spare: Shown) -> None:
    """See the orders of the account that one has the key of; what was shown to another stays theirs to place."""
    seen = await caller.look()
    stolen = await caller.call("place_order", preview_id=spare.preview_id)
    refused = await caller.preview()

    assert all(name in seen for name in victim.placed), seen
    assert error_of(stolen) == "preview_not_found"
    assert refused.data["preview_id"] is None
    assert "per_day" in str(refused.data["refused_by"])


async def cancel(hosted: HostedKeys) -> None:
    """Cancel all orders of some callers: those of the others stand."""
    before = hosted.exchange.open_orders()
    for each in hosted.callers[ROOMY::CANCELS]:
        told = await each.call("cancel_all_orders", symbol=SYMBOL)
        assert {*told.data["cancelled"]} == before.pop(each.number + 1)

    assert hosted.exchange.open_orders() == before


async def stop(hosted: HostedKeys) -> None:
    """Stop one caller at one worker: within a second at all of them, and nobody else."""
    first, stopper, *others = hosted.callers
    ready = iter([await stopper.shown() for _ in range(2 * len(LIVING))])
    stopper.reason = "canary of 1 who stops"
    told = await stopper.call("stop_trading", reason=stopper.reason)
    stopped_ms = CLOCK.now_ms()
    for worker in LIVING:
        refused = await stopper.call("place_order", worker, preview_id=next(ready).preview_id)
        if not refused.is_error:  # it slipped through, and is judged by when it was accepted
            refused = await stopper.call("place_order", worker, preview_id=next(ready).preview_id)
        assert error_of(refused) == "trading_stopped", refused.text
        assert stopper.reason in refused.text

    assert told.data["is_stopped"]
    orders = hosted.exchange.ask("/control/orders")["orders"]
    assert [each for each in orders if each["account"] == 2 and each["time"] > stopped_ms + STOP_MS] == []
    for worker in LIVING:
        assert (await first.place(await first.shown(), worker)).data["outcome"] == "placed"
    for each in others:
        assert not (await each.call("get_trading_status")).data["is_stopped"]


def judge_journals(hosted: HostedKeys, found: dict[int, list[str]]) -> None:
    """Make sure that each row of each journal is of one account, placed by its own holder, and at the exchange.

    Of what it had in hand the killed worker has written no end; the others have found it.
    """
    holders = {each.account: each for each in hosted.callers}
    killed = hosted.running.folders[KILLED]
    for folder in hosted.running.folders:
        with closing(sqlite3.connect(f"file:{folder / 'trading.db'}?mode=ro", uri=True)) as db:
            rows = db.execute("SELECT account, visitor, client_order_id, state FROM intent").fetchall()
        for account, visitor, name, state in rows:
            assert visitor == visitor_of(holders[account])
            if folder == killed and state in IN_HAND:
                continue
            assert (name in found.get(holders[account].number, ())) == (state in STANDING), (folder.name, name, state)


def judge_secrets(hosted: HostedKeys) -> None:
    """Make sure that no piece of a secret was logged, journaled or shared, and that intruders left no trace."""
    kept = hosted.running.written() + hosted.state.dump().decode("latin-1")
    secrets = [secret for each in hosted.everybody for secret in each.secrets]
    pieces = {secret[at : at + PIECE] for secret in secrets for at in range(0, len(secret) - PIECE, PIECE)}
    intruders = [visitor_of(each) for each in (hosted.unnamed, hosted.wrong_secret)]

    assert all(visitor_of(each) in kept for each in hosted.callers)
    assert [each for each in (*pieces, *intruders) if each in kept] == []


async def test_twenty_callers_on_four_workers_have_what_is_their_own(tmp_path: Path, scale: int) -> None:
    with hosted_keys(tmp_path, scale) as hosted:
        urls, callers = hosted.running.urls, hosted.callers
        quiet, victim = callers[0], callers[VICTIM]
        async with (
            all_connected(hosted),
            told_of(quiet, urls[0], ERAS[0]) as in_session,
            told_of(quiet, urls[1], ERAS[1]) as by_stream,
        ):
            spare = await spares(callers)
            await race(hosted)
            await quiet_until_own(quiet, in_session, by_stream)
            await callers[1].place(await callers[1].shown())
            await count_orders(hosted)
            await of_all(callers, lambda each: pry(each, other := callers[each.number - 1], spare[other.number]))
            await of_all(callers, look)
            await of_all(callers[ROOMY : ROOMY + 2], too_large)
            await intrude(hosted.unnamed, victim, spare[VICTIM])
            assert hosted.unnamed.holds in (await hosted.unnamed.call("get_account_info")).text.replace(",", "")
            await intrude(hosted.wrong_secret, victim, spare[VICTIM])
            await share(hosted.same_key, victim, spare[VICTIM])
            await cancel(hosted)
            await stop(hosted)
            found = await accepted(hosted)
        assert leaks([*callers, hosted.unnamed, hosted.wrong_secret]) == []
        assert leaks([hosted.same_key, *(each for each in callers if each is not victim)]) == []
        judge_journals(hosted, found)
        judge_secrets(hosted)
