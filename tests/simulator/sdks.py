"""Exchange libraries of others at a running simulator: `python sdks.py ADDRESSES` prints one line for each call.

It runs in an environment with requirements/exchange.txt, without this project. A line is JSON: the library, the call,
and Binance's code of a refusal, 0 for a success.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

Call = tuple[str, Callable[[], object]]
BTC: dict[str, Any] = {"symbol": "BTCUSDT"}
PAIRS: dict[str, Any] = {"symbols": ["BTCUSDT", "ETHUSDT"]}
HOURS: dict[str, Any] = BTC | {"interval": "1h", "limit": 2}
DATA: dict[str, Any] = BTC | {"period": "5m", "limit": 2}
SMALL = 0.001


class Addresses:
    """Addresses and keys that the simulator printed."""

    def __init__(self, line: str) -> None:
        told = json.loads(line)
        self.rest, self.futures = str(told["rest"]), str(told["futures_rest"])
        self.key, self.secret = str(told["api_key"]), str(told["secret_key"])


def binance_sdk_spot(at: Addresses, price: float) -> Iterator[Call]:
    """Yield calls of Binance's own library for spot."""
    configuration: Any = import_module("binance_common.configuration")
    library: Any = import_module("binance_sdk_spot.spot")
    settings = configuration.ConfigurationRestAPI(
        api_key=at.key, api_secret=at.secret, base_path=at.rest, retries=0, timeout=30_000
    )
    api: Any = library.Spot(config_rest_api=settings).rest_api
    low, high, stop, limit, deep = (round(price * part, 2) for part in (0.9, 1.1, 0.92, 0.919, 0.85))
    order: dict[str, Any] = {"side": "BUY", "type": "LIMIT", "time_in_force": "GTC", "quantity": SMALL, "price": low}
    entry: dict[str, Any] = {
        "working_type": "LIMIT", "working_side": "BUY", "working_price": low, "working_quantity": SMALL,
        "working_time_in_force": "GTC", "pending_side": "SELL",
    }  # fmt: skip
    pending: dict[str, Any] = {"pending_type": "LIMIT", "pending_price": high, "pending_time_in_force": "GTC"}
    exits: dict[str, Any] = {
        "pending_above_type": "LIMIT_MAKER", "pending_above_price": high, "pending_below_type": "STOP_LOSS",
        "pending_below_stop_price": deep,
    }  # fmt: skip
    sold: dict[str, Any] = {"pending_quantity": SMALL}
    calls: list[tuple[str, dict[str, Any]]] = [
        *((name, {}) for name in ("ping", "time")),
        *(("exchange_info", each) for each in (BTC, PAIRS, {"permissions": ["SPOT"]}, {"symbol_status": "TRADING"})),
        *((name, BTC) for name in ("execution_rules", "reference_price", "reference_price_calculation", "avg_price")),
        *((name, BTC | {"limit": 2}) for name in ("depth", "get_trades", "historical_trades", "agg_trades")),
        ("historical_block_trades", BTC | {"from_id": 1}),
        *(("klines", each) for each in (HOURS, HOURS | {"time_zone": "+08:00"})),
        ("ui_klines", HOURS),
        *(("ticker24hr", each) for each in (BTC, PAIRS | {"type": "MINI"})),
        *((name, BTC) for name in ("ticker_trading_day", "ticker_book_ticker")),
        *(("ticker_price", each) for each in (BTC, {})),
        ("ticker", BTC | {"window_size": "1h"}),
        *(("get_account", each) for each in ({}, {"omit_zero_balances": True})),
        *((name, BTC) for name in ("account_commission", "my_trades", "all_orders", "my_allocations", "my_filters")),
        *((name, {}) for name in ("rate_limit_order", "get_open_orders", "all_order_list", "open_order_list")),
        ("my_prevented_matches", BTC | {"order_id": 1}),
        *(("order_test", BTC | order | each) for each in ({}, {"compute_commission_rates": True})),
        ("new_order", BTC | order | {"new_client_order_id": "a1"}),
        ("new_order", BTC | {"side": "BUY", "type": "MARKET", "quote_order_qty": 50.0}),
        ("new_order", BTC | {"side": "SELL", "type": "MARKET", "quantity": SMALL, "new_order_resp_type": "RESULT"}),
        ("new_order", BTC | order | {"new_client_order_id": "a2", "new_order_resp_type": "ACK"}),
        ("new_order", BTC | order | {"strategy_id": 7, "strategy_type": 1_000_001}),
        (
            "new_order",
            BTC | {name: order[name] for name in order if name != "price"} | {"peg_price_type": "PRIMARY_PEG"},
        ),
        ("new_order", BTC | order | {"quantity": 0.01, "iceberg_qty": SMALL}),
        ("new_order", BTC | {"side": "SELL", "type": "STOP_LOSS", "quantity": SMALL, "stop_price": stop}),
        (
            "new_order with trailing_delta",
            BTC | order | {"side": "SELL", "type": "STOP_LOSS_LIMIT", "price": limit, "trailing_delta": 200},
        ),
        ("get_order", BTC | {"orig_client_order_id": "a1"}),
        ("order_amend_keep_priority", BTC | {"new_qty": 0.0005, "orig_client_order_id": "a1"}),
        ("order_amendments", BTC | {"order_id": 1}),
        (
            "order_cancel_replace",
            BTC
            | order
            | {
                "cancel_replace_mode": "STOP_ON_FAILURE",
                "cancel_orig_client_order_id": "a2",
                "new_client_order_id": "a4",
            },
        ),
        ("delete_order", BTC | {"orig_client_order_id": "a4"}),
        ("delete_order of an unknown order", BTC | {"orig_client_order_id": "nope"}),
        (
            "order_list_oco",
            BTC
            | {
                "side": "SELL",
                "quantity": SMALL,
                "above_type": "LIMIT_MAKER",
                "above_price": high,
                "below_type": "STOP_LOSS_LIMIT",
                "below_price": limit,
                "below_stop_price": stop,
                "below_time_in_force": "GTC",
                "list_client_order_id": "L1",
            },
        ),
        (
            "order_oco",
            BTC
            | {
                "side": "SELL",
                "quantity": SMALL,
                "price": high,
                "stop_price": stop,
                "stop_limit_price": limit,
                "stop_limit_time_in_force": "GTC",
            },
        ),
        ("order_list_oto", BTC | entry | pending | sold),
        ("order_list_otoco", BTC | entry | exits | sold),
        ("order_list_opo", BTC | entry | pending),
        ("order_list_opoco", BTC | entry | exits),
        ("get_order_list", {"orig_client_order_id": "L1"}),
        ("delete_order_list", BTC | {"list_client_order_id": "L1"}),
        ("delete_open_orders", BTC),
        ("sor_order_test", BTC | order),
    ]
    for name, arguments in calls:
        yield name, lambda name=name, arguments=arguments: getattr(api, name.split(" ")[0])(**arguments).data()


