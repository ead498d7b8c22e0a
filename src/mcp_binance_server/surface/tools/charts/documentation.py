"""Tool that lists the drawing options of chart-img.com."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from mcp_binance_server.charts.catalogue import CatalogueStudy, ChartCatalogue, Documentation, Held, StudyInput
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.charts.facts import CAMEL, ExchangeRow, FactsAnswer, exchange_row
from mcp_binance_server.surface.tools.rows import Row, omitted
from mcp_binance_server.surface.views.charts import (
    exchanges_part,
    indicators_part,
    limits_of,
    parameters_part,
    source_line,
    type_of,
)
from mcp_binance_server.surface.views.markdown import instant

Section = Literal["indicators", "parameters", "exchanges", "all"]
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]


class InputRow(Row):
    type: str
    default: Any
    description: str
    min: Number | None = omitted()
    max: Number | None = omitted()


class StudyRow(Row):
    model_config = CAMEL

    name: str
    display_name: str
    category: str
    inputs: dict[str, InputRow]
    api_name: str


# The list is sent twice under two names. The schema describes it once, so that clients validate it once.
Same = Annotated[list[StudyRow], WithJsonSchema({"type": "array", "items": {"type": "object"}})]


class ChartParameters(Row):
    intervals: list[str]
    ranges: list[str]
    themes: list[str]
    styles: list[str]
    scales: list[str]
    sessions: list[str]
    formats: list[str]


class PlanRow(Row):
    model_config = CAMEL

    requests_per_second: int
    daily_max: int
    max_resolution: str
    max_studies: int


class ExampleRow(Row):
    description: str
    config: dict[str, Any]


class DocumentationData(Row):
    model_config = CAMEL

    indicators: list[StudyRow]
    studies: Same | None = omitted("The indicators again, if section is indicators")
    chart_parameters: ChartParameters
    rate_limits: dict[str, PlanRow]
    examples: list[ExampleRow]
    exchanges: list[ExchangeRow] | None = omitted()


class DocumentationAnswer(FactsAnswer):
    data: DocumentationData


class FetchChartDocumentation(Arguments):
    model_config = ConfigDict(alias_generator=to_camel)

    section: Section = Field("all", description="parameters also has plans and examples")
    force_refresh: bool = Field(default=False, description="Bypass the copy cached for a day")


def input_row(rule: StudyInput) -> InputRow:
    least, most = limits_of(rule)
    return InputRow(type=type_of(rule), default=rule.default, description=rule.label, min=least, max=most)


def study_row(study: CatalogueStudy) -> StudyRow:
    return StudyRow(
        name=study.name,
        display_name=study.display_name,
        category=study.category,
        inputs={rule.public: input_row(rule) for rule in study.input.values()},
        api_name=study.api_name,
    )


def documentation_data(documentation: Documentation, section: Section) -> DocumentationData:
    """Return one section of the documentation. The other sections are empty."""
    catalogue = documentation.catalogue
    has_indicators, has_parameters = section in {"indicators", "all"}, section in {"parameters", "all"}
    indicators = [study_row(each) for each in catalogue.indicators] if has_indicators else []
    examples = documentation.examples if has_parameters else ()
    return DocumentationData(
        indicators=indicators,
        studies=indicators if section == "indicators" else None,
        chart_parameters=_parameters(catalogue if has_parameters else None),
        rate_limits=_plans(catalogue) if has_parameters else {},
        examples=[ExampleRow(description=each.description, config=each.config) for each in examples],
        exchanges=[exchange_row(each) for each in catalogue.exchanges] if section in {"exchanges", "all"} else None,
    )


def _parameters(catalogue: ChartCatalogue | None) -> ChartParameters:
    named = ("interval", "range", "theme", "style", "scale", "session", "format")
    options = {f"{name}s": list(catalogue.options(name)) if catalogue else [] for name in named}
    return ChartParameters.model_validate(options)


def _plans(catalogue: ChartCatalogue) -> dict[str, PlanRow]:
    return {
        name: PlanRow(
            requests_per_second=plan.requests_per_second,
            daily_max=plan.daily_max,
            max_resolution=plan.max_resolution,
            max_studies=plan.max_studies,
        )
        for name, plan in catalogue.plans.items()
    }


def documentation_page(held: Held[Documentation], section: Section) -> str:
    catalogue = held.value.catalogue
    parts = {
        "parameters": lambda: parameters_part(catalogue, held.value.examples),
        "indicators": lambda: indicators_part(catalogue),
        "exchanges": lambda: exchanges_part(catalogue.exchanges),
    }
    chosen = [part() for name, part in parts.items() if section in {name, "all"}]
    return "\n\n".join([*chosen, source_line(held)])


async def fetch_chart_documentation(context: Context, arguments: FetchChartDocumentation) -> ToolAnswer:
    held = await context.chart_facts.documentation(force=arguments.force_refresh)
    data = documentation_data(held.value, arguments.section)
    answer = DocumentationAnswer(cached_at=instant(held.at_ms), source=held.source, warning=held.warning, data=data)
    return ToolAnswer(documentation_page(held, arguments.section), answer)


FETCH_CHART_DOCUMENTATION = ToolSpec(
    name="fetch_chart_documentation",
    title="Chart options",
    description=(
        "Options of chart-img.com: indicators and their inputs, intervals, ranges, themes, styles, plans, examples. "
        "Use it before writing a chart config by hand. Not for prices, and not needed before construct_chart_config."
    ),
    arguments=FetchChartDocumentation,
    answer=DocumentationAnswer,
    run=fetch_chart_documentation,
    read_only=True,
    toolset="charts",
)
