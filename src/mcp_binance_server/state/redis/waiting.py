"""Waiting for another process: it lives in real time, whatever our own clock says."""

import asyncio
from contextlib import suppress


async def happened(event: asyncio.Event, *, within_secs: float) -> bool:
    """Wait for an event, but not for long; return whether it has happened."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_secs):
            await event.wait()
    return event.is_set()


async def pause(secs: float) -> None:
    await happened(asyncio.Event(), within_secs=secs)