def binance_sdk_futures(at: Addresses, _price: float) -> Iterator[Call]:
    """Yield calls of Binance's own library for futures."""
    configuration: Any = import_module("binance_common.configuration")
    name = "derivatives_trading_usds_futures"
    library: Any = import_module(f"binance_sdk_{name}.{name}")
    settings = configuration.ConfigurationRestAPI(
        api_key=at.key, api_secret=at.secret, base_path=at.futures, retries=0, timeout=30_000
    )
    api: Any = library.DerivativesTradingUsdsFutures(config_rest_api=settings).rest_api
    calls: list[tuple[str, dict[str, Any]]] = [
        *((name, {}) for name in ("test_connectivity", "check_server_time", "exchange_information")),
        *(
            (name, each)
            for name in ("ticker24hr_price_change_statistics", "mark_price", "symbol_order_book_ticker")
            for each in (BTC, {})
        ),
        ("get_funding_rate_info", {}),
        ("get_funding_rate_history", BTC | {"limit": 2}),
        *((name, BTC) for name in ("open_interest", "order_book", "symbol_price_ticker")),
        *(
            (name, DATA)
            for name in (
                "open_interest_statistics", "long_short_ratio", "top_trader_long_short_ratio_accounts",
                "top_trader_long_short_ratio_positions", "taker_buy_sell_volume",
            )
        ),
        ("basis", {"pair": "BTCUSDT", "contract_type": "PERPETUAL", "period": "5m", "limit": 2}),
        ("kline_candlestick_data", HOURS),
    ]  # fmt: skip
    for name, arguments in calls:
        yield name, lambda name=name, arguments=arguments: getattr(api, name)(**arguments).data()


def python_binance(at: Addresses, price: float) -> Iterator[Call]:
    """Yield calls of python-binance."""
    library: Any = import_module("binance.client")
    client: Any = library.Client(at.key, at.secret, ping=False)

    def uri(path: str, *_: object, version: str = "v3", **__: object) -> str:
        return f"{at.rest}/api/{version}/{path}"

    client._create_api_uri = uri
    sale: dict[str, Any] = {
        "symbol": "BTCUSDT", "side": "SELL", "quantity": SMALL, "aboveType": "LIMIT_MAKER",
        "abovePrice": f"{price * 1.1:.2f}", "belowType": "STOP_LOSS", "belowStopPrice": f"{price * 0.9:.2f}",
    }  # fmt: skip
    yield "get_exchange_info", client.get_exchange_info
    yield "get_historical_klines", lambda: client.get_historical_klines("BTCUSDT", "1h", "3 day ago UTC")
    yield "get_account", client.get_account
    yield "get_order_book", lambda: client.get_order_book(symbol="BTCUSDT", limit=5)
    yield "aggregate_trade_iter", lambda: next(iter(client.aggregate_trade_iter("BTCUSDT", start_str="1 hour ago UTC")))
    yield "order_market_buy", lambda: client.order_market_buy(symbol="BTCUSDT", quoteOrderQty=50)
    low = f"{price * 0.9:.2f}"
    yield "order_limit_buy", lambda: client.order_limit_buy(symbol="BTCUSDT", quantity=SMALL, price=low)
    yield "create_oco_order", lambda: client.create_oco_order(**sale)
    yield "get_open_orders", client.get_open_orders
    yield "get_my_trades", lambda: client.get_my_trades(symbol="BTCUSDT")
    yield "stream_get_listen_key", client.stream_get_listen_key


