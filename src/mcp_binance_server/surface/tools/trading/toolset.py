"""Tools that exist only when trading is on: order tools, and extended variants of other tools."""

from typing import Any

from mcp_binance_server.surface.spec import ToolSpec
from mcp_binance_server.surface.tools.trading.cancelling import CANCEL_ALL_ORDERS, CANCEL_ORDER
from mcp_binance_server.surface.tools.trading.placing import PLACE_ORDER
from mcp_binance_server.surface.tools.trading.preview import PREVIEW_TRADABLE_ORDER
from mcp_binance_server.surface.tools.trading.records import GET_JOURNALED_ORDER
from mcp_binance_server.surface.tools.trading.status import GET_TRADING_STATUS, STOP_TRADING

EXTENDED_TOOLS: tuple[ToolSpec[Any], ...] = (PREVIEW_TRADABLE_ORDER, GET_JOURNALED_ORDER)
TRADE_TOOLS: tuple[ToolSpec[Any], ...] = (
    PLACE_ORDER,
    CANCEL_ORDER,
    CANCEL_ALL_ORDERS,
    GET_TRADING_STATUS,
    STOP_TRADING,
)
