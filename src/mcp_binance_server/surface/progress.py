"""Telling a client that waits that its work goes on."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

import anyio

from mcp_binance_server.errors import AppError
from mcp_binance_server.surface.context import Report

ValueT = TypeVar("ValueT")

BEAT_SECS = 1.0


async def reporting(report: Report | None, message: str, work: Callable[[], Awaitable[ValueT]]) -> ValueT:
    """Do the work, and report the seconds it has taken once in each of them; quick work is never reported."""
    if report is None:
        return await work()
    values: list[ValueT] = []
    failures: list[AppError] = []

    async def beat() -> None:
        for seconds in count(1):
            # The time-out only wakes us; whoever waits counts beats, not milliseconds.
            with anyio.move_on_after(BEAT_SECS):
                await anyio.sleep_forever()
            await report(seconds, None, message)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        try:
            values.append(await work())
        except AppError as error:  # the group would wrap it
            failures.append(error)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return values[0]
