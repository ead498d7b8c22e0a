"""What callers of a hosted server do, and what each must find: their own, exactly, and nothing of another's."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import anyio

from support.paper import Told
from trading.hosted.callers import SYMBOL, UNKNOWN_PREVIEW, HostedCaller, Shown, error_of, without_ids

BEYOND = 1
LIMITS = ("orders_per_day", "per_day")


async def of_all(callers: Iterable[HostedCaller], act: Callable[[HostedCaller], Coroutine[Any, Any, Any]]) -> None:
    """Have all of them do something at the same time."""
    async with anyio.create_task_group() as tasks:
        for caller in callers:
            tasks.start_soon(act, caller)


async def spares(callers: Iterable[HostedCaller]) -> dict[int, Shown]:
    """Have each preview an order that is left for others to try; the first one of an account takes two seconds."""
    shown: dict[int, Shown] = {}

    async def preview(caller: HostedCaller) -> None:
        shown[caller.number] = await caller.shown()

    await of_all(callers, preview)
    return shown


async def until_refused(caller: HostedCaller) -> None:
    """Place more than the caller's limits leave, all at once, and then until they refuse."""
    shown = [await caller.shown() for _ in range(caller.most + BEYOND)]
    async with anyio.create_task_group() as tasks:
        for each in shown:
            tasks.start_soon(caller.place, each)
    refused = await caller.preview()
    while (preview_id := refused.data.get("preview_id")) is not None:  # what was not sent left its part of a limit
        await caller.place(caller.previews[preview_id])
        refused = await caller.preview()

    assert any(each in str(refused.data.get("refused_by")) for each in LIMITS), (caller.number, refused.text)


async def pry(caller: HostedCaller, other: HostedCaller, spare: Shown) -> None:
    """Ask for what is another's by its ids, one of them of a preview: the answers are those for ids of nobody."""
    at = spare.worker if caller.is_apart else caller.worker()
    stolen = await caller.call("place_order", at, preview_id=spare.preview_id)
    unknown = await caller.call("place_order", at, preview_id=UNKNOWN_PREVIEW)

    assert error_of(stolen) == "preview_not_found", stolen
    assert _same(stolen, unknown, spare.preview_id)
    theirs, claimed = next(iter(other.placed.items()))
    nobody = theirs[:4] + UNKNOWN_PREVIEW
    for tool in ("get_order", "cancel_order"):
        pried = await caller.call(tool, at, symbol=SYMBOL, client_order_id=theirs)
        # What was asked for is echoed, and no sign of what it is.
        caller.heard[-1] = caller.heard[-1].replace(theirs, "")
        missed = await caller.call(tool, at, symbol=SYMBOL, client_order_id=nobody)

        assert pried.is_error, pried
        assert _same(pried, missed, theirs, nobody), (pried, missed)
    taken = await caller.call("place_order", at, preview_id=claimed.preview_id)

    assert _same(taken, unknown, claimed.preview_id), taken


async def look(caller: HostedCaller) -> None:
    """See every order of one's own, on each page that has orders."""
    seen = await caller.look()

    assert all(seen.count(name) >= len(("status", "journal")) for name in caller.placed), (caller.number, seen)


def _same(one: Told, other: Told, *ids: str) -> bool:
    ids = (*ids, UNKNOWN_PREVIEW)
    return without_ids(one, *ids) == without_ids(other, *ids) and one.is_error == other.is_error
