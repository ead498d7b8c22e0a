"""What goes wrong in the feeds of a process: counted, said once a minute a symbol, and how long each should rest."""

import logging
from dataclasses import dataclass, field
from random import Random

from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.symbols import Symbol

LOG = logging.getLogger(__name__)

# A line a minute for a symbol tells as much as one for each of its events.
SAID_EACH_MS = 60_000
# So long without trouble, and the next one counts as the first.
CALM_MS = 60_000
FIRST_REST_MS, LONGEST_REST_MS = 500, 30_000
MOST_SYMBOLS = 2_000


@dataclass(slots=True)
class FeedTroubles:
    """Totals since the start, for whoever watches the process."""

    refused: int = 0
    restarts: int = 0


@dataclass(slots=True)
class _Record:
    unsaid: int = 0
    said_ms: float | None = None
    last_ms: float = 0.0
    is_new: bool = False
    steps: int = 0


@dataclass(eq=False)
class Troubles:
    """One bad symbol costs itself: the first trouble nothing, each after it a longer rest, and no other symbol."""

    clock: Clock
    random: Random = field(default_factory=Random, repr=False)
    totals: FeedTroubles = field(default_factory=FeedTroubles)
    _records: dict[Symbol, _Record] = field(default_factory=dict[Symbol, _Record], repr=False)

    def refused(self, symbol: Symbol) -> None:
        """Count an event that makes no sense."""
        self.totals.refused += 1
        record = self._note(symbol)
        if self._may_say(record):
            LOG.warning("%s: stream events made no sense and were not used (%d)", symbol, record.unsaid)
            record.unsaid = 0

    def failed(self, symbol: Symbol, error: Exception) -> None:
        """Count a feed that is begun anew because of a defect."""
        self.totals.restarts += 1
        record = self._note(symbol)
        if self._may_say(record):
            LOG.error("%s: its feed failed and begins anew (%d)", symbol, record.unsaid, exc_info=error)
            record.unsaid = 0

    def rest_ms(self, symbol: Symbol) -> float:
        """Return how long a symbol should wait before its book is asked for again."""
        record = self._records.get(symbol)
        if record is None:
            return 0
        if self.clock.monotonic_ms() - record.last_ms > CALM_MS:
            del self._records[symbol]
            return 0
        if not record.is_new:
            return 0
        record.is_new = False
        record.steps += 1
        if record.steps == 1:
            return 0
        longest = min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** min(record.steps - 2, 10))
        return self.random.uniform(longest / 2, longest)

    def _note(self, symbol: Symbol) -> _Record:
        if len(self._records) >= MOST_SYMBOLS:
            self._records.pop(next(iter(self._records)))
        record = self._records.setdefault(symbol, _Record())
        record.unsaid += 1
        record.is_new = True
        record.last_ms = self.clock.monotonic_ms()
        return record

    def _may_say(self, record: _Record) -> bool:
        if record.said_ms is not None and record.last_ms - record.said_ms < SAID_EACH_MS:
            return False
        record.said_ms = record.last_ms
        return True
