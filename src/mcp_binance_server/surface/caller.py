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

# Callback for progress, total and message; None if the client did not ask for progress.
Report = Callable[[float, float | None, str | None], Awaitable[None]]

ValueT = TypeVar("ValueT")

BEAT_SECS = 1.0

CALLER = "mcp_binance_server.caller"
"""Name of the entry in an HTTP request's scope under which a transport stores the caller."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: a visitor, and a vault with the API key for its account.

    An empty or wiped vault means no account. The SDK or a traceback can keep a request after its answer. So the key is
    in a vault, which is wiped.
    """

    visitor: "Visitor"
    vault: "Vault[Principal]"
    party: str = ""
    """Party (holder of a share) whose limits this caller uses."""

    @property
    def principal(self) -> "Principal | None":
        return self.vault.read()


def caller_of(ctx: RequestContext) -> Caller | None:
    """Return the caller of a request. Return None on stdio, where only the user of this process can call.

    Raises:
        KeyError: an HTTP transport did not set the caller, which must not count as the user of this process.
    """
    return None if ctx.request is None else ctx.request.scope[CALLER]


def connection_of(ctx: RequestContext) -> Connection:
    """Return the client's connection.

    Its state and exit stack outlive the request. The SDK has no public access to the connection, so this function, and
    no other, uses a private attribute.
    """
    return ctx.session._connection  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


async def reporting(report: Report | None, message: str, work: Callable[[], Awaitable[ValueT]]) -> ValueT:
    """Await `work`, and report the elapsed seconds to the client once a second."""
    if report is None:
        return await work()
    values: list[ValueT] = []
    failures: list[AppError] = []

    async def beat() -> None:
        for seconds in count(1):
            # The timeout is only an interval. Progress counts reports, not measured time.
            with anyio.move_on_after(BEAT_SECS):
                await anyio.sleep_forever()
            await report(seconds, None, message)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        try:
            values.append(await work())
        except AppError as error:  # the task group would wrap the error in an ExceptionGroup
            failures.append(error)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return values[0]
