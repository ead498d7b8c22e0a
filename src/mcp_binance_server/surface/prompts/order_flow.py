"""The prompt order_flow_trading."""

from typing import Annotated

from pydantic import Field

from mcp_binance_server.surface.context import Context
from mcp_binance_server.surface.freshness import doubts_about
from mcp_binance_server.surface.prompts.whole_numbers import within
from mcp_binance_server.surface.spec import Arguments, PromptSpec
from mcp_binance_server.surface.views.freshness import with_doubts
from mcp_binance_server.surface.views.order_flow import order_flow_page


class OrderFlowTrading(Arguments):
    symbol: str = Field(description="Trading pair symbol (e.g., BTCUSDT, ETHUSDT)", max_length=200)
    window_minutes: Annotated[int, within(1, 60)] = Field(
        5, description="Minutes to look back, 1 to 60; up to 15 are known at once, default 5"
    )


async def order_flow_trading(context: Context, arguments: OrderFlowTrading) -> str:
    report = await context.order_flow.signal(arguments.symbol, arguments.window_minutes)
    found = await doubts_about(context, arguments.symbol, quiet=not report.sample.trades)
    return with_doubts(order_flow_page(report), found)


ORDER_FLOW_TRADING = PromptSpec(
    name="order_flow_trading",
    description=(
        "Judge who takes from the order book of one market, with the interval that says how sure that is. "
        "How to read it: guide://document/market/order-flow.md"
    ),
    arguments=OrderFlowTrading,
    render=order_flow_trading,
    live=True,
)
