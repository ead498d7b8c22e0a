"""The loopback exchange all peers talk to: a tiny built-in fake, or a counting relay in front of a given exchange."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

Answer = tuple[int, dict[str, str], bytes]
NONE: list[object] = []
NOTHING: dict[str, object] = {}
ASSETS = {"BTCUSDT": ("BTC", "USDT"), "ETHUSDT": ("ETH", "USDT")}


def _now() -> int:
    return int(time.time() * 1000)


def _symbol_rules(symbol: str) -> dict[str, object]:
    base, quote = ASSETS[symbol]
    price = {"filterType": "PRICE_FILTER", "minPrice": "0.01", "maxPrice": "1000000.00", "tickSize": "0.01"}
    lot = {"filterType": "LOT_SIZE", "minQty": "0.00001", "maxQty": "9000.0", "stepSize": "0.00001"}
    notional = {"filterType": "NOTIONAL", "minNotional": "5.0", "applyMinToMarket": True, "maxNotional": "9000000.0"}
    return {
        "symbol": symbol, "status": "TRADING", "baseAsset": base, "quoteAsset": quote,
        "baseAssetPrecision": 8, "quotePrecision": 8, "quoteAssetPrecision": 8, "orderTypes": ["LIMIT", "MARKET"],
        "isSpotTradingAllowed": True, "isMarginTradingAllowed": False, "permissions": ["SPOT"],
        "permissionSets": [["SPOT"]], "filters": [price, lot, notional],
    }  # fmt: skip


def _ticker(symbol: str) -> dict[str, object]:
    return {
        "symbol": symbol, "priceChange": "100.00", "priceChangePercent": "0.150", "weightedAvgPrice": "67000.00",
        "prevClosePrice": "66900.00", "lastPrice": "67000.10", "lastQty": "0.10000", "bidPrice": "67000.00",
        "bidQty": "1.00000", "askPrice": "67000.10", "askQty": "2.00000", "openPrice": "66900.00",
        "highPrice": "68000.00", "lowPrice": "66000.00", "volume": "1234.50000", "quoteVolume": "82711500.00",
        "openTime": _now() - 86_400_000, "closeTime": _now(), "firstId": 1, "lastId": 2, "count": 2,
    }  # fmt: skip


def _depth(limit: int) -> dict[str, object]:
    bids = [[f"{67000 - i / 10:.2f}", "1.00000000"] for i in range(limit)]
    asks = [[f"{67000.1 + i / 10:.2f}", "1.00000000"] for i in range(limit)]
    return {"lastUpdateId": 1, "bids": bids, "asks": asks}


def _klines(limit: int) -> list[list[object]]:
    hour, end = 3_600_000, _now() // 3_600_000 * 3_600_000
    opens = range(end - (limit - 1) * hour, end + hour, hour)
    rest = ["67000.1", "67100.0", "66900.0", "67050.0", "12.3"]
    return [[at, *rest, at + hour - 1, "824000.0", 100, "6.1", "410000.0", "0"] for at in opens]


def fake(path: str, query: dict[str, str]) -> tuple[int, object]:
    """Answer like Binance spot, just enough for the four peers."""
    symbol = query.get("symbol", "BTCUSDT")
    if symbol not in ASSETS:
        return 400, {"code": -1121, "msg": "Invalid symbol."}
    account = {
        "makerCommission": 10, "takerCommission": 10, "canTrade": True, "canWithdraw": False, "canDeposit": True,
        "accountType": "SPOT", "updateTime": 1, "permissions": ["SPOT"],
        "balances": [{"asset": "BTC", "free": "0.50000000", "locked": "0.10000000"}],
    }  # fmt: skip
    order = {"symbol": symbol, "orderId": 1, "clientOrderId": "x", "transactTime": _now(), "status": "FILLED"}
    best = {"symbol": symbol, "bidPrice": "67000.00", "bidQty": "1", "askPrice": "67000.10", "askQty": "2"}
    answers: dict[str, Callable[[], object]] = {
        "ping": lambda: NOTHING,
        "time": lambda: {"serverTime": _now()},
        "exchangeInfo": lambda: {
            "timezone": "UTC", "serverTime": _now(), "rateLimits": NONE, "exchangeFilters": NONE,
            "symbols": [_symbol_rules(name) for name in ASSETS],
        },
        "ticker/24hr": lambda: _ticker(symbol),
        "ticker/price": lambda: {"symbol": symbol, "price": "67000.10"},
        "ticker/bookTicker": lambda: best,
        "depth": lambda: _depth(int(query.get("limit", 100))),
        "klines": lambda: _klines(int(query.get("limit", 500))),
        "account": lambda: account,
        "order": lambda: order | {"executedQty": query.get("quantity"), "fills": NONE},
        "order/test": lambda: NOTHING,
        "avgPrice": lambda: {"mins": 5, "price": "67000.10", "closeTime": _now()},
        "trades": lambda: [
            {
                "id": 1, "price": "67000.10", "qty": "0.1", "quoteQty": "6700.01", "time": _now(),
                "isBuyerMaker": True, "isBestMatch": True,
            }
        ],
        "aggTrades": lambda: [
            {"a": 1, "p": "67000.10", "q": "0.1", "f": 1, "l": 1, "T": _now(), "m": True, "M": True}
        ],
        "openOrders": lambda: NONE,
        "allOrders": lambda: NONE,
        "myTrades": lambda: NONE,
    }  # fmt: skip
    for ending, make in answers.items():
        if path.endswith("/" + ending):
            return 200, make()
    return 200, NONE if "sapi" in path else NOTHING


class Exchange:
    """Serve on a free loopback port, count what arrives, and on request answer everything with one fault."""

    def __init__(self, upstream: str | None = None) -> None:
        self.upstream = urlsplit(upstream) if upstream else None
        self.seen: list[str] = []
        self.fault: Answer | None = None
        self.local = threading.local()
        exchange = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1  # head and body leave in one segment; otherwise delayed ACKs add 40 ms

            def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its own name

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                exchange.seen.append(f"{self.command} {self.path}")
                status, headers, answer = exchange.fault or exchange.answer(
                    self.command, self.path, dict(self.headers.items()), body
                )
                self.send_response(status)
                for name, value in ({"content-type": "application/json"} | headers).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(
                self, request: object, client_address: object
            ) -> None: ...  # a peer that hangs up is its own affair

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        parts = urlsplit(target)
        if not self.upstream:
            raw = parse_qs(parts.query) | parse_qs(body.decode())
            status, value = fake(unquote(parts.path), {name: values[0] for name, values in raw.items()})
            return status, {"X-MBX-USED-WEIGHT-1M": "42"}, json.dumps(value).encode()
        if not (link := getattr(self.local, "link", None)):
            link = self.local.link = http.client.HTTPConnection(self.upstream.netloc, timeout=30)
            link.connect()
            link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        passed = {name: value for name, value in headers.items() if name.lower() not in ("host", "accept-encoding")}
        try:
            link.request(method, self.upstream.path.rstrip("/") + target, body or None, passed)
            reply = link.getresponse()
            answer = reply.read()
        except (OSError, http.client.HTTPException):
            self.local.link = None
            return 502, {}, b'{"code": 0, "msg": "relay: the exchange did not answer"}'
        kept = {n: v for n, v in reply.getheaders() if n.lower().startswith(("x-", "retry-after", "content-type"))}
        return reply.status, {name.lower(): value for name, value in kept.items()}, answer

    def ban(self, seconds: int) -> None:
        """Answer everything with 418 as Binance does to a banned address."""
        until = _now() + seconds * 1000
        text = f"Way too much request weight used; IP banned until {until}. Please use WebSocket Streams."
        body = json.dumps({"code": -1003, "msg": text}).encode()
        self.fault = (418, {"retry-after": str(seconds)}, body)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":
    exchange = Exchange()
    print(exchange.url, flush=True)
    threading.Event().wait()
