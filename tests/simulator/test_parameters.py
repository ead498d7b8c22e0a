"""Parameters are read as Binance reads them, and refused with its words."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest

pytestmark = pytest.mark.anyio

Get = Callable[[str], Awaitable[httpx2.Response]]

SYMBOL_RANGE = r"^[\w\-._&&[^a-z]]{1,50}$"


@pytest.mark.parametrize(
    ("path", "code", "msg"),
    [
        ("depth", -1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed."),
        ("depth?symbol=", -1105, "Parameter 'symbol' was empty."),
        ("depth?symbol=NOSUCH", -1121, "Invalid symbol."),
        (
            "depth?symbol=btcusdt",
            -1100,
            f"Illegal characters found in parameter 'symbol'; legal range is '{SYMBOL_RANGE}'.",
        ),
        (
            "ticker/price?symbol=BTC%2FUSDT",
            -1100,
            f"Illegal characters found in parameter 'symbol'; legal range is '{SYMBOL_RANGE}'.",
        ),
        (
            "depth?symbol=%FF%FE",
            -1100,
            f"Illegal characters found in parameter 'symbol'; legal range is '{SYMBOL_RANGE}'.",
        ),
        ("depth?symbol=%EF%BC%91%EF%BC%92", -1121, "Invalid symbol."),
        (
            "depth?symbol=BTCUSDT&limit=ten",
            -1100,
            "Illegal characters found in parameter 'limit'; legal range is '^[0-9]{1,20}$'.",
        ),
        ("depth?symbol=BTCUSDT&limit=0", -1130, "Data sent for parameter 'limit' is not valid."),
        (
            "depth?symbol=BTCUSDT&colour=red",
            -1104,
            "Not all sent parameters were read; read '1' parameter(s) but was sent '2'.",
        ),
        ("time?x=1", -1101, "Too many parameters; expected '0' and received '1'."),
        ("depth?symbol=BTCUSDT&symbol=ETHUSDT", -1101, "Duplicate values for a parameter detected."),
        ("klines?symbol=BTCUSDT&interval=7m", -1120, "Invalid interval."),
        ("klines?symbol=BTCUSDT&interval=1H", -1120, "Invalid interval."),
        (
            "klines?symbol=BTCUSDT",
            -1102,
            "Mandatory parameter 'interval' was not sent, was empty/null, or malformed.",
        ),
        (
            "ticker/24hr?symbol=BTCUSDT&symbols=%5B%22ETHUSDT%22%5D",
            -1128,
            "Combination of optional parameters invalid.",
        ),
        (
            "exchangeInfo?symbol=BTCUSDT&permissions=SPOT",
            -1128,
            "Combination of optional parameters invalid.",
        ),
        (
            "exchangeInfo?symbol=BTCUSDT&symbolStatus=TRADING",
            -1128,
            "Combination of optional parameters invalid.",
        ),
        ("exchangeInfo?symbol=NOSUCH", -1121, "Invalid symbol."),
        ("exchangeInfo?permissions=%5B1%5D", -1130, "Data sent for parameter 'permissions' is not valid."),
        ("exchangeInfo?permissions=%5B%5D", -1130, "Data sent for parameter 'permissions' is not valid."),
        (
            "exchangeInfo?showPermissionSets=maybe",
            -1100,
            "Illegal characters found in parameter 'showPermissionSets'; legal range is '^(true|false)$'.",
        ),
        (
            "ticker/price?symbols=%5B%22BTCUSDT%22,%22BTCUSDT%22%5D",
            -1151,
            "Symbol is present multiple times in the list.",
        ),
    ],
)
async def test_a_bad_parameter_is_refused_with_the_words_of_binance(get: Get, path: str, code: int, msg: str) -> None:
    answer = await get(path)

    assert answer.status_code == 400
    assert answer.json() == {"code": code, "msg": msg}


@pytest.mark.parametrize("value", ["BTCUSDT", "%5B%22BTCUSDT%22,%20%22ETHUSDT%22%5D", "%5B%22btcusdt%22%5D", "%5B1%5D"])
async def test_a_list_of_symbols_is_a_json_array_without_spaces(get: Get, value: str) -> None:
    answer = await get(f"ticker/price?symbols={value}")

    assert answer.json()["code"] == -1100
    assert "'symbols'" in answer.json()["msg"]


async def test_unicode_symbols_are_legal(get: Get) -> None:
    answer = await get("ticker/price?symbol=%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9FUSDT")

    assert answer.json()["symbol"] == "币安人生USDT"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("symbol=BTCUSDT", ["BTCUSDT"]),
        ("symbols=%5B%22ETHUSDT%22,%22BTCUSDT%22%5D", ["BTCUSDT", "ETHUSDT"]),
        ("symbolStatus=BREAK", ["LUNAUSDT", "MATICUSDT"]),
        ("symbolStatus=HALT&permissions=SPOT", ["BTCBUSD"]),
    ],
)
async def test_exchange_info_shows_the_symbols_asked_for(get: Get, query: str, names: list[str]) -> None:
    answer = await get(f"exchangeInfo?{query}")

    assert [symbol["symbol"] for symbol in answer.json()["symbols"]] == names


async def test_exchange_info_is_filtered_by_permission(get: Get) -> None:
    everything = (await get("exchangeInfo")).json()["symbols"]
    margin = (await get('exchangeInfo?permissions=["MARGIN","LEVERAGED"]')).json()["symbols"]

    assert len(everything) == 45
    assert 0 < len(margin) < len(everything)
    assert all("MARGIN" in names for symbol in margin for names in symbol["permissionSets"])


async def test_permission_sets_can_be_left_out(get: Get) -> None:
    answer = await get("exchangeInfo?symbol=BTCUSDT&showPermissionSets=false")

    assert answer.json()["symbols"][0]["permissionSets"] == []


@pytest.mark.parametrize("path", ["nothing", "order/test", ""])
async def test_an_unknown_path_is_not_found(get: Get, path: str) -> None:
    answer = await get(path)

    assert answer.status_code == 404
    assert answer.json() == {"code": -5000, "msg": f"Path /api/v3/{path}, Method GET is invalid"}
    assert answer.headers["x-mbx-used-weight-1m"] == "1"


@pytest.mark.parametrize(("method", "path"), [("POST", "depth"), ("PUT", "order"), ("DELETE", "account")])
async def test_a_method_that_an_endpoint_does_not_have_is_refused(
    api: httpx2.AsyncClient, method: str, path: str
) -> None:
    answer = await api.request(method, f"/api/v3/{path}", content=b"symbol=BTCUSDT")

    assert answer.status_code == 404
    assert answer.json() == {"code": -5000, "msg": f"Path /api/v3/{path}, Method {method} is invalid"}
