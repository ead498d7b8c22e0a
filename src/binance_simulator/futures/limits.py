"""Two request counters that apply in addition to the weight limit."""

from binance_simulator import refusals

WINDOW_MS = 300_000
WEIGHT_LIMIT = 2_400
DATA_LIMIT = 1_000
FUNDING_LIMIT = 500


class RequestCounter:
    """Counter of the requests in the current five minutes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self._window: int = 0
        self._used: int = 0

    def used(self, now_ms: int) -> int:
        """Return the number of requests in the five minutes that contain `now_ms`."""
        self._turn(now_ms)
        return self._used

    def charge(self, now_ms: int) -> None:
        """Count a request.

        Raises:
            Refusal: the limit for five minutes is exceeded.
        """
        self._turn(now_ms)
        self._used += 1
        self.total += 1
        if self._used > self.limit:
            # Binance does not document its answer, so this answer has the code of an exceeded weight limit.
            told = f"Too many requests; current limit is {self.limit} requests per 5 minutes."
            raise refusals.Refusal(-1003, told, status=429)

    def _turn(self, now_ms: int) -> None:
        window = now_ms // WINDOW_MS
        if window != self._window:
            self._window, self._used = window, 0
