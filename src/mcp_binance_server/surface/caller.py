"""Who calls, over which connection, and how they hear that work on their call goes on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp.server.connection import Connection

from mcp_binance_server.errors import AppError
from mcp_binance_server.surface.errors import RequestContext

if TYPE_CHECKING:
    from mcp_binance_server.domain.access import Vault, Visitor
    from mcp_binance_server.exchange.signing import Principal

# How far, of how much, and in words; a client that did not ask for it never hears it.
Report = Callable[[float, float | None, str | None], Awaitable[None]]

ValueT = TypeVar("ValueT")

BEAT_SECS = 1.0

CALLER = "mcp_binance_server.caller"
"""Where a transport leaves the caller in the scope of an HTTP request."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A visitor, and what holds whose account their signed reads are for: nobody's, once it is wiped or if it is empty.

    Requests outlive their answers here and there, in the SDK and in tracebacks; the keys in them must not.
    """

    visitor: "Visitor"
    vault: "Vault[Principal]"
    party: str = ""
    """For whom limits count what this caller uses."""

    @property
    def principal(self) -> "Principal | None":
        return self.vault.read()


def caller_of(ctx: RequestContext) -> Caller | None:
    """Return who calls; None on a pipe, where only the user of this process can.

    Raises:
        KeyError: an HTTP request that came through no transport of ours; it must not pass for the process's own user.
    """
    return None if ctx.request is None else ctx.request.scope[CALLER]


def connection_of(ctx: RequestContext) -> Connection:
    """Return what outlives the request: a place for what belongs to its client, and a stack that ends with them.

    There is no public way to either in 2.x of the SDK; this is the one place that knows.
    """
    return ctx.session._connection  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


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
