"""Simulated time: what happens next, in order."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Action = Callable[[], None]


class Timeline:
    """A heap of moments; what falls on the same moment happens in the order in which it was asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._next = count()
        self._ahead: list[tuple[float, int, Action]] = []

    def after(self, secs: float, action: Action) -> None:
        heappush(self._ahead, (self.now + secs, next(self._next), action))

    def every(self, secs: float, first_secs: float, action: Action) -> None:
        """Do something again and again, on the beat, however long it takes."""

        def beat() -> None:
            self.after(secs, beat)
            action()

        self.after(first_secs, beat)

    def run(self, until_secs: float) -> None:
        ahead = self._ahead
        while ahead and ahead[0][0] <= until_secs:
            self.now, _, action = heappop(ahead)
            action()
        self.now = until_secs
