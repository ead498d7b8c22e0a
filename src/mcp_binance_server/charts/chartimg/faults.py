"""Classification of chart-img.com's error answers by status and message.

The message can be under any of four keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from mcp_binance_server.channel import LONGEST_RETRY_AFTER_SECS, HttpAnswer, count_in
from mcp_binance_server.charts.config import is_list, is_object
from mcp_binance_server.charts.errors import (
    ChartKeyRefused,
    ChartLimitReached,
    ChartRefused,
    ChartServiceError,
    ChartUnavailable,
    InvalidChartConfig,
)
from mcp_binance_server.errors import echo

Kind = Literal["auth", "resolution", "parameters", "invalid", "rate", "quota", "not_found", "refused", "upstream"]

DAY_SECS = 24 * 60 * 60
# Default wait, from the example of the API contract. The service documents no header for the wait.
USUAL_WAIT_SECS = 60
MOST_DETAILS = 20
_QUOTA = "limit exceeded"
_WORDS = ("message", "error", "msg", "errors")


@dataclass(frozen=True, slots=True)
class ChartImgRefusal:
    """An error answer of the service: its kind, its message, and messages about single fields."""

    kind: Kind
    status: int
    text: str
    details: tuple[dict[str, str], ...]
    retry_after_secs: int | None

    def error(self, now_ms: int) -> ChartServiceError | InvalidChartConfig:
        """Return the matching error for the caller.

        For a used-up quota the wait lasts from `now_ms` to the end of the day.
        """
        status = self.status
        match self.kind:
            case "auth":
                return ChartKeyRefused(http_status=status)
            case "invalid":
                details = self.details or ({"field": _field_of(self.text), "message": self.text},)
                return InvalidChartConfig(details=details)
            case "rate":
                return ChartLimitReached(http_status=status, retry_after_secs=self.retry_after_secs or USUAL_WAIT_SECS)
            case "quota":
                return ChartLimitReached(http_status=status, retry_after_secs=secs_of_day_left(now_ms), quota=True)
            case "upstream":
                return ChartUnavailable(http_status=status, reason=f"HTTP {status}: {self.text}")
            case "resolution" | "parameters" | "not_found" | "refused":
                return ChartRefused(http_status=status, reason=self.text, details=self.details)


def secs_of_day_left(now_ms: int) -> int:
    """Return the seconds until 00:00 UTC, when the daily image count restarts."""
    return DAY_SECS - now_ms // 1000 % DAY_SECS


def read_refusal(answer: HttpAnswer) -> ChartImgRefusal:
    """Parse an error answer. Only a JSON body is quoted."""
    try:
        body = msgspec.json.decode(answer.body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        body = None
    details = tuple(_details(body))[:MOST_DETAILS]
    text = echo(_words(body)) or f"HTTP {answer.status}"
    asked_secs = count_in(answer.headers, "retry-after")
    waits = None if asked_secs is None else min(asked_secs, LONGEST_RETRY_AFTER_SECS)
    return ChartImgRefusal(_kind(answer.status, text), answer.status, text, details, waits)


def _kind(status: int, text: str) -> Kind:  # noqa: PLR0911 - a table of cases
    lowered = text.lower()
    if status == 401:
        return "auth"
    if status == 403 and "resolution limit" in lowered:
        return "resolution"
    if status == 403 and "parameter limit" in lowered:
        return "parameters"
    if status == 404:
        return "not_found"
    if status in {400, 422}:
        return "invalid"
    if status == 429:
        return "quota" if _QUOTA in lowered else "rate"
    return "upstream" if status >= 500 else "refused"


def _words(body: object) -> str:
    if isinstance(body, str):
        return body
    if is_list(body):
        return "; ".join(filter(None, map(_words, body[:5])))
    if is_object(body):
        return next((said for name in _WORDS if (said := _words(body.get(name)))), "")
    return ""


def _details(body: object) -> Iterator[dict[str, str]]:
    listed = body.get("errors") if is_object(body) else body
    for item in listed if is_list(listed) else ():
        if is_object(item):
            yield {"field": echo(str(item.get("param", ""))), "message": echo(_words(item))}


def _field_of(text: str) -> str:
    # The field is the last word of "Invalid Symbol" or "Invalid Interval".
    word = text.lower().rpartition(" ")[2]
    return word if word in {"symbol", "interval", "range"} else "config"
