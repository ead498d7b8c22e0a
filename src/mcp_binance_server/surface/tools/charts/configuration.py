"""Tools that convert words into a chart configuration, and validate configurations."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from mcp_binance_server.charts.chartimg.plan_memory import PlanSource
from mcp_binance_server.charts.config import MY_ORDERS
from mcp_binance_server.services.charts.configuration import JudgedChart
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.charts.arguments import ChartArguments
from mcp_binance_server.surface.tools.rows import Row, is_none, omitted, optional

if TYPE_CHECKING:
    from mcp_binance_server.charts.language.construct import Construction


Short = Annotated[str, Field(max_length=200)]
Theme = Literal["light", "dark"]
ChartRange = Annotated[str | dict[str, str | None], WithJsonSchema({"type": ["string", "object"]})]

PlanLevel = Literal["BASIC", "PRO", "MEGA", "ULTRA", "ENTERPRISE"]
# Most errors to return. A list of thousands would not help the caller.
MOST_ERRORS = 50
MOST_SUGGESTIONS = 20


def _untitled(schema: dict[str, Any]) -> None:
    for each in (schema, *schema["properties"].values()):
        each.pop("title", None)


class ChartPreferences(Arguments):
    model_config = ConfigDict(json_schema_extra=_untitled)

    theme: Theme | None = optional("Overrides the text, like all preferences")
    resolution: Short | None = optional("800x600, 1920x1080 and the like")
    interval: Short | None = optional("1m is a minute, 1M a month")
    range: Short | None = optional("7D, 1M, YTD, ALL")


class ConstructChartConfig(Arguments):
    model_config = ConfigDict(alias_generator=to_camel)

    natural_language: str = Field(description="The chart in the user's own words, at most 2000 characters")
    symbol: Short | None = optional("Overrides the market in the words")
    exchange: Short | None = optional("Preferred exchange, e.g. BINANCE")
    preferences: ChartPreferences | None = optional("The user's defaults")


class ChartStudy(Row):
    name: str
    inputs: dict[str, Any] | None = omitted()
    override: dict[str, Any] | None = omitted()


class ChartDrawing(Row):
    type: str
    coordinates: Any
    style: dict[str, Any] | None = omitted()


class ChartConfig(Row):
    model_config = ConfigDict(serialize_by_alias=True)

    symbol: str
    compare: SkipJsonSchema[list[str] | None] = Field(None, exclude_if=is_none)
    my_orders: SkipJsonSchema[bool | None] = Field(None, alias=MY_ORDERS, exclude_if=is_none)
    interval: str
    range: ChartRange | None = omitted("e.g. 7D, or from and to (default now)")
    theme: Theme | None = omitted()
    style: str | None = omitted()
    width: int | None = omitted()
    height: int | None = omitted()
    scale: str | None = omitted()
    session: str | None = omitted()
    timezone: str | None = omitted()
    format: str | None = omitted()
    studies: list[ChartStudy] | None = omitted()
    drawings: list[ChartDrawing] | None = omitted()
    override: dict[str, Any] | None = omitted()


def _failure_too(schema: dict[str, Any]) -> None:
    schema["properties"]["error"] = {"type": "string"}


class ConstructionAnswer(Answer):
    model_config = ConfigDict(json_schema_extra=_failure_too)

    config: ChartConfig
    reasoning: str
    warnings: list[str] = Field(description='"code: sentence"; show the user')
    symbols: list[str] | None = omitted("All markets if the words name several; config has the first")


def construction_answer(made: "Construction") -> ConstructionAnswer:
    return ConstructionAnswer(
        config=ChartConfig.model_validate(made.config),
        reasoning=made.reasoning,
        warnings=list(made.warnings),
        symbols=list(made.symbols) if len(made.symbols) > 1 else None,
    )


async def construct_chart_config(context: Context, arguments: ConstructChartConfig) -> ToolAnswer:
    # Imported late, like the parser of descriptions.
    from mcp_binance_server.charts.language.preferences import Preferences  # noqa: PLC0415

    wanted = arguments.preferences or ChartPreferences()
    preferences = Preferences(
        symbol=arguments.symbol,
        exchange=arguments.exchange,
        theme=wanted.theme,
        resolution=wanted.resolution,
        interval=wanted.interval,
        range=wanted.range,
    )
    answer = construction_answer(await context.chart_language.construct(arguments.natural_language, preferences))
    return ToolAnswer(answer.model_dump_json(), answer)


CONSTRUCT_CHART_CONFIG = ToolSpec(
    name="construct_chart_config",
    title="Describe a chart in words",
    description=(
        "Turns words such as 'BTC 4h with RSI and support at 62k, last 2 weeks' into a chart config, with warnings for "
        "assumptions and unknown words. Use it first for any chart; pass config to generate_chart_image. Not for "
        "numbers (get_klines, get_indicators)."
    ),
    arguments=ConstructChartConfig,
    answer=ConstructionAnswer,
    run=construct_chart_config,
    loads=("mcp_binance_server.charts.language.construct",),
    read_only=True,
    toolset="charts",
)


def _upper(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


class ValidateChartConfig(ChartArguments):
    model_config = ConfigDict(alias_generator=to_camel)

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
    answer = chart_verdict(context.chart_validation.validate(arguments.configuration, arguments.plan_level))
    return ToolAnswer(answer.model_dump_json(), answer)


VALIDATE_CHART_CONFIG = ToolSpec(
    name="validate_chart_config",
    title="Check a chart",
    description=(
        "Checks a chart config without drawing it: errors, fixes, and use of the plan's limits. Use it before "
        "generate_chart_image or when that fails. Not for words (construct_chart_config)."
    ),
    arguments=ValidateChartConfig,
    answer=ChartVerdict,
    run=validate_chart_config,
    loads=("mcp_binance_server.charts.validate",),
    read_only=True,
    toolset="charts",
)
