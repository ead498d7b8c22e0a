"""Tool that reads public futures data of one pair."""

from typing import Annotated, Any

from pydantic import Field

from mcp_binance_server.surface.arguments import Arguments
from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.spec import Answer, ToolAnswer, ToolSpec
from mcp_binance_server.surface.views.derivatives.members import age_doubts, members
from mcp_binance_server.surface.views.derivatives.page import derivatives_page


class GetDerivatives(Arguments):
    symbol: Annotated[str, Field(description="Perpetual, e.g. BTCUSDT or BTCUSDT.P", max_length=200)]


class DerivativesAnswer(Answer):
    """Rates and shares are in percent, `apr` in percent per year; amounts are decimal text; null means unknown."""

    symbol: str
    contract: dict[str, Any]
    funding: dict[str, Any] | None
    open_interest: dict[str, Any] | None
    basis: dict[str, Any]
    positioning: dict[str, Any]
    liquidations: dict[str, Any] | None
    missing: list[str]
    as_of: str
    source: str
    host: str


async def get_derivatives(context: Context, arguments: GetDerivatives) -> ToolAnswer:
    report = await context.derivatives.read(arguments.symbol)
    told, doubts = members(report), age_doubts(report)
    return ToolAnswer(derivatives_page(told, doubts), DerivativesAnswer(**told), warnings=tuple(doubts))


GET_DERIVATIVES = ToolSpec(
    name="get_derivatives",
    title="Derivatives of one pair",
    description=(
        "Funding (interval, apr), open interest, basis, long shares, taker volume and observed liquidations of one "
        "USDⓈ-M perpetual, compared with its own past. Not for positions, orders, leverage or spot prices "
        "(get_ticker); no forecast."
    ),
    arguments=GetDerivatives,
    answer=DerivativesAnswer,
    run=get_derivatives,
    read_only=True,
    toolset="derivatives",
)
