"""A server with keys, driven through every failure at the loudest log level: no piece of a key in anything it says."""

import json
import logging
from collections.abc import Iterator

import httpx2
import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App
from mcp_binance_server.errors import AppError
from support.canaries import hits, pieces
from support.process import Process
from support.requirement import requirement

pytestmark = pytest.mark.flood

FAULTS = (
    {"kind": "status", "status": 401, "code": -2015, "msg": "Invalid API-key, IP, or permissions for action."},
    {"kind": "status", "status": 400, "code": -1022, "msg": "Signature for this request is not valid."},
    {"kind": "status", "status": 500, "code": -1000},
    {"kind": "status", "status": 403, "body": "<html>403</html>"},
    {"kind": "html"},
    {"kind": "truncated"},
    {"kind": "cut_before"},
    {"kind": "cut_within"},
    {"kind": "gzip"},
    {"kind": "status", "status": 418, "code": -1003, "headers": {"Retry-After": "1"}},
)


PAGES = ("binance://market/ethusdt", "binance://account/balances", "binance://orders/history")
CALLS: dict[str, dict[str, object]] = {
    "get_ticker": {"symbol": "BTCUSDT"},
    "get_account_info": {},
    "get_open_orders": {},
    "get_order": {"symbol": "BTCUSDT", "order_id": 1},
    "get_account_trades": {"symbol": "BTCUSDT"},
}


@pytest.fixture
def exchange_process() -> Iterator[dict[str, str]]:
    with Process("simulator", warm=True) as process:
        yield json.loads(process.line())
        process.terminate()


@requirement("data-model/credentials-unlogged")
def test_no_piece_of_a_key_leaves_the_process(exchange_process: dict[str, str]) -> None:
    key, secret = exchange_process["api_key"], exchange_process["secret_key"]
    environment = {"BINANCE_REST_URL": exchange_process["rest"], "BINANCE_API_KEY": key, "BINANCE_SECRET_KEY": secret}
    said: list[str] = []

    with Process("--stdio", environment=environment, warm=True) as server:
        said.append(json.dumps(server.shake_hands()))
        for place, fault in enumerate(FAULTS, 1):
            httpx2.post(f"{exchange_process['control']}/faults", json={**fault, "times": 12}).raise_for_status()
            said += [json.dumps(server.ask(f"{place} {uri}", "resources/read", {"uri": uri})) for uri in PAGES]
            said += [
                json.dumps(server.ask(f"{place} {name}", "tools/call", {"name": name, "arguments": arguments}))
                for name, arguments in CALLS.items()
            ]
            httpx2.delete(f"{exchange_process['control']}/faults").raise_for_status()
        requests = httpx2.get(f"{exchange_process['control']}/requests").json()
        server.close_input()
        server.wait()

    errors = server.errors.read_text(errors="replace")
    sent = {each["path"].rpartition("/")[2] for each in requests}
    assert {"account", "openOrders", "order", "myTrades"} <= sent, "a signed call was never sent"
    assert hits(json.dumps(said), pieces(key, secret)) == set()
    assert hits(errors, pieces(key, secret)) == set()
    assert "DEBUG" in errors


async def test_no_error_of_a_signed_call_shows_a_piece_of_a_key(
    app: App, exchange: SimulatedExchange, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wanted = pieces(exchange.account.api_key, exchange.account.secret_key)
    for fault in FAULTS[:-1]:
        exchange.faults.add(Fault(**{**fault, "path": "*/account", "times": 3}))  # pyright: ignore[reportArgumentType]
        with pytest.raises(AppError) as caught:
            await app.account.account()
        exchange.faults.clear()
        shown = f"{caught.value} {caught.value!r} {caught.value.data()} {app.account!r}"
        assert hits(shown, wanted) == set()

    assert hits(caplog.text, wanted) == set()