def binance_connector(at: Addresses, _price: float) -> Iterator[Call]:
    """Yield calls of Binance's former library."""
    library: Any = import_module("binance.spot")
    client: Any = library.Spot(api_key=at.key, api_secret=at.secret, base_url=at.rest)
    yield "time", client.time
    yield "exchange_info", lambda: client.exchange_info("BTCUSDT")
    yield "depth", lambda: client.depth("BTCUSDT")
    yield "klines", lambda: client.klines("BTCUSDT", "1h")
    yield "account", client.account
    yield "new_order_test", lambda: client.new_order_test("BTCUSDT", "BUY", "MARKET", quoteOrderQty=50)
    yield "new_order", lambda: client.new_order("BTCUSDT", "BUY", "MARKET", quoteOrderQty=50)


def ccxt(at: Addresses, price: float) -> Iterator[Call]:
    """Yield calls of ccxt."""
    library: Any = import_module("ccxt")
    options = {
        "defaultType": "spot",
        "fetchMargins": False,
        "fetchMarkets": {"types": ["spot"]},
        "fetchCurrencies": False,
    }
    client: Any = library.binance({"apiKey": at.key, "secret": at.secret, "timeout": 30_000, "options": options})
    for name, address in client.urls["api"].items():
        if isinstance(address, str):
            client.urls["api"][name] = re.sub(r"https://api\.binance\.com", at.rest, address)
    client.has["fetchCurrencies"] = False
    btc, low = "BTC/USDT", price * 0.9
    yield "load_markets", client.load_markets
    yield "fetch_ticker", lambda: client.fetch_ticker(btc)
    yield "fetch_tickers", client.fetch_tickers
    yield "fetch_order_book", lambda: client.fetch_order_book(btc, 5)
    yield "fetch_ohlcv", lambda: client.fetch_ohlcv(btc, "1h", limit=2)
    yield "fetch_trades", lambda: client.fetch_trades(btc, limit=1)
    yield "fetch_balance", client.fetch_balance
    yield "create_market_buy_order_with_cost", lambda: client.create_market_buy_order_with_cost(btc, 50)
    yield "create_limit_buy_order", lambda: client.create_limit_buy_order(btc, SMALL, low)
    stop = {"stopPrice": low * 1.01}
    yield "create_order, a stop", lambda: client.create_order(btc, "limit", "sell", SMALL, low, stop)
    yield "fetch_open_orders", lambda: client.fetch_open_orders(btc)
    yield "fetch_my_trades", lambda: client.fetch_my_trades(btc)

    def edit() -> object:
        bought = [each for each in client.fetch_open_orders(btc) if each["side"] == "buy"]
        return client.edit_order(bought[-1]["id"], btc, "limit", "buy", SMALL, low * 1.01)

    yield "edit_order", edit
    yield "cancel_all_orders", lambda: client.cancel_all_orders(btc)
    yield "create_limit_buy_order without funds", lambda: client.create_limit_buy_order(btc, 50, low)
    yield "fetch_trading_fee", lambda: client.fetch_trading_fee(btc)
    yield "publicPostUserDataStream", client.publicPostUserDataStream


LIBRARIES = (binance_sdk_spot, binance_sdk_futures, python_binance, binance_connector, ccxt)


def code_of(error: Exception) -> int | str:
    """Return Binance's code in an error; its text if there is none."""
    found = re.search(r"(?<![\w.])-\d{4}\b", str(error))
    return int(found[0]) if found else f"{type(error).__name__}: {error}"[:300]


def main() -> None:
    """Make every call and print the results."""
    at = Addresses(sys.argv[1])
    requests: Any = import_module("requests")
    told = requests.get(f"{at.rest}/api/v3/ticker/price", params=BTC, timeout=30).json()
    for library in LIBRARIES:
        for name, call in library(at, float(told["price"])):
            try:
                call()
            except Exception as error:  # noqa: BLE001 - any error of a library is a result
                code: int | str = code_of(error)
            else:
                code = 0
            print(json.dumps([library.__name__, name, code]), flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
