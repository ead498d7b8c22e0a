"""Tracking of open orders: by the account's stream while it is connected, otherwise by polling."""

import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, Protocol

import anyio

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.orders import Report
from mcp_binance_server.errors import AppError, InvalidCredentials
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.lifecycle import Known

LOG = logging.getLogger(__name__)

Followed = Literal["streamed", "polled", ""]

# Interval of the check for open orders, in ms. A wake-up triggers an earlier check.
LOOK_MS = 2_000
TICK_MS = 1_000
# Time that the stream stays connected after the last open order, in ms.
LINGER_MS = 60_000
# Time without a connection before open orders are polled, and the polling interval, in ms.
AWAY_MS, POLL_MS = 10_000, 5_000
MOST_WAITING = 10_000
# Most orders to remember. The stream also reports orders of other programs.
MOST_KNOWN = 4_096


class ReportStream(Protocol):
    """Stream of an account's order reports."""

    async def run(self, listener: "OrderFollowing") -> None:
        """Read the stream and call the listener.

        Raises:
            InvalidCredentials: the key is rejected; there will be no more reports.
        """
        ...


@dataclass(eq=False)
class OrderFollowing:
    """Tracking of one account's open orders. Without open orders there is no connection and no query."""

    account: str
    desk: Desk
    stream: ReportStream
    clock: Clock
    dropped: int = 0
    """Number of reports dropped because they came faster than they could be recorded."""
    _is_at_work: bool = False
    _has_stood: bool = False
    _is_refused: bool = False
    _away_since_ms: float | None = None
    _read_ms: float = float("-inf")
    _must_read: bool = False
    _has_missed: bool = False
    _reports: deque[Report] = field(default_factory=deque[Report])
    _known: dict[str, Known] = field(default_factory=dict[str, Known])
    _woken: anyio.Event = field(default_factory=anyio.Event)

    @property
    def following(self) -> Followed:
        """Source of order updates; "" without open orders, and until the first connection."""
        if not self._is_at_work:
            return ""
        if self._is_refused or self._is_away:
            return "polled"
        return "streamed" if self._has_stood else ""

    def wake(self) -> None:
        """Check for open orders now, because one is about to be sent."""
        self._woken.set()

    async def run(self) -> None:
        """Follow open orders until this task is cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tick)
            while True:
                self._woken = anyio.Event()
                if await self._has_open():
                    await self._follow()
                await self._woken.wait()

    def on_subscribed(self) -> None:
        self._away_since_ms, self._has_stood, self._must_read = None, True, True
        self._woken.set()

    def on_report(self, report: Report) -> None:
        if len(self._reports) >= MOST_WAITING:
            self.dropped += 1
            self.on_missed()
        else:
            self._reports.append(report)
            self._woken.set()

    def on_missed(self) -> None:
        self._has_missed = True

    def on_lost(self) -> None:
        self._away_since_ms = self.clock.monotonic_ms()

    async def _follow(self) -> None:
        self._is_at_work, self._has_stood, self._is_refused = True, False, False
        self._away_since_ms = open_ms = looked_ms = self.clock.monotonic_ms()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                while self.clock.monotonic_ms() - open_ms < LINGER_MS:
                    await self._woken.wait()
                    self._woken = anyio.Event()
                    if self._is_due:
                        await self._read()
                    await self._write_down()
                    if self.clock.monotonic_ms() - looked_ms >= LOOK_MS:
                        looked_ms = self.clock.monotonic_ms()
                        open_ms = looked_ms if await self._has_open() else open_ms
                tasks.cancel_scope.cancel()
        finally:
            self._is_at_work = False
            self._reports.clear()
            self._known.clear()

    async def _listen(self) -> None:
        try:
            await self.stream.run(self)
        except InvalidCredentials as error:
            # The desk polls open orders once a minute. More queries with this key would fail too.
            self._is_refused = True
            LOG.error("order updates have stopped, open orders are polled: %s", error.message)  # noqa: TRY400 - message is complete

    async def _read(self) -> None:
        # The stream repeats no report. This query returns the earlier changes; later reports are newer.
        self._must_read = self._has_missed = False
        self._read_ms = self.clock.monotonic_ms()
        await self.desk.catch_up({self.account})

    async def _write_down(self) -> None:
        while self._reports:
            report = self._reports.popleft()
            name = report.order.client_order_id
            before = self._known.get(name, Known())
            after = self._known[name] = before.apply(report)
            if len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]
            if after.order is before.order:
                continue  # repeated or outdated
            try:
                await self.desk.reported(report)
            except AppError as error:
                LOG.warning("report not recorded: %s", error.message)
                self._known.pop(name, None)
                self._has_missed = True

    async def _has_open(self) -> bool:
        with suppress(AppError):
            if await self.desk.watch.open_intents({self.account}):
                return True
            return any(each.terms.account == self.account for each in await self.desk.ledger.unresolved())
        return False

    async def _tick(self) -> None:
        while True:
            await self.clock.sleep_until_ms(self.clock.monotonic_ms() + (TICK_MS if self._is_at_work else LOOK_MS))
            self._woken.set()

    @property
    def _is_away(self) -> bool:
        return self._away_since_ms is not None and self.clock.monotonic_ms() - self._away_since_ms > AWAY_MS

    @property
    def _is_due(self) -> bool:
        if self._must_read:
            return True
        wants = self._has_missed or (self._is_away and not self._is_refused)
        return wants and self.clock.monotonic_ms() - self._read_ms >= POLL_MS
