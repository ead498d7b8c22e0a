"""One plan for three tools: what is not known is doubted everywhere, and what the service does is learned by all."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.app import App, running_app
from mcp_binance_server.settings import read_settings
from support.charts import ENVIRONMENT, answer_of
from support.clock import FakeClock
from support.desk import NETWORK, Loop
from support.requirement import requirement

BARE = {"symbol": "BINANCE:BTCUSDT", "interval": "4h"}


@pytest.fixture
async def app(clock: FakeClock, exchange: SimulatedExchange) -> AsyncIterator[App]:
    settings = read_settings({**ENVIRONMENT, "CHART_IMG_API_KEY": exchange.charts.api_key})
    async with running_app(settings, clock=clock, network=NETWORK, transport=Loop(exchange)) as running:
        yield running


async def constructed(client: Client) -> tuple[dict[str, Any], list[str]]:
    made = await client.call_tool("construct_chart_config", {"naturalLanguage": "BTC 4h with RSI"})
    answer = made.structured_content
    return answer["config"], [each.partition(":")[0] for each in answer["warnings"]]


async def judged(client: Client, config: dict[str, Any]) -> dict[str, Any]:
    return (await client.call_tool("validate_chart_config", {"config": config})).structured_content


async def drawn(client: Client, config: dict[str, Any]) -> dict[str, Any]:
    return answer_of(await client.call_tool("generate_chart_image", {"config": config}))["metadata"]


def size(config: dict[str, Any]) -> str:
    return f"{config['width']}x{config['height']}"


@requirement("charts/pattern-simple")
async def test_a_plan_that_nobody_knows_is_doubted_until_a_chart_is_drawn(client: Client) -> None:
    config, doubts = await constructed(client)
    before = await judged(client, config)

    image = await drawn(client, config)
    again, settled = await constructed(client)
    after = await judged(client, again)

    assert (doubts, settled) == (["plan_unknown"], [])
    assert (before["valid"], before["planLevel"], before["planSource"]) == (True, "BASIC", "assumed")
    assert [(each["field"], each["severity"]) for each in before["errors"]] == [("resolution", "warning")]
    assert (after["valid"], after["errors"]) == (True, [])
    assert (after["planLevel"], after["planSource"]) == ("PRO", "learned")
    assert (image["renderer"], image["resolution"], size(config), size(again)) == ("chart-img", *["1200x675"] * 3)


@requirement("charts/pattern-refinement")
async def test_a_chart_that_the_plan_refuses_is_refined_until_it_is_valid(
    client: Client, exchange: SimulatedExchange
) -> None:
    exchange.charts.plan_name = "BASIC"
    config, _ = await constructed(client)
    clamped = await drawn(client, config)
    studies = [{"name": "MA", "inputs": {"length": length}} for length in (5, 10, 20, 50)]
    refused = await judged(client, {**config, "studies": studies})
    suggested = {each["field"] for each in refused["errors"] if each["severity"] == "error"}

    smaller, _ = await constructed(client)
    refined = {**smaller, "studies": studies[: refused["rateLimitCheck"]["maxStudies"]]}
    valid = await judged(client, refined)
    exchange.charts.bodies.clear()
    image = await drawn(client, refined)

    assert clamped["resolution"] == "800x450"
    assert [each.partition(":")[0] for each in clamped["warnings"]] == ["size_clamped", "other_market"]
    assert (refused["valid"], suggested, refused["planSource"]) == (False, {"resolution", "studies"}, "learned")
    assert "Remove 1 of the studies or drawings for BASIC plan" in refused["suggestions"]
    assert (valid["valid"], size(smaller)) == (True, "800x450")
    assert (image["renderer"], image["resolution"]) == ("chart-img", "800x450")
    (body,) = exchange.charts.bodies
    assert body["studies"] == [{"name": "Moving Average", "input": {"length": length}} for length in (5, 10, 20)]


@pytest.mark.parametrize(("plan", "default"), [("BASIC", "800x450"), ("PRO", "1200x675")])
async def test_a_chart_without_a_size_has_the_same_one_everywhere(
    client: Client, exchange: SimulatedExchange, plan: str, default: str
) -> None:
    exchange.charts.plan_name = plan
    first = await drawn(client, BARE)

    config, _ = await constructed(client)
    verdict = await judged(client, BARE)
    second = await drawn(client, {**BARE, "interval": "1h"})

    assert {first["resolution"], size(config), verdict["rateLimitCheck"]["resolution"], second["resolution"]} == {
        default
    }
    assert verdict["valid"] is True
