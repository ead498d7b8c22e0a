"""Tool that runs any prompt, because models cannot request prompts themselves."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, WithJsonSchema, create_model

from mcp_binance_server.domain.access import Scope
from mcp_binance_server.surface.arguments import Arguments, listed_schema
from mcp_binance_server.surface.caller import reporting
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.errors import bad_arguments
from mcp_binance_server.surface.spec import Answer, PromptSpec, ToolAnswer, ToolSpec
from mcp_binance_server.surface.views.markdown import doubts_in

NAME = "get_analysis"
KIND = "kind"


class AnalysisAnswer(Answer):
    kind: str
    page: str = Field(description="Markdown, with the time of its data")


def analysis_tool(prompts: Sequence[PromptSpec[Any]]) -> ToolSpec[Any]:
    """Return the tool whose kinds are these prompts. Each kind has its own arguments, rules and scope."""
    by_kind = {spec.name: spec for spec in prompts}

    def chosen(arguments: Arguments) -> PromptSpec[Any]:
        return by_kind[getattr(arguments, KIND)]

    def scope(arguments: Arguments) -> Scope:
        return chosen(arguments).scope

    async def run(context: Context, arguments: Arguments) -> ToolAnswer:
        spec = chosen(arguments)
        given = {name: value for name, value in arguments if name != KIND and value is not None}
        try:
            asked = spec.arguments.model_validate(given)
        except ValidationError as error:
            raise bad_arguments(f"{NAME} of kind {spec.name}", error) from None
        page = await reporting(context.progress, f"Analysing: {spec.name}", lambda: spec.render(context, asked))
        return ToolAnswer(page, AnalysisAnswer(kind=spec.name, page=page), warnings=tuple(doubts_in(page)))

    return ToolSpec(
        name=NAME,
        title="Guided analysis",
        description=(
            "A finished analysis as a page: the numbers first, then judgements by stated rules, with levels, risks and "
            "missing measures. Use it when the user asks for a view of a market or of their portfolio. "
            "Not for single numbers (get_ticker, get_indicators, get_orderbook_metrics) and not for placing orders."
        ),
        arguments=_arguments(prompts),
        answer=AnalysisAnswer,
        run=run,
        read_only=True,
        toolset="analysis",
        slow=True,
        scope_of_call=scope,
    )


def _arguments(prompts: Sequence[PromptSpec[Any]]) -> type[Arguments]:
    """Return a model with the arguments of all prompts. The chosen prompt validates the values."""
    takers: dict[str, list[str]] = {}
    schemas: dict[str, dict[str, Any]] = {}
    for spec in prompts:
        for name, schema in listed_schema(spec.arguments).get("properties", {}).items():
            takers.setdefault(name, []).append(spec.name)
            schemas.setdefault(name, schema)
    fields: dict[str, Any] = {KIND: (Literal[tuple(spec.name for spec in prompts)], ...)}
    for name, schema in schemas.items():
        fields[name] = (Annotated[Any, WithJsonSchema(_told(schema, takers[name], len(prompts)))], None)
    return create_model("GetAnalysis", __base__=Arguments, **fields)


def _told(schema: dict[str, Any], takers: list[str], kinds: int) -> dict[str, Any]:
    told = {name: each for name, each in schema.items() if name != "default"}
    if len(takers) == 1 and kinds > 1:
        told["description"] = f"{takers[0]} only. {told.get('description', '')}".rstrip()
    return told
