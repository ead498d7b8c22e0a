"""validate_chart_config through a client: the contract's sample, its shape, and that it asks nobody."""

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import validate
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App
from mcp_binance_server.charts.chartimg.plan_memory import PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.surface.catalogue import CATALOGUE
from mcp_binance_server.surface.dispatch import Dispatcher
from mcp_binance_server.surface.server import build_server
from support.clock import FakeClock
from support.contracts import read_contract
from support.fixtures import CONTRACT_DOCUMENTS, needs
from support.golden import Golden
from support.requirement import requirement

TOOL = "validate_chart_config"
CHART = {"symbol": "BINANCE:BTCUSDT", "interval": "1h"}
SAMPLE = {
    **CHART,
    "studies": [{"name": "BollingerBands@tv-basicstudies"}, {"name": "RSI@tv-basicstudies"}],
    "width": 1920,
    "height": 1080,
}


def schema(kind: str) -> dict[str, Any]:
    spec = CATALOGUE.tool(TOOL)
    assert spec is not None
    return (spec.wire.input_schema if kind == "input" else spec.wire.output_schema) or {}


async def judged(client: Client, config: object, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(TOOL, {"config": config, **arguments})
    validate(result.structured_content, schema("output"))
    return result.structured_content


@needs(CONTRACT_DOCUMENTS)
@requirement("charts/validate_chart_config/example", "ruling/35")
async def test_the_sample_is_answered_as_the_contract_shows(client: Client) -> None:
    section = read_contract("chart tools").split("## Tool 5:")[1].split("## Tool 6:")[0]
    request, response = (json.loads(part.split("```")[0]) for part in section.split("```json")[1:3])

    answer = await judged(client, **request["input"])

    check, sample = answer["rateLimitCheck"], response.pop("rateLimitCheck")
    assert (check, check.pop("drawingCount")) == (sample, 0)
    answer.pop("rateLimitCheck")
    assert {key: answer[key] for key in response} == response
    assert {key: answer[key] for key in answer if key not in response} == {
        "success": True,
        "planLevel": "BASIC",
        "planSource": "requested",
    }


@requirement("charts/validate_chart_config", "charts/validate_chart_config/output")
async def test_the_answer_is_the_same_as_text_and_as_data(client: Client, golden: Golden) -> None:
    result = await client.call_tool(TOOL, {"config": SAMPLE, "planLevel": "BASIC"})

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert json.loads(content.text) == result.structured_content
    assert result.is_error is False
    golden.check(f"tools/{TOOL}.answer.json", result.structured_content)


@requirement(
    "charts/validate_chart_config/input", "charts/validate_chart_config/plans", "charts/validate_chart_config/errors"
)
def test_the_schemas_are_the_contract_s() -> None:
    asked, answered = schema("input"), schema("output")

    assert set(asked["properties"]) == {"config", "chart", "planLevel"}
    assert "required" not in asked  # config, or chart: clients that reserve the name config
    assert asked["properties"]["planLevel"]["enum"] == [*PLANS]
    assert {"valid", "errors", "suggestions", "rateLimitCheck"} <= set(answered["properties"])
    assert set(answered["$defs"]["RateLimitCheck"]["properties"]) == {
        "withinLimits", "studyCount", "drawingCount", "maxStudies", "resolution", "maxResolution",
    }  # fmt: skip
    assert answered["$defs"]["ChartFinding"]["properties"]["severity"]["enum"] == ["error", "warning"]


@pytest.mark.parametrize("level", ["basic", " Pro ", "ULTRA", "enterprise"])
async def test_a_plan_may_be_named_in_any_case(client: Client, level: str) -> None:
    assert (await judged(client, CHART, planLevel=level))["planLevel"] == level.strip().upper()


@pytest.mark.parametrize(
    "arguments",
    [{}, {"config": []}, {"config": "BTC"}, {"config": CHART, "planLevel": "GOLD"}, {"config": CHART, "plan": 1}],
)
async def test_what_is_no_call_is_refused_as_one(client: Client, arguments: dict[str, Any]) -> None:
    result = await client.call_tool(TOOL, arguments)

    assert result.is_error is True
    assert result.structured_content["code"] == -32602
    validate(result.structured_content, schema("output"))


async def test_both_dialects_are_judged_alike(client: Client) -> None:
    ours = {**CHART, "studies": [{"name": "BollingerBands@tv-basicstudies", "inputs": {"stdDev": 99}}]}
    theirs = {**CHART, "studies": [{"name": "Bollinger Bands", "input": {"in_1": 99}}]}

    answers = [await judged(client, config) for config in (ours, theirs)]

    assert [answer["valid"] for answer in answers] == [False, False]
    assert [answer["errors"][0]["field"] for answer in answers] == ["studies[0].inputs.stdDev", "studies[0].input.in_1"]


@requirement("charts/validate_chart_config/latency")
async def test_nobody_is_asked_and_a_list_at_hand_is_used(client: Client, exchange: SimulatedExchange) -> None:
    lost = {**CHART, "symbol": "BINANCE:BTCUSTD"}

    before = await judged(client, lost)
    asked = len(exchange.requests)
    await client.call_tool("get_ticker", {"symbol": "BTCUSDT"})
    after = await judged(client, lost)

    assert asked == 0
    assert before["errors"] == []
    assert after["errors"] == [
        {
            "field": "symbol",
            "message": "symbol_unverified: Binance lists no pair BTCUSTD",
            "severity": "warning",
        }
    ]


async def test_a_flood_of_errors_is_cut(client: Client) -> None:
    answer = await judged(client, {**CHART, **{f"key{number}": 1 for number in range(1_000)}})

    assert len(answer["errors"]) == 51
    assert answer["errors"][-1]["message"] == "950 more were found; fix these first"
    assert len(json.dumps(answer)) < 20_000


@pytest.mark.parametrize(
    ("configured", "refusal", "said"),
    [
        (None, "", ("BASIC", "assumed")),
        ("MEGA", "", ("MEGA", "configured")),
        (None, "Exceed Max Usage Parameter Limit (5)", ("PRO", "learned")),
        ("MEGA", "Exceed Max Usage Resolution Limit (800x600)", ("BASIC", "learned")),
    ],
)
async def test_without_a_plan_the_server_s_own_is_used_and_said(
    app: App, clock: FakeClock, configured: str | None, refusal: str, said: tuple[str, str]
) -> None:
    plans = PlanMemory(clock, PLANS[configured] if configured else None)
    plans.learn(refusal)
    service = replace(app.context.chart_validation, plans=plans)
    server = build_server(Dispatcher(CATALOGUE, replace(app.context, chart_validation=service)))

    async with Client(server, cache=None) as client:
        answer = await judged(client, CHART)

    assert (answer["planLevel"], answer["planSource"]) == said
