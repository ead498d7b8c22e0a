"""One call to chart-img.com: in turn, with the key in a header, repeated only where nothing was spent."""

import logging
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from mcp_binance_server.channel import Answer, Channel, NoAnswer
from mcp_binance_server.charts.errors import (
    ChartKeyRefused,
    ChartLimitReached,
    ChartServiceError,
    ChartUnavailable,
    InvalidChartConfig,
)
from mcp_binance_server.charts.faults import Refusal, read_refusal
from mcp_binance_server.charts.limiter import Limiter
from mcp_binance_server.clock import Clock
from mcp_binance_server.telemetry.redact import Redactor

LOG = logging.getLogger(__name__)

RETRIES = 3
BACKOFF_MS = 500
LONGEST_BACKOFF_MS = 8_000
# All pauses of one call together: longer, and whoever asked is told to come back.
LONGEST_PAUSE_MS = 60_000


class Refused(Exception):
    """The service answered, and not with a success."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `patience` multiplies the deadline of the channel, an image counts for the day."""

    method: Literal["GET", "POST"]
    path: str
    body_cap: int
    content: bytes = field(default=b"", repr=False)
    patience: int = 1
    is_image: bool = False


@dataclass
class Caller:
    """Sends calls to one address with one key."""

    address: str
    key: str | None = field(repr=False)
    channel: Channel = field(repr=False)
    limiter: Limiter
    clock: Clock
    random: Random = field(default_factory=Random, repr=False)

    async def send(self, call: Call) -> Answer:
        """Send a call and return its success.

        A request that was not sent, and one that came too fast, cost nothing and are tried again; all others may have
        been counted and are not.

        Raises:
            Refused: the service said no.
            ChartServiceError: there is no key, no turn for it, or no answer.
        """
        if self.key is None or not (self.key.isascii() and self.key.isprintable()):
            raise ChartKeyRefused
        paused_ms = 0.0
        for retry in range(RETRIES + 1):
            pause_ms = self.random.uniform(0, min(LONGEST_BACKOFF_MS, BACKOFF_MS * 2**retry))
            try:
                return await self._attempt(call, self.key)
            except NoAnswer as failure:
                if failure.sent or retry == RETRIES:
                    raise ChartUnavailable(reason=failure.reason) from None
            except Refused as refused:
                told_secs = refused.refusal.retry_after_secs
                if refused.refusal.kind != "rate" or retry == RETRIES:
                    raise
                pause_ms = pause_ms if told_secs is None else told_secs * 1000
                if paused_ms + pause_ms > LONGEST_PAUSE_MS:
                    self.limiter.close_for(pause_ms)
                    raise
            paused_ms += pause_ms
            await self.clock.sleep_ms(pause_ms)
        raise ChartUnavailable(reason="no attempt was left")

    def error(self, refusal: Refusal) -> ChartServiceError | InvalidChartConfig:
        """Return what a caller is told of a refusal."""
        return refusal.error(self.clock.now_ms())

    async def _attempt(self, call: Call, key: str) -> Answer:
        booking = await self.limiter.book_image() if call.is_image else None
        try:
            await self.limiter.take_turn()
            return await self._send_once(call, key)
        except (NoAnswer, Refused, ChartLimitReached) as failure:
            if booking is not None and not _may_be_drawn(failure):
                await self.limiter.give_back(booking)
            raise

    async def _send_once(self, call: Call, key: str) -> Answer:
        started_ms = self.clock.monotonic_ms()
        try:
            answer = await self._exchange(call, key)
        except NoAnswer as failure:
            LOG.info("chart-img did not answer %s %s: %s", call.method, call.path, failure.reason)
            raise
        took_ms = self.clock.monotonic_ms() - started_ms
        LOG.info("chart-img answered %s %s: %d in %.0f ms", call.method, call.path, answer.status, took_ms)
        if answer.status == 200:
            return answer
        # Some services repeat the key they refuse.
        shown = Redactor((key,)).redact(answer.body.decode("utf-8", "replace")).encode()
        raise Refused(read_refusal(Answer(answer.status, answer.headers, shown)))

    async def _exchange(self, call: Call, key: str) -> Answer:
        url, headers = f"{self.address}{call.path}", {"x-api-key": key}
        cap, patience = call.body_cap, call.patience
        if call.method == "GET":
            return await self.channel.get(url, headers, body_cap=cap, patience=patience)
        headers["content-type"] = "application/json"
        return await self.channel.post(url, headers, call.content, body_cap=cap, patience=patience)


def _may_be_drawn(failure: Exception) -> bool:
    # It may have been drawn before the connection broke; better counted one too many than one too few.
    if isinstance(failure, NoAnswer):
        return failure.sent
    return isinstance(failure, Refused) and failure.refusal.status >= 500
