"""fetch_chart_documentation, get_exchanges and get_symbols, as a client calls them."""

from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import running_app
from mcp_binance_server.settings import Settings, read_settings
from support.charts import ENVIRONMENT, fitting, paths, with_a_key
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.golden import Golden
from support.requirement import requirement
from support.served import Place, text_of

DOCUMENTATION = "fetch_chart_documentation"
CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}


@pytest.fixture
def settings(exchange: SimulatedExchange) -> Settings:
    return read_settings(with_a_key(exchange, "pro"))


@pytest.fixture
def place(clock: FakeClock, exchange: SimulatedExchange, era: str) -> Place:
    return Place(clock, exchange, era)


async def ask(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return (await fitting(client, tool, arguments)).structured_content


@pytest.mark.slow
@requirement(
    "charts/fetch_chart_documentation",
    "charts/fetch_chart_documentation/output",
    "charts/fetch_chart_documentation/indicators",
    "ruling/34",
)
async def test_the_sample_request_for_indicators_is_answered_as_the_contract_shows(
    client: Client, golden: Golden
) -> None:
    answer = await ask(client, DOCUMENTATION, {"section": "indicators"})

    by_name = {each["name"]: each for each in answer["data"]["indicators"]}
    bollinger, rsi = by_name["BollingerBands@tv-basicstudies"], by_name["RSI@tv-basicstudies"]
    assert answer["success"] is True
    assert len(by_name) == 92
    assert (bollinger["displayName"], bollinger["category"]) == ("Bollinger Bands", "Volatility")
    assert bollinger["inputs"] == {
        "length": {"type": "number", "default": 20, "description": "look-back in bars", "min": 1, "max": 10000},
        "stdDev": {
            "type": "number",
            "default": 2,
            "description": "band width in standard deviations",
            "min": 0.001,
            "max": 50,
        },
    }
    assert (rsi["displayName"], rsi["category"], rsi["inputs"]["length"]["default"]) == ("RSI", "Momentum", 14)
    assert {each["type"] for one in by_name.values() for each in one["inputs"].values()} == {
        "number",
        "string",
        "boolean",
    }
    assert answer["data"]["studies"] == answer["data"]["indicators"]
    assert not any(answer["data"]["chartParameters"].values())
    assert {"intervals", "ranges", "themes", "styles"} <= set(answer["data"]["chartParameters"])
    assert (answer["data"]["rateLimits"], answer["data"]["examples"]) == ({}, [])
    assert answer["cachedAt"] == "2026-07-21T00:02:03.456Z"
    golden.check("tools/fetch_chart_documentation.answer.md", text_of(await client.call_tool(DOCUMENTATION, {})))


@requirement(
    "charts/fetch_chart_documentation/parameters",
    "charts/fetch_chart_documentation/limits",
    "charts/fetch_chart_documentation/examples",
)
async def test_parameters_come_with_plans_and_examples(client: Client) -> None:
    data = (await ask(client, DOCUMENTATION, {"section": "parameters"}))["data"]

    assert {"1m", "5m", "15m", "1h", "1D"} <= set(data["chartParameters"]["intervals"])
    assert {"1D", "5D", "1M", "3M"} <= set(data["chartParameters"]["ranges"])
    assert data["chartParameters"]["themes"] == ["light", "dark"]
    assert {"candle", "line", "bar"} <= set(data["chartParameters"]["styles"])
    assert data["rateLimits"]["BASIC"] == {
        "requestsPerSecond": 1,
        "dailyMax": 50,
        "maxResolution": "800x600",
        "maxStudies": 3,
    }
    assert list(data["rateLimits"]) == ["BASIC", "PRO", "MEGA", "ULTRA", "ENTERPRISE"]
    assert data["examples"][0]["description"] == "BINANCE:ETHUSDT, 4h, Relative Strength Index"
    assert data["examples"][0]["config"]["symbol"] == "BINANCE:ETHUSDT"
    assert data["indicators"] == []


@pytest.mark.slow
@requirement("charts/fetch_chart_documentation/sections", "charts/fetch_chart_documentation/input")
@pytest.mark.parametrize(
    ("arguments", "filled"),
    [
        ({}, {"indicators", "chartParameters", "rateLimits", "examples", "exchanges"}),
        ({"section": "all"}, {"indicators", "chartParameters", "rateLimits", "examples", "exchanges"}),
        ({"section": "indicators", "forceRefresh": False}, {"indicators", "studies"}),
        ({"section": "parameters"}, {"chartParameters", "rateLimits", "examples"}),
        ({"section": "exchanges"}, {"exchanges"}),
    ],
)
async def test_a_section_fills_its_own_members_and_the_others_are_there(
    client: Client, arguments: dict[str, Any], filled: set[str]
) -> None:
    data = (await ask(client, DOCUMENTATION, arguments))["data"]

    members = {name: any(value.values()) if name == "chartParameters" else value for name, value in data.items()}
    assert {name for name, value in members.items() if value} == filled
    assert {"indicators", "chartParameters", "rateLimits", "examples"} <= set(data)


@pytest.mark.parametrize("arguments", [{"section": "everything"}, {"refresh": True}, {"forceRefresh": "soon"}])
async def test_other_sections_and_arguments_are_refused(client: Client, arguments: dict[str, Any]) -> None:
    answer = await ask(client, DOCUMENTATION, arguments)

    assert (answer["success"], answer["code"]) == (False, -32602)


@pytest.mark.slow
@requirement("charts/fetch_chart_documentation/cache")
async def test_the_answer_says_how_fresh_it_is(client: Client, exchange: SimulatedExchange, clock: FakeClock) -> None:
    async def source(*, force: bool = False) -> tuple[str, bool]:
        answer = await ask(client, DOCUMENTATION, {"section": "parameters", "forceRefresh": force})
        return answer["source"], "warning" in answer

    seen = [await source(), await source(), await source(force=True)]
    clock.advance(25 * 3_600_000)
    exchange.faults.add(Fault(kind="status", path="/chart-docs", status=500, times=None))
    seen.append(await source())

    assert seen == [("live", False), ("cache", False), ("live", False), ("stale", True)]


async def test_without_the_network_the_bundled_copy_answers_and_says_so(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", path="/chart-docs", status=500, times=None))

    result = await client.call_tool(DOCUMENTATION, {"section": "parameters"})

    assert result.structured_content["source"] == "bundled"
    assert result.structured_content["cachedAt"] == "2025-11-26T00:00:00.000Z"
    assert len(result.structured_content["data"]["examples"]) == 2
    assert "*Source: bundled, as of 2025-11-26T00:00:00.000Z; could not be fetched" in text_of(result)


@requirement(
    "charts/get_exchanges",
    "charts/get_exchanges/input",
    "charts/get_exchanges/output",
    "charts/get_exchanges/exchange",
    "charts/get_exchanges/order",
)
async def test_exchanges_are_described_and_sorted_by_type_then_name(
    client: Client, exchange: SimulatedExchange, golden: Golden
) -> None:
    answer = await ask(client, "get_exchanges", {})

    rows = answer["exchanges"]
    assert {
        "id": "BINANCE",
        "name": "Binance",
        "type": "crypto",
        "description": "Global cryptocurrency exchange",
    } in rows
    assert next(each for each in rows if each["id"] == "NASDAQ")["type"] == "stock"
    assert rows == sorted(rows, key=lambda each: (each["type"], each["name"].casefold()))
    assert answer["count"] == len(rows) == len(exchange.charts.facts.exchanges)
    assert (await ask(client, "get_exchanges", {"x": 1}))["success"] is False
    golden.check("tools/get_exchanges.answer.md", text_of(await client.call_tool("get_exchanges", {})))


@requirement(
    "charts/get_symbols",
    "charts/get_symbols/input",
    "charts/get_symbols/output",
    "charts/get_symbols/symbol",
    "ruling/36",
)
async def test_the_sample_request_for_symbols_is_answered_as_the_contract_shows(client: Client, golden: Golden) -> None:
    answer = await ask(client, "get_symbols", {"exchange": "BINANCE", "search": "BTC", "limit": 10})

    assert (answer["success"], answer["exchange"], answer["source"]) == (True, "BINANCE", "live")
    assert answer["symbols"][0] == {
        "symbol": "BTCUSDT",
        "fullSymbol": "BINANCE:BTCUSDT",
        "description": "Bitcoin / TetherUS",
        "type": "crypto",
    }
    assert answer["count"] == len(answer["symbols"]) == 10
    assert answer["total"] == 13
    golden.check("tools/get_symbols.answer.json", answer)
    again = await client.call_tool("get_symbols", {"exchange": "BINANCE", "search": "BTC", "limit": 10})
    golden.check("tools/get_symbols.answer.md", text_of(again))


@requirement("charts/get_symbols/limit")
async def test_fifty_symbols_are_answered_unless_more_are_asked_for(
    client: Client, exchange: SimulatedExchange
) -> None:
    usual = await ask(client, "get_symbols", {"exchange": "binance"})
    most = await ask(client, "get_symbols", {"exchange": " Binance ", "limit": 500})

    assert (usual["count"], usual["total"]) == (50, most["count"])
    assert most["count"] > len(exchange.listing.symbols)
    assert usual["more"] == f'get_symbols {{"exchange": "BINANCE", "limit": {most["count"]}}}'
    assert "more" not in most
    for limit in (0, 501):
        assert (await ask(client, "get_symbols", {"exchange": "BINANCE", "limit": limit}))["success"] is False


@requirement("charts/get_symbols/search")
async def test_a_description_is_found_although_the_service_searches_names_only(client: Client) -> None:
    answer = await ask(client, "get_symbols", {"exchange": "NASDAQ", "search": "apple"})

    assert [(each["fullSymbol"], each["type"]) for each in answer["symbols"]] == [("NASDAQ:AAPL", "stock")]


async def test_names_that_begin_with_the_search_come_first(client: Client) -> None:
    answer = await ask(client, "get_symbols", {"exchange": "BINANCE", "search": "eth", "limit": 500})

    begins = [each["symbol"].startswith("ETH") for each in answer["symbols"]]
    assert begins == sorted(begins, reverse=True)
    assert 0 < sum(begins) < len(begins)


@pytest.mark.parametrize(
    ("exchange_id", "kinds"),
    [("COINBASE", {"crypto"}), ("FX", {"forex"}), ("NASDAQ", {"stock", "fund"}), ("CME", {"futures"})],
)
async def test_a_symbol_has_the_type_of_its_market(client: Client, exchange_id: str, kinds: set[str]) -> None:
    answer = await ask(client, "get_symbols", {"exchange": exchange_id})

    assert {each["type"] for each in answer["symbols"]} == kinds


async def test_an_exchange_that_does_not_exist_is_told_plainly(client: Client, exchange: SimulatedExchange) -> None:
    unknown = await ask(client, "get_symbols", {"exchange": "NOWHERE"})
    asked = paths(exchange)
    impossible = await ask(client, "get_symbols", {"exchange": "../../v2"})

    assert (unknown["error_type"], unknown["http_status"]) == ("chart_refused", 404)
    assert asked == ["/v3/tradingview/exchange/NOWHERE", "/v3/tradingview/exchange/NOWHERE/symbols"]
    assert impossible["error_type"] == "invalid_arguments"
    assert paths(exchange) == []


async def test_nothing_that_matches_is_no_failure(client: Client) -> None:
    result = await client.call_tool("get_symbols", {"exchange": "NASDAQ", "search": "zzz"})

    assert (result.structured_content["success"], result.structured_content["count"]) == (True, 0)
    assert text_of(result).startswith("No symbol of NASDAQ matches.")


@requirement("charts/recover-missing-key")
async def test_without_a_key_binance_is_listed_by_binance_and_others_need_one(place: Place) -> None:
    async with place.served(ENVIRONMENT) as client:
        binance = await ask(client, "get_symbols", {"exchange": "BINANCE", "search": "bitcoin", "limit": 1})
        nasdaq = await ask(client, "get_symbols", {"exchange": "NASDAQ"})
        exchanges = await ask(client, "get_exchanges", {})

    assert binance["source"] == "binance"
    assert [each["description"] for each in binance["symbols"]] == ["Bitcoin / TetherUS"]
    assert nasdaq["error"] == "Invalid API key. Check CHART_IMG_API_KEY environment variable."
    assert "mcp-binance-server setup, or set CHART_IMG_API_KEY" in nasdaq["recovery_suggestion"]
    assert (exchanges["source"], exchanges["count"]) == ("bundled", 67)
    assert place.asked() == ["exchangeInfo"]


async def test_when_the_service_fails_binance_is_listed_by_binance(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="/v3/*", status=503, times=None))

    answer = await ask(client, "get_symbols", {"exchange": "BINANCE", "search": "BTC"})

    assert answer["source"] == "binance"
    assert "HTTP 503" in answer["warning"]


class Gathering(Loop):
    """A service that answers nobody before so many different requests have come."""

    def __init__(self, exchange: SimulatedExchange, *, awaited: int) -> None:
        super().__init__(exchange)
        self._awaited, self._here, self._all = awaited, set[str](), anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._here.add(request.url.path)
        if len(self._here) == self._awaited:
            self._all.set()
        await self._all.wait()
        return await super().handle_async_request(request)


@pytest.mark.slow
@requirement("charts/parallel")
async def test_tools_that_do_not_need_each_other_run_at_the_same_time(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    apart: tuple[tuple[str, dict[str, Any]], ...] = (
        (DOCUMENTATION, {"section": "parameters"}),
        ("get_exchanges", {}),
        ("get_symbols", {"exchange": "NASDAQ"}),
        ("get_symbols", {"exchange": "KRAKEN"}),
    )
    transport = Gathering(exchange, awaited=len(apart))
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport, attempt_secs=600) as app,
        Client(app.server, mode=era, cache=None) as client,
        anyio.create_task_group() as group,
    ):
        for tool, arguments in apart:
            for _ in range(10):
                group.start_soon(ask, client, tool, arguments)

    assert sorted(paths(exchange)) == [
        "/chart-docs",
        "/v3/tradingview/exchange/KRAKEN",
        "/v3/tradingview/exchange/NASDAQ",
        "/v3/tradingview/exchange/list",
    ]


