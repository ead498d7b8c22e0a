"""Estimate of the exchange's clock, from its time endpoint, Date headers and stream events."""

from email.utils import parsedate_to_datetime
from math import inf

from mcp_binance_server.clock import Clock

REFRESH_MS = 30 * 60 * 1000
# Largest difference at which two clocks count as equal.
SLACK_MS = 300
# The exchange took its time at an unknown moment of the round trip. So a quick answer gives an exact time. A slow
# answer gives a rough time, which expires sooner.
QUICK_MS = 250
LONG_MS = 1000
LONG_GOOD_FOR_MS = 60_000
REFUTED_EVERY_MS = 60_000
# The latest possible time is at most an eighth of a second early. An event further in the future proves that the
# exchange's clock was set.
REFUTED_MS = 250
LONGEST_WAY_MS = 1_000
# Clocks of a fleet differ by less than an hour; a larger difference from another process is ignored as invalid.
FURTHEST_MS = 3_600_000


class ServerTime:
    """Exchange time as monotonic time plus an offset, so that a change of the machine's clock has no effect.

    An estimate has an earliest and a latest value, so that no data looks newer than it is. Ages use the latest value,
    and timestamps of data the earliest.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms: float | None = None
        self._unsure_ms = 0.0
        self._lead_ms = 0
        self._is_set_forward = False
        self._set_before_ms = -inf
        self._learned_at_ms: float | None = None
        self._good_for_ms = REFRESH_MS
        self._agrees = False
        self._is_doubted = False
        self._refuted_at_ms = -inf

    def now_ms(self) -> int:
        """Return the latest possible exchange time; before the first estimate, the machine's own time."""
        return self._at(self._unsure_ms)

    def earliest_ms(self) -> int:
        """Return the earliest possible exchange time."""
        return self._at(-self._unsure_ms)

    def likely_ms(self) -> int:
        """Return the most likely exchange time, for signatures and for the minute of a budget."""
        return self._at(0)

    def _at(self, unsure_ms: float) -> int:
        if self._offset_ms is None:
            return self._clock.now_ms()
        return int(self._clock.monotonic_ms() + self._offset_ms + unsure_ms)

    def _lie_between(self, earliest_ms: float, latest_ms: float) -> None:
        self._offset_ms = (earliest_ms + latest_ms) / 2 - self._clock.monotonic_ms()
        self._unsure_ms = (latest_ms - earliest_ms) / 2

    def dated(self, at_ms: int, *, ago_ms: int) -> int:
        """Convert the timestamp of another process, taken `ago_ms` ago, to the clock of this process.

        The conversion matters if the exchange's clock was set in between. A small difference is ignored, so that all
        processes show the same time for the same answer.
        """
        here_ms = self.earliest_ms() - ago_ms
        return here_ms if at_ms - here_ms > REFUTED_MS else at_ms

    def witness(self, event_ms: int) -> bool:
        """Use the time of a stream event as a lower bound; return True if the event contradicts the estimate.

        One event can be invalid, so the estimate changes after two contradictions in a row, by the smaller difference.
        An event can take about a second to arrive. Until the clock is read again, the latest value includes this
        second. Answers to requests sent before the first contradiction are ignored, since they may have the old time.
        """
        now_ms = self.now_ms()
        if event_ms - now_ms <= REFUTED_MS:
            if self._is_set_forward and event_ms > self.earliest_ms():
                self._lie_between(event_ms, max(now_ms, event_ms + LONGEST_WAY_MS))
            return False
        if self._lead_ms <= 0:
            self._set_before_ms = self._clock.monotonic_ms()
        proven_ms = min(event_ms - now_ms, self._lead_ms)
        if proven_ms > 0:
            self._lie_between(now_ms + proven_ms, now_ms + proven_ms + LONGEST_WAY_MS)
            self._is_set_forward = True
        self._lead_ms = event_ms - self.now_ms()
        return True

    def hear(self, earliest_ms: int, latest_ms: int) -> None:
        """Adopt another process's reading of the exchange's clock if our own estimate is only rough."""
        if not 0 <= latest_ms - earliest_ms <= FURTHEST_MS:
            return
        if self.is_rough and 0 < latest_ms - self.now_ms() <= FURTHEST_MS:
            self._lie_between(earliest_ms, latest_ms)

    @property
    def is_known(self) -> bool:
        """Return True if there is an estimate, even a rough one."""
        return self._offset_ms is not None

    @property
    def is_rough(self) -> bool:
        """Return True if there is no recent reading of the exchange's clock, as needed to compute ages."""
        return self._learned_at_ms is None or self._clock.monotonic_ms() - self._learned_at_ms > self._good_for_ms

    @property
    def is_due(self) -> bool:
        """Return True if a signed call should read the exchange's clock first.

        No reading is needed while Date headers agree with the machine's clock.
        """
        if self._learned_at_ms is None and self._agrees:
            return False
        return self.is_rough

    def learn(self, server_ms: int, *, asked_at_ms: float, answered_at_ms: float) -> None:
        """Use an answer of the time endpoint; a slow one does not replace a better estimate.

        Its time is assumed to be the middle of the round trip.
        """
        trip_ms = answered_at_ms - asked_at_ms
        if (trip_ms > LONG_MS and not self.is_rough) or asked_at_ms < self._set_before_ms:
            return
        self._good_for_ms = LONG_GOOD_FOR_MS if trip_ms > LONG_MS else REFRESH_MS
        self._unsure_ms = trip_ms / 2 if trip_ms > QUICK_MS else 0.0
        self._lead_ms, self._is_set_forward = 0, False
        self._offset_ms = server_ms - (asked_at_ms + answered_at_ms) / 2
        self._learned_at_ms = answered_at_ms
        self._is_doubted = False

    def glimpse(self, date: str, took_ms: float = 0) -> None:
        """Use the time in an answer's Date header, unless a better estimate is known.

        A slow answer is less precise, because the exchange may have written the header long before.
        """
        if (seconds := _epoch_seconds(date)) is None or (took_ms > LONG_MS and self._offset_ms is not None):
            return
        if self._clock.monotonic_ms() - took_ms < self._set_before_ms:
            return
        second_ms = seconds * 1000
        if self._learned_at_ms is not None and not self._refuted(second_ms, took_ms):
            return
        # The header has whole seconds, and was written at an unknown moment of the round trip. If the machine's clock
        # lies in that range, it is right and more precise. If not, the middle of the range is used; the budget's margin
        # around each minute covers the error.
        own_ms, latest_ms = self._clock.now_ms(), second_ms + 1000 + took_ms
        is_right = _lies_in(second_ms, own_ms, took_ms, SLACK_MS)
        if is_right:
            unsure_ms = max(latest_ms - own_ms, own_ms - second_ms) if took_ms > LONG_MS else 0.0
            self._lie_between(own_ms - unsure_ms, own_ms + unsure_ms)
        else:
            self._lie_between(second_ms, latest_ms)
        # This is precise enough for a signature: its time can be five seconds late or one second early. If it is not,
        # the exchange answers -1021.
        self._agrees = is_right and not self._is_doubted

    def _refuted(self, second_ms: int, took_ms: float) -> bool:
        """Return whether a Date header contradicts the estimate.

        That happens if this machine was asleep or the exchange's clock was set. Returns True at most once a minute,
        because the header itself can be wrong.
        """
        now_ms = self._clock.monotonic_ms()
        if _lies_in(second_ms, self.likely_ms(), took_ms, LONG_MS) or now_ms - self._refuted_at_ms < REFUTED_EVERY_MS:
            return False
        self._refuted_at_ms = now_ms
        self.forget()
        return True

    def forget(self) -> None:
        """Discard the reading, so that the next signed call reads the clock first."""
        self._learned_at_ms = None
        self._agrees, self._is_doubted = False, True


def sent_ms(event_ms: int, came_ms: int) -> int:
    """Return the time at which an event was sent, at most the time of its arrival.

    An event from the future shows that the exchange's clock was set. Then the longest travel time is assumed.
    """
    return came_ms - LONGEST_WAY_MS if event_ms - came_ms > REFUTED_MS else min(came_ms, event_ms)


def minute_of(date: str) -> int | None:
    """Return the minutes since the epoch in a Date header; None if the header is unreadable."""
    seconds = _epoch_seconds(date)
    return None if seconds is None else seconds // 60


def _lies_in(second_ms: int, time_ms: int, took_ms: float, slack_ms: int) -> bool:
    return second_ms - slack_ms <= time_ms < second_ms + 1000 + slack_ms + took_ms


def _epoch_seconds(date: str) -> int | None:
    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None
