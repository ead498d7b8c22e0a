"""What a plan allows: the size of the picture, how much is drawn on it, and whose watermark it bears."""

from collections.abc import Iterator, Mapping
from typing import Final

from mcp_binance_server.charts.config import Findings
from mcp_binance_server.charts.plans import Plan, cheapest_plan
from mcp_binance_server.charts.usage import Usage

LARGEST: Final = (2048, 1920)
WATERMARK_KEYS: Final = ("watermark", "watermarkSize", "watermarkOpacity")
RENDER_LOCALLY: Final = "Render locally: no plan limits apply"
TELL_THE_PLAN: Final = "Set CHART_IMG_PLAN, or have it drawn: what chart-img.com answers tells the plan"
UNKNOWN: Final = "and whether that is the plan of the key is not known"
DRAWN_LOCALLY: Final = "Nothing to change: without a key this pair is drawn locally, where no plan limits apply"


def check_local(usage: Usage, findings: Findings) -> None:
    """Report a size that nobody draws; our own renderer has no other limit."""
    if usage.width > LARGEST[0] or usage.height > LARGEST[1]:
        largest = f"{LARGEST[0]}x{LARGEST[1]}"
        findings.error("resolution", f"Resolution {usage.resolution} exceeds the largest picture, {largest}")


def check_plan(config: Mapping[str, object], usage: Usage, plan: Plan, findings: Findings) -> tuple[str, ...]:
    """Report what exceeds the plan and return what to do about it, the smallest change first."""
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
    """Warn of what exceeds a plan of which nobody knows whether it is the key's."""
    for where, message in _excesses(usage, plan):
        findings.warning(where, f"plan_unknown: {message}, {UNKNOWN}", TELL_THE_PLAN)


def doubts(usage: Usage, plan: Plan) -> tuple[str, ...]:
    """Return the same warnings for a chart that is not judged, only made."""
    return tuple(f"plan_unknown: {message}, {UNKNOWN}" for _, message in _excesses(usage, plan))


def key_needed(symbol: str) -> str:
    """Return the warning for a market that nobody draws without a key."""
    return f"needs_key: {symbol} is drawn by chart-img.com only, and CHART_IMG_API_KEY is not set"


def _excesses(usage: Usage, plan: Plan) -> Iterator[tuple[str, str]]:
    if not plan.fits(usage.width, usage.height):
        limit = f"{plan.name} plan limit of {plan.max_resolution}"
        yield "resolution", f"Resolution {usage.resolution} exceeds {limit}"
    if usage.count > plan.max_studies:
        # Either could be left out; where there are drawings, they are what the studies leave no room for.
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