@pytest.mark.slow
@requirement("charts/rule-values")
@pytest.mark.parametrize(
    ("field", "value", "row"),
    [
        ("theme", "sepia", "[light, dark]"),
        ("style", "renko", "[bar, candle, line, area, heikinAshi, hollowCandle, baseline, hiLo, column]"),
        ("interval", "10m", "[1m, 3m, 5m, 15m,"),
        ("scale", "inverted", "[regular, percent, indexedTo100, logarithmic]"),
    ],
)
async def test_a_value_that_is_documented_is_allowed_and_one_that_is_no_longer_is_not(
    client: Client, exchange: SimulatedExchange, field: str, value: str, row: str
) -> None:
    page, dropped = exchange.charts.documentation, row.strip("[]").split(", ")[1].rstrip(",")
    exchange.charts.page = page.replace(row, row.replace(dropped, value, 1))
    charts = [{**CHART, field: each} for each in (value, dropped)]

    async def judged() -> list[bool]:
        answers = [await ask(client, "validate_chart_config", {"config": config}) for config in charts]
        return [not [each for each in answer["errors"] if each["field"] == field] for answer in answers]

    before = await judged()
    await ask(client, DOCUMENTATION, {})
    after = await judged()

    assert page.count(row) >= 1
    assert (before, after) == ([False, True], [True, False])
