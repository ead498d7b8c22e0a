"""Tools that list symbols and their trading rules, from the cached symbol table."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.domain.money import ASSET_NAMES
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.errors import echo
from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ListAnswer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.tools.rows import Pair, Row, optional
from mcp_binance_server.surface.views.markdown import counted, next_step
from mcp_binance_server.surface.views.market import NO_SYMBOL, Rule, rule_values, rules_page, symbols_page

MOST_SYMBOLS = 100


class GetExchangeInfo(Arguments):
    symbol: Pair


class ExchangeInfoAnswer(Answer):
    symbol: str
    base: str
    quote: str
    status: str
    is_trading: bool
    rules: dict[str, Rule] = Field(description="null: not in force")


def exchange_info_answer(rules: SymbolRules) -> ExchangeInfoAnswer:
    return ExchangeInfoAnswer(
        symbol=rules.symbol,
        base=rules.base,
        quote=rules.quote,
        status=rules.status,
        is_trading=rules.is_trading,
        rules=rule_values(rules),
    )


async def get_exchange_info(context: Context, arguments: GetExchangeInfo) -> ToolAnswer:
    rules = await context.market.rules(arguments.symbol)
    return ToolAnswer(rules_page(rules), exchange_info_answer(rules))


GET_EXCHANGE_INFO = ToolSpec(
    name="get_exchange_info",
    title="Trading rules",
    description=(
        "Trading rules of one pair: status, assets, price tick, quantity step, smallest and largest quantity and "
        "value, order types. Use it before sizing an order. Not for prices. To find a pair use search_symbols."
    ),
    arguments=GetExchangeInfo,
    answer=ExchangeInfoAnswer,
    run=get_exchange_info,
    read_only=True,
    toolset="market",
)


class SearchSymbols(Arguments):
    query: Annotated[str, Field(description="Asset code, name or part of a symbol: BTC, bitcoin", max_length=40)]
    quote: Annotated[str, Field(max_length=40)] | None = optional("Only pairs priced in this asset, e.g. USDT")
    limit: Annotated[int, Field(ge=1, le=MOST_SYMBOLS)] = 20


class SymbolRow(Row):
    symbol: str
    base: str
    quote: str
    status: str
    name: str


class SearchSymbolsAnswer(ListAnswer):
    total: int
    symbols: list[SymbolRow]


def search_answer(found: list[SymbolRules], arguments: SearchSymbols) -> SearchSymbolsAnswer:
    shown = found[: arguments.limit]
    rows = [
        SymbolRow(
            symbol=each.symbol,
            base=each.base,
            quote=each.quote,
            status=each.status,
            name=ASSET_NAMES.get(each.base, ""),
        )
        for each in shown
    ]
    more = more_symbols(found, arguments)
    return SearchSymbolsAnswer(
        count=len(rows),
        limit=arguments.limit,
        more=more,
        total=len(found),
        symbols=rows,
        notes=[] if rows else [NO_SYMBOL],
    )


def more_symbols(found: list[SymbolRules], arguments: SearchSymbols) -> str | None:
    """Return the call for further rows.

    The call asks for all matches or, if there are too many, for those of one quote asset.
    """
    is_most = arguments.limit == MOST_SYMBOLS
    if len(found) <= arguments.limit or (is_most and arguments.quote is not None):
        return None
    quote = found[0].quote if is_most else arguments.quote
    return next_step("search_symbols", query=echo(arguments.query), quote=quote, limit=min(MOST_SYMBOLS, len(found)))


async def search_symbols(context: Context, arguments: SearchSymbols) -> ToolAnswer:
    found = await context.market.search(arguments.query, arguments.quote)
    answer = search_answer(found, arguments)
    told = f"Symbols: {counted(answer.count, answer.limit, answer.total)}"
    return ToolAnswer(symbols_page(found[: arguments.limit], told, ASSET_NAMES, answer.more), answer)


SEARCH_SYMBOLS = ToolSpec(
    name="search_symbols",
    title="Find a trading pair",
    description=(
        "Find pairs by asset code (BTC), asset name (bitcoin), quote asset or part of a symbol; trading ones first. "
        "Use it when a symbol is unknown or was refused. Not for prices or rules: get_ticker, get_exchange_info."
    ),
    arguments=SearchSymbols,
    answer=SearchSymbolsAnswer,
    run=search_symbols,
    read_only=True,
    toolset="market",
)
