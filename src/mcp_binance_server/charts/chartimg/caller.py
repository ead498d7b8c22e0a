"""HTTP calls to chart-img.com with a queue, an API key in a header, and retries for at most 30 seconds."""

import logging
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from mcp_binance_server.channel import Channel, HttpAnswer, NoAnswer
from mcp_binance_server.charts.chartimg.faults import ChartImgRefusal, read_refusal
from mcp_binance_server.charts.chartimg.limiter import Limiter
from mcp_binance_server.charts.errors import (
    ChartKeyRefused,
    ChartLimitReached,
    ChartServiceError,
    ChartUnavailable,
    InvalidChartConfig,
)
from mcp_binance_server.clock import Clock
from mcp_binance_server.telemetry.logs import Redactor

LOG = logging.getLogger(__name__)

RETRIES = 3
BACKOFF_MS = 500
LONGEST_BACKOFF_MS = 8_000
# Deadlines for a list and for an image. They include retries, queueing and pauses. A tool call has 45 seconds. That
# leaves time for the second address of a list, or for drawing a Binance pair locally.
LONGEST_MS, LONGEST_IMAGE_MS = 20_000, 30_000
# Minimum time left for an attempt after a pause.
LEAST_ATTEMPT_MS = 5_000
# Retryable server errors. Status 505 and above are permanent.
PASSING = range(500, 505)


class ChartImgRefused(Exception):
    """The service answered with an error status."""

    def __init__(self, refusal: ChartImgRefusal) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class ImageCall:
    """One request.

    `patience` multiplies the deadline of the channel. A request with `is_image` counts against the daily quota.
    """

    method: Literal["GET", "POST"]
    path: str
    body_cap: int
    content: bytes = field(default=b"", repr=False)
    patience: int = 1
    is_image: bool = False


@dataclass
class ChartImgCaller:
    """HTTP caller for one base address and one API key."""

    address: str
    key: str | None = field(repr=False)
    channel: Channel = field(repr=False)
    limiter: Limiter
    clock: Clock
    random: Random = field(default_factory=Random, repr=False)

    async def send(self, call: ImageCall) -> HttpAnswer:
        """Send a request and return its successful answer.

        A request is retried if it was not sent, was rate-limited, lost its connection, or met a server error. There are
        at most three retries in 30 seconds. Drawing an image twice does no harm. Each attempt that may have drawn an
        image counts against the quota.

        Raises:
            ChartImgRefused: the service answered with an error.
            ChartServiceError: there is no key, a limit is reached, or there was no answer.
            EngineUnavailable: the shared image count cannot be reached.
        """
        if self.key is None or not (self.key.isascii() and self.key.isprintable()):
            raise ChartKeyRefused
        until_ms = self.clock.monotonic_ms() + (LONGEST_IMAGE_MS if call.is_image else LONGEST_MS)
        failure: NoAnswer | ChartImgRefused | None = None
        for retry in range(RETRIES + 1):
            try:
                return await self._attempt(call, self.key, until_ms)
            except (NoAnswer, ChartImgRefused) as failed:
                failure = failed
            except ChartLimitReached:
                if failure is None:
                    raise
                break  # report the earlier failure, because it is the cause of the retry
            pause_ms = self._pause_ms(failure, retry, until_ms)
            if pause_ms is None:
                break
            await self.clock.sleep_ms(pause_ms)
        if isinstance(failure, NoAnswer):
            raise ChartUnavailable(reason=failure.reason) from None
        raise failure or ChartUnavailable(reason="no attempt was made")

    def error(self, refusal: ChartImgRefusal) -> ChartServiceError | InvalidChartConfig:
        """Convert a refusal of the service to an error for the caller."""
        return refusal.error(self.clock.now_ms())

    def _pause_ms(self, failure: NoAnswer | ChartImgRefused, retry: int, until_ms: float) -> float | None:
        """Return the pause before the next attempt in milliseconds, or None if there is no further attempt."""
        if retry == RETRIES or not _may_pass(failure):
            return None
        told_secs = failure.refusal.retry_after_secs if isinstance(failure, ChartImgRefused) else None
        pause_ms = self.random.uniform(0, min(LONGEST_BACKOFF_MS, BACKOFF_MS * 2**retry))
        if told_secs is not None:
            pause_ms = told_secs * 1000.0
        if self.clock.monotonic_ms() + pause_ms <= until_ms - LEAST_ATTEMPT_MS:
            return pause_ms
        if isinstance(failure, ChartImgRefused) and failure.refusal.kind == "rate":
            self.limiter.close_for(pause_ms)
        return None

    async def _attempt(self, call: ImageCall, key: str, until_ms: float) -> HttpAnswer:
        booking = await self.limiter.book_image() if call.is_image else None
        try:
            await self.limiter.take_turn()
            return await self._send_once(call, key, until_ms)
        except (NoAnswer, ChartImgRefused, ChartLimitReached) as failure:
            if booking is not None and not _may_be_drawn(failure):
                await self.limiter.give_back(booking)
            raise

    async def _send_once(self, call: ImageCall, key: str, until_ms: float) -> HttpAnswer:
        started_ms = self.clock.monotonic_ms()
        try:
            answer = await self._exchange(call, key, (until_ms - started_ms) / 1000)
        except NoAnswer as failure:
            LOG.info("chart-img did not answer %s %s: %s", call.method, call.path, failure.reason)
            raise
        took_ms = self.clock.monotonic_ms() - started_ms
        LOG.info("chart-img answered %s %s: %d in %.0f ms", call.method, call.path, answer.status, took_ms)
        if answer.status == 200:
            return answer
        # Some services echo the rejected key.
        shown = Redactor((key,)).redact(answer.body.decode("utf-8", "replace")).encode()
        raise ChartImgRefused(read_refusal(HttpAnswer(answer.status, answer.headers, shown)))

    async def _exchange(self, call: ImageCall, key: str, left_secs: float) -> HttpAnswer:
        url, headers = f"{self.address}{call.path}", {"x-api-key": key}
        cap, patience = call.body_cap, call.patience
        if call.method == "GET":
            return await self.channel.get(url, headers, body_cap=cap, patience=patience, longest_secs=left_secs)
        headers["content-type"] = "application/json"
        return await self.channel.post(
            url, headers, call.content, body_cap=cap, patience=patience, longest_secs=left_secs
        )


def _may_pass(failure: NoAnswer | ChartImgRefused) -> bool:
    if isinstance(failure, NoAnswer):
        return failure.cut or not failure.sent
    return failure.refusal.kind == "rate" or failure.refusal.status in PASSING


def _may_be_drawn(failure: Exception) -> bool:
    # The service may have drawn the image before the connection broke. Counting one too many is the safe error.
    if isinstance(failure, NoAnswer):
        return failure.sent
    return isinstance(failure, ChartImgRefused) and failure.refusal.status >= 500
