"""Real answers of every tool: each called in several ways, where it succeeds and where it fails."""

from typing import Any

PAIR: dict[str, Any] = {"symbol": "BTCUSDT"}
CHART: dict[str, Any] = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "width": 400, "height": 300}
LIMIT: dict[str, Any] = {**PAIR, "side": "BUY", "quantity": "0.0010004", "price": "100000"}

# Every tool of the catalogue: arguments that succeed.
EXAMPLES: dict[str, tuple[dict[str, Any], ...]] = {
    "get_ticker": (PAIR, {"symbol": "ETHBTC"}, {"symbol": "BTCBUSD"}, {"symbols": ["BTCUSDT", "ETHBTC", "BTCBUSD"]}),
    "search_symbols": ({"query": "btc"}, {"query": "btc", "limit": 2}, {"query": "nothing like this"}),
    "get_exchange_info": (PAIR, {"symbol": "BTCBUSD"}),
    "get_klines": (
        {**PAIR, "interval": "1h"},
        {**PAIR, "interval": "1m", "limit": 5},
        {**PAIR, "interval": "1h", "limit": 130},
        {**PAIR, "interval": "1h", "start": "1970-01-02", "end": "1970-01-03"},
    ),
    "get_order_book": (PAIR, {"symbol": "ETHBTC", "limit": 5}, {"symbol": "LUNAUSDT"}),
    "get_recent_trades": (PAIR, {"symbol": "ETHBTC", "limit": 3}),
    "get_average_price": (PAIR, {"symbol": "ETHBTC"}),
    "get_server_time": ({},),
    "scan_market": (
        {},
        {
            "where": ["change_24h < 1", "rel_volume_24h > 0.1", "vs_sma_200@1h < 5", "rsi_14@1d < 70"],
            "sort": "-rsi_14@1d",
            "show": ["spread_bps", "trades_24h"],
            "limit": 5,
        },
        {"quote": "BTC", "sort": "range_24h"},
        {"where": ["change_24h > 100000"], "min_volume": "5"},
    ),
    "get_indicators": (
        {**PAIR, "indicators": ["rsi", "macd", "ema(50)"], "last_n": 3},
        {**PAIR, "indicators": ["bollinger", "ema(20)", "obv"], "interval": "1M"},
    ),
    "get_orderbook_metrics": (PAIR, {"symbol": "ETHBTC"}),
    "get_orderbook_depth": (PAIR, {**PAIR, "levels": 100}),
    "get_orderbook_health": ({},),
    "estimate_slippage": (
        {**PAIR, "side": "BUY", "amount": "250000"},
        {**PAIR, "side": "SELL", "amount": "5", "amount_type": "base"},
        {**PAIR, "side": "SELL", "amount": "900000000"},
    ),
    "get_order_flow": (PAIR, {**PAIR, "window_duration_secs": 10}, {**PAIR, "window_duration_secs": 300}),
    "get_volume_profile": (PAIR, {**PAIR, "duration_hours": 1}),
    "get_liquidity_vacuums": (
        PAIR,
        {**PAIR, "lookback_minutes": 240},
        {**PAIR, "lookback_minutes": 240, "percentile": 20},
    ),
    "detect_market_anomalies": (PAIR,),
    "get_microstructure_health": (PAIR, {**PAIR, "window_duration_secs": 30}),
    "get_derivatives": (PAIR, {"symbol": "tslausdt"}, {"symbol": "1000PEPEUSDT.P"}),
    "get_account_info": ({}, {"limit": 2}),
    "get_account_trades": (PAIR, {"symbol": "SOLUSDT"}, {"symbols": ["BTCUSDT", "BNBUSDT"], "start": "30d"}),
    "get_open_orders": ({}, PAIR, {"limit": 1}, {"symbol": "SOLUSDT"}),
    "get_order": (
        {**PAIR, "order_id": 41200880004},
        {**PAIR, "client_order_id": "demo-2"},
        {**PAIR, "order_id": 41200880005},
    ),
    "get_all_orders": ({}, PAIR, {**PAIR, "limit": 1}, {"symbol": "SOLUSDT"}),
    "get_portfolio": ({}, {"limit": 2}, {"profit": True}),
    "get_analysis": (
        {"kind": "trading_analysis", **PAIR},
        {"kind": "portfolio_risk"},
        {"kind": "liquidity_mapping", **PAIR},
        {"kind": "market_overview"},
    ),
    "preview_order": (
        LIMIT,
        {**PAIR, "side": "BUY", "type": "MARKET", "quote_quantity": "50"},
        {
            **PAIR,
            "side": "SELL",
            "type": "STOP_LOSS_LIMIT",
            "quantity": "0.01",
            "price": "100000",
            "stop_price": "101000",
        },
    ),
    "fetch_chart_documentation": ({}, {"section": "indicators"}, {"section": "parameters"}, {"section": "exchanges"}),
    "get_exchanges": ({},),
    "get_symbols": (
        {"exchange": "BINANCE"},
        {"exchange": "BINANCE", "search": "btc", "limit": 3},
        {"exchange": "BINANCE", "search": "zzzz"},
    ),
    "construct_chart_config": (
        {"naturalLanguage": "BTC 4h with RSI and support at 62k"},
        {"naturalLanguage": "ETH and BTC, pink"},
    ),
    "validate_chart_config": ({"config": CHART}, {"config": {**CHART, "interval": "7h"}}),
    "generate_chart_image": ({"config": CHART}, {"config": CHART, "storage": True}),
    "get_chart_bars": ({"config": CHART}, {"config": CHART, "since": 0}),
    "search_guides": ({"query": "liquidity"}, {"query": "xyzzy"}),
    "list_guides": ({}, {"limit": 3}, {"context": "start"}),
    "get_content": ({"context": "start"}, {"context": "risk", "pattern": "risk-policy"}),
    "get_category_content": ({"category": "start"},),
    "get_collection_content": ({"collection": "start"},),
}

# Calls that fail for a reason a model can act on.
FAILURES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_ticker", {"symbol": "BTC/USD"}),
    ("get_ticker", {"symbol": "NOSUCHPAIR"}),
    ("get_ticker", {}),
    ("get_klines", {"symbol": "BTCUSDT", "interval": "7h"}),
    ("get_indicators", {**PAIR, "indicators": ["sma(1000)", "nonsense"]}),
    ("get_order", {**PAIR, "order_id": 1}),
    ("preview_order", {**PAIR, "side": "BUY", "quantity": "0.000001", "price": "100000"}),
    ("preview_order", {**PAIR, "side": "BUY", "quantity": "100", "price": "100000"}),
    ("get_symbols", {"exchange": "NOWHERE"}),
    ("construct_chart_config", {"naturalLanguage": "a nice chart please"}),
    ("generate_chart_image", {"config": {**CHART, "interval": "7h", "theme": "pink"}}),
    ("generate_chart_image", {"config": {**CHART, "symbol": "NASDAQ:AAPL"}}),
    ("get_chart_bars", {"config": {**CHART, "symbol": "BINANCE:BTCUSTD"}}),
    ("get_chart_bars", {"config": {**CHART, "theme": "pink"}, "since": "soon"}),
    ("get_content", {"context": "no such shelf"}),
    ("get_content", {"context": "start", "pattern": "nothing*"}),
    ("get_volume_profile", {**PAIR, "tick_size": "0"}),
    ("get_derivatives", {"symbol": "PEPEUSDT"}),
    ("get_derivatives", {"symbol": "MATICUSDT"}),
)
