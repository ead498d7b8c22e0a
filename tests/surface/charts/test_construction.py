"""construct_chart_config through a client: the sample, its shape, refusals, and what it asks of the network."""

import json
from typing import Any

import anyio
import httpx2
import pytest
from jsonschema import validate
from mcp import Client, types
from pydantic import SecretStr

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import Settings
from mcp_binance_server.surface.catalogue import CATALOGUE
from support.clock import FakeClock
from support.contracts import read_contract
from support.desk import NETWORK, Loop
from support.fixtures import CONTRACT_DOCUMENTS, needs
from support.golden import Golden
from support.requirement import requirement

TOOL = "construct_chart_config"


def schema(kind: str) -> dict[str, Any]:
    spec = CATALOGUE.tool(TOOL)
    assert spec is not None
    return (spec.wire.input_schema if kind == "input" else spec.wire.output_schema) or {}


async def constructed(client: Client, text: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(TOOL, {"naturalLanguage": text, **arguments})
    validate(result.structured_content, schema("output"))
    assert result.is_error is False
    return result.structured_content


@needs(CONTRACT_DOCUMENTS)
@requirement("charts/construct_chart_config/example")
async def test_the_sample_is_answered_as_the_contract_shows(client: Client) -> None:
    section = read_contract("chart tools").split("## Tool 4:")[1].split("## Tool 5:")[0]
    request, response = (json.loads(part.split("```")[0]) for part in section.split("```json")[1:3])

    result = await client.call_tool(TOOL, request["input"])

    assert result.structured_content == response


async def test_the_answer_is_the_same_as_text_and_as_data(client: Client, golden: Golden) -> None:
    text = "compare ETH and SOL 4h, EMA 21 and RSI, support at 3,000, long from 3200 target 3600 stop 3050, no grid"

    result = await client.call_tool(TOOL, {"naturalLanguage": text, "preferences": {"theme": "light"}})

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert json.loads(content.text) == result.structured_content
    golden.check(f"tools/{TOOL}.answer.json", result.structured_content)


@requirement(
    "charts/construct_chart_config/input",
    "charts/construct_chart_config/output",
    "charts/construct_chart_config/config",
    "charts/construct_chart_config/studies",
    "charts/construct_chart_config/drawings",
)
def test_the_schemas_are_the_contract_s() -> None:
    asked, answered = schema("input"), schema("output")
    preferences, config = asked["properties"]["preferences"], answered["$defs"]["ChartConfig"]["properties"]

    assert list(asked["properties"]) == ["naturalLanguage", "symbol", "exchange", "preferences"]
    assert asked["required"] == ["naturalLanguage"]
    assert list(preferences["properties"]) == ["theme", "resolution", "interval", "range"]
    assert preferences["properties"]["theme"]["enum"] == ["light", "dark"]
    assert {"success", "config", "reasoning", "warnings", "error"} <= set(answered["properties"])
    assert {
        "symbol", "interval", "range", "theme", "style", "width", "height", "studies", "drawings", "override",
    } <= set(config)  # fmt: skip
    assert config["theme"]["enum"] == ["light", "dark"]
    assert set(answered["$defs"]["ChartStudy"]["properties"]) == {"name", "inputs", "override"}
    assert set(answered["$defs"]["ChartDrawing"]["properties"]) == {"type", "coordinates", "style"}


@pytest.mark.parametrize(
    ("text", "code"), [("show me a chart", "no_symbol"), ("  ", "empty_input"), ("btc " * 600, "input_too_long")]
)
async def test_words_that_cannot_be_drawn_are_refused_with_a_question(client: Client, text: str, code: str) -> None:
    result = await client.call_tool(TOOL, {"naturalLanguage": text})

    assert result.is_error is True
    assert result.structured_content["success"] is False
    assert result.structured_content["error"].startswith(f"{code}: ")
    assert result.structured_content["errors"][0]["reason"] == code
    validate(result.structured_content, schema("output"))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"naturalLanguage": 5},
        {"naturalLanguage": "BTC", "text": "BTC"},
        {"naturalLanguage": "BTC", "preferences": {"theme": "blue"}},
        {"naturalLanguage": "BTC", "preferences": {"colour": "blue"}},
        {"naturalLanguage": "BTC", "symbol": "B" * 201},
    ],
)
async def test_what_is_no_call_is_refused_as_one(client: Client, arguments: dict[str, Any]) -> None:
    result = await client.call_tool(TOOL, arguments)

    assert result.is_error is True
    assert result.structured_content["code"] == -32602
    validate(result.structured_content, schema("output"))


async def test_what_is_constructed_is_valid(client: Client) -> None:
    made = await constructed(client, "SOL 1h BB and MACD, last 3 days, resistance at 190, vertical line on July 20")

    judged = await client.call_tool("validate_chart_config", {"config": made["config"], "planLevel": "PRO"})

    assert made["warnings"] == []
    assert judged.structured_content["errors"] == []


