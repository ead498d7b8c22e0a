"""Time of a book's newest change, and the usual time between its changes."""

from math import exp

HOUR_MS = 3_600_000
MINUTE_MS = 60_000


class ChangeTimes:
    """Times at which the update ID of one book changed.

    A snapshot with a known ID is no change: a frozen exchange answers every request with the same book. The usual gap
    is the gap that contains a random moment of about the last hour, so that the pauses between bursts count.
    """

    __slots__ = ("_gaps_ms", "_is_broken", "_squares", "changed_ms", "update_id")

    def __init__(self) -> None:
        self.update_id: int | None = None
        self.changed_ms = 0
        self._is_broken = True
        self._gaps_ms = 0.0
        self._squares = 0.0

    @property
    def usual_gap_ms(self) -> float:
        """Usual time between two changes. It is too short in the first minute."""
        return self._squares / max(self._gaps_ms, MINUTE_MS)

    def note(self, update_id: int, at_ms: int, *, requested: bool = False) -> None:
        """Note a book that the exchange sent at a time. The gap before a requested book is no gap of the market."""
        if update_id == self.update_id:
            return
        gap_ms = at_ms - self.changed_ms
        if not self._is_broken and not requested and gap_ms > 0:
            kept = exp(-gap_ms / HOUR_MS)
            self._gaps_ms = self._gaps_ms * kept + gap_ms
            self._squares = self._squares * kept + gap_ms * gap_ms
        self._is_broken = requested
        self.update_id, self.changed_ms = update_id, at_ms

    def break_off(self) -> None:
        """Leave the next gap out, because changes may have been missed in it."""
        self._is_broken = True
