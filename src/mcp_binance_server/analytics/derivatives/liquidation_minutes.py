"""Liquidations of the last hour by minute and symbol, and the number of seconds in which they were observed."""

from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal

import msgspec

from mcp_binance_server.domain.derivatives import Liquidation
from mcp_binance_server.domain.symbols import Symbol

MINUTE_MS = 60_000
WINDOW_MS = 60 * MINUTE_MS
# The stream sends a heartbeat once a second. Time in a longer gap between messages was not observed.
LONGEST_GAP_MS = 5_000
# Maximum age of an event, and maximum lead over the clock. Other events are rejected: a wrong time would hide later
# events.
EARLIEST_MS, LATEST_MS = 10 * MINUTE_MS, MINUTE_MS
ZERO = Decimal(0)


class LiquidationTally(msgspec.Struct, array_like=True):
    """Observed liquidations of one symbol: count and total value by side."""

    longs: int = 0
    long_value: Decimal = ZERO
    shorts: int = 0
    short_value: Decimal = ZERO

    def add(self, other: "LiquidationTally") -> None:
        self.longs += other.longs
        self.long_value += other.long_value
        self.shorts += other.shorts
        self.short_value += other.short_value


NOTHING_SEEN = LiquidationTally()


@dataclass(frozen=True, slots=True)
class SideSample:
    """Observed liquidations of one side: count and total value."""

    events: int
    value: Decimal


@dataclass(frozen=True, slots=True)
class LiquidationSample:
    """Observed liquidations within at most one hour. Both sides are None before anything was observed."""

    longs: SideSample | None
    shorts: SideSample | None
    observed_secs: int
    since_ms: int | None


class LiquidationSummary(msgspec.Struct, array_like=True):
    """Liquidations of all symbols that one listener observed, and the time of its last message."""

    since_ms: int
    heard_ms: int | None
    observed_ms: int
    tallies: dict[str, LiquidationTally]

    def of(self, symbol: Symbol) -> LiquidationTally:
        return self.tallies.get(symbol, NOTHING_SEEN)


@dataclass(slots=True)
class _Minute:
    number: int
    observed_ms: int = 0
    tallies: dict[str, LiquidationTally] = field(default_factory=dict[str, LiquidationTally])


@dataclass(eq=False)
class LiquidationMinutes:
    """Counter of liquidations since `since_ms`. Each minute is dropped after an hour."""

    since_ms: int
    heard_ms: int | None = None
    _minutes: deque[_Minute] = field(default_factory=deque[_Minute], repr=False)
    _newest: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _is_unbroken: bool = False

    def beat(self, now_ms: int) -> None:
        """Record a heartbeat. The time since the previous one counts as observed, unless the gap is too long."""
        minute = self._minute(now_ms)
        if self.heard_ms is not None and self._is_unbroken and 0 < now_ms - self.heard_ms <= LONGEST_GAP_MS:
            minute.observed_ms += now_ms - self.heard_ms
        self.heard_ms, self._is_unbroken = now_ms, True

    def lose(self) -> None:
        """Mark the stream as interrupted until the next heartbeat. Events in between can be missing."""
        self._is_unbroken = False

    def take(self, event: Liquidation, now_ms: int) -> bool:
        """Return True if the event was counted. It counts once, even if two connections deliver it in a handover."""
        is_of_now = now_ms - EARLIEST_MS <= event.time_ms <= now_ms + LATEST_MS
        if not is_of_now or event.time_ms <= self._newest.get(event.symbol, 0):
            return False
        self._newest[event.symbol] = event.time_ms
        tally = self._minute(now_ms).tallies.setdefault(event.symbol, LiquidationTally())
        tally.add(
            LiquidationTally(longs=1, long_value=event.value)
            if event.side == "long"
            else LiquidationTally(shorts=1, short_value=event.value)
        )
        return True

    def summary(self, now_ms: int) -> LiquidationSummary:
        """Sum the observed part of the last hour."""
        self._forget(now_ms)
        tallies: dict[str, LiquidationTally] = {}
        for minute in self._minutes:
            for symbol, tally in minute.tallies.items():
                tallies.setdefault(symbol, LiquidationTally()).add(tally)
        observed_ms = sum(minute.observed_ms for minute in self._minutes)
        since_ms = max(self.since_ms, (now_ms // MINUTE_MS + 1) * MINUTE_MS - WINDOW_MS)
        return LiquidationSummary(since_ms, self.heard_ms, observed_ms, tallies)

    def _minute(self, now_ms: int) -> _Minute:
        number = now_ms // MINUTE_MS
        if not self._minutes or self._minutes[-1].number < number:
            self._forget(now_ms)
            self._minutes.append(_Minute(number))
        return self._minutes[-1]

    def _forget(self, now_ms: int) -> None:
        oldest = (now_ms - WINDOW_MS) // MINUTE_MS
        while self._minutes and self._minutes[0].number <= oldest:
            self._minutes.popleft()
        # Events before this time are rejected, so their duplicates need no tracking.
        self._newest = {name: at_ms for name, at_ms in self._newest.items() if at_ms >= now_ms - EARLIEST_MS}