async def test_the_listing_is_asked_for_once_and_decides_what_is_verified(
    client: Client, exchange: SimulatedExchange
) -> None:
    known = await constructed(client, "1000SATS 1h")
    unknown = await constructed(client, "NEAR 1h")

    assert known["warnings"] == []
    assert unknown["warnings"] == ["symbol_unverified: NEARUSDT is not trading on Binance"]
    assert [request.path for request in exchange.requests] == ["/api/v3/exchangeInfo"]


async def test_without_the_exchange_the_words_are_read_all_the_same(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=503, times=50))

    answer = await constructed(client, "bitcoin 4h with rsi")

    assert answer["config"]["symbol"] == "BINANCE:BTCUSDT"
    assert [warning.partition(":")[0] for warning in answer["warnings"]] == ["symbol_unverified"]


class HeldList(Loop):
    """An exchange that gives its list only when it is let go."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        super().__init__(exchange)
        self.asked, self.go = anyio.Event(), anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.set()
        await self.go.wait()
        return await super().handle_async_request(request)


@requirement("charts/construct_chart_config/latency")
async def test_nobody_waits_longer_than_300_ms_for_the_network(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange, era: str
) -> None:
    transport = HeldList(exchange)
    waited = -1
    answers: list[dict[str, Any]] = []

    async def ask(client: Client) -> None:
        answers.append(await constructed(client, "bitcoin 4h with rsi"))

    async with (
        running_app(settings, clock=clock, network=NETWORK, transport=transport) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, client)
            await transport.asked.wait()
            clock.advance(299)
            await anyio.wait_all_tasks_blocked()
            waited = len(answers)
            clock.advance(1)
        transport.go.set()
        await ask(client)

    hasty, settled = answers
    assert waited == 0
    assert hasty["config"] == settled["config"]
    assert hasty["warnings"] == [
        "symbol_unverified: BTCUSDT could not be checked: the exchange's list is not available",
    ]
    assert settled["warnings"] == []
    assert [request.path for request in exchange.requests] == ["/api/v3/exchangeInfo"]


async def test_a_server_loads_the_list_before_anybody_asks(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    transport = HeldList(exchange)
    async with running_app(settings, clock=clock, network=NETWORK, transport=transport, preload=True) as app:
        with anyio.fail_after(60):
            await transport.asked.wait()
        transport.go.set()
        made = await app.context.chart_language.construct("bitcoin 4h")

    assert made.warnings == ()
    assert len(exchange.requests) == 1


async def test_a_server_that_cannot_load_the_list_starts_and_ends_all_the_same(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    exchange.faults.add(Fault(kind="status", status=503, times=50))

    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange), preload=True) as app:
        made = await app.context.chart_language.construct("bitcoin 4h")
        exchange.faults.clear()
        await anyio.wait_all_tasks_blocked()  # until the attempt that failed has ended
        clock.advance(1_000)  # a host that failed is asked once a second
        again = await app.context.chart_language.construct("bitcoin 4h")

    assert (len(made.warnings), again.warnings) == (1, ())


@pytest.mark.parametrize("text", ["Apple daily", "EURUSD 4h", "BTC perp 1h"])
async def test_what_nobody_draws_without_a_key_is_said_at_once(client: Client, text: str) -> None:
    made = await constructed(client, text)
    judged = await client.call_tool("validate_chart_config", {"config": made["config"]})

    warning = f"needs_key: {made['config']['symbol']} is drawn by chart-img.com only, and CHART_IMG_API_KEY is not set"
    assert warning in made["warnings"]
    assert warning in [each["message"] for each in judged.structured_content["errors"]]
    assert (await constructed(client, "BTC 1h"))["warnings"] == []


async def test_the_plan_in_the_settings_is_kept_to(
    settings: Settings, clock: FakeClock, exchange: SimulatedExchange
) -> None:
    basic = settings.model_copy(update={"chart_plan": "BASIC"})
    keyed = basic.model_copy(update={"chart_key": SecretStr(exchange.charts.api_key)})
    words = "BTC 4h RSI MACD BB OBV"

    async with running_app(basic, clock=clock, network=NETWORK, transport=Loop(exchange)) as app:
        alone = await app.context.chart_language.construct(words)
    async with running_app(keyed, clock=clock, network=NETWORK, transport=Loop(exchange)) as app:
        planned = await app.context.chart_language.construct(words)

    assert (planned.config["width"], planned.config["height"]) == (800, 450)
    assert [warning.partition(":")[0] for warning in planned.warnings] == ["size_clamped", "plan_limit"]
    # Without a key it is drawn here, where no plan applies.
    assert (alone.config["width"], alone.config["height"], alone.warnings) == (1200, 675, ())


@requirement("charts/construct_chart_config/log")
async def test_choices_are_logged_for_debugging(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="mcp_binance_server.services.charts.configuration"):
        await app.context.chart_language.construct("bitcoin 4h with rsi")

    assert "Detected Bitcoin (BTCUSDT), used the requested 4h interval" in caplog.text
