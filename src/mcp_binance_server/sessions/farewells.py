"""What is to be done when a session ends: all of it, side by side, none for long."""

import logging
from collections.abc import Awaitable, Callable, Iterable

import anyio

LOG = logging.getLogger(__name__)

Farewell = Callable[[], Awaitable[object]]


async def say_farewells(farewells: Iterable[Farewell], *, within_secs: float) -> None:
    """Do them to the end even if the caller is cancelled; one that fails or is late is logged and stops no other."""
    with anyio.CancelScope(shield=True):
        async with anyio.create_task_group() as tasks:
            for farewell in farewells:
                tasks.start_soon(_say, farewell, within_secs)


async def _say(farewell: Farewell, within_secs: float) -> None:
    try:
        with anyio.fail_after(within_secs):
            await farewell()
    except TimeoutError:
        LOG.warning("the end of a session was not done within %g s", within_secs)
    except Exception:  # the others are owed theirs
        LOG.exception("the end of a session failed")
