"""When chart-img.com does not draw: Binance pairs are drawn here and the answer says why, all else fails by name."""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import read_settings
from support.charts import ENVIRONMENT, answer_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement

TOOL = "generate_chart_image"
CHART_PATH = "/v2/tradingview/advanced-chart"
PAIR = {"symbol": "BINANCE:BTCUSDT", "interval": "1h", "range": "2D", "width": 400, "height": 300}
STOCK = {**PAIR, "symbol": "NASDAQ:AAPL"}
QUOTA = '{"message": "Limit Exceeded"}'


def failing(kind: Any, status: int = 500, body: str | None = None, told: str = "") -> Fault:  # noqa: ANN401 - a Kind
    headers = {"Retry-After": told} if told else {}
    return Fault(kind=kind, path=f"{CHART_PATH}*", status=status, body=body, headers=headers, times=None)


# What goes wrong, what the warning of a picture drawn here says of it, the service's status, the name of the error.
FAILURES = [
    pytest.param(failing("status", 401), ("Invalid API key", 401, "chart_key_refused"), id="key"),
    pytest.param(failing("status", 403), ("Forbidden", 403, "chart_refused"), id="forbidden"),
    pytest.param(failing("status", 429), ("Try again in 60 seconds", 429, "chart_limit_reached"), id="rate"),
    pytest.param(failing("status", 429, told="90"), ("in 90 seconds", 429, "chart_limit_reached"), id="told-wait"),
    pytest.param(failing("status", 429, QUOTA), ("Try again in 86", 429, "chart_limit_reached"), id="quota"),
    pytest.param(failing("status", 500), ("Something Went Wrong", 500, "chart_unavailable"), id="500"),
    pytest.param(failing("status", 504), ("External Request Timeout", 504, "chart_unavailable"), id="504"),
    pytest.param(failing("status", 302, ""), ("HTTP 302", 302, "chart_refused"), id="redirect"),
    pytest.param(failing("html"), ("no image", 0, "chart_unavailable"), id="html"),
    pytest.param(failing("truncated"), ("no whole PNG", 0, "chart_unavailable"), id="half-an-image"),
    pytest.param(failing("empty"), ("no whole PNG", 0, "chart_unavailable"), id="empty"),
    pytest.param(failing("cut_within"), ("connection failed", 0, "chart_unavailable"), id="cut"),
]


@pytest.fixture
def environment(exchange: SimulatedExchange) -> dict[str, str]:
    return {**ENVIRONMENT, "CHART_IMG_API_KEY": exchange.charts.api_key}


