"""Everything the catalogue names, translated and sent through the real client: the strict service draws all of it."""

from typing import Any

import pytest

from binance_simulator.exchange import SimulatedExchange
from charts.configs import CATALOGUE, CHART, SAMPLE, body_of, drawing_in_full, study_off_default
from mcp_binance_server.charts.wire import from_wire
from support.charts import chart_desk
from support.clock import FakeClock

SMALL = {**CHART, "width": 400, "height": 300}


async def drawn(exchange: SimulatedExchange, clock: FakeClock, configs: list[dict[str, Any]]) -> None:
    exchange.charts.plan_name = "ENTERPRISE"
    async with chart_desk(exchange, clock, plan="ENTERPRISE") as desk:
        for config in configs:
            answer = await desk.client.draw(body_of(config))
            assert (answer.image.width, answer.image.height) == (config["width"], config["height"])

    assert exchange.charts.bodies == [body_of(config) for config in configs]
    # So many at once may come too fast for the service; what counts is that it refuses none of them.
    assert {request.status for request in exchange.requests} - {429} == {200}


@pytest.mark.night
@pytest.mark.flood
async def test_every_study_in_the_tools_dialect_is_drawn(exchange: SimulatedExchange, clock: FakeClock) -> None:
    bodies = [{**SMALL, "studies": [study_off_default(each)]} for each in CATALOGUE.indicators]
    plain = [{**SMALL, "studies": [{"name": each.name}]} for each in CATALOGUE.indicators]

    await drawn(exchange, clock, [*(from_wire(body, catalogue=CATALOGUE) for body in bodies), *plain])

    assert len(bodies) == len(plain) == 92


async def test_every_drawing_in_the_tools_dialect_is_drawn(exchange: SimulatedExchange, clock: FakeClock) -> None:
    bodies = [{**SMALL, "drawings": [drawing_in_full(each)]} for each in CATALOGUE.drawings]

    await drawn(exchange, clock, [from_wire(body, catalogue=CATALOGUE) for body in bodies])

    assert len(bodies) == 15


async def test_the_sample_of_the_contract_is_drawn(exchange: SimulatedExchange, clock: FakeClock) -> None:
    await drawn(exchange, clock, [dict(SAMPLE)])
