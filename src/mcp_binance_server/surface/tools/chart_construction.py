"""The tool that turns words into a chart's configuration."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, Arguments, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Row, omitted, optional

if TYPE_CHECKING:
    from mcp_binance_server.charts.language.construct import Construction

Short = Annotated[str, Field(max_length=200)]
Theme = Literal["light", "dark"]
ChartRange = Annotated[str | dict[str, str | None], WithJsonSchema({"type": ["string", "object"]})]


def _untitled(schema: dict[str, Any]) -> None:
    for each in (schema, *schema["properties"].values()):
        each.pop("title", None)


class ChartPreferences(Arguments):
    model_config = ConfigDict(json_schema_extra=_untitled)

    theme: Theme | None = optional("Beats the text, as all of these do")
    resolution: Short | None = optional("800x600, 1920x1080 and the like")
    interval: Short | None = optional("1m is a minute, 1M a month")
    range: Short | None = optional("7D, 1M, YTD, ALL")


class ConstructChartConfig(Arguments):
    model_config = ConfigDict(alias_generator=to_camel)

    natural_language: str = Field(description="The chart in the user's own words, at most 2000 characters")
    symbol: Short | None = optional("Overrides the market in the words")
    exchange: Short | None = optional("Preferred exchange, e.g. BINANCE")
    preferences: ChartPreferences | None = optional("What the user always wants")


class ChartStudy(Row):
    name: str
    inputs: dict[str, Any] | None = omitted()
    override: dict[str, Any] | None = omitted()


class ChartDrawing(Row):
    type: str
    coordinates: Any
    style: dict[str, Any] | None = omitted()


class ChartConfig(Row):
    symbol: str
    interval: str
    range: ChartRange | None = omitted("7D and the like, or from and to; no to is now")
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
    warnings: list[str] = Field(description='"code: sentence"; tell the user')
    symbols: list[str] | None = omitted("Every market, when the words name several; config has the first")


def construction_answer(made: "Construction") -> ConstructionAnswer:
    return ConstructionAnswer(
        config=ChartConfig.model_validate(made.config),
        reasoning=made.reasoning,
        warnings=list(made.warnings),
        symbols=list(made.symbols) if len(made.symbols) > 1 else None,
    )


async def construct_chart_config(context: Context, arguments: ConstructChartConfig) -> ToolAnswer:
    # Loaded late, with the reader of words behind it.
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
        "what was assumed or not understood. Use it to begin any chart; pass config to generate_chart_image. Not for "
        "numbers (get_klines, get_indicators)."
    ),
    arguments=ConstructChartConfig,
    answer=ConstructionAnswer,
    run=construct_chart_config,
    loads=("mcp_binance_server.charts.language.construct",),
    read_only=True,
    toolset="charts",
)
