"""Where work waits: programs with one thread each, and the cores that they share."""

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from scale.timeline import Action, Timeline

# What is left of a piece of work after sums of floating point; below it the piece is done.
NOTHING_SECS = 1e-12


class Cores:
    """The cores of one machine: each thread at work has one of its own, or all have equal parts of what there is.

    Work is counted in attained service, which grows alike for all who are at work, so that a change of their number
    moves one clock and not each of them.
    """

    def __init__(self, timeline: Timeline, cores: float, hogs: float = 0) -> None:
        """Take a number of cores; hogs are other programs, which are always at work."""
        self._timeline, self._cores, self._hogs = timeline, cores, hogs
        self._attained, self._changed = 0.0, 0.0
        self._at_work: list[tuple[float, int, Action]] = []
        self._next = count()
        self._round = 0

    def work(self, secs: float, done: Action) -> None:
        """Take so many seconds of a core, then go on."""
        self._catch_up()
        heappush(self._at_work, (self._attained + secs, next(self._next), done))
        self._look_ahead()

    @property
    def _speed(self) -> float:
        return min(1.0, self._cores / (len(self._at_work) + self._hogs)) if self._at_work else 0.0

    def _catch_up(self) -> None:
        self._attained += (self._timeline.now - self._changed) * self._speed
        self._changed = self._timeline.now

    def _look_ahead(self) -> None:
        self._round += 1
        if self._at_work:
            this = self._round
            left = max(0.0, self._at_work[0][0] - self._attained)
            self._timeline.after(left / self._speed, lambda: self._finish(this))

    def _finish(self, of_round: int) -> None:
        if of_round != self._round:
            return  # somebody has begun or ended meanwhile, and a later look was asked for
        self._catch_up()
        ended = list[Action]()
        while self._at_work and self._at_work[0][0] <= self._attained + NOTHING_SECS:
            ended.append(heappop(self._at_work)[2])
        self._look_ahead()
        for done in ended:
            done()


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work, and what follows it."""

    secs: float
    done: Action


class Thread:
    """One program with one event loop: a piece of work at a time, first come, first served."""

    def __init__(self, cores: Cores) -> None:
        self._cores = cores
        self._waiting: deque[Piece] = deque()
        self._is_busy = False
        self.used_secs = 0.0
        self.pieces = 0

    def ask(self, secs: float, done: Action) -> None:
        """Queue a piece of work."""
        self._waiting.append(Piece(secs, done))
        if not self._is_busy:
            self._begin()

    def _begin(self) -> None:
        piece = self._waiting.popleft()
        self._is_busy = True
        self._cores.work(piece.secs, lambda: self._end(piece))

    def _end(self, piece: Piece) -> None:
        self.used_secs += piece.secs
        self.pieces += 1
        self._is_busy = False
        if self._waiting:
            self._begin()
        piece.done()


def nothing() -> None:
    """Follow on a piece of work that nobody waits for."""