@pytest.fixture
async def app(environment: dict[str, str], clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[App]:
    settings = read_settings(environment)
    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as running:
        yield running


async def generate(client: Client, config: object, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(TOOL, {"config": config, **arguments})
    answer = answer_of(result)
    assert result.is_error is not answer["success"]
    return answer


def codes(answer: dict[str, Any]) -> list[str]:
    return [each.partition(":")[0] for each in answer["metadata"]["warnings"]]


@pytest.mark.slow
@requirement("ruling/38", "charts/error-authentication", "charts/error-rate-limit")
@pytest.mark.parametrize(("fault", "told"), FAILURES)
async def test_a_failure_draws_a_pair_here_and_names_itself_for_a_stock(
    app: App, exchange: SimulatedExchange, fault: Fault, told: tuple[str, int, str]
) -> None:
    said, status, named = told
    exchange.faults.add(fault)

    async with Client(app.server, cache=None) as client:
        pair = await generate(client, PAIR)
        stock = await generate(client, STOCK)

    metadata = pair["metadata"]
    assert (metadata["renderer"], metadata["format"], metadata["resolution"]) == ("local", "PNG", "400x300")
    assert codes(pair) == []
    (note,) = pair["notes"]
    assert note.startswith("Drawn by this server: chart-img.com did not draw it: ")
    assert said.rstrip(".") in note
    assert pair["apiResponse"] == {"statusCode": status}
    assert (stock["success"], stock["error_type"]) == (False, named)
    assert ("retryAfter" in stock) is (named == "chart_limit_reached")


async def test_too_fast_is_waited_out_before_anything_else(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path=CHART_PATH, status=429, times=3))

    answer = await generate(client, PAIR)

    assert (answer["metadata"]["renderer"], codes(answer)) == ("chart-img", ["other_market"])
    assert [each.status for each in exchange.requests if each.path == CHART_PATH] == [429, 429, 429, 200]


@pytest.mark.slow
async def test_silence_ends_and_the_pair_is_drawn_here(
    environment: dict[str, str], clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    class Silent(Loop):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.method == "POST":
                raise httpx2.ReadTimeout("silence")
            return await super().handle_async_request(request)

    async with (
        running_app(read_settings(environment), clock=clock, network=NETWORK, transport=Silent(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        answer = await generate(client, PAIR, storage=True)

    assert codes(answer) == ["kept_here"]
    assert answer["imageUrl"].startswith("chart://")


async def test_an_image_of_another_size_is_told_by_its_real_size(
    environment: dict[str, str], clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    class Shrunk(Loop):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.method != "POST":
                return await super().handle_async_request(request)
            changed = json.dumps({**json.loads(request.content), "width": 640}).encode()
            headers = {**dict(request.headers), "content-length": str(len(changed))}
            return await super().handle_async_request(
                httpx2.Request("POST", request.url, headers=headers, content=changed)
            )

    async with (
        running_app(read_settings(environment), clock=clock, network=NETWORK, transport=Shrunk(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        answer = await generate(client, PAIR)

    assert answer["metadata"]["resolution"] == "640x300"
    assert codes(answer) == ["size_differs", "other_market"]


@pytest.mark.slow
@requirement("ruling/38")
async def test_a_pair_that_the_service_does_not_know_is_drawn_here(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(failing("status", 422, '{"message": "Invalid Symbol"}'))

    answer = await generate(client, PAIR)

    assert answer["notes"] == ["Drawn by this server: chart-img.com did not draw it: symbol: Invalid Symbol."]
    assert answer["apiResponse"] == {"statusCode": 422}


@requirement("charts/error-validation")
async def test_whatever_else_the_service_calls_wrong_stays_an_error(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(failing("status", 422, '[{"msg": "must be a supported name", "param": "studies[0].name"}]'))

    answer = await generate(client, PAIR)

    assert (answer["error"], answer["error_type"]) == ("Invalid configuration", "invalid_chart_config")
    assert answer["details"] == [{"field": "studies[0].name", "message": "must be a supported name"}]


async def test_a_pair_that_nobody_knows_is_an_invalid_symbol_with_a_suggestion(client: Client) -> None:
    answer = await generate(client, {**PAIR, "symbol": "BINANCE:BTCUSD"})

    assert answer["error_type"] == "invalid_symbol"
    assert "BTCUSDT" in answer["did_you_mean"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", [{"interval": "1s", "range": None}, {"studies": [{"name": "KC", "inputs": {"mult": 1.5}}]}]
)
async def test_what_only_we_can_draw_is_drawn_here_without_asking(
    client: Client, exchange: SimulatedExchange, changed: dict[str, Any]
) -> None:
    answer = await generate(client, {**PAIR, **changed})

    assert answer["metadata"]["renderer"] == "local"
    assert "drawn locally only" in answer["notes"][0]
    assert exchange.charts.bodies == []


@pytest.mark.slow
async def test_a_known_plan_that_is_too_small_spares_the_question(
    clock: FakeClock, exchange: SimulatedExchange, environment: dict[str, str], era: str
) -> None:
    settings = read_settings({**environment, "CHART_IMG_PLAN": "BASIC"})
    exchange.charts.plan_name = "BASIC"
    many = {**PAIR, "studies": [{"name": "MA", "inputs": {"length": length}} for length in (5, 10, 15, 20)]}
    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        pair = await generate(client, many)
        stock = await generate(client, {**many, "symbol": STOCK["symbol"]})
        usual = await generate(client, {"symbol": "BINANCE:BTCUSDT", "interval": "1h"})

    assert pair["notes"] == ["Drawn by this server: 400x300 with 4 studies and drawings exceeds the BASIC plan."]
    assert "Parameter Limit (3)" in stock["error"]
    assert (usual["metadata"]["renderer"], usual["metadata"]["resolution"]) == ("chart-img", "800x450")


@requirement("charts/recover-missing-key")
async def test_without_a_key_what_only_the_service_draws_asks_for_one(
    clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    async with (
        running_app(read_settings(ENVIRONMENT), clock=clock, network=NETWORK, transport=Loop(exchange)) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        stock = await generate(client, STOCK)
        perpetual = await generate(client, {**PAIR, "symbol": "BINANCE:BTCUSDT.P"})
        wrong = await generate(client, {**STOCK, "theme": "pink"})
        large = await generate(client, {**PAIR, "width": 4000})

    assert stock["error"] == "Invalid API key. Check CHART_IMG_API_KEY environment variable."
    assert "with mcp-binance-server setup, or set CHART_IMG_API_KEY" in stock["recovery_suggestion"]
    assert (stock["details"][0]["field"], perpetual["error_type"]) == ("symbol", "chart_key_refused")
    assert [each["field"] for each in wrong["details"]] == ["theme"]
    assert [each["field"] for each in large["details"]] == ["resolution"]
    assert exchange.charts.bodies == []


async def test_when_both_fail_the_service_s_own_failure_is_told(client: Client, exchange: SimulatedExchange) -> None:
    exchange.faults.add(Fault(kind="status", path="*", status=503, times=None))

    answer = await generate(client, PAIR)

    assert answer["error_type"] == "chart_unavailable"


@pytest.mark.slow
async def test_the_key_is_in_no_answer_and_no_log(
    app: App, exchange: SimulatedExchange, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = exchange.charts.api_key
    said: list[str] = []
    async with Client(app.server, cache=None) as client:
        for status in (401, 403, 422, 500):
            exchange.faults.add(failing("status", status, json.dumps({"message": f"no such key {key}"})))
            said.append(json.dumps(await generate(client, PAIR)))
            said.append(json.dumps(await generate(client, STOCK)))
            exchange.faults.clear()
        said.append(json.dumps(await generate(client, PAIR, storage=True)))

    pieces = {key[at : at + 9] for at in range(len(key) - 8)}
    assert not [piece for piece in pieces for text in (*said, caplog.text) if piece in text]
