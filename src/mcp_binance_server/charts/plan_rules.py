"""What a plan allows: the size of the picture, how much is drawn on it, and whose watermark it bears."""

from collections.abc import Mapping
from typing import Final

from mcp_binance_server.charts.config import Findings
from mcp_binance_server.charts.plans import PLANS, Plan
from mcp_binance_server.charts.usage import Usage

LARGEST: Final = (2048, 1920)
WATERMARK_KEYS: Final = ("watermark", "watermarkSize", "watermarkOpacity")
RENDER_LOCALLY: Final = "Render locally: no plan limits apply"
DRAWN_LOCALLY: Final = "Nothing to change: without a key this pair is drawn locally, where no plan limits apply"


def exceeds(usage: Usage, plan: Plan) -> bool:
    """Whether a chart is larger, or has more on it, than a plan draws."""
    return not plan.fits(usage.width, usage.height) or usage.count > plan.max_studies


def check_local(usage: Usage, findings: Findings) -> None:
    """Report a size that nobody draws; our own renderer has no other limit."""
    if usage.width > LARGEST[0] or usage.height > LARGEST[1]:
        largest = f"{LARGEST[0]}x{LARGEST[1]}"
        findings.error("resolution", f"Resolution {usage.resolution} exceeds the largest picture, {largest}")


def check_plan(config: Mapping[str, object], usage: Usage, plan: Plan, findings: Findings) -> tuple[str, ...]:
    """Report what exceeds the plan and return what to do about it, the smallest change first."""
    too_large = not plan.fits(usage.width, usage.height)
    too_many = usage.count > plan.max_studies
    suggestions: list[str] = []
    if too_large:
        findings.error(
            "resolution",
            f"Resolution {usage.resolution} exceeds {plan.name} plan limit of {plan.max_resolution}",
        )
        suggestions += _smaller(usage, plan)
    if too_many:
        findings.error(
            "studies",
            f"{_counted(usage.studies, 'study', 'studies')} and {_counted(usage.drawings, 'drawing', 'drawings')} "
            f"exceed {plan.name} plan limit of {plan.max_studies} together",
        )
        suggestions += _fewer(usage, plan)
    if not plan.custom_watermark and any(config.get(key) is not None for key in WATERMARK_KEYS):
        findings.error(
            "watermark",
            f"A watermark of your own needs the ULTRA or ENTERPRISE plan, not {plan.name}",
            f"Remove {', '.join(key for key in WATERMARK_KEYS if config.get(key) is not None)}",
        )
    return tuple(suggestions)


def _smaller(usage: Usage, plan: Plan) -> list[str]:
    sides = [f"width to {plan.max_width}"] if usage.width > plan.max_width else []
    sides += [f"height to {plan.max_height}"] if usage.height > plan.max_height else []
    larger = _cheapest(usage)
    upgrade = [f"Upgrade to {larger.name} plan for higher resolution"] if larger else []
    return [f"Reduce {' and '.join(sides)} for {plan.name} plan", *upgrade]


def _fewer(usage: Usage, plan: Plan) -> list[str]:
    over = usage.count - plan.max_studies
    larger = _cheapest(usage)
    upgrade = [f"Upgrade to {larger.name} plan for {larger.max_studies} studies and drawings"] if larger else []
    return [f"Remove {over} of the studies or drawings for {plan.name} plan", *upgrade]


def _cheapest(usage: Usage) -> Plan | None:
    fitting = (each for each in PLANS.values() if each.fits(usage.width, usage.height))
    return next((each for each in fitting if usage.count <= each.max_studies), None)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
