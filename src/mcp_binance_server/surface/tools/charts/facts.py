"""Tools that list the exchanges and symbols that charts support."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from mcp_binance_server.charts.catalogue import Exchange, Held, SymbolList
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Row, omitted, optional
from mcp_binance_server.surface.views.charts import exchanges_part, no_symbol, source_line, symbols_part
from mcp_binance_server.surface.views.markdown import instant, next_step, with_more

MOST_SYMBOLS = 500
CAMEL = ConfigDict(alias_generator=to_camel, serialize_by_alias=True, populate_by_name=True)


def _failure_too(schema: dict[str, Any]) -> None:
    schema["properties"]["error"] = {"type": "string"}


class FactsAnswer(Answer):
    """An answer with the time of its facts."""

    model_config = CAMEL | ConfigDict(json_schema_extra=_failure_too)

    cached_at: str = Field(description="Time of the data")
    source: Literal["live", "cache", "stale", "bundled", "binance"]
    warning: str | None = omitted()


class ExchangeRow(Row):
    id: str
    name: str
    type: str
    description: str


def exchange_row(exchange: Exchange) -> ExchangeRow:
    return ExchangeRow(id=exchange.id, name=exchange.name, type=exchange.type, description=exchange.description)


class GetExchanges(Arguments):
    pass


class ExchangesAnswer(FactsAnswer):
    exchanges: list[ExchangeRow]
    count: int


async def get_exchanges(context: Context, _arguments: GetExchanges) -> ToolAnswer:
    held = await context.chart_facts.exchanges()
    answer = ExchangesAnswer(
        cached_at=instant(held.at_ms),
        source=held.source,
        warning=held.warning,
        exchanges=[exchange_row(each) for each in held.value],
        count=len(held.value),
    )
    return ToolAnswer(f"{exchanges_part(held.value)}\n\n{source_line(held)}", answer)


GET_EXCHANGES = ToolSpec(
    name="get_exchanges",
    title="Exchanges with charts",
    description=(
        "Exchanges with charts (crypto, stocks, forex, futures), by type, then name. Use it to write "
        "EXCHANGE:SYMBOL. Not for the symbols of one of them (get_symbols)."
    ),
    arguments=GetExchanges,
    answer=ExchangesAnswer,
    run=get_exchanges,
    read_only=True,
    toolset="charts",
)


class GetSymbols(Arguments):
    exchange: Annotated[str, Field(description="Exchange id, e.g. BINANCE", max_length=60)]
    search: Annotated[str, Field(max_length=60)] | None = optional("Part of a symbol or description, e.g. BTC")
    limit: Annotated[int, Field(ge=1, le=MOST_SYMBOLS)] = 50


class ChartSymbolRow(Row):
    model_config = CAMEL

    symbol: str
    full_symbol: str
    description: str
    type: str


class SymbolsAnswer(FactsAnswer):
    exchange: str
    symbols: list[ChartSymbolRow]
    count: int
    total: int
    more: str | None = omitted()


def symbols_answer(held: Held[SymbolList], arguments: GetSymbols) -> SymbolsAnswer:
    exchange, found = held.value.exchange, held.value.symbols
    shown = found[: arguments.limit]
    return SymbolsAnswer(
        cached_at=instant(held.at_ms),
        source=held.source,
        warning=held.warning,
        exchange=exchange,
        symbols=[
            ChartSymbolRow(
                symbol=each.symbol,
                full_symbol=f"{exchange}:{each.symbol}",
                description=each.description,
                type=each.type,
            )
            for each in shown
        ],
        count=len(shown),
        total=len(found),
        notes=[] if shown else [no_symbol(exchange)],
        more=_more(held.value, arguments),
    )


def _more(listed: SymbolList, arguments: GetSymbols) -> str | None:
    if len(listed.symbols) <= arguments.limit or arguments.limit == MOST_SYMBOLS:
        return None
    limit = min(MOST_SYMBOLS, len(listed.symbols))
    return next_step("get_symbols", exchange=listed.exchange, search=arguments.search, limit=limit)


async def get_symbols(context: Context, arguments: GetSymbols) -> ToolAnswer:
    held = await context.chart_facts.symbols(arguments.exchange, arguments.search or "")
    answer = symbols_answer(held, arguments)
    shown = held.value.symbols[: arguments.limit]
    lines = [symbols_part(held.value.exchange, shown, answer.total), source_line(held)]
    return ToolAnswer(with_more(lines, answer.more), answer)


GET_SYMBOLS = ToolSpec(
    name="get_symbols",
    title="Symbols of an exchange",
    description=(
        "Symbols of one exchange with charts; those that start with the search come first. Use it to find a chart's "
        "symbol. Not for trading pairs and their rules on Binance (search_symbols)."
    ),
    arguments=GetSymbols,
    answer=SymbolsAnswer,
    run=get_symbols,
    read_only=True,
    toolset="charts",
)
