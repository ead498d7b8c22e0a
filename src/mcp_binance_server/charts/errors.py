"""Errors of charts. `mcp_binance_server.errors` shows where they belong in the tree of errors."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mcp_binance_server.errors import AppError, ResourceNotFound, echo

GUIDE = "guide://document/errors/charts.md"


@dataclass(kw_only=True, eq=False)
class InvalidChartConfig(AppError):
    """Invalid configuration. `details` has one entry with field and message for every problem."""

    code: ClassVar[int] = -32602
    error_type: ClassVar[str] = "invalid_chart_config"
    recovery_suggestion: ClassVar[str] = "Correct the fields in details; validate_chart_config explains them"

    guide: ClassVar[str] = GUIDE

    details: tuple[dict[str, str], ...]

    @property
    def message(self) -> str:
        return "Invalid configuration"

    def data(self) -> dict[str, Any]:
        listed = "; ".join(f"{each['field']}: {each['message']}" for each in self.details[:5])
        return {**AppError.data(self), "explanation": listed}


@dataclass(kw_only=True, eq=False)
class ChartServiceError(AppError):
    """Failure of chart-img.com, in this server's words.

    `details` has one entry for each field that the service named.
    """

    error_type: ClassVar[str] = "chart_service_error"
    guide: ClassVar[str] = GUIDE

    http_status: int | None = None
    details: tuple[dict[str, str], ...] = ()


@dataclass(kw_only=True, eq=False)
class ChartKeyRefused(ChartServiceError):
    code: ClassVar[int] = -32002
    error_type: ClassVar[str] = "chart_key_refused"
    recovery_suggestion: ClassVar[str] = (
        "Store a chart-img.com key with mcp-binance-server setup, or set CHART_IMG_API_KEY, then restart the server; "
        "Binance pairs need no key"
    )

    @property
    def message(self) -> str:
        return "Invalid API key. Check CHART_IMG_API_KEY environment variable."


@dataclass(kw_only=True, eq=False)
class ChartLimitReached(ChartServiceError):
    """A rate limit or a quota was reached.

    With `quota` the images of the day, or the caller's share of them, are used up.
    """

    code: ClassVar[int] = -32001
    error_type: ClassVar[str] = "chart_limit_reached"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Wait for retryAfter seconds; Binance pairs can still be drawn locally"

    retry_after_secs: int
    quota: bool = False
    own_images: int | None = None
    """Images of the day that the caller has used, if the rest is reserved for other callers."""
    images_share: int | None = None
    """Images of the day guaranteed to the caller."""

    @property
    def message(self) -> str:
        said = f"Rate limit exceeded. Try again in {self.retry_after_secs} seconds."
        if self.images_share is None:
            return said
        return (
            f"{said} You have used {self.own_images} of today's images; your guaranteed share is {self.images_share}."
            " The rest is reserved for other callers."
        )

    @property
    def concerns_one(self) -> bool:
        return self.http_status is None  # without a status, this server refused it, not the service

    def data(self) -> dict[str, Any]:
        return {**AppError.data(self), "retryAfter": self.retry_after_secs}


@dataclass(kw_only=True, eq=False)
class ChartRefused(ChartServiceError):
    error_type: ClassVar[str] = "chart_refused"
    recovery_suggestion: ClassVar[str] = "Change the request as the message asks; a retry will not help"

    reason: str

    def __post_init__(self) -> None:
        self.reason = echo(self.reason)

    @property
    def message(self) -> str:
        return f"chart-img.com refused the request: {self.reason}"


@dataclass(kw_only=True, eq=False)
class ChartUnavailable(ChartServiceError):
    error_type: ClassVar[str] = "chart_unavailable"
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Try again in a minute; Binance pairs can still be drawn locally"

    reason: str

    @property
    def message(self) -> str:
        return f"chart-img.com is temporarily unavailable ({self.reason})."


@dataclass(kw_only=True, eq=False)
class ChartNotDrawn(AppError):
    error_type: ClassVar[str] = "chart_not_drawn"
    retryable: ClassVar[bool] = True
    guide: ClassVar[str] = GUIDE
    recovery_suggestion: ClassVar[str] = "Try again in a minute, with a smaller picture or fewer studies"

    reason: str

    @property
    def message(self) -> str:
        return f"The chart could not be drawn locally: {self.reason}."


@dataclass(kw_only=True, eq=False)
class PictureGone(ResourceNotFound):
    """The picture has expired. The store keeps the newest pictures for an hour."""

    error_type: ClassVar[str] = "picture_gone"
    guide: ClassVar[str] = GUIDE
    recovery_suggestion: ClassVar[str] = "Draw it again with generate_chart_image; pictures are kept for an hour"
