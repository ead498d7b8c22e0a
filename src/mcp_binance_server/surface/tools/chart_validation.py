"""The tool that judges a chart before it is drawn."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from mcp_binance_server.charts.plan_memory import PlanSource
from mcp_binance_server.services.charts.configuration import JudgedChart
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, Arguments, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Row, optional

PlanLevel = Literal["BASIC", "PRO", "MEGA", "ULTRA", "ENTERPRISE"]
# A caller mends the first few; a list of thousands helps nobody.
MOST_ERRORS = 50
MOST_SUGGESTIONS = 20


def _upper(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


class ValidateChartConfig(Arguments):
    model_config = ConfigDict(alias_generator=to_camel)

    config: dict[str, Any] = Field(description="Chart config to validate")
    plan_level: Annotated[PlanLevel | None, BeforeValidator(_upper)] = optional(
        "chart-img.com plan; the server's own if left out"
    )


class ChartFinding(Row):
    field: str
    message: str
    severity: Literal["error", "warning"]


class RateLimitCheck(Row):
    model_config = ConfigDict(alias_generator=to_camel, serialize_by_alias=True, populate_by_name=True)

    within_limits: bool
    study_count: int
    drawing_count: int
    max_studies: int
    resolution: str
    max_resolution: str


class ChartVerdict(Answer):
    model_config = ConfigDict(alias_generator=to_camel, serialize_by_alias=True, populate_by_name=True)

    valid: bool
    errors: list[ChartFinding]
    suggestions: list[str]
    rate_limit_check: RateLimitCheck
    plan_level: str
    plan_source: PlanSource


def chart_verdict(judged: JudgedChart) -> ChartVerdict:
    verdict, plan = judged.verdict, judged.by.plan
    found = [ChartFinding(field=each.field, message=each.message, severity=each.severity) for each in verdict.findings]
    if len(found) > MOST_ERRORS:
        rest = f"{len(found) - MOST_ERRORS} more were found; fix these first"
        found = [*found[:MOST_ERRORS], ChartFinding(field="config", message=rest, severity="warning")]
    return ChartVerdict(
        valid=verdict.valid,
        errors=found,
        suggestions=list(verdict.suggestions[:MOST_SUGGESTIONS]),
        rate_limit_check=RateLimitCheck(
            within_limits=verdict.within_limits,
            study_count=verdict.usage.studies,
            drawing_count=verdict.usage.drawings,
            max_studies=plan.max_studies,
            resolution=verdict.usage.resolution,
            max_resolution=plan.max_resolution,
        ),
        plan_level=plan.name,
        plan_source=judged.by.source,
    )


async def validate_chart_config(context: Context, arguments: ValidateChartConfig) -> ToolAnswer:
    answer = chart_verdict(context.chart_validation.validate(arguments.config, arguments.plan_level))
    return ToolAnswer(answer.model_dump_json(), answer)


VALIDATE_CHART_CONFIG = ToolSpec(
    name="validate_chart_config",
    title="Check a chart",
    description=(
        "Says, without drawing, whether a chart config will be drawn, how to fix it, and what it uses of the plan. "
        "Use it before generate_chart_image or when that fails. Not for words (construct_chart_config)."
    ),
    arguments=ValidateChartConfig,
    answer=ChartVerdict,
    run=validate_chart_config,
    loads=("mcp_binance_server.charts.validate",),
    read_only=True,
    toolset="charts",
)
