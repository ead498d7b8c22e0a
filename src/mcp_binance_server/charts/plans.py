"""The plans of chart-img.com: how often, how large, and how many studies."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from mcp_binance_server.charts.usage import Usage


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One plan. `max_studies` counts studies and drawings together; `open_ended` means "or more by agreement"."""

    name: str = ""
    requests_per_second: int
    burst: int
    daily_max: int
    max_width: int
    max_height: int
    max_resolution: str
    max_studies: int
    storage_days: int
    forced_watermark: bool
    custom_watermark: bool
    open_ended: bool = False

    def fits(self, width: int, height: int) -> bool:
        """Whether the plan draws a picture of this size."""
        return width <= self.max_width and height <= self.max_height

    def exceeded_by(self, usage: Usage) -> bool:
        """Whether a chart is larger, or has more on it, than the plan draws."""
        return not self.fits(usage.width, usage.height) or usage.count > self.max_studies

    def default_size(self, usual: tuple[int, int]) -> tuple[int, int]:
        """Return the usual size, or the largest 16:9 picture with even sides that the plan draws."""
        if self.fits(*usual):
            return usual
        width = min(self.max_width, self.max_height * 16 // 9) // 2 * 2
        return width, width * 9 // 16 // 2 * 2


Mark = Literal["forced", "none", "own"]
# Cheapest first: advice names the first that fits. Requests a second, at once, a day; size; studies; days; watermark.
_ROWS: Final[tuple[tuple[str, int, int, int, int, int, int, int, Mark], ...]] = (
    ("BASIC", 1, 3, 50, 800, 600, 3, 14, "forced"),
    ("PRO", 10, 15, 500, 1920, 1080, 5, 30, "none"),
    ("MEGA", 15, 25, 1000, 1920, 1600, 10, 60, "none"),
    ("ULTRA", 35, 50, 3000, 2048, 1920, 25, 90, "own"),
    ("ENTERPRISE", 35, 50, 5000, 2048, 1920, 50, 120, "own"),
)
_TABLE: Final = tuple(
    Plan(
        name=name,
        requests_per_second=rate,
        burst=burst,
        daily_max=daily,
        max_width=width,
        max_height=height,
        max_resolution=f"{width}x{height}",
        max_studies=studies,
        storage_days=days,
        forced_watermark=mark == "forced",
        custom_watermark=mark == "own",
        open_ended=name == "ENTERPRISE",
    )
    for name, rate, burst, daily, width, height, studies, days, mark in _ROWS
)
PLANS: Final[Mapping[str, Plan]] = MappingProxyType({plan.name: plan for plan in _TABLE})


def cheapest_plan(usage: Usage) -> Plan | None:
    """Return the cheapest plan that draws so much; None if no plan does."""
    return next((plan for plan in _TABLE if not plan.exceeded_by(usage)), None)


def plan_of_limits(
    width: int | None = None, height: int | None = None, *, parameters: int | None = None, known: Plan | None = None
) -> Plan:
    """Return the plan that has these limits, as a refusal names them; unknown numbers make a CUSTOM plan.

    What the refusal does not say is taken from `known`, or from the cheapest plan. ULTRA and ENTERPRISE draw the same
    size: by size alone it is ULTRA, the smaller promise.
    """
    for plan in _TABLE:
        if (width, height) in ((None, None), (plan.max_width, plan.max_height)) and parameters in (
            None,
            plan.max_studies,
        ):
            return plan
    start = known or PLANS["BASIC"]
    wide, high = width or start.max_width, height or start.max_height
    return msgspec.structs.replace(
        start,
        name="CUSTOM",
        max_width=wide,
        max_height=high,
        max_resolution=f"{wide}x{high}",
        max_studies=start.max_studies if parameters is None else parameters,
    )
