"""Approval pages, each in its own process, so that the server never sees what a person types.

A process starts when an order begins to wait. It ends with the decision, when the preview expires, or with this server.
Only the person's own client or browser gets the page's address. No answer, log or journal contains it.
"""

import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import Process, TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from mcp_binance_server.trading.judgement.terms import PreviewId

# Each page is a process. Further orders that wait can be approved in a terminal.
MOST_PAGES = 3
START_SECS, END_SECS = 15.0, 1.0
LONGEST_LINE = 512
ADDRESS = "http://127.0.0.1:"
COMMAND = (sys.executable, "-P", "-m", "mcp_binance_server", "approve", "--page")
PRINTED = ("--print-address",)


def has_screen(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Return True if this machine has a screen on which a browser can open."""
    if platform in ("win32", "darwin"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


@dataclass(eq=False)
class ApprovalPage:
    """A served page. `address` is "" if a browser on this machine shows the page."""

    address: str
    is_shown: bool
    scope: anyio.CancelScope

    def __repr__(self) -> str:
        return f"ApprovalPage(is_shown={self.is_shown})"


@dataclass(eq=False)
class ApprovalPages:
    """Pages of this server, at most one per order."""

    key: Path
    """Private key of the approver. Without the key on this machine, there is no page."""
    environment: Mapping[str, str]
    opens: bool
    """Whether to open a browser if the client cannot open the page."""
    is_on: bool = True
    _pages: dict[PreviewId, ApprovalPage] = field(default_factory=dict[PreviewId, ApprovalPage])
    _starting: anyio.Lock = field(default_factory=anyio.Lock)
    _tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serve pages while the context is open, then end them."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def of(self, preview_id: PreviewId, *, by_client: bool) -> ApprovalPage | None:
        """Start or return the page of a waiting order.

        Return None if there can be no page. With `by_client` the client opens the page, otherwise a browser on this
        machine.
        """
        async with self._starting:
            if preview_id in self._pages:
                return self._pages[preview_id]
            can = self.is_on and (by_client or self.opens) and len(self._pages) < MOST_PAGES
            if self._tasks is None or not can or not self.key.is_file():
                return None
            return await self._tasks.start(self._serve, preview_id, PRINTED if by_client else ())

    def close(self, preview_id: PreviewId) -> None:
        """End the page of an order that no longer waits."""
        if (page := self._pages.get(preview_id)) is not None:
            page.scope.cancel()

    async def _serve(
        self,
        preview_id: PreviewId,
        told: tuple[str, ...],
        *,
        task_status: TaskStatus[ApprovalPage | None],
    ) -> None:
        by_client = told == PRINTED
        try:
            # A session of its own, so that the page cannot receive input typed in this terminal.
            process = await anyio.open_process(
                [*COMMAND, *told, preview_id],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environment,
                start_new_session=True,
            )
        except OSError:
            task_status.started(None)
            return
        page = None
        try:
            with anyio.CancelScope() as scope:
                line = await _first_line(process)
                address = line if line.startswith(ADDRESS) else ""
                if line and bool(address) == by_client:  # an address without `by_client`: no browser here
                    page = self._pages[preview_id] = ApprovalPage(address, not by_client, scope)
                    task_status.started(page)
                    await process.wait()
        finally:
            self._pages.pop(preview_id, None)
            with anyio.CancelScope(shield=True):
                await _end(process)
            if page is None:
                task_status.started(None)


async def _first_line(process: Process) -> str:
    assert process.stdout is not None  # noqa: S101 - opened with a pipe
    with anyio.move_on_after(START_SECS):
        try:
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", LONGEST_LINE)
            return line.decode("ascii", "replace").strip()
        except (anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
            pass
    return ""


async def _end(process: Process) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(END_SECS):
        await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()
    await process.aclose()
