"""What is asked of whoever draws a chart, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

ImageFormat = Literal["png", "jpeg"]


@dataclass(frozen=True, slots=True)
class ChartOrder:
    """A configuration in either dialect, whether the image is to be kept, and when this was asked."""

    config: Mapping[str, object]
    storage: bool
    format: ImageFormat | None
    now: datetime

    @property
    def wants_jpeg(self) -> bool:
        """Whether the argument, or else the configuration, asks for a JPEG."""
        return str(self.format or self.config.get("format")).casefold() in {"jpeg", "jpg"}


@dataclass(frozen=True, slots=True)
class ChartImage:
    """An image, or where it is kept and until when; who drew it, and what to tell the user ("code: sentence").

    `status` is what chart-img.com answered, 0 if it did not or was not asked.
    """

    renderer: Literal["chart-img", "local"]
    format: ImageFormat
    width: int
    height: int
    at_ms: int
    warnings: tuple[str, ...]
    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    svg_url: str | None = None
    expires_at: str | None = None
    status: int = 0
    images_left: int | None = None
    bars: int | None = None
    last_bar_closed: bool | None = None
