"""The caller of a request, its connection, and its progress reports."""

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

# Progress, total and message; a client that did not ask for progress gets no report.
Report = Callable[[float, float | None, str | None], Awaitable[None]]

ValueT = TypeVar("ValueT")

BEAT_SECS = 1.0

CALLER = "mcp_binance_server.caller"
"""Key of the caller in the scope of an HTTP request, set by a transport."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A visitor, and the vault with the principal for its signed reads; an empty or wiped vault has no account.

    Requests can outlive their answers, in the SDK and in tracebacks; the keys in them must not.
    """

    visitor: "Visitor"
    vault: "Vault[Principal]"
    party: str = ""
    """Party whose limits this caller uses."""

    @property
    def principal(self) -> "Principal | None":
        return self.vault.read()


def caller_of(ctx: RequestContext) -> Caller | None:
    """Return the caller of a request; None on a pipe, where only the user of this process can call.

    Raises:
        KeyError: an HTTP request came through an unknown transport; it must not pass for the process's own user.
    """
    return None if ctx.request is None else ctx.request.scope[CALLER]


def connection_of(ctx: RequestContext) -> Connection:
    """Return the connection, which outlives the request: it has a state for its client and an exit stack.

    SDK 2.x has no public access to it; this is the only place that uses the private attribute.
    """
    return ctx.session._connection  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


async def reporting(report: Report | None, message: str, work: Callable[[], Awaitable[ValueT]]) -> ValueT:
    """Run the work and report its duration once a second; work of less than a second is not reported."""
    if report is None:
        return await work()
    values: list[ValueT] = []
    failures: list[AppError] = []

    async def beat() -> None:
        for seconds in count(1):
            # The timeout only wakes this task; the progress counts beats, not milliseconds.
            with anyio.move_on_after(BEAT_SECS):
                await anyio.sleep_forever()
            await report(seconds, None, message)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        try:
            values.append(await work())
        except AppError as error:  # the group would wrap the error
            failures.append(error)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return values[0]
