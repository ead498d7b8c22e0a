"""Arguments that every tool answers; one that is missing here takes just a symbol."""

from typing import Any

CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}
TOOL_ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_server_time": {},
    "get_orderbook_health": {},
    "get_account_info": {},
    "get_portfolio": {},
    "get_analysis": {"kind": "trading_analysis", "symbol": "BTCUSDT"},
    "get_open_orders": {},
    "get_order": {"symbol": "BTCUSDT", "order_id": 41200880004},
    "get_klines": {"symbol": "BTCUSDT", "interval": "1h"},
    "get_indicators": {"symbol": "BTCUSDT", "indicators": ["rsi"]},
    "search_symbols": {"query": "btc"},
    "scan_market": {},
    "estimate_slippage": {"symbol": "BTCUSDT", "side": "BUY", "amount": "1000"},
    "preview_order": {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.001", "price": "100000"},
    "fetch_chart_documentation": {},
    "get_exchanges": {},
    "get_symbols": {"exchange": "BINANCE"},
    "construct_chart_config": {"naturalLanguage": "BTCUSDT hourly candles with RSI"},
    "validate_chart_config": {"config": CHART},
    "generate_chart_image": {"config": CHART},
    "get_chart_bars": {"config": CHART},
    "search_guides": {"query": "liquidity"},
    "list_guides": {},
    "get_content": {"context": "start"},
    "get_category_content": {"category": "errors"},
    "get_collection_content": {"collection": "start"},
}


def arguments_of(tool: str) -> dict[str, Any]:
    return TOOL_ARGUMENTS.get(tool, {"symbol": "BTCUSDT"})


def prompt_arguments(name: str) -> dict[str, str]:
    """Return what a prompt needs: most are about one pair."""
    return {} if name in {"portfolio_risk", "market_overview"} else {"symbol": "BTCUSDT"}
