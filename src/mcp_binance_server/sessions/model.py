"""A session, and the cleanups that run at its end."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Generic, NewType
from uuid import UUID, uuid4

import anyio

from mcp_binance_server.domain.access import HeldT, Vault
from mcp_binance_server.errors import echo

LOG = logging.getLogger(__name__)

Cleanup = Callable[[], Awaitable[object]]

ConnectionId = NewType("ConnectionId", str)
"""Random UUID of version 4, written with dashes."""


async def clean_up(cleanups: Iterable[Cleanup], *, within_secs: float) -> None:
    """Run all cleanups to the end, even if the caller is cancelled. Failures and timeouts are only logged."""
    with anyio.CancelScope(shield=True):
        async with anyio.create_task_group() as tasks:
            for cleanup in cleanups:
                tasks.start_soon(_run, cleanup, within_secs)


async def _run(cleanup: Cleanup, within_secs: float) -> None:
    try:
        with anyio.fail_after(within_secs):
            await cleanup()
    except TimeoutError:
        LOG.warning("the cleanup of a session took longer than %g s", within_secs)
    except Exception:  # one failed cleanup must not stop the others
        LOG.exception("the cleanup of a session failed")


def new_connection_id(number: int = 0, of: int = 1) -> ConnectionId:
    """Return a random ID. From the ID, `giver_of` reads which of several processes has issued it."""
    while True:
        drawn = uuid4()
        if drawn.int % of == number:
            return ConnectionId(str(drawn))


def place_of(connection_id: ConnectionId) -> str:
    """Return the name of a session's place in the engine.

    It is a hash, because the ID itself gives access to the session.
    """
    return sha256(connection_id.encode()).hexdigest()


def giver_of(connection_id: str, of: int) -> int | None:
    """Return the number of the process that issued an ID. Return None if the text is not an ID."""
    try:
        return UUID(connection_id).int % of
    except ValueError:
        return None


@dataclass(eq=False, slots=True, kw_only=True, repr=False)
class Session(Generic[HeldT]):
    """One connected client.

    Its lifetime is counted in monotonic milliseconds, which the registry supplies. Wall-clock times are only for
    display. A session does not age during a request.
    """

    connection_id: ConnectionId
    owner: str
    remote_addr: str
    user_agent: str | None
    created_ms: int
    idle_ms: int
    vault: Vault[HeldT]
    used_ms: int
    used_at: float
    party: str = ""
    """Party (caller) to which the session's place counts. A place of the empty party "" is never reclaimed."""
    in_flight: int = 0
    has_ended: bool = False
    _cleanups: dict[int, Cleanup] = field(default_factory=dict[int, Cleanup])
    _numbers: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.remote_addr = echo(self.remote_addr)
        self.user_agent = echo(self.user_agent or "").strip() or None

    @property
    def created_at(self) -> datetime:
        return datetime.fromtimestamp(self.created_ms / 1000, UTC)

    @property
    def last_activity(self) -> datetime:
        return datetime.fromtimestamp(self.used_ms / 1000, UTC)

    @property
    def credentials(self) -> HeldT | None:
        """The client's API key; None after the end of the session."""
        return self.vault.read()

    @property
    def label(self) -> str:
        """Short form of the ID for logs, because the whole ID gives access to the session."""
        return f"{self.connection_id[:8]}…"

    def on_end(self, cleanup: Cleanup) -> Callable[[], None]:
        """Register a cleanup for the end of the session. Return a function that unregisters it.

        Raises:
            ValueError: the session has ended, so the cleanup would never run.
        """
        if self.has_ended:
            raise ValueError(f"session {self.label} has ended")
        number = next(self._numbers)
        self._cleanups[number] = cleanup

        def call_off() -> None:
            self._cleanups.pop(number, None)

        return call_off

    def deadline(self, now: float) -> float:
        """Time at which the session ends if it is not used again."""
        return (now if self.in_flight else self.used_at) + self.idle_ms

    def is_over(self, now: float) -> bool:
        return self.has_ended or now >= self.deadline(now)

    def close(self) -> list[Cleanup]:
        """End the session and wipe its credentials. Return the cleanups to run."""
        self.has_ended = True
        self.vault.wipe()
        cleanups = list(self._cleanups.values())
        self._cleanups.clear()
        return cleanups

    def __repr__(self) -> str:
        return f"Session({self.label}, owner={self.owner!r}, remote_addr={self.remote_addr!r})"
