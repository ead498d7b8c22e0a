"""Request weight of one call of each tool at Binance. Tests compare it with calls on the simulator."""

_DEPTH = "5 up to 100 levels, 25 up to 500, 50 up to 1000"
_BOOK = "5, and 0 while the pair is streamed; opening the streams takes 50 in the background"

COSTS: dict[str, str] = {
    "get_ticker": "2, for one pair or up to 20; 0 while the pair is streamed",
    "search_symbols": "0",
    "get_exchange_info": "0",
    "get_klines": "2",
    "get_order_book": f"{_DEPTH}; 0 while the pair is streamed",
    "get_recent_trades": "4; 0 while the pair is streamed",
    "get_average_price": "2",
    "get_server_time": "1",
    "scan_market": "80 for the board, once in 10 s for all callers; then 2 per pair and interval, once a candle; "
    "perpetual 55 on the futures host",
    "get_indicators": "2, and 2 more for each further thousand bars of a VWAP",
    "get_analysis": "45 for trading_analysis with a key; portfolio_risk 24, 2 for each coin and 80 with a large "
    "position; others 8 to 60",
    "get_orderbook_metrics": "7, and 0 while the pair is streamed; opening the streams takes 50 in the background",
    "get_orderbook_depth": f"{_DEPTH}; 0 while the pair is streamed",
    "get_orderbook_health": "0",
    "estimate_slippage": f"{_BOOK}; 2 more for the reference price, and 2 once in 5 minutes for the price range",
    "get_order_flow": "14 at first and 6 then, less while the pair is streamed; windows under a minute up to 6 more",
    "get_volume_profile": "8",
    "get_liquidity_vacuums": "14; 10 while the pair is streamed",
    "detect_market_anomalies": _BOOK,
    "get_microstructure_health": _BOOK,
    "get_derivatives": "2 of spot; 4 of the futures host's own weight, and 1 for each quarterly",
    "get_account_info": "20; 21 on mainnet, with the key's permissions",
    "get_portfolio": "32 with four coins: 24 for the account and all prices, and 2 for each; with profit 20 more for "
    "each page of trades, 2 for prices of their time, 1,200 at most, and 80 for the open stops",
    "get_account_trades": "20 for each pair; 5 with order_id",
    "get_open_orders": "80, for one pair 6",
    "get_order": "4",
    "get_all_orders": "20; without a pair 100 and 20 for each of up to five",
    "preview_order": "27: the book, the reference price and the account; 2 more once in 5 minutes for the price range; "
    "20 more for the trades of the pair, if exits or an amount need the average cost; 4 more for a risk in percent",
    "fetch_chart_documentation": "0",
    "get_exchanges": "0",
    "get_symbols": "0",
    "construct_chart_config": "0",
    "validate_chart_config": "0",
    "generate_chart_image": "2 if drawn locally, more for many candles; 0 if drawn by chart-img.com",
    "get_chart_bars": "2, once a second for all viewers of a pair; more when a longer range is opened",
    "search_guides": "0",
    "list_guides": "0",
    "get_content": "0",
    "get_category_content": "0",
    "get_collection_content": "0",
}
