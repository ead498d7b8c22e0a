"""Estimate of the exchange's clock."""

from email.utils import parsedate_to_datetime
from math import inf

from mcp_binance_server.clock import Clock

REFRESH_MS = 30 * 60 * 1000
# Tolerance within which a clock counts as right.
SLACK_MS = 300
# The time in an answer was true at some moment of the round trip: exact in a quick answer; rough in a slow one, and not
# for long.
QUICK_MS = 250
LONG_MS = 1000
LONG_GOOD_FOR_MS = 60_000
REFUTED_EVERY_MS = 60_000
# The latest possible time is off by an eighth of a second at most: an event further ahead proves that the exchange's
# clock was set.
REFUTED_MS = 250
LONGEST_WAY_MS = 1_000
# No machine of a fleet is further behind than this; a larger value from another process is nonsense.
FURTHEST_MS = 3_600_000


class ServerTime:
    """Exchange time as monotonic time plus an offset, so that a jump of the machine's clock does no harm.

    A rough estimate has two ends: ages use the latest possible time, moments the earliest. So no data looks younger
    than it is.
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
        """Return the latest possible time at the exchange; the machine's own time until an estimate exists."""
        return self._at(self._unsure_ms)

    def earliest_ms(self) -> int:
        """Return the earliest possible time at the exchange."""
        return self._at(-self._unsure_ms)

    def likely_ms(self) -> int:
        """Return the most likely time at the exchange: for signatures, and for the minute of a budget."""
        return self._at(0)

    def _at(self, unsure_ms: float) -> int:
        if self._offset_ms is None:
            return self._clock.now_ms()
        return int(self._clock.monotonic_ms() + self._offset_ms + unsure_ms)

    def _lie_between(self, earliest_ms: float, latest_ms: float) -> None:
        self._offset_ms = (earliest_ms + latest_ms) / 2 - self._clock.monotonic_ms()
        self._unsure_ms = (latest_ms - earliest_ms) / 2

    def dated(self, at_ms: int, *, ago_ms: int) -> int:
        """Return the time of an event dated by another of our processes `ago_ms` ago, on the clock of this process.

        The exchange's clock may have been set between the readings of both processes. A small difference is ignored:
        all processes that show one answer show one time.
        """
        here_ms = self.earliest_ms() - ago_ms
        return here_ms if at_ms - here_ms > REFUTED_MS else at_ms

    def witness(self, event_ms: int) -> bool:
        """Use an event as a lower bound of the time; return whether it proves that the exchange's clock was set.

        After two proofs in a row the nearer one is used; a single one may be nonsense. The travel time of an event is
        unknown, but seldom over a second: until the clock is read again, the time may be that much later. A request
        sent before the first proof may have been answered before the clock was set, so its time is ignored.
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
        """Adopt the estimate of another of our processes that has read the exchange's clock, if ours is only rough."""
        if not 0 <= latest_ms - earliest_ms <= FURTHEST_MS:
            return
        if self.is_rough and 0 < latest_ms - self.now_ms() <= FURTHEST_MS:
            self._lie_between(earliest_ms, latest_ms)

    @property
    def is_known(self) -> bool:
        """Return True if the exchange has reported its time at all, even roughly."""
        return self._offset_ms is not None

    @property
    def is_rough(self) -> bool:
        """Return True if the exchange's clock is only estimated, or was read too long ago to compute ages."""
        return self._learned_at_ms is None or self._clock.monotonic_ms() - self._learned_at_ms > self._good_for_ms

    @property
    def is_due(self) -> bool:
        """Return True if a signed call should read the time first; not while answers agree with our clock."""
        if self._learned_at_ms is None and self._agrees:
            return False
        return self.is_rough

    def learn(self, server_ms: int, *, asked_at_ms: float, answered_at_ms: float) -> None:
        """Use a `time` answer, which was true half a round trip ago; a slow one does not replace a better estimate."""
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
        """Use the rough time in an answer's Date header, unless a better estimate is known.

        A slow answer may have been dated at the start of its way, and is less precise than a quick one.
        """
        if (seconds := _epoch_seconds(date)) is None or (took_ms > LONG_MS and self._offset_ms is not None):
            return
        if self._clock.monotonic_ms() - took_ms < self._set_before_ms:
            return
        second_ms = seconds * 1000
        if self._learned_at_ms is not None and not self._refuted(second_ms, took_ms):
            return
        # The header has whole seconds, and may have been written at any moment of the round trip. A machine clock
        # within that range is right, and finer. For any other clock the middle is the best guess; the budget's edge
        # guard covers its error.
        own_ms, latest_ms = self._clock.now_ms(), second_ms + 1000 + took_ms
        is_right = _lies_in(second_ms, own_ms, took_ms, SLACK_MS)
        if is_right:
            unsure_ms = max(latest_ms - own_ms, own_ms - second_ms) if took_ms > LONG_MS else 0.0
            self._lie_between(own_ms - unsure_ms, own_ms + unsure_ms)
        else:
            self._lie_between(second_ms, latest_ms)
        # Good enough for a signature, which can be five seconds old or one early; if not, the exchange says so (-1021).
        self._agrees = is_right and not self._is_doubted

    def _refuted(self, second_ms: int, took_ms: float) -> bool:
        """Return whether the learned time is certainly wrong: this machine was asleep, or the exchange's clock was set.

        At most once a minute, since the header can be the wrong one.
        """
        now_ms = self._clock.monotonic_ms()
        if _lies_in(second_ms, self.likely_ms(), took_ms, LONG_MS) or now_ms - self._refuted_at_ms < REFUTED_EVERY_MS:
            return False
        self._refuted_at_ms = now_ms
        self.forget()
        return True

    def forget(self) -> None:
        """Require a new reading before the next signed call."""
        self._learned_at_ms = None
        self._agrees, self._is_doubted = False, True


def sent_ms(event_ms: int, came_ms: int) -> int:
    """Return the time at which an event was sent, on the clock of its arrival; never later than the arrival.

    An event from the future proves that the exchange's clock was set; the longest travel time is assumed for it.
    """
    return came_ms - LONGEST_WAY_MS if event_ms - came_ms > REFUTED_MS else min(came_ms, event_ms)


def minute_of(date: str) -> int | None:
    """Return the exchange's minute since the epoch of a Date header, or None if the header is unreadable."""
    seconds = _epoch_seconds(date)
    return None if seconds is None else seconds // 60


def _lies_in(second_ms: int, time_ms: int, took_ms: float, slack_ms: int) -> bool:
    return second_ms - slack_ms <= time_ms < second_ms + 1000 + slack_ms + took_ms


def _epoch_seconds(date: str) -> int | None:
    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None
