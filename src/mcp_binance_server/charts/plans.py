"""Plans of chart-img.com, and checks of a chart against the limits of a plan."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from mcp_binance_server.charts.config import LARGEST_NUMBER, Findings, is_list

LARGEST: Final = (2048, 1920)
WATERMARK_KEYS: Final = ("watermark", "watermarkSize", "watermarkOpacity")
RENDER_LOCALLY: Final = "Render locally: no plan limits apply"
TELL_THE_PLAN: Final = "Set CHART_IMG_PLAN, or draw the chart: chart-img.com's answer shows the plan"
UNKNOWN: Final = "but the plan of the key is unknown"
DRAWN_LOCALLY: Final = "No change needed: without a key this pair is drawn locally, without plan limits"


@dataclass(frozen=True, slots=True)
class Usage:
    """Size of a chart in pixels, and its numbers of studies and drawings. Invalid ones count."""

    width: int
    height: int
    studies: int
    drawings: int

    @property
    def count(self) -> int:
        """Number of studies and drawings. A plan limits their sum."""
        return self.studies + self.drawings

    @property
    def resolution(self) -> str:
        return f"{self.width}x{self.height}"


def usage_of(config: Mapping[str, object], usual: tuple[int, int]) -> Usage:
    """Return the usage of a configuration. A missing or invalid width or height has its usual value."""
    width, height = (
        _side(config.get(key), otherwise) for key, otherwise in zip(("width", "height"), usual, strict=True)
    )
    studies, drawings = (_length(config.get(key)) for key in ("studies", "drawings"))
    return Usage(width, height, studies, drawings)


def _side(value: object, otherwise: int) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER:
        return int(value) if value == int(value) else otherwise
    return otherwise


def _length(value: object) -> int:
    return len(value) if is_list(value) else 0


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One plan.

    `max_studies` limits the sum of studies and drawings. `open_ended` means that higher limits can be agreed on.
    """

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
        """Return True if a picture of this size is within the plan."""
        return width <= self.max_width and height <= self.max_height

    def exceeded_by(self, usage: Usage) -> bool:
        """Return True if a chart exceeds the size or the number of studies and drawings of the plan."""
        return not self.fits(usage.width, usage.height) or usage.count > self.max_studies

    def default_size(self, usual: tuple[int, int]) -> tuple[int, int]:
        """Return the usual size. If the plan is smaller, return its largest 16:9 size with even sides."""
        if self.fits(*usual):
            return usual
        width = min(self.max_width, self.max_height * 16 // 9) // 2 * 2
        return width, width * 9 // 16 // 2 * 2


Mark = Literal["forced", "none", "own"]
# Sorted by price, because advice names the first plan that fits. The columns are requests per second, burst size,
# images per day, width, height, studies, storage days and watermark.
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
    """Return the cheapest plan that allows a usage, or None if no plan does."""
    return next((plan for plan in _TABLE if not plan.exceeded_by(usage)), None)


def plan_of_limits(
    width: int | None = None, height: int | None = None, *, parameters: int | None = None, known: Plan | None = None
) -> Plan:
    """Return the plan whose limits a refusal names. Unknown limits make a CUSTOM plan.

    Limits that the refusal omits come from `known`, or else from the cheapest plan. ULTRA and ENTERPRISE have the same
    size. If only the size is given, the result is ULTRA, the lower of both.
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


def check_local(usage: Usage, findings: Findings) -> None:
    """Report an error for a size above the largest picture. The local renderer has no other limit."""
    if usage.width > LARGEST[0] or usage.height > LARGEST[1]:
        largest = f"{LARGEST[0]}x{LARGEST[1]}"
        findings.error("resolution", f"Resolution {usage.resolution} exceeds the largest picture, {largest}")


def check_plan(config: Mapping[str, object], usage: Usage, plan: Plan, findings: Findings) -> tuple[str, ...]:
    """Report each exceeded limit of the plan. Return suggestions, the smallest change first."""
    suggestions: list[str] = []
    for where, message in _excesses(usage, plan):
        findings.error(where, message)
    if not plan.fits(usage.width, usage.height):
        suggestions += _smaller(usage, plan)
    if usage.count > plan.max_studies:
        suggestions += _fewer(usage, plan)
    if not plan.custom_watermark and any(config.get(key) is not None for key in WATERMARK_KEYS):
        findings.error(
            "watermark",
            f"A watermark of your own needs the ULTRA or ENTERPRISE plan, not {plan.name}",
            f"Remove {', '.join(key for key in WATERMARK_KEYS if config.get(key) is not None)}",
        )
    return tuple(suggestions)


def check_least(usage: Usage, plan: Plan, findings: Findings) -> None:
    """Warn about each exceeded limit of a plan that may not be the key's plan."""
    for where, message in _excesses(usage, plan):
        findings.warning(where, f"plan_unknown: {message}, {UNKNOWN}", TELL_THE_PLAN)


def doubts(usage: Usage, plan: Plan) -> tuple[str, ...]:
    """Return the warnings of `check_least` for a chart that is drawn without validation."""
    return tuple(f"plan_unknown: {message}, {UNKNOWN}" for _, message in _excesses(usage, plan))


def key_needed(symbol: str) -> str:
    """Return the warning for a market that only chart-img.com draws, if no key is set."""
    return f"needs_key: {symbol} is drawn by chart-img.com only, and CHART_IMG_API_KEY is not set"


def _excesses(usage: Usage, plan: Plan) -> Iterator[tuple[str, str]]:
    if not plan.fits(usage.width, usage.height):
        limit = f"{plan.name} plan limit of {plan.max_resolution}"
        yield "resolution", f"Resolution {usage.resolution} exceeds {limit}"
    if usage.count > plan.max_studies:
        # Removing either would help. Blame the drawings if the studies alone are within the limit.
        where = "drawings" if usage.drawings and usage.studies <= plan.max_studies else "studies"
        yield (
            where,
            f"{_counted(usage.studies, 'study', 'studies')} and {_counted(usage.drawings, 'drawing', 'drawings')} "
            f"exceed {plan.name} plan limit of {plan.max_studies} together",
        )


def _smaller(usage: Usage, plan: Plan) -> list[str]:
    sides = [f"width to {plan.max_width}"] if usage.width > plan.max_width else []
    sides += [f"height to {plan.max_height}"] if usage.height > plan.max_height else []
    larger = cheapest_plan(usage)
    upgrade = [f"Upgrade to {larger.name} plan for higher resolution"] if larger else []
    return [f"Reduce {' and '.join(sides)} for {plan.name} plan", *upgrade]


def _fewer(usage: Usage, plan: Plan) -> list[str]:
    over = usage.count - plan.max_studies
    larger = cheapest_plan(usage)
    upgrade = [f"Upgrade to {larger.name} plan for {larger.max_studies} studies and drawings"] if larger else []
    return [f"Remove {over} of the studies or drawings for {plan.name} plan", *upgrade]


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
