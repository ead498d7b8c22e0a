"""The request weight of one IP: clock-aligned minutes, 429 over the limit, a ban for those who go on."""

from mcp_binance_server.simulator import refusals

MINUTE_MS = 60_000
FIRST_BAN_MS = 120_000
LONGEST_BAN_MS = 3 * 24 * 3_600_000


class WeightMeter:
    """What was used in the running minute, and whether the caller still listens."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.calls_before_ban = 0
        self._minute: int = 0
        self._used = 0
        self._ignored = -1
        self._bans = 0
        self._banned_until_ms = 0

    def used(self, now_ms: int) -> int:
        """Return the weight used in the minute of `now_ms`."""
        self._turn(now_ms)
        return self._used

    def charge(self, weight: int, now_ms: int) -> None:
        """Book a request.

        Raises:
            Refusal: the minute is used up (429), or the caller is banned (418).
        """
        self._turn(now_ms)
        if now_ms < self._banned_until_ms:
            raise self._banned(now_ms)
        self._used += weight
        if self._ignored >= self.calls_before_ban:
            self._banned_until_ms = now_ms + min(LONGEST_BAN_MS, FIRST_BAN_MS << self._bans)
            self._bans += 1
            raise self._banned(now_ms)
        if self._ignored >= 0 or self._used > self.limit:
            self._ignored += 1
            until_ms = (now_ms // MINUTE_MS + 1) * MINUTE_MS
            raise refusals.too_much_weight(self.limit, until_ms, self.retry_after_secs(now_ms))

    def retry_after_secs(self, now_ms: int) -> int:
        """Return the whole seconds until the minute ends."""
        return -(-(MINUTE_MS - now_ms % MINUTE_MS) // 1000)

    def _banned(self, now_ms: int) -> refusals.Refusal:
        return refusals.banned(self._banned_until_ms, -(-(self._banned_until_ms - now_ms) // 1000))

    def _turn(self, now_ms: int) -> None:
        minute = now_ms // MINUTE_MS
        if minute != self._minute:
            self._minute, self._used, self._ignored = minute, 0, -1
